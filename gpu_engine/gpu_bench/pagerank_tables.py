"""The tables of study `pagerank`: the fastest runs beside cuGraph, what segments gain, every run of every graph."""

from collections.abc import Iterator

from gpu_engine.competitors.cugraph import NAME, TOLD, TOLERANCE, VERIFIED
from gpu_engine.findings.comparisons import Comparison
from gpu_engine.findings.pagerank import findings
from gpu_engine.findings.pagerank.adaptive import pays
from gpu_engine.findings.pagerank.conclusions import table as papers_conclusions
from gpu_engine.findings.pagerank.runs import RunGroup, run_groups
from gpu_engine.findings.pagerank.savings import pull_means, pulls, savings
from gpu_engine.gpu_bench.markdown import BenchmarkData, Section, Tables, compared, found, tabled
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head

GRAPH = (Head("graph", numeric=False), Head("pages"), Head("links"), Head("iterations"))

RIVALS = {VERIFIED: f"{NAME} with verified ranks", TOLD: f"{NAME} told ε"}
"""What cuGraph was told → the head of its column."""


def fastest(data: BenchmarkData) -> Iterator[Section]:
    """Ours in fp64 beside cuGraph in the same rounds, and what other kinds of runs gain over it."""
    cases = [
        Comparison("Runs to convergence in fp64", _graph(data, group), full.measurement, _rivals(group))
        for group in run_groups(data.study)
        # Of lower triangles only the paper's kernels ran, which are seldom the fastest.
        if group.triangle == "full" and (full := group.fastest_full)
    ]
    first, *others = compared("The fastest run in fp64 over cuGraph", cases, GRAPH, "graphs")
    yield Section(first.title, first.table, pays(data.study))
    yield from others


def segments(data: BenchmarkData) -> Iterator[Section]:
    """Figures 4 and 6: what segments gain over the same kernel in fp64."""
    yield Section("Runs to convergence over the same kernel in fp64", savings(data.study))
    yield Section("Products on the first segment over the same kernel in fp64", pull_means(data.study))
    yield Section("Products over the same kernel in fp64, graph by graph", pulls(data.study))


def runs(data: BenchmarkData) -> Iterator[Section]:
    """What findings say of every graph, a row a run."""
    yield from found(findings(data.study))


def _rivals(group: RunGroup) -> dict[str, Measurement | None]:
    theirs = {
        run.measurement.axes[TOLERANCE]: run.measurement for run in group.converged if run.measurement.kernel == NAME
    }
    return {head: theirs.get(tolerance) for tolerance, head in RIVALS.items()}


def _graph(data: BenchmarkData, group: RunGroup) -> tuple[str, ...]:
    """The cells under GRAPH."""
    matrix, full = data.study.matrix(group.matrix_id), group.fastest_full
    own = [run.measurement.details for run in group.timed]
    links = next((details.links for details in own if details.links), matrix.nnz)
    counts = (matrix.n_rows, links, full.measurement.details.iterations if full else None)
    return matrix.name, *map(units.count, counts)


TABLES: Tables = {
    "conclusions": tabled("Beside the paper's conclusions (on a V100)", papers_conclusions),
    **{each.__name__: each for each in (fastest, segments, runs)},
}
