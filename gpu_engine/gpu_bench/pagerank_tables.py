"""Tables of the study `pagerank`: the fastest runs against cuGraph, the speedup of segments, and all runs."""

from collections.abc import Iterator

from gpu_engine.competitors.cugraph import NAME, TOLERANCE, TOLERANCE_EPSILON, TOLERANCE_VERIFIED
from gpu_engine.findings.comparisons import Comparison
from gpu_engine.findings.pagerank import findings
from gpu_engine.findings.pagerank.adaptive import pays
from gpu_engine.findings.pagerank.conclusions import table as papers_conclusions
from gpu_engine.findings.pagerank.runs import RunGroup, run_groups
from gpu_engine.findings.pagerank.savings import pull_means, pulls, savings
from gpu_engine.gpu_bench.markdown import (
    BenchmarkData,
    Section,
    Tables,
    comparison_sections,
    finding_sections,
    table_section,
)
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head

GRAPH = (Head("graph", numeric=False), Head("pages"), Head("links"), Head("iterations"))

RIVALS = {TOLERANCE_VERIFIED: f"{NAME} with verified ranks", TOLERANCE_EPSILON: f"{NAME} with tolerance ε"}
"""Column head of cuGraph, by its tolerance."""


def fastest(data: BenchmarkData) -> Iterator[Section]:
    """Yield the fastest Sparsight runs in fp64 against cuGraph in the same rounds, and the speedup of other runs."""
    cases = [
        Comparison("Runs to convergence in fp64", _graph(data, group), full.measurement, _rivals(group))
        for group in run_groups(data.study)
        # On lower triangles only the kernels of the paper ran, which are seldom the fastest.
        if group.triangle == "full" and (full := group.fastest_full)
    ]
    first, *others = comparison_sections("Fastest run in fp64: speedup over cuGraph", cases, GRAPH, "graphs")
    yield Section(first.title, first.table, pays(data.study))
    yield from others


def segments(data: BenchmarkData) -> Iterator[Section]:
    """Yield the tables of Figures 4 and 6: speedup of segments over the same kernel in fp64."""
    yield Section("Runs to convergence: speedup over the same kernel in fp64", savings(data.study))
    yield Section("SpMV on the first segment: speedup over the same kernel in fp64", pull_means(data.study))
    yield Section("SpMV: speedup over the same kernel in fp64, per graph", pulls(data.study))


def runs(data: BenchmarkData) -> Iterator[Section]:
    """Yield the findings of every graph, with one row per run."""
    yield from finding_sections(findings(data.study))


def _rivals(group: RunGroup) -> dict[str, Measurement | None]:
    theirs = {
        run.measurement.axes[TOLERANCE]: run.measurement for run in group.converged if run.measurement.kernel == NAME
    }
    return {head: theirs.get(tolerance) for tolerance, head in RIVALS.items()}


def _graph(data: BenchmarkData, group: RunGroup) -> tuple[str, ...]:
    """Return the cells under GRAPH."""
    matrix, full = data.study.matrix(group.matrix_id), group.fastest_full
    details = [run.measurement.details for run in group.timed]
    links = next((run.links for run in details if run.links), matrix.nnz)
    counts = (matrix.n_rows, links, full.measurement.details.iterations if full else None)
    return matrix.name, *map(units.count, counts)


TABLES: Tables = {
    "conclusions": table_section("Conclusions of the paper (on a V100) and whether they hold here", papers_conclusions),
    **{each.__name__: each for each in (fastest, segments, runs)},
}
