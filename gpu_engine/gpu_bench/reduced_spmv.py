"""Benchmark of the study `reduced_spmv`: Figure 4 of the CPMS PageRank paper, in blocks of every size."""

from collections.abc import Iterator

from gpu_engine.findings.reduced_spmv.conclusions import table as papers_conclusions
from gpu_engine.findings.reduced_spmv.tables import gains, touched
from gpu_engine.gpu_bench.benchmark_matrices import Subject
from gpu_engine.gpu_bench.markdown import Tables, table_section
from gpu_engine.pagerank.products import BLOCKS
from gpu_engine.studies.reduced_spmv import ReducedSpmvParams


def passes(subject: Subject, backend: str, rounds: int) -> Iterator[ReducedSpmvParams]:  # noqa: ARG001
    """Yield the parameters for a graph; for graphs of the paper those of the lower triangle."""
    triangle = "lower" if subject.group == "paper graph" else "full"
    yield ReducedSpmvParams(blocks=tuple(BLOCKS), triangle=triangle, rounds=rounds, sampling="fixed")  # type: ignore[arg-type]


TABLES: Tables = {
    "conclusions": table_section("Reduced-precision SpMV and Figure 4 of the paper (on a V100)", papers_conclusions),
    "gains": table_section(
        "Reduced-precision SpMV: speedup over fp64 in the same layout, geometric mean over the graphs", gains
    ),
    "touched": table_section("32-byte sectors and 128-byte lines per warp load", touched),
}
