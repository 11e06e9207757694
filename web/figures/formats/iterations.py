"""Test of equation (1) of the PELLR paper: the speedup of PELLR over ELLR, predicted and measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.formats.iterations import Forecast, correlations, forecasts, mean_speedups
from gpu_engine.findings.formats.paper import SPEEDUPS
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING, count, number, ratio
from web.figures import markers
from web.figures.base import LogAxis, blank, caption, log_axis
from web.figures.formats.groups import Place, left_out, place_in_words
from web.figures.panels import Legend, Panels, panels
from web.palette import OKABE_ITO

PANEL_PX = 340
NOTHING = "No matrix has timings of both ellr/thread and pellr/thread."

EQUATION, STEPS, PAPER = "equation (1)", "resident warps and sectors", "equation (1), times of the paper"
LOOKS = {EQUATION: (0, "circle", 0.5), STEPS: (5, "diamond-open", 1.5), PAPER: (2, "star", 0.5)}
"""Kind of point → its index in the palette, its symbol, and its outline."""

ITERATIONS: Mapping[str, tuple[int, int]] = {"lnsp3937": (1341, 803), "memplus": (9021, 4374), "bcsstk24": (5484, 5018)}
"""n_iter in ELLR and in PELLR of the files of matrices whose ratio of times the paper prints."""

PRINTED = SPEEDUPS["ELLR"]
"""Matrix → speedup of PELLR over ELLR in Figure 6 of the paper."""

P600 = "Quadro P600"
"""GPU of the paper."""

ODD = ("lnsp3937", "memplus")
"""Matrices that the paper calls special."""


@dataclass(frozen=True, slots=True)
class Panel:
    """The matrices on one device in one cache state.

    equation, steps  correlation of the logarithms of predicted and measured speedups; None: too few matrices
    """

    place: Place
    forecasts: tuple[Forecast, ...]
    equation: float | None
    steps: float | None


def info(data: StudyData) -> Panels[Panel]:
    """Return the forecasts and their correlations, a panel per device and cache state."""
    return Panels(
        tuple(
            Panel(place, forecasts_of_place, *correlations(forecasts_of_place))
            for place, forecasts_of_place in forecasts(data).items()
        )
    )


def draw(info: Panels[Panel]) -> go.Figure:
    """Return measured over predicted speedup, both log, two points per matrix, and the line where they are equal."""
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
    figure.update_xaxes(
        title_text="predicted speedup of PELLR over ELLR", title_standoff=4, row=len(info.panels), col=1
    )
    return figure


def table(info: Panels[Panel]) -> Table:
    """Return a row per matrix: n_iter in both formats, both predictions, and the measured speedup."""
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
    """Return how well both models agree with the measurements, and with the times that the paper prints."""
    if not info.panels:
        return NOTHING
    what = "Speedup of pellr/thread over ellr/thread: measured, predicted by n_iter, and predicted by steps."
    steps = "Steps: those of the longest row, plus all others divided by the resident warps, with sectors of x counted."
    ratios = "; ".join(f"{name} predicted {number(_predicted(name))}, shown {PRINTED[name].low}" for name in ODD)
    paper = f"Equation (1) does not explain Figure 6 of the paper either: {ratios}."
    return caption(what, map(_agreement, info.panels), (steps, *map(_by_residency, info.panels), paper))


def _agreement(panel: Panel) -> str:
    busy = sum(each.busy for each in panel.forecasts)
    over = left_out(len(panel.forecasts) - busy, busy)
    if panel.equation is None:
        return f"On {place_in_words(panel.place)}, there are too few matrices for a correlation."
    steps = f" and {number(panel.steps, 2)} for the steps" if panel.steps is not None else ""
    equation = f"{number(panel.equation, 2)} for equation (1)"
    return f"On {place_in_words(panel.place)}, {over}. The logarithms correlate by {equation}{steps}."


def _by_residency(panel: Panel) -> str:
    """Return the mean speedups of matrices whose warps run at once, and of the others; empty for an unknown GPU."""
    groups = {
        "whose warps the GPU can run at once": mean_speedups(panel.forecasts, True),
        "with more warps": mean_speedups(panel.forecasts, False),
    }
    texts = [
        f"On the {means.matrices} {which}, equation (1) predicts {ratio(means.iterations)}, and "
        f"{ratio(means.measured)} is measured."
        for which, means in groups.items()
        if means
    ]
    return f"Geometric means, {place_in_words(panel.place)}. {' '.join(texts)}" if texts else ""


def _predicted(name: str) -> float:
    ellr, pellr = ITERATIONS[name]
    return ellr / pellr


def _points(panel: Panel) -> dict[str, list[markers.Mark]]:
    """Return (predicted, measured) by the names of LOOKS."""
    return {
        EQUATION: [(each.iterations, each.measured, _hover(each), *each.measurements) for each in panel.forecasts],
        STEPS: [
            (each.steps, each.measured, _hover(each), *each.measurements) for each in panel.forecasts if each.steps
        ],
        PAPER: [
            (_predicted(name), float(PRINTED[name].low), markers.hover(name, " in Figure 6 of the paper", P600))
            for name in ITERATIONS
        ],
    }


def _markers(name: str, points: Sequence[markers.Mark], legend: Legend) -> go.Scatter:
    color, symbol, outline = LOOKS[name]
    return markers.points(
        points,
        markers.point(OKABE_ITO[color], symbol, 9, outline),
        **legend.entry(name),
        meta={"role": "unsettled" if symbol.endswith("open") else "point"},
    )


def _equality(*axes: LogAxis) -> go.Scatter:
    """Return the line of equal values within both axes."""
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
    return markers.hover(each.matrix.name, "", predicted, f"measured {ratio(each.measured)}{interval}")
