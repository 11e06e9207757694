"""Which kernel for n products: conversion and order paid once, and n times the product."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.formats.groups import crossovers, once_s, time_to
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import count, percent, ratio
from web.figures import marks
from web.figures.base import blank, caption, escape
from web.figures.formats.groups import (
    FACTOR_MAX,
    NO_QUIET,
    NO_RESULTS,
    Groups,
    Place,
    busy,
    by_place,
    left_out,
    mean_factor,
    place_in_words,
    quiet,
)
from web.figures.panels import Panels
from web.palette import style

ROW_PX, ROWS_MAX, SLIDER_PX = 22, 12, 96
PRODUCTS = (1, 10, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 100_000, 1_000_000)
ROUNDED = 12
"""Decimals of a mean logarithm: what differs behind them is equal, and the first name is taken."""
SHOWN = PRODUCTS.index(1_000)
"""The place in PRODUCTS that the slider begins at: the iterations of a solver."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A kernel for so many products, over all matrices.

    mean  geometric mean of its time to n products over the least of the matrix, none counted more than FACTOR_MAX
    best  on how many matrices it is the least
    """

    mean: float
    best: int


@dataclass(frozen=True, slots=True)
class Panel:
    """The kernels on one device in one cache state, those that are ever near the least first.

    busy     how many matrices more have times that are not plausible
    choices  by kernel, one for each of PRODUCTS; formats: by kernel
    steps    (n, kernel): which kernel to choose from n products on, n exact and ascending from 1
    """

    place: Place
    matrices: int
    busy: int
    choices: Mapping[str, tuple[Choice, ...]]
    formats: Mapping[str, str]
    steps: tuple[tuple[int, str], ...]

    def chosen(self, number: int) -> str:
        """The kernel to choose for that of PRODUCTS."""
        return next(kernel for n, kernel in reversed(self.steps) if n <= PRODUCTS[number])


def info(data: StudyData) -> Panels[Panel]:
    """The kernels whose conversion is known; csr as the matrix comes converts nothing."""
    found = (_panel(place, groups) for place, groups in by_place(data.measurements).items())
    return Panels(tuple(panel for panel in found if panel.matrices))


def draw(info: Panels[Panel]) -> go.Figure:
    """Time to n products over the least, a row a kernel, under a slider of n."""
    if not info.panels:
        return blank(NO_RESULTS)
    drawn = [list(panel.choices)[:ROWS_MAX] for panel in info.panels]
    titles = [_title(panel, SHOWN) for panel in info.panels]
    figure = marks.bar_panels(titles, [list(map(escape, kernels)) for kernels in drawn], 0, "overlay", ROW_PX)
    for row, (panel, kernels) in enumerate(zip(info.panels, drawn, strict=True), start=1):
        colors = [style(panel.formats[kernel]).color for kernel in kernels]
        trace = marks.bars(
            [(x, escape(kernel), text) for x, kernel, text in _bars(panel, kernels, SHOWN)],
            marks.fill(colors, ""),
            showlegend=False,
        )
        figure.add_trace(trace, row=row, col=1)
    figure.update_xaxes(range=[0, FACTOR_MAX])
    figure.update_xaxes(title_text="time over the least", title_standoff=4, row=len(info.panels), col=1)
    margin = figure.layout.margin.b + SLIDER_PX
    figure.update_layout(height=figure.layout.height + SLIDER_PX, margin_b=margin, sliders=[_slider(info, drawn)])
    return figure


def table(info: Panels[Panel]) -> Table:
    """A row a kernel, a column a number of products: the mean over the least, and on how many it is the least."""
    heads = (*(Head(text, numeric=False) for text in ("kernel", "device", "cache")), Head("matrices"))
    rows = [
        (
            kernel,
            *panel.place,
            str(panel.matrices),
            *(f"{ratio(each.mean)} ({percent(each.best / panel.matrices)})" for each in choices),
        )
        for panel in info.panels
        for kernel, choices in panel.choices.items()
    ]
    return Table((*heads, *(Head(f"n = {count(n)}", "over least (best on)") for n in PRODUCTS)), tuple(rows))


def summary(info: Panels[Panel]) -> str:
    """Which kernel to choose for how many products."""
    if not info.panels:
        return NO_QUIET
    lone = all(panel.matrices == 1 for panel in info.panels)
    mean = "" if lone else " of each matrix, in the geometric mean"
    what = f"Conversion and n products over the least{mean}: move the slider to your n."
    more = "Conversion is from CSR, and finds an order where the kernel has one; what has no time counts as "
    return caption(what, map(_choices, info.panels), (f"{more}{FACTOR_MAX:g}.",))


def _choices(panel: Panel) -> str:
    steps = panel.steps
    choices = "; ".join(f"{kernel} from {count(n)} on" for n, kernel in steps)
    choices = choices if len(steps) > 1 else f"{steps[0][1]} for any number"
    over = "" if panel.matrices + panel.busy == 1 else f", over {left_out(panel.matrices, panel.busy)}"
    return f"On {place_in_words(panel.place)}{over}: {choices}."


def _panel(place: Place, groups: Groups) -> Panel:
    known = [[m for m in group if time_to(m, 1) is not None] for group in quiet(groups).values()]
    matrices = [group for group in known if group]
    formats = {m.kernel: m.format for group in matrices for m in group}
    factors: dict[str, list[list[float]]] = {kernel: [[] for _ in PRODUCTS] for kernel in formats}
    for group in matrices:
        for number, n in enumerate(PRODUCTS):
            times = {m.kernel: time_to(m, n) or 0.0 for m in group}
            least = min(times.values())
            for kernel in formats:
                factors[kernel][number].append(times[kernel] / least if kernel in times else FACTOR_MAX)
    choices = {
        kernel: tuple(Choice(mean_factor(each), sum(factor == 1.0 for factor in each)) for each in own)
        for kernel, own in factors.items()
    }
    steps = _steps(matrices)
    ordered = sorted(choices, key=lambda kernel: (min(each.mean for each in choices[kernel]), kernel))
    return Panel(place, len(matrices), busy(groups), {kernel: choices[kernel] for kernel in ordered}, formats, steps)


def _steps(matrices: Sequence[Sequence[Measurement]]) -> tuple[tuple[int, str], ...]:
    """Which kernel to choose from which n on: of one matrix by the break-even, of several by the means."""
    if len(matrices) < 2:
        return tuple((n, m.kernel) for group in matrices for n, m in crossovers(group))
    kernels = sorted({m.kernel for group in matrices for m in group})
    columns = {kernel: number for number, kernel in enumerate(kernels)}
    once, each = (np.full((len(matrices), len(kernels)), np.inf) for _ in range(2))
    for row, group in enumerate(matrices):
        for m in group:
            once[row, columns[m.kernel]], each[row, columns[m.kernel]] = once_s(m), m.median_s

    def least(n: int) -> str:
        times = once + n * each
        factors = np.minimum(times / times.min(axis=1, keepdims=True), FACTOR_MAX)
        return kernels[int(np.argmin(np.log(factors).mean(axis=0).round(ROUNDED)))]

    steps = [(PRODUCTS[0], least(PRODUCTS[0]))]
    for low, high in pairwise(PRODUCTS):
        steps += _changes(least, low, high)
    return tuple(steps)


def _changes(least: Callable[[int], str], low: int, high: int) -> list[tuple[int, str]]:
    """The n in (low, high] at which the least changes, by bisection; two changes back and forth go unseen."""
    if least(low) == least(high):
        return []
    if high - low == 1:
        return [(high, least(high))]
    middle = (low + high) // 2
    return _changes(least, low, middle) + _changes(least, middle, high)


def _bars(panel: Panel, kernels: list[str], number: int) -> list[tuple[float, str, str]]:
    """(length, kernel, hover text) of a number of products."""
    own = [(kernel, panel.choices[kernel][number]) for kernel in kernels]
    what = f"for {count(PRODUCTS[number])} products"
    return [
        (each.mean, kernel, marks.hover(kernel, f" {what}", ratio(each.mean), f"the least on {each.best} matrices"))
        for kernel, each in own
    ]


def _title(panel: Panel, number: int) -> str:
    chosen = escape(panel.chosen(number))
    return f"{count(PRODUCTS[number])} products: <b>{chosen}</b> · {place_in_words(panel.place)}"


def _slider(info: Panels[Panel], drawn: list[list[str]]) -> dict[str, object]:
    steps = []
    for number, n in enumerate(PRODUCTS):
        bars = [_bars(panel, kernels, number) for panel, kernels in zip(info.panels, drawn, strict=True)]
        change = {"x": [[x for x, _, _ in own] for own in bars], "hovertext": [[t for _, _, t in own] for own in bars]}
        titles = {f"annotations[{row}].text": _title(panel, number) for row, panel in enumerate(info.panels)}
        steps.append({"method": "update", "args": [change, titles], "label": count(n)})
    prefix = {"prefix": "products: ", "xanchor": "left", "visible": True}
    return {"active": SHOWN, "steps": steps, "currentvalue": prefix, "pad": {"t": 56, "b": 8}, "x": 0, "len": 0.95}
