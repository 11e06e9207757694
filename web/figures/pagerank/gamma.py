"""How a run converges: γ of every iteration, and under which precision it counts."""

from collections.abc import Sequence

import plotly.graph_objects as go

from web.figures.base import Head, LogAxis, Table, blank, escape, log_axis
from web.figures.pagerank.facets import NO_RUN, Rows, axis_end, cut, drawn, heading, left_out, place, rows_of
from web.figures.pagerank.levels import LEVELS, RUN_RANK, Level, levels_of, listed, stretches
from web.figures.panels import Legend, panels
from web.palette import DASHES, OTHERS
from web.runs import FP64, FREE, SCHEDULE, Run, RunGroup, has_right_ranks, power
from web.shown import Shown
from web.units import MISSING, count

PANEL_PX = 320
POINTS_MAX = 5_000
"""Most points of the lines of a figure; of longer runs every second, third … iteration is one."""

MARKERS = 24
"""Of a run, about: a narrow screen keeps them apart. Where the precision changes there is one in any case."""

SIZE, SIZE_MIN, INWARDS = 13, 4, 3
"""Markers of the first run in pixels; of each further one smaller, so that where runs coincide all can be seen."""


def draw(shown: Shown) -> go.Figure:
    """γ on a log scale over the iterations, a panel a matrix, a line a run, markers by the precision of the iteration.

    Runs of one precision and schedule in several formats converge alike: the first of them is drawn.
    """
    found = drawn(_found(shown))
    if not found:
        return blank(NO_RUN)
    runs = [(group, run) for group, group_runs in found for run in group_runs]
    names = list(dict.fromkeys(_name(group, run) for group, run in runs))
    step = -(-sum(len(run.array("gamma")) for _, run in runs) // POINTS_MAX)
    used = [entry for entry in LEVELS if any(entry in levels_of(run) for _, run in runs)]
    figure = panels([heading(group, shown) for group, _ in found], [PANEL_PX] * len(found), len(names) + len(used))
    legend = Legend()
    for row, (group, group_runs) in enumerate(found, start=1):
        for run in group_runs:
            place_of = names.index(_name(group, run))
            dash = DASHES[place_of % len(DASHES)]
            figure.add_trace(_line(run, _name(group, run), dash, step, legend), row=row, col=1)
            size = max(SIZE_MIN, SIZE - INWARDS * place_of)
            for entry in used:
                if entry in levels_of(run):
                    figure.add_trace(_markers(group, run, entry, size, legend), row=row, col=1)
        end = axis_end((len(run.array("gamma")), has_right_ranks(run, shown)) for run in group_runs)
        figure.update_xaxes(range=[0, end], row=row, col=1)
    _label_axes(figure, log_axis([gamma for _, run in runs for gamma in run.array("gamma") if gamma]), len(found))
    return figure


def table(shown: Shown) -> Table:
    """Per run how many iterations it took, γ at the first and the last, and γ where the precision was raised."""
    heads = (*(Head(text, numeric=False) for text in ("matrix", "device", "run")), Head("iterations"))
    gammas = (Head("γ", "first"), Head("γ", "last"), Head("γ when raised", "iteration: γ", numeric=False))
    rows = [
        (*place(group, shown), group.label(run), count(len(run.array("gamma"))), *_gammas(run))
        for group, runs in rows_of(shown, _has_gamma)
        for run in runs
    ]
    return Table((*heads, *gammas), tuple(rows))


def summary(shown: Shown) -> str:
    """What the markers mean, and whether fewer bits cost iterations."""
    found = _found(shown)
    if not found:
        return NO_RUN
    said = (
        "γ, the change of the ranks in an iteration, falls along the same line in every precision until it nears what "
    )
    said += "the precision resolves. A marker says under which one an iteration counts; where runs coincide, their "
    said += "markers lie within each other in the order of the legend, the first outermost."
    return said + cut(found, shown) + left_out(found)


def _found(shown: Shown) -> list[Rows]:
    """Of each precision and schedule the first run."""
    found = []
    for group, runs in rows_of(shown, _has_gamma):
        unlike: dict[tuple[str, ...], Run] = {}
        for run in runs:
            schedule = (run.measurement.axes.get(name, "") for name in SCHEDULE if run.in_fewer_bits)
            unlike.setdefault((_precision(run), *schedule), run)
        found.append((group, list(unlike.values())))
    return found


def _has_gamma(_: RunGroup, run: Run) -> bool:
    return any(run.array("gamma"))


def _name(group: RunGroup, run: Run) -> str:
    """The precision and what sets its schedule apart."""
    return group.label(run).partition("+")[2] if run.in_fewer_bits else _precision(run)


def _precision(run: Run) -> str:
    """In all bits from the first iteration on, a run goes as one in fp64: without values, and with segments."""
    whole = run.precision == FREE or (run.segments and not run.in_fewer_bits)
    return FP64 if whole else run.precision


def _line(run: Run, name: str, dash: str, step: int, legend: Legend) -> go.Scatter:
    gammas = run.array("gamma")
    return go.Scatter(
        **legend.entry(escape(name)),
        legendrank=RUN_RANK,
        x=list(range(1, len(gammas) + 1, step)),
        y=[gamma or None for gamma in gammas[::step]],
        mode="lines",
        line={"color": OTHERS, "dash": dash, "width": 1.5},
        hoverinfo="skip",
        meta={"role": "gamma"},
    )


def _markers(group: RunGroup, run: Run, entry: Level, size: int, legend: Legend) -> go.Scatter:
    """The marked iterations of a run that count under one precision; γ = 0 has no place on a log scale."""
    gammas, levels = run.array("gamma"), levels_of(run)
    marked = [number for number in _marked(levels) if levels[number] is entry and gammas[number]]
    return go.Scatter(
        **listed(entry, legend),
        x=[number + 1 for number in marked],
        y=[gammas[number] for number in marked],
        mode="markers",
        marker={"color": entry.color, "symbol": f"{entry.symbol}-open", "size": size, "line": {"width": 2}},
        hovertext=[_hover(group, run, number) for number in marked],
        hoverinfo="text",
        meta={"role": "level"},
    )


def _marked(levels: Sequence[Level]) -> list[int]:
    """Evenly spread iterations, and the first of each precision."""
    even = range(0, len(levels), max(1, -(-len(levels) // MARKERS)))
    return sorted({*even, *(stretch.begin for stretch in stretches(levels))})


def _hover(group: RunGroup, run: Run, number: int) -> str:
    gamma, read, written = (run.array(name)[number] for name in ("gamma", "read", "written"))
    moved = f"<br>reads {read:.0f} and writes {written:.0f} of {run.segments} segments" if run.segments else ""
    return f"<b>{escape(group.label(run))}</b><br>iteration {number + 1}: γ = {power(gamma)}{moved}"


def _gammas(run: Run) -> tuple[str, str, str]:
    gammas, read, written = (run.array(name) for name in ("gamma", "read", "written"))
    raised = [
        f"{number}: {power(gammas[number - 1])}" for number in range(1, len(gammas)) if written[number] > read[number]
    ]
    return power(gammas[0]), power(gammas[-1]), ", ".join(raised) or MISSING


def _label_axes(figure: go.Figure, axis: LogAxis, rows: int) -> None:
    figure.update_yaxes(**axis.settings, title_text="γ")
    figure.update_xaxes(title_text="iteration", title_standoff=4, row=rows, col=1)
