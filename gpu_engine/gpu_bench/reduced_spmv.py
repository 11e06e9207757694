"""The benchmark of Study `reduced_spmv`: Figure 4 of the CPMS PageRank paper, in blocks of every size."""

from collections.abc import Iterator

from gpu_engine.findings.reduced_spmv.conclusions import table as papers_conclusions
from gpu_engine.findings.reduced_spmv.tables import gains, touched
from gpu_engine.gpu_bench.markdown import Tables, tabled
from gpu_engine.gpu_bench.subjects import Subject
from gpu_engine.pagerank.products import BLOCKS
from gpu_engine.studies.reduced_spmv import ReducedSpmvParams


def passes(subject: Subject, backend: str, rounds: int) -> Iterator[ReducedSpmvParams]:  # noqa: ARG001
    """The products of a graph; of the paper's graphs those of the lower triangle."""
    triangle = "lower" if subject.group == "paper graph" else "full"
    yield ReducedSpmvParams(blocks=tuple(BLOCKS), triangle=triangle, rounds=rounds, sampling="fixed")  # type: ignore[arg-type]


TABLES: Tables = {
    "conclusions": tabled("Products beside the paper's Figure 4 (on a V100)", papers_conclusions),
    "gains": tabled("Products over the same layout in fp64, geometric mean over the graphs", gains),
    "touched": tabled("Sectors of 32 bytes and lines of 128 that a warp's load touches", touched),
}
