"""Where the time of a run goes, by precision; Figure 5 of the CPMS PageRank paper."""

import plotly.graph_objects as go

from web.figures.base import Head, Table, blank, escape
from web.figures.pagerank.facets import axis_end, bar_panels, cut, drawn, heading, left_out, place, rows_of
from web.figures.pagerank.levels import CHANGE, LEVELS, Level, level_bars, levels_of
from web.figures.panels import Legend
from web.palette import OTHERS
from web.runs import Run, RunGroup, has_right_ranks, speed_up
from web.shown import Shown
from web.units import MISSING, percent, seconds

PARTS = (*LEVELS, CHANGE)
NO_TIME = "No run has a time in phases beside a run of the same kernel in fp64."


def draw(shown: Shown) -> go.Figure:
    """The time of each run over that of the same kernel in fp64, stacked by precision and changes of it."""
    found = drawn(rows_of(shown, _is_split))
    if not found:
        return blank(NO_TIME)
    titles = [heading(group, shown) for group, _ in found]
    labels = [[escape(group.label(run)) for run in runs] for group, runs in found]
    split = [[shares(group, run) for run in runs] for group, runs in found]
    used = [part for part in PARTS if any(part in own for parts in split for own in parts)]
    figure = bar_panels(titles, labels, len(used), "stack")
    legend = Legend()
    for row, parts in enumerate(split, start=1):
        for part in used:
            times = {label: own[part] for label, own in zip(labels[row - 1], parts, strict=True) if part in own}
            if times:
                figure.add_trace(_bars(times, part, legend), row=row, col=1)
        lengths = (
            (sum(own.values()), has_right_ranks(run, shown)) for own, run in zip(parts, found[row - 1][1], strict=True)
        )
        figure.update_xaxes(range=[0, axis_end(lengths)], row=row, col=1)
        figure.add_vline(x=1, line={"color": OTHERS, "dash": "dot", "width": 1}, row=row, col=1)
    figure.update_xaxes(title_text="time, fp64 = 1", title_standoff=4, row=len(found), col=1)
    return figure


def table(shown: Shown) -> Table:
    """Per run its time, that over the time of the same kernel in fp64, and the share of it by precision."""
    names = ("matrix", "device", "run")
    heads = (*(Head(name, numeric=False) for name in names), Head("time"), Head("over fp64", "same kernel"))
    rows = []
    for group, runs in rows_of(shown, _is_split):
        for run in runs:
            split = shares(group, run)
            total = sum(split.values())
            parts = [percent(split[part] / total) if part in split else MISSING for part in PARTS]
            cells = group.label(run), seconds(run.measurement.median_s), percent(total)
            rows.append((*place(group, shown), *cells, *parts))
    return Table((*heads, *(Head(part.name) for part in PARTS)), tuple(rows))


def summary(shown: Shown) -> str:
    """What the bars are made of."""
    found = rows_of(shown, _is_split)
    if not found:
        return NO_TIME
    said = "The time to convergence over that of the same kernel in fp64, by the precision of the iterations. A change "
    said += (
        "of precision scales the ranks and at last turns segments into fp64. The parts were timed one by one and are "
    )
    return f"{said}shown as shares of the median of whole runs.{cut(found, shown)}{left_out(found)}"


def shares(group: RunGroup, run: Run) -> dict[Level, float]:
    """The time of a run over that of the same kernel in fp64, by precision and CHANGE, as far as there is any.

    Phases are timed apart, one event after the other; their shares are taken of the median of whole runs.
    """
    ratio = speed_up(group.plain(run), run)
    pull, settle, scale, convert = (run.array(name) for name in ("pull_s", "settle_s", "scale_s", "convert_s"))
    split: dict[Level, float] = {}
    for entry, *phases in zip(levels_of(run), pull, settle, strict=True):
        split[entry] = split.get(entry, 0.0) + sum(phases)
    split[CHANGE] = sum(scale) + sum(convert)
    total = sum(split.values())
    if ratio is None or total <= 0:
        return {}
    return {part: time / total / ratio for part, time in split.items() if time > 0}


def _is_split(group: RunGroup, run: Run) -> bool:
    return bool(run.array("pull_s")) and bool(shares(group, run))


def _bars(times: dict[str, float], part: Level, legend: Legend) -> go.Bar:
    of_fp64 = "of the time of the same kernel in fp64"
    bars = [(label, time, f"<b>{label}</b><br>{part.name}: {percent(time)} {of_fp64}") for label, time in times.items()]
    return level_bars(part, bars, legend)
