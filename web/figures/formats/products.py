"""Which kernel for n products: conversion and order paid once, and n times the product."""

from collections.abc import Mapping
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.tables import Head, Table
from gpu_engine.findings.units import count, percent, ratio
from gpu_engine.records import Measurement
from web.figures import marks
from web.figures.base import blank, caption, escape
from web.figures.formats.groups import (
    FACTOR_MAX,
    NO_QUIET,
    NO_RESULTS,
    Groups,
    Panels,
    Place,
    busy,
    by_place,
    left_out,
    mean_factor,
    place_in_words,
    quiet,
)
from web.palette import style

ROW_PX, ROWS_MAX, SLIDER_PX = 22, 12, 96
PRODUCTS = (1, 10, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 100_000, 1_000_000)
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
    """

    place: Place
    matrices: int
    busy: int
    choices: Mapping[str, tuple[Choice, ...]]
    formats: Mapping[str, str]

    def chosen(self, number: int) -> str:
        """The kernel to choose for that of PRODUCTS."""
        return min(self.choices, key=lambda kernel: (self.choices[kernel][number].mean, kernel))


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
    chosen = [panel.chosen(number) for number in range(len(PRODUCTS))]
    begins = [i for i, kernel in enumerate(chosen) if not i or kernel != chosen[i - 1]]
    choices = "; ".join(f"{chosen[i]} from {count(PRODUCTS[i])} on" for i in begins)
    choices = choices if len(begins) > 1 else f"{chosen[0]} for any number"
    over = "" if panel.matrices + panel.busy == 1 else f", over {left_out(panel.matrices, panel.busy)}"
    return f"On {place_in_words(panel.place)}{over}: {choices}."


def time_to(m: Measurement, products: int) -> float | None:
    """Seconds of the conversion, of finding the order, and of so many products; None where one is not known."""
    if not m.median_s or m.details.convert_s is None:
        return None
    once: float = m.details.convert_s + (m.details.order_s or 0.0)
    return once + products * m.median_s


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
    ordered = sorted(choices, key=lambda kernel: (min(each.mean for each in choices[kernel]), kernel))
    return Panel(place, len(matrices), busy(groups), {kernel: choices[kernel] for kernel in ordered}, formats)


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
