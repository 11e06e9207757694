"""Realizations: runs of a graph in fp64, two segments, and four segments, with the paper's kernels or fused ones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from gpu_engine.findings.data import FINDINGS_CACHED, StudyData
from gpu_engine.findings.pagerank.paper import PaperGraph, is_papers_problem, paper_graph
from gpu_engine.findings.pagerank.runs import (
    FP64,
    UNFUSED,
    Run,
    RunGroup,
    has_right_ranks,
    in_words,
    run_groups,
    speed_up,
)
from gpu_engine.pagerank.schedule import Schedule

CSR, ELL = "csr/thread", "ell/thread"
LAYOUTS = (CSR, ELL)
"""Layouts of the paper, with one thread per row."""

SEVERAL_THREADS = "csr/vector"
"""Layout with several threads per row, which the paper mentions (§IV.C)."""

STORED = (FP64, "cpms2", "cpms4")
"""Storage of values in the paper: fp64, two segments, four segments."""

SCHEDULE = {
    "start_segments": f"{Schedule().start_segments}",
    "raise_at": f"{Schedule().raise_at:g}",
    "stall_ratio": f"{Schedule().stall_ratio:g}",
}
"""Schedule of the runs that the statements are checked on, as axes; it is that of the paper."""


@dataclass(frozen=True, slots=True)
class Realizations:
    """Runs of a graph in one layout of the paper; None without a time or verified ranks.

    fused  whether the kernels are fused; those of the paper are not
    """

    group: RunGroup
    layout: str
    fused: bool
    full: Run | None
    two: Run | None
    four: Run | None

    @property
    def runs(self) -> tuple[Run, ...]:
        """Return the runs that exist."""
        return tuple(run for run in (self.full, self.two, self.four) if run)

    @property
    def gain(self) -> float | None:
        """Speedup of two segments over fp64; None without both."""
        return speed_up(self.full, self.two)

    @property
    def gain_of_four(self) -> float | None:
        """Speedup of four segments over fp64; None without both."""
        return speed_up(self.full, self.four)

    @property
    def kernels(self) -> str:
        """Layout and fusion of the kernels: `csr` for the kernels of the paper, or `csr, fused`."""
        return f"{short_name(self.layout)}{', fused' if self.fused else ''}"


@dataclass(frozen=True, slots=True)
class GraphRuns:
    """All realizations of a graph on one device, with equal PageRank parameters.

    paper  matrix of the paper that the graph is or stands in for, None for others
    """

    name: str
    group: RunGroup
    paper: PaperGraph | None
    is_papers: bool
    unfused: Mapping[str, Realizations]
    fused: Mapping[str, Realizations]

    @property
    def complete(self) -> Realizations | None:
        """Return the realizations whose iterations are counted: the first with all three runs, CSR and unfused first.

        The iterations depend neither on the layout nor on fusion.
        """
        candidates = (*self.unfused.values(), *self.fused.values())
        return next((each for each in candidates if len(each.runs) == len(STORED)), None)


def short_name(layout: str) -> str:
    """Return `csr` of `csr/thread`."""
    return layout.partition("/")[0]


@lru_cache(FINDINGS_CACHED)
def graph_runs(data: StudyData) -> tuple[GraphRuns, ...]:
    """Return the realizations of each graph, device, and PageRank parameters.

    An unsymmetric graph of the paper is the same problem with and without `triangle=lower`; it appears once.
    """
    groups = run_groups(data)
    lower = {(group.device, group.matrix_id) for group in groups if group.axes == {"triangle": "lower"}}
    return tuple(
        _graph_runs(group, data)
        for group in groups
        if not (_is_whole_web(group, data) and (group.device, group.matrix_id) in lower)
    )


def realizations(data: StudyData) -> Iterator[Realizations]:
    """Yield the runs with the paper's kernels by graph and layout, or with fused ones on a device without any others.

    Only GPUs have the kernels of the paper.
    """
    graphs = graph_runs(data)
    with_papers = {each.group.device for each in graphs for runs in each.unfused.values() if runs.runs}
    for each in graphs:
        yield from (each.unfused if each.group.device in with_papers else each.fused).values()


def graph_name(group: RunGroup, data: StudyData) -> str:
    """Return the name of the graph with its non-default PageRank parameters, except the triangle."""
    others = (in_words(name, value) for name, value in group.axes.items() if name != "triangle")
    return ", ".join((data.matrix(group.matrix_id).name, *others))


def is_papers_schedule(axes: Mapping[str, str]) -> bool:
    """Return whether a schedule with these axes is that of the paper."""
    return axes.get("final_storage") == FP64 and all(axes.get(name) == value for name, value in SCHEDULE.items())


def _graph_runs(group: RunGroup, data: StudyData) -> GraphRuns:
    matrix = data.matrix(group.matrix_id).name
    graph, is_papers = paper_graph(matrix), is_papers_problem(matrix, group.axes)
    name = ", ".join(filter(None, (graph_name(group, data), "" if is_papers else _part(group, graph))))
    unfused, fused = (
        {layout: _realizations(group, layout, fused, data) for layout in LAYOUTS} for fused in (False, True)
    )
    return GraphRuns(name, group, graph, is_papers, unfused, fused)


def _part(group: RunGroup, graph: PaperGraph | None) -> str:
    """Return the part of a matrix that the paper did not measure; empty for all of a matrix that it does not have."""
    return in_words("triangle", group.triangle) if group.triangle != "full" else "whole" if graph else ""


def _realizations(group: RunGroup, layout: str, fused: bool, data: StudyData) -> Realizations:
    by_precision = {run.precision: run for run in group.converged if run.layout == layout and _is_comparable(run, data)}
    runs = (by_precision.get(stored if fused else f"{UNFUSED}{stored}") for stored in STORED)
    return Realizations(group, layout, fused, *runs)


def _is_comparable(run: Run, data: StudyData) -> bool:
    """Return whether a run has the schedule of the paper (if it has one) and verified ranks."""
    return (run.storage == FP64 or is_papers_schedule(run.measurement.axes)) and has_right_ranks(run, data)


def _is_whole_web(group: RunGroup, data: StudyData) -> bool:
    graph = paper_graph(data.matrix(group.matrix_id).name)
    return graph is not None and not graph.is_symmetric and not group.axes
