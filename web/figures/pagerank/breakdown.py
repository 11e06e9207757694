"""Time of a run by precision; Figure 5 of the CPMS PageRank paper."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.runs import PRECISIONS, Run, RunGroup, has_right_ranks, speed_up
from gpu_engine.pagerank.run import CORRECT, PHASES
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING, percent, seconds
from web.figures.base import blank, caption, escape
from web.figures.markers import Mark, hover
from web.figures.pagerank.facets import Panels, axis_end, bar_panels, mark_fp64, panels_of
from web.figures.pagerank.levels import CHANGE, LEVELS, Level, level_bars, levels_of
from web.figures.panels import Legend

PARTS = (*LEVELS, CHANGE)
NO_TIME = "No run has phase timings and a run of the same kernel in fp64."


@dataclass(frozen=True, slots=True)
class Row:
    """A run; parts: its time over that of the same kernel in fp64, by precision and CHANGE; total: their sum."""

    label: str
    precision: str
    measurement: Measurement
    is_right: bool
    parts: Mapping[Level, float]
    total: float


def info(data: StudyData) -> Panels[Row]:
    """Return the runs with phase timings and a run of the same kernel in fp64."""

    def row(group: RunGroup, run: Run) -> Row | None:
        parts = _shares(group, run) if run.array("pull_s") else {}
        right = has_right_ranks(run, data)
        label = group.label(run)
        return Row(label, run.storage, run.measurement, right, parts, sum(parts.values())) if parts else None

    return panels_of(data, row)


def draw(info: Panels[Row]) -> go.Figure:
    """Return the time of each run over that of the same kernel in fp64, stacked by precision and changes of it."""
    if not info.panels:
        return blank(NO_TIME)
    several = len(info.panels) > 1
    panels = _quickest_first(info).folded(lambda row: row.precision).visible
    used = [part for part in PARTS if any(part in row.parts for panel in panels for row in panel.rows)]
    labels = [[row.precision if several else row.label for row in panel.rows] for panel in panels]
    figure = bar_panels(panels, labels, len(used), "stack", "time, fp64 = 1")
    legend = Legend()
    for number, panel in enumerate(panels, start=1):
        for part in used:
            named = [(row.precision if several else row.label, row) for row in panel.rows if part in row.parts]
            if bars := [_bar(label, row, part) for label, row in named]:
                figure.add_trace(level_bars(part, bars, legend), row=number, col=1)
        end = axis_end((row.total, row.is_right) for row in panel.rows)
        figure.update_xaxes(range=[0, end], row=number, col=1)
        mark_fp64(figure, {"row": number, "col": 1})
    return figure


def table(info: Panels[Row]) -> Table:
    """Return per run its time, its time over that of the same kernel in fp64, and the shares by precision."""
    names = ("matrix", "device", "run")
    heads = (*(Head(name, numeric=False) for name in names), Head("time"), Head("time", "% of fp64"))
    rows = []
    for panel in info.panels:
        for row in panel.rows:
            shares = (percent(row.parts[part] / row.total) if part in row.parts else MISSING for part in PARTS)
            rows.append((*panel.place, row.label, seconds(row.measurement.median_s), percent(row.total), *shares))
    return Table((*heads, *(Head(part.name) for part in PARTS)), tuple(rows))


def summary(info: Panels[Row]) -> str:
    """Return what the bars consist of."""
    if not info.panels:
        return NO_TIME
    quickest = "Only the fastest run of each precision is drawn; the table has all."
    return caption(
        f"Time to convergence relative to the same kernel in fp64, by precision.{info.omission}",
        (),
        (
            "A change of precision scales the ranks, and finally converts segments to fp64. Fused GPU kernels scale in "
            "the next SpMV.",
            "The phases were timed separately; the bars scale them to the median of complete runs.",
            quickest if len(info.panels) > 1 else "",
            info.cut,
        ),
    )


def _bar(label: str, row: Row, part: Level) -> Mark:
    text = f"{part.name}: {percent(row.parts[part])} of the time of the same kernel in fp64"
    return row.parts[part], escape(label), hover(label, "", text), row.measurement


def _quickest_first(info: Panels[Row]) -> Panels[Row]:
    """Return the panels with the fastest verified run of each precision first, precisions in their order."""
    if len(info.panels) == 1:
        return info
    return Panels(tuple(replace(panel, rows=tuple(sorted(panel.rows, key=_rank))) for panel in info.panels))


def _rank(row: Row) -> tuple[int, bool, float]:
    known = row.precision in PRECISIONS
    return (
        PRECISIONS.index(row.precision) if known else len(PRECISIONS),
        not row.is_right,
        row.measurement.median_s or 0.0,
    )


def _shares(group: RunGroup, run: Run) -> dict[Level, float]:
    """Return the parts of a run over the time of fp64; empty if there are none.

    Phases are timed separately, one event after the other; their shares are applied to the median of complete runs.
    """
    ratio = speed_up(group.plain(run), run)
    pull, norm, *changes = (run.array(f"{phase}_s") for phase in (*PHASES, CORRECT))
    split: dict[Level, float] = {}
    for entry, *phases in zip(levels_of(run), pull, norm, strict=True):
        split[entry] = split.get(entry, 0.0) + sum(phases)
    split[CHANGE] = sum(map(sum, changes))
    total = sum(split.values())
    if ratio is None or total <= 0:
        return {}
    return {part: time / total / ratio for part, time in split.items() if time > 0}
