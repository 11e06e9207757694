"""Tables of the study `scaling`: speedup and phases of each case, and imbalance."""

from collections.abc import Iterator

from gpu_engine.findings.scaling import balance
from gpu_engine.findings.scaling import speedups as cases
from gpu_engine.findings.scaling.cases import WORKS
from gpu_engine.findings.scaling.groups import work_groups
from gpu_engine.findings.scaling.sentences import PAPER_GAINS, VIRTUAL_CAVEAT
from gpu_engine.gpu_bench.markdown import BenchmarkData, Section, Tables


def speedups(data: BenchmarkData) -> Iterator[Section]:
    """Yield per workload the time, speedup and phases of every kernel on all numbers of devices."""
    virtual = (VIRTUAL_CAVEAT,) if any(group.virtual for group in work_groups(data.study)) else ()
    for work, table in cases.tables(data.study):
        paper = (f"{PAPER_GAINS} (Figures 21 to 23).",) if work == "cold" else ()
        yield Section(f"Speedup, {WORKS[work]}", table, (*paper, *virtual))


def imbalances(data: BenchmarkData) -> Iterator[Section]:
    """Yield the tables of Figure 6: limit by the largest partition, and equal rows against equal nonzeros."""
    for work, table in balance.tables(data.study):
        yield Section(f"Imbalance, {WORKS[work]} (Figure 6)", table)


TABLES: Tables = {table.__name__: table for table in (speedups, imbalances)}
