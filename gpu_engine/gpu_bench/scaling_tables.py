"""Tables of the study `scaling`: speedups, phases, imbalance, stand-ins, weak scaling, and statements of the paper."""

from collections.abc import Iterator

from gpu_engine.findings.scaling import balance, conclusions, paper
from gpu_engine.findings.scaling import speedups as cases
from gpu_engine.findings.scaling.cases import WORKS
from gpu_engine.findings.scaling.groups import work_groups
from gpu_engine.findings.scaling.sentences import PAPER_GAINS, VIRTUAL_CAVEAT
from gpu_engine.findings.scaling.weak_scaling import weak_scaling
from gpu_engine.gpu_bench.markdown import BenchmarkData, Section, Tables


def speedups(data: BenchmarkData) -> Iterator[Section]:
    """Yield per workload the time, speedup and phases of every kernel on all numbers of devices."""
    virtual = (VIRTUAL_CAVEAT,) if any(group.virtual for group in work_groups(data.study)) else ()
    for work, table in cases.tables(data.study):
        gains = (f"{PAPER_GAINS} (Figures 21 to 23).",) if work == "cold" else ()
        yield Section(f"Speedup, {WORKS[work]}", table, (*gains, *virtual))


def imbalances(data: BenchmarkData) -> Iterator[Section]:
    """Yield the tables of Figure 6: limit by the largest partition, and equal rows against equal nonzeros."""
    for work, table in balance.tables(data.study):
        yield Section(f"Imbalance, {WORKS[work]} (Figure 6)", table)


def stand_ins(data: BenchmarkData) -> Iterator[Section]:
    """Yield the stand-ins of Table 2 beside the matrices of the paper."""
    yield Section("Stand-ins of the paper's matrices (Table 2)", paper.stand_ins(data.study))


def statements(data: BenchmarkData) -> Iterator[Section]:
    """Yield the statements of the paper with their verdicts."""
    yield Section("Statements of the paper", conclusions.table(data.study))


def weak(data: BenchmarkData) -> Iterator[Section]:
    """Yield weak scaling: matrices that grow with the number of devices."""
    yield Section("Weak scaling", weak_scaling(data.study))


TABLES: Tables = {table.__name__: table for table in (speedups, imbalances, stand_ins, weak, statements)}
