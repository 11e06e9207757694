"""Benchmark of the study `seeded`: many seed sets and warm starts on the graphs of PageRank, without stand-ins."""

from collections.abc import Iterator

from gpu_engine.findings.seeded import findings
from gpu_engine.findings.seeded.tables import costs, starts
from gpu_engine.gpu_bench.benchmark_matrices import GRAPH_SUBJECTS, Subject
from gpu_engine.gpu_bench.markdown import BenchmarkData, Section, Tables, finding_sections, table_section
from gpu_engine.studies.seeded import SeededParams

SUBJECTS = tuple(subject for subject in GRAPH_SUBJECTS if subject.group != "paper graph")

SETS = (8, 32, 64)
"""Numbers of seed sets."""

CHANGES = (0.0001, 0.001, 0.01)
"""Shares of the links that change before a warm start."""

EPSILONS = (1e-10, 1e-8)
"""Tolerances: the default, and one that leaves fewer iterations to a warm start."""


def passes(subject: Subject, backend: str, rounds: int) -> Iterator[SeededParams]:  # noqa: ARG001
    """Yield the parameters for a graph: all numbers of seed sets and changes, with each tolerance."""
    for epsilon in EPSILONS:
        yield SeededParams(epsilon=epsilon, seeds=SETS, start=CHANGES, rounds=rounds, sampling="fixed")


def results(data: BenchmarkData) -> Iterator[Section]:
    """Yield the findings of every graph, with one row per run."""
    return finding_sections(findings(data.study))


TABLES: Tables = {
    "costs": table_section("Time of many seed sets over that of one, and over one set at a time", costs),
    "starts": table_section("Iterations after links have changed", starts),
    "results": results,
}
