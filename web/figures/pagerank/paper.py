"""Tables I and II of the CPMS PageRank paper as printed, next to the measured matrices that have their names."""

from collections.abc import Iterator, Sequence

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.paper import GRAPHS, PaperGraph
from gpu_engine.findings.pagerank.realizations import GraphRuns, graph_runs
from gpu_engine.findings.pagerank.runs import Run, by_segments
from gpu_engine.findings.ranking import join
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING, count, percent

NAMES = (Head("matrix", numeric=False), Head("measured", numeric=False))

REMARKS = (
    "A measured stand-in is synthetic and replaces the file. Percentages: difference from the paper.",
    "As printed, on an NVIDIA V100 with δ = 0.85 and ε = 10⁻¹⁰; symmetric matrices as lower triangle. The paper does "
    "not print the rule that raises the precision; Sparsight documents its own. The single 48-bit iteration of "
    "web-BerkStan suggests a rule that takes γ after scaling the ranks: the jump of their norm looks like a stall.",
)


def remarks() -> tuple[str, ...]:
    """Return notes on comparisons with the tables, as sentences."""
    odd = [
        f"{graph.name} ({by_segments(graph.two)}, total {graph.two_total})"
        for graph in GRAPHS
        if sum(graph.two) != graph.two_total
    ]
    return (*REMARKS, f"With two segments, the printed totals differ from the sums of their rows for {join(odd)}.")


def table_one(data: StudyData) -> Table:
    """Return Table I: pages, links, and dangling pages of the paper, each next to those of the measured matrix."""
    sizes = [head for text in ("pages", "links", "dangling pages") for head in (Head(text, "paper"), Head(text))]
    return Table((*NAMES, *sizes), tuple(_sizes(graph, runs, data) for graph, runs in _rows(data)))


def table_two(data: StudyData) -> Table:
    """Return Table II: iterations by the bits that they wrote, in the paper and measured."""
    texts = (
        Head("fp64", "paper"),
        Head("fp64"),
        Head("2 segments, 32/64 bit", "paper"),
        Head("2 segments"),
        Head("4 segments, 16/32/48/64 bit", "paper"),
        Head("4 segments"),
    )
    return Table((*NAMES, *texts), tuple(_iterations(graph, runs, data) for graph, runs in _rows(data)))


def _rows(data: StudyData) -> Iterator[tuple[PaperGraph, GraphRuns | None]]:
    """Yield each graph of the paper with the runs of each measured matrix of its name, or without any."""
    measured = [runs for runs in graph_runs(data) if runs.is_papers]
    for graph in GRAPHS:
        # Devices measure the same matrix, and iterations do not depend on them.
        by_matrix = {runs.group.matrix_id: runs for runs in reversed(measured) if runs.paper is graph}
        yield from ((graph, runs) for runs in (*reversed(by_matrix.values()),) or (None,))


def _sizes(graph: PaperGraph, runs: GraphRuns | None, data: StudyData) -> tuple[str, ...]:
    details = (
        next((r.measurement.details for r in runs.group.runs if r.measurement.details.links), None) if runs else None
    )
    pages = data.matrix(runs.group.matrix_id).n_rows if runs else None
    measured = (pages, details.links, details.dangling_pages) if details else (pages, None, None)
    printed = graph.n, graph.nnz, graph.empty_rows
    cells = (
        cell for paper, ours in zip(printed, measured, strict=True) for cell in (count(paper), _beside(ours, paper))
    )
    return (f"{graph.name} ({graph.short})", _name(graph, runs, data), *cells)


def _iterations(graph: PaperGraph, runs: GraphRuns | None, data: StudyData) -> tuple[str, ...]:
    complete = runs.complete if runs else None
    full, two, four = (complete.full, complete.two, complete.four) if complete else (None, None, None)
    return (
        f"{graph.name} ({graph.short})",
        _name(graph, runs, data),
        count(graph.fp64),
        count(full.measurement.details.iterations if full else None),
        _with_total(graph.two, graph.two_total),
        _counts(two),
        _with_total(graph.four, graph.four_total),
        _counts(four),
    )


def _name(graph: PaperGraph, runs: GraphRuns | None, data: StudyData) -> str:
    """Return what was measured: `file`, `stand-in`, or another addition to the name of the graph."""
    if runs is None:
        return MISSING
    name = data.matrix(runs.group.matrix_id).name
    return name[len(graph.name) :].strip(" ()") or "file"


def _beside(measured: int | None, printed: int) -> str:
    """Return a number with its difference from the printed one: `2,312,497 (+0 %)`."""
    if measured is None:
        return MISSING
    difference = measured / printed - 1
    return f"{count(measured)} ({'−' if difference < 0 else '+'}{percent(abs(difference))})"


def _counts(run: Run | None) -> str:
    counts = run.measurement.details.iterations_by_segments if run else ()
    return _with_total(counts, sum(counts)) if counts else MISSING


def _with_total(counts: Sequence[int], total: int) -> str:
    """Return the iterations by segments with their total: `18/34 (52)`."""
    return f"{by_segments(counts)} ({total})"
