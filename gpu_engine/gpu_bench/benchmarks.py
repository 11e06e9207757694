"""BENCHMARKS: the matrices, parameters and tables of the benchmark of each study."""

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
    seeded,
    solvers,
    spmm,
)
from gpu_engine.gpu_bench.batch_matrices import BATCH_SUBJECTS
from gpu_engine.gpu_bench.benchmark_matrices import GRAPH_SUBJECTS, SUBJECTS, Subject
from gpu_engine.gpu_bench.markdown import Tables, finding_sections
from gpu_engine.gpu_bench.matrix_cache import MatrixCache
from gpu_engine.gpu_bench.measuring import measure_passes
from gpu_engine.gpu_bench.multigpu_matrices import MULTIGPU_MATRICES, multigpu_matrices
from gpu_engine.gpu_bench.resources import resources_table
from gpu_engine.measure import Bench
from gpu_engine.recordings.files import Recording
from gpu_engine.records import Record
from gpu_engine.studies import STUDIES
from gpu_engine.studies.base import Study

Say = Callable[[str], None]
Measure = Callable[[Sequence[Subject], MatrixCache, Bench, int, Say], Iterator[Record]]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Benchmark of one study: its matrices, their parameters, and its tables.

    passes       parameters of all measurements of a matrix, by backend and number of rounds
    sized        creates the matrices with about the given number of nonzeros; None: fixed sizes
    measure_one  measures one matrix if `passes` do not suffice; None: they do
    measure_all  measures all matrices together, before each by itself; None: nothing
    resources    returns a table of the compiled kernels, written beside the records; None: no table
    """

    subjects: Sequence[Subject]
    passes: Callable[..., Iterable[Any]]
    tables: Tables
    recorded: Callable[[Recording], Recording] = lambda recording: recording
    resources: Callable[[], str] | None = None
    measure_one: Measure | None = None
    measure_all: Measure | None = None
    sized: Callable[[int], Sequence[Subject]] | None = None

    def measure(
        self, study: Study, subject: Subject, matrix_cache: MatrixCache, bench: Bench, rounds: int, say: Say
    ) -> Iterator[Record]:
        """Yield the measurements and traces of one subject, pass after pass."""
        if self.measure_one is not None:
            return self.measure_one([subject], matrix_cache, bench, rounds, say)
        params = self.passes(subject, bench.device.backend, rounds)
        return measure_passes(study, params, [subject], matrix_cache, bench, say)


def in_given_order(recording: Recording) -> Recording:
    """Return the recording without kernels on reordered matrices, because pages compare only the original matrix."""
    measurements = tuple(m for m in recording.measurements if "+" not in m.kernel)
    return dataclasses.replace(recording, measurements=measurements)


SPECIFIC: Mapping[str, Benchmark] = {
    "formats": Benchmark(
        SUBJECTS, formats.passes, formats_tables.TABLES, recorded=in_given_order, resources=resources_table
    ),
    "pagerank": Benchmark(GRAPH_SUBJECTS, pagerank.passes, pagerank_tables.TABLES),
    "reduced_spmv": Benchmark(GRAPH_SUBJECTS, reduced_spmv.passes, reduced_spmv.TABLES),
    "batched": Benchmark(BATCH_SUBJECTS, batched.passes, batched_tables.TABLES, measure_all=batched.measure_mixed),
    "scaling": Benchmark(
        MULTIGPU_MATRICES, scaling.passes, scaling_tables.TABLES, measure_one=scaling.measure, sized=multigpu_matrices
    ),
    "seeded": Benchmark(seeded.SUBJECTS, seeded.passes, seeded.TABLES),
    "spmm": Benchmark(spmm.SUBJECTS, spmm.passes, spmm.TABLES),
    "solvers": Benchmark(solvers.SUBJECTS, solvers.passes, solvers.TABLES),
}
"""Benchmarks of the studies whose papers determine the measurements, by study name."""


def usual(study: Study) -> Benchmark:
    """Return the default benchmark of a study: its default parameters on the group `families`, and its findings."""
    has_rounds = any(field.name == "rounds" for field in dataclasses.fields(study.Params))
    return Benchmark(
        tuple(subject for subject in SUBJECTS if subject.group == "families"),
        lambda _, __, rounds: [study.Params(**({"rounds": rounds} if has_rounds else {}))],
        {"findings": lambda data: finding_sections(study.findings(data.study))},
    )


BENCHMARKS = {study.name: SPECIFIC.get(study.name) or usual(study) for study in STUDIES}
"""Benchmarks by study name."""
