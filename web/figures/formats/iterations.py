"""Equation (1) of the PELLR paper on trial: how many times as fast PELLR is as ELLR, predicted and measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.formats.iterations import Forecast, correlations, forecasts
from gpu_engine.findings.formats.paper import PAPER_RATIOS
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING, count, number, ratio
from web.figures import marks
from web.figures.base import LogAxis, blank, caption, log_axis
from web.figures.formats.groups import Place, left_out, place_in_words
from web.figures.panels import Legend, Panels, panels
from web.palette import OKABE_ITO

PANEL_PX = 340
NOTHING = "No matrix here has a time in ellr/thread and in pellr/thread."

EQUATION, STEPS, PAPER = "equation (1)", "with resident warps and sectors", "equation (1), times of the paper"
LOOKS = {EQUATION: (0, "circle", 0.5), STEPS: (5, "diamond-open", 1.5), PAPER: (2, "star", 0.5)}
"""Of each kind of point: its place in the palette, symbol and outline."""

ITERATIONS: Mapping[str, tuple[int, int]] = {"lnsp3937": (1341, 803), "memplus": (9021, 4374), "bcsstk24": (5484, 5018)}
"""n_iter in ELLR and in PELLR of the matrices whose ratio of times the paper says."""

ODD = ("lnsp3937", "memplus")
"""Those that the paper itself calls special."""


@dataclass(frozen=True, slots=True)
class Panel:
    """The matrices on one device in one cache state.

    equation, steps  correlation of the logarithms of what is predicted and of what was measured; None: of too few
    """

    place: Place
    forecasts: tuple[Forecast, ...]
    equation: float | None
    steps: float | None


def info(data: StudyData) -> Panels[Panel]:
    """The forecasts and their correlations, a panel a device and cache state."""
    return Panels(tuple(Panel(place, found, *correlations(found)) for place, found in forecasts(data).items()))


def draw(info: Panels[Panel]) -> go.Figure:
    """Measured over predicted ratio of times, both log, two points a matrix, and the line where they are equal."""
    if not info.panels:
        return blank(NOTHING)
    every = [mark[:2] for panel in info.panels for points in _points(panel).values() for mark in points]
    predicted, measured = (log_axis([*values, 1.0]) for values in zip(*every, strict=True))
    figure = panels([place_in_words(panel.place) for panel in info.panels], [PANEL_PX] * len(info.panels), len(LOOKS))
    legend = Legend()
    for row, panel in enumerate(info.panels, start=1):
        figure.add_trace(_equality(predicted, measured), row=row, col=1)
        for name, points in _points(panel).items():
            if points:
                figure.add_trace(_markers(name, points, legend), row=row, col=1)
    figure.update_xaxes(**predicted.settings)
    figure.update_yaxes(**measured.settings, title_text="measured")
    figure.update_xaxes(title_text="ELLR over PELLR, predicted", title_standoff=4, row=len(info.panels), col=1)
    return figure


def table(info: Panels[Panel]) -> Table:
    """A row a matrix: n_iter in both formats, their ratio, that of the steps, and that of the times."""
    heads = (
        *(Head(text, numeric=False) for text in ("matrix", "device", "cache")),
        *(Head("n_iter", name) for name in ("ELLR", "PELLR")),
        *(Head("predicted", name) for name in ("eq. (1)", "steps")),
        Head("measured"),
    )
    rows = (
        (
            each.matrix.name,
            *panel.place,
            *(count(each.matrix.stored.get(name)) for name in ("n_iter_ellr", "n_iter_pellr")),
            *(ratio(value) for value in (each.iterations, each.steps, each.measured)),
        )
        for panel in info.panels
        for each in panel.forecasts
    )
    return Table(heads, tuple(rows))


def summary(info: Panels[Panel]) -> str:
    """How well either model agrees with what was measured, and that the paper's own times follow from neither."""
    if not info.panels:
        return NOTHING
    what = "How many times as fast as ellr/thread pellr/thread is, beside what n_iter and what steps predict."
    steps = (
        "Steps are those of the longest row, and all others over the warps that the GPU holds at once, sectors of x "
    )
    steps += "counted."
    paper = (f"on {name} it predicts {number(_predicted(name))}, and {PAPER_RATIOS[name]} is shown" for name in ODD)
    nor = f"Nor does equation (1) explain the paper's own Figure 6: {'; '.join(paper)}."
    return caption(what, map(_agreement, info.panels), (steps, nor))


def _agreement(panel: Panel) -> str:
    busy = sum(each.busy for each in panel.forecasts)
    over = left_out(len(panel.forecasts) - busy, busy)
    of = f"On {place_in_words(panel.place)}, over {over}, the logarithms correlate by"
    steps = f", and by {number(panel.steps, 2)} with the steps" if panel.steps is not None else ""
    if panel.equation is None:
        return f"On {place_in_words(panel.place)} there are too few matrices for a correlation."
    return f"{of} {number(panel.equation, 2)} with equation (1){steps}."


def _predicted(name: str) -> float:
    ellr, pellr = ITERATIONS[name]
    return ellr / pellr


def _points(panel: Panel) -> dict[str, list[marks.Mark]]:
    """Return predicted over measured by the names of LOOKS."""
    return {
        EQUATION: [(each.iterations, each.measured, _hover(each), *each.measurements) for each in panel.forecasts],
        STEPS: [
            (each.steps, each.measured, _hover(each), *each.measurements) for each in panel.forecasts if each.steps
        ],
        PAPER: [
            (_predicted(name), shown, marks.hover(name, " in Figure 6 of the paper", "Quadro P600"))
            for name, shown in PAPER_RATIOS.items()
        ],
    }


def _markers(name: str, points: Sequence[marks.Mark], legend: Legend) -> go.Scatter:
    place, symbol, outline = LOOKS[name]
    return marks.points(
        points,
        marks.point(OKABE_ITO[place], symbol, 9, outline),
        **legend.entry(name),
        meta={"role": "unsettled" if symbol.endswith("open") else "point"},
    )


def _equality(*axes: LogAxis) -> go.Scatter:
    """From where both axes have begun to where one ends."""
    lows, highs = zip(*(axis.settings["range"] for axis in axes), strict=True)
    ends = [10 ** max(lows), 10 ** min(highs)]
    line = {"width": 1}
    return go.Scatter(
        x=ends, y=ends, mode="lines", line=line, hoverinfo="skip", showlegend=False, meta={"role": "line"}
    )


def _hover(each: Forecast) -> str:
    interval = f" ({number(each.interval[0])} to {number(each.interval[1])})" if each.interval else ""
    steps = ratio(each.steps) if each.steps else MISSING
    predicted = f"predicted {ratio(each.iterations)} by equation (1), {steps} by steps"
    return marks.hover(each.matrix.name, "", predicted, f"measured {ratio(each.measured)}{interval}")
