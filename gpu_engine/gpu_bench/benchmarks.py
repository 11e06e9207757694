"""BENCHMARKS: what is measured for each of STUDIES, of which matrices, and its tables."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpu_engine.gpu_bench import (
    batched,
    batched_tables,
    formats,
    formats_tables,
    pagerank,
    pagerank_tables,
    reduced_spmv,
    scaling,
    scaling_tables,
)
from gpu_engine.gpu_bench.batch_subjects import BATCH_SUBJECTS
from gpu_engine.gpu_bench.markdown import Tables, found
from gpu_engine.gpu_bench.matrix_cache import MatrixCache
from gpu_engine.gpu_bench.measuring import measure_passes
from gpu_engine.gpu_bench.resources import resources_table
from gpu_engine.gpu_bench.shared_subjects import SHARED_SUBJECTS, shared_subjects
from gpu_engine.gpu_bench.subjects import GRAPH_SUBJECTS, SUBJECTS, Subject
from gpu_engine.measure import Bench
from gpu_engine.recordings.files import Recording
from gpu_engine.records import Record
from gpu_engine.studies import STUDIES
from gpu_engine.studies.base import Study

Say = Callable[[str], None]
Measure = Callable[[Sequence[Subject], MatrixCache, Bench, int, Say], Iterator[Record]]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """The benchmark of one study: its matrices, how they are measured, the tables, and what is recorded of it.

    passes       parameters of all that is measured of a matrix, by the backend and the number of rounds
    sized        the same matrices with about so many nonzeros; None: they have a size
    measure_own  measures one matrix where `passes` alone do not say how; None: they do
    measure_all  measures what is of all matrices at once, before each by itself; None: nothing
    resources    a table of what the compiler made of the kernels, written beside the records; None: not asked for
    """

    subjects: Sequence[Subject]
    passes: Callable[..., Iterable[Any]]
    tables: Tables
    recorded: Callable[[Recording], Recording] = lambda recording: recording
    resources: Callable[[], str] | None = None
    measure_own: Measure | None = None
    measure_all: Measure | None = None
    sized: Callable[[int], Sequence[Subject]] | None = None

    def measure(
        self, study: Study, subject: Subject, matrix_cache: MatrixCache, bench: Bench, rounds: int, say: Say
    ) -> Iterator[Record]:
        """Yield the measurements and traces of one subject, pass after pass."""
        if self.measure_own is not None:
            return self.measure_own([subject], matrix_cache, bench, rounds, say)
        params = self.passes(subject, bench.device.backend, rounds)
        return measure_passes(study, params, [subject], matrix_cache, bench, say)


def in_given_order(recording: Recording) -> Recording:
    """Without the kernels in a new order: a page compares products of the matrix as it is."""
    kept = tuple(m for m in recording.measurements if "+" not in m.kernel)
    return dataclasses.replace(recording, measurements=kept)


OWN: Mapping[str, Benchmark] = {
    "formats": Benchmark(
        SUBJECTS, formats.passes, formats_tables.TABLES, recorded=in_given_order, resources=resources_table
    ),
    "pagerank": Benchmark(GRAPH_SUBJECTS, pagerank.passes, pagerank_tables.TABLES),
    "reduced_spmv": Benchmark(GRAPH_SUBJECTS, reduced_spmv.passes, reduced_spmv.TABLES),
    "batched": Benchmark(BATCH_SUBJECTS, batched.passes, batched_tables.TABLES, measure_all=batched.measure_mixed),
    "scaling": Benchmark(
        SHARED_SUBJECTS, scaling.passes, scaling_tables.TABLES, measure_own=scaling.measure, sized=shared_subjects
    ),
}
"""Of the studies whose papers say what is measured."""


def usual(study: Study) -> Benchmark:
    """Return the benchmark of a study that has none of its own: its defaults on the families, and its findings."""
    has_rounds = any(field.name == "rounds" for field in dataclasses.fields(study.Params))
    return Benchmark(
        tuple(subject for subject in SUBJECTS if subject.group == "families"),
        lambda _, __, rounds: [study.Params(**({"rounds": rounds} if has_rounds else {}))],
        {"findings": lambda data: found(study.findings(data.study))},
    )


BENCHMARKS = {study.name: OWN.get(study.name) or usual(study) for study in STUDIES}
"""By the name of the study."""
