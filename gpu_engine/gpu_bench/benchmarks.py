"""BENCHMARKS: of each study what is measured, how, and its tables."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gpu_engine.gpu_bench import (
    batched,
    batched_tables,
    formats,
    formats_tables,
    pagerank,
    pagerank_tables,
    products,
    scaling,
    scaling_tables,
)
from gpu_engine.gpu_bench.batch_subjects import BATCH_SUBJECTS
from gpu_engine.gpu_bench.markdown import Tables
from gpu_engine.gpu_bench.matrix_cache import MatrixCache
from gpu_engine.gpu_bench.resources import resources_table
from gpu_engine.gpu_bench.shared_subjects import SHARED_SUBJECTS, shared_subjects
from gpu_engine.gpu_bench.subjects import GRAPH_SUBJECTS, SUBJECTS, Subject
from gpu_engine.measure import Bench
from gpu_engine.recordings.files import Recording
from gpu_engine.records import Record

Measure = Callable[[Sequence[Subject], MatrixCache, Bench, int, Callable[[str], None]], Iterator[Record]]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """The benchmark of one study: its matrices, how they are measured, the tables, and what is recorded of it.

    several      whether it wants all GPUs
    sized        the same matrices with about so many nonzeros; None: they have a size
    measure_all  of what is measured of all matrices at once, before each by itself; None: nothing
    resources    a table of what the compiler made of the kernels, written beside the records; None: not asked for
    """

    subjects: Sequence[Subject]
    measure: Measure
    tables: Tables
    recorded: Callable[[Recording], Recording] = lambda recording: recording
    resources: Callable[[], str] | None = None
    measure_all: Measure | None = None
    several: bool = False
    sized: Callable[[int], Sequence[Subject]] | None = None


def in_given_order(recording: Recording) -> Recording:
    """Without the kernels in a new order: a page compares products of the matrix as it is."""
    kept = tuple(m for m in recording.measurements if "+" not in m.kernel)
    return dataclasses.replace(recording, measurements=kept)


BENCHMARKS = {
    "formats": Benchmark(SUBJECTS, formats.measure, formats_tables.TABLES, in_given_order, resources_table),
    "pagerank": Benchmark(GRAPH_SUBJECTS, pagerank.measure, pagerank_tables.TABLES),
    "products": Benchmark(GRAPH_SUBJECTS, products.measure, products.TABLES),
    "batched": Benchmark(BATCH_SUBJECTS, batched.measure, batched_tables.TABLES, measure_all=batched.measure_mixed),
    "scaling": Benchmark(SHARED_SUBJECTS, scaling.measure, scaling_tables.TABLES, several=True, sized=shared_subjects),
}
"""By the name of the study."""
