"""Benchmark of the study `reduced_spmv`: Figure 4 of the CPMS PageRank paper, on its graphs and on others."""

from collections.abc import Iterator

from gpu_engine.findings.reduced_spmv.conclusions import table as papers_conclusions
from gpu_engine.findings.reduced_spmv.tables import gains, touched
from gpu_engine.gpu_bench.benchmark_matrices import Subject
from gpu_engine.gpu_bench.markdown import Tables, table_section
from gpu_engine.pagerank.products import BLOCKS, Block
from gpu_engine.studies.reduced_spmv import ReducedSpmvParams

PAPERS_BLOCKS: tuple[Block, ...] = ("128", "separate")
"""Blocks of the paper: those that it uses, and the separate arrays that it compares them with (§IV.A)."""


def passes(subject: Subject, backend: str, rounds: int) -> Iterator[ReducedSpmvParams]:  # noqa: ARG001
    """Yield the parameters for a graph: blocks of all sizes; for graphs of the paper its blocks and lower triangles.

    A graph of the paper so needs less than half of the time and memory: the largest ones fit a GPU with 80 GB.
    """
    if subject.group == "paper graph":
        yield ReducedSpmvParams(blocks=PAPERS_BLOCKS, triangle="lower", rounds=rounds, sampling="fixed")
    else:
        yield ReducedSpmvParams(blocks=tuple(BLOCKS), rounds=rounds, sampling="fixed")


TABLES: Tables = {
    "conclusions": table_section("Reduced-precision SpMV and Figure 4 of the paper (on a V100)", papers_conclusions),
    "gains": table_section(
        "Reduced-precision SpMV: speedup over fp64 in the same layout, geometric mean over the graphs", gains
    ),
    "touched": table_section("32-byte sectors and 128-byte lines per warp load", touched),
}
