"""Comparisons of PageRank runs on a device: kinds, their legend, and the graphs with a pair."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.adaptive import Pair, Tally, pairs_of, papers_pairs
from gpu_engine.findings.pagerank.runs import KINDS, RunGroup, place_of, run_groups
from web.plots.dots import Series

ADAPTIVE, REFINED = KINDS
PAPERS = "paper’s adaptive kernels"
FP64_RUN = "fastest fp64 run"
PAPERS_FP64 = "paper’s fp64 kernels"
"""Baseline of PAPERS, which has an axis of its own; FP64_RUN is that of all others."""
OWN_KERNELS = f"the {PAPERS_FP64}"

A_NAME = "the name of a graph"
"""Note after the name of the graph `adaptive`, beside runs in adaptive precision."""

SERIES: Mapping[str, Series] = {
    ADAPTIVE: Series(
        ADAPTIVE,
        "circle",
        "of-none",
        "The method of the paper: values in two or four segments, of which early iterations read fewer. Over the "
        "fastest fp64 run.",
    ),
    REFINED: Series(
        REFINED, "diamond", "of-none", "Corrections of the ranks in 32 or 64 bits. Over the fastest fp64 run."
    ),
    PAPERS: Series(
        PAPERS,
        "triangle",
        "of-none",
        "Adaptive precision with the unfused kernels of the paper, over the same kernels in fp64. They are slower than "
        "the fastest fp64 run.",
    ),
}
"""Kind of comparison → its entry in the legend: the form of its marks, whose hue is the verdict."""


@dataclass(frozen=True, slots=True)
class Comparisons:
    """All pairs on one device: on whole matrices, or only on lower triangles; pairs by kind of SERIES."""

    device: str
    triangle: str
    pairs: Mapping[str, tuple[Pair, ...]]

    @property
    def tallies(self) -> dict[str, Tally]:
        """Tally by kind, without kinds that have no pair."""
        return {kind: Tally(pairs) for kind, pairs in self.pairs.items() if pairs}

    def of(self, group: RunGroup) -> dict[str, Pair]:
        """Return the pairs of a graph by kind."""
        return {kind: pair for kind, pairs in self.pairs.items() for pair in pairs if pair.full in group.runs}


def comparisons(data: StudyData) -> list[Comparisons]:
    """Return the comparisons by device and triangle, whole matrices first."""
    pairs, papers = pairs_of(data), papers_pairs(data)
    places = dict.fromkeys((group.triangle != "full", group.device, group.triangle) for group in run_groups(data))
    made = []
    for _, device, triangle in sorted(places, key=lambda place: place[0]):
        place = place_of(device, triangle)
        kinds = {kind: tuple(pairs.get((kind, place), ())) for kind in KINDS} | {PAPERS: tuple(papers.get(place, ()))}
        made.append(Comparisons(device, triangle, kinds))
    return [each for each in made if each.tallies]


def all_groups(first: Comparisons, data: StudyData) -> list[RunGroup]:
    """Return the groups of all graphs of a comparison, also of those without a pair."""
    return [group for group in run_groups(data) if (group.device, group.triangle) == (first.device, first.triangle)]


def groups_of(first: Comparisons, data: StudyData) -> list[RunGroup]:
    """Return the groups of the graphs with a pair."""
    return [group for group in all_groups(first, data) if first.of(group)]


def kinds_of_axes(tallies: Iterable[str]) -> list[list[str]]:
    """Return the kinds that share an axis, because they have the same baseline."""
    known = list(tallies)
    axes = ([kind for kind in known if kind != PAPERS], [kind for kind in known if kind == PAPERS])
    return [kinds for kinds in axes if kinds]
