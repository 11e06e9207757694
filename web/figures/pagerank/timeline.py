"""Which precision when: the schedules of the runs side by side."""

from collections.abc import Iterator, Sequence

import plotly.graph_objects as go

from web.figures.base import Head, Table, blank, escape
from web.figures.pagerank.facets import NO_RUN, axis_end, bar_panels, cut, drawn, heading, left_out, place, rows_of
from web.figures.pagerank.levels import LEVELS, Level, Stretch, level_bars, levels_of, stretches
from web.figures.panels import Legend
from web.runs import Run, RunGroup, has_right_ranks
from web.shown import Shown
from web.units import MISSING, count


def draw(shown: Shown) -> go.Figure:
    """A row a run, a bar for each stretch of iterations that count under one precision."""
    found = drawn(rows_of(shown, _has_schedule))
    if not found:
        return blank(NO_RUN)
    labels = [[escape(group.label(run)) for run in runs] for group, runs in found]
    used = [entry for entry in LEVELS if any(entry in levels_of(run) for _, runs in found for run in runs)]
    figure = bar_panels([heading(group, shown) for group, _ in found], labels, len(used), "overlay")
    legend = Legend()
    for row, (_, runs) in enumerate(found, start=1):
        end = axis_end((len(levels_of(run)), has_right_ranks(run, shown)) for run in runs)
        figure.update_xaxes(range=[0, end], row=row, col=1)
        rows = {label: levels_of(run) for label, run in zip(labels[row - 1], runs, strict=True)}
        for trace in bars(rows, used, legend):
            figure.add_trace(trace, row=row, col=1)
    figure.update_xaxes(title_text="iterations", title_standoff=4, row=len(found), col=1)
    return figure


def table(shown: Shown) -> Table:
    """Table II of the paper for the matrices here: iterations by precision, and those of the same kernel in fp64."""
    names = ("matrix", "device", "run")
    heads = (*(Head(name, numeric=False) for name in names), *(Head(entry.name) for entry in LEVELS))
    rows = []
    for group, runs in rows_of(shown, _has_schedule):
        for run in runs:
            levels = levels_of(run)
            counts = [count(levels.count(entry)) if entry in levels else MISSING for entry in LEVELS]
            plain = group.plain(run)
            fp64 = count(plain.measurement.iterations) if plain else MISSING
            rows.append((*place(group, shown), group.label(run), *counts, count(len(levels)), fp64))
    return Table((*heads, Head("total"), Head("same kernel", "in fp64")), tuple(rows))


def summary(shown: Shown) -> str:
    """What the bars are."""
    found = rows_of(shown, _has_schedule)
    if not found:
        return NO_RUN
    said = (
        "The iterations of each run by the precision that they write; a kernel that ran under several schedules has a "
    )
    return f"{said}row for each.{cut(found, shown)}{left_out(found)}"


def _has_schedule(_: RunGroup, run: Run) -> bool:
    return bool(run.array("written"))


def bars(rows: dict[str, list[Level]], used: Sequence[Level], legend: Legend) -> Iterator[go.Bar]:
    """The stretches of each precision, in the rows that have it; rows: label → the precision of each iteration."""
    for entry in used:
        found = [(label, part) for label, levels in rows.items() for part in stretches(levels) if part.level is entry]
        if found:
            yield _bars(entry, found, legend)


def _bars(entry: Level, found: Sequence[tuple[str, Stretch]], legend: Legend) -> go.Bar:
    bars = [
        (label, part.end - part.begin, f"<b>{label}</b><br>iterations {part.begin + 1} to {part.end} in {entry.name}")
        for label, part in found
    ]
    return level_bars(entry, bars, legend, base=[part.begin for _, part in found])
