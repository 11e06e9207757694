"""Time of k seed sets over that of one, by the number of seed sets: a line per graph, device, and parameters."""

from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.seeded.groups import SeededGroup, seeded_groups
from gpu_engine.findings.seeded.tables import costs
from gpu_engine.text.tables import Table
from gpu_engine.text.units import count, ratio, seconds
from web.figures import markers
from web.figures.base import blank, caption, escape, log_axis, shorten
from web.palette import DASHES, HUES, SYMBOLS

LINES_MAX = 12
"""Most lines, the first ones; the table has all."""

COLORS = tuple(HUES.values())

MARGIN = 1.15
"""Factor between the ends of the x axis and the outermost numbers of seed sets."""

NO_TIME = "No run of several seed sets was timed."


@dataclass(frozen=True, slots=True)
class Line:
    """The groups of one graph, device, and parameters, by ascending number of seed sets."""

    title: str
    groups: tuple[SeededGroup, ...]


@dataclass(frozen=True, slots=True)
class CostInfo:
    """Lines of the figure, and the table of all runs."""

    lines: tuple[Line, ...]
    numbers: Table


def info(data: StudyData) -> CostInfo:
    """Return a line per graph, device, and parameters with times of one and of several seed sets."""
    by_place: dict[tuple[str, str, str], dict[int, SeededGroup]] = {}
    for group in seeded_groups(data):
        if group.cost is not None:
            by_place.setdefault((group.matrix_id, group.device, group.parameters), {})[group.sets] = group
    lines = (
        Line(", ".join(filter(None, (shorten(data.matrix(place[0]).name), *place[1:]))), tuple(by_sets.values()))
        for place, by_sets in by_place.items()
        if len(by_sets) > 1
    )
    ordered = (Line(line.title, tuple(sorted(line.groups, key=lambda g: g.sets))) for line in lines)
    return CostInfo(tuple(ordered), costs(data))


def draw(info: CostInfo) -> go.Figure:
    """Return the cost of each number of seed sets, both axes logarithmic, with one set at a time dotted."""
    if not info.lines:
        return blank(NO_TIME)
    visible = info.lines[:LINES_MAX]
    figure = go.Figure([_line(line, number) for number, line in enumerate(visible)])
    every = sorted({group.sets for line in visible for group in line.groups})
    figure.add_trace(
        go.Scatter(
            x=every,
            y=every,
            name="k × one set",
            mode="lines",
            line={"dash": "dot", "width": 1.5},
            hovertext=[f"{count(k)} × the time of one set" for k in every],
            hoverinfo="text",
            meta={"role": "roof"},
        )
    )
    ratios = [group.cost or 1.0 for line in visible for group in line.groups]
    axis = log_axis([*ratios, float(every[-1])])
    ticks = [ratio(tick) for tick in axis.settings["tickvals"]]
    figure.update_yaxes(**axis.settings | {"ticktext": ticks}, title_text="time over one set")
    ends = log_axis((every[0] / MARGIN, every[-1] * MARGIN), least_span=2.0).settings["range"]
    figure.update_xaxes(
        type="log", range=ends, tickvals=every, ticktext=[count(k) for k in every], title_text="seed sets"
    )
    return figure


def _line(line: Line, number: int) -> go.Scatter:
    color, symbol = COLORS[number % len(COLORS)], SYMBOLS[number % len(SYMBOLS)]
    marks = [(group.sets, group.cost, _hover(line, group), m) for group in line.groups if (m := group.together)]
    return markers.points(
        marks,
        markers.point(color, symbol, 7),
        name=escape(line.title),
        mode="lines+markers",
        line={"color": color, "dash": DASHES[number % len(DASHES)], "width": 1.5},
        meta={"role": "point"},
    )


def _hover(line: Line, group: SeededGroup) -> str:
    m = group.together
    times = (
        f"{seconds(m.median_s)} for all, {seconds(m.details.set_s)} per set" if m else "",
        f"{ratio(group.cost)} the time of one set",
    )
    return markers.hover(line.title, f" with {count(group.sets)} seed sets", *times)


def table(info: CostInfo) -> Table:
    """Return the costs of all numbers of seed sets."""
    return info.numbers


def summary(info: CostInfo) -> str:
    """Return what the lines are."""
    if not info.lines:
        return NO_TIME
    omission = markers.omission(min(len(info.lines), LINES_MAX), len(info.lines))
    return caption(
        f"Median time of all seed sets at once, over the time of one. Dotted: one set at a time.{omission}",
        (),
        ("All sets share each pass over the links. A set that has converged is no longer changed.",),
    )
