"""Speedups of complete runs and of their pulls, a row per graph; Figure 6 of the CPMS PageRank paper."""

from collections.abc import Iterator, Sequence

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank import ranking_of
from gpu_engine.findings.pagerank.paper import paper_position
from gpu_engine.findings.pagerank.pulls import pull_gains
from gpu_engine.findings.pagerank.realizations import Realizations, graph_name, realizations
from gpu_engine.findings.pagerank.runs import Run, speed_up
from gpu_engine.text.tables import Table
from web.figures.base import blank, caption
from web.figures.pagerank.levels import level
from web.figures.pagerank.speedup_rows import Gains, Series, draw_rows, means_text, table_rows
from web.palette import OKABE_ITO

NO_GRAPH = "No graph has verified runs in the layouts of the paper, both in fp64 and in segments."
PAPER = (
    " The paper reports on a V100, for complete runs with two segments: 1.1\u202f× to 1.2\u202f×, almost 1.3\u202f× "
    "for Rgg, and about 1\u202f× for Brk."
)

RUNS = (
    Series("two segments, complete run", 2, 0, OKABE_ITO[0]),
    Series("four segments, complete run", 4, 0, OKABE_ITO[5]),
)
PULLS = tuple(
    Series(
        f"{word} segments, pull {64 // segments * read} bit",
        segments,
        read,
        level(f"{64 // segments * read} bit").color,
    )
    for word, segments, read in (("two", 2, 1), ("four", 4, 1), ("four", 4, 2), ("four", 4, 3))
)
WHAT = {"complete runs": RUNS, "pulls of these runs": PULLS}


def info(data: StudyData) -> tuple[Gains, ...]:
    """Return the graphs by layout, those of the paper first, without those that have no speedup."""
    every = [
        Gains(
            graph_name(runs.group, data),
            runs.group.place,
            runs.layout,
            runs.kernels,
            dict(_gains(runs)),
            tuple(run.measurement for run in runs.runs),
            bool(ranking_of(runs.group, data).busy),
        )
        for runs in sorted(realizations(data), key=lambda runs: paper_position(data.matrix(runs.group.matrix_id).name))
    ]
    return tuple(gains for gains in every if gains.values)


def draw(info: Sequence[Gains]) -> go.Figure:
    """Return the speedup over fp64, a row per graph: complete runs above, their pulls below; CSR left, ELL right."""
    return draw_rows(info, WHAT) if info else blank(NO_GRAPH)


def table(info: Sequence[Gains]) -> Table:
    """Return a row per graph and layout, a column per series."""
    return table_rows(info, WHAT)


def summary(info: Sequence[Gains]) -> str:
    """Return the geometric mean of each series over the graphs, and those of the paper."""
    if not info:
        return NO_GRAPH
    fused = any(gains.kernels.endswith("fused") for gains in info)
    return caption(
        "Speedup over the same kernel in fp64: complete runs, and the pulls of their iterations with fewer bits.",
        (PAPER,),
        (
            means_text(info, WHAT),
            "Fused kernels, because the unfused ones of the paper did not run on this device."
            if fused
            else "Unfused kernels and precision schedule of the paper, fp64 at the end.",
            "A pull is an SpMV inside a run, timed by events. The study reduced_spmv measures the SpMV alone (Figure "
            "4). A precision whose only pull is the first launch of a run is left out.",
        ),
    )


def _gains(runs: Realizations) -> Iterator[tuple[str, float]]:
    runs_by_segments: dict[int, Run | None] = {2: runs.two, 4: runs.four}
    pulls = {segments: pull_gains(runs.full, run) for segments, run in runs_by_segments.items()}
    for series in RUNS:
        if gain := speed_up(runs.full, runs_by_segments[series.segments]):
            yield series.name, gain
    for series in PULLS:
        pull = pulls[series.segments].get(series.read)
        if pull and (pull.launches > 1 or series.read > 1):
            yield series.name, pull.gain
