"""Best kernel for n SpMVs: conversion and reordering once, and n times the SpMV."""

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
from web.figures import markers
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
"""Decimals of a mean logarithm: values that differ only beyond them are equal, and the first name is chosen."""
SLIDER_START = PRODUCTS.index(1_000)
"""Index in PRODUCTS at which the slider starts: the iterations of a solver."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A kernel for a number of SpMVs, over all matrices.

    mean  geometric mean of its slowdowns against the best kernel of each matrix, each counted up to FACTOR_MAX
    best  number of matrices on which it is the best
    """

    mean: float
    best: int


@dataclass(frozen=True, slots=True)
class Panel:
    """The kernels on one device in one cache state, those that ever come closest to the best first.

    busy     how many matrices have only timings that are too noisy
    choices  by kernel, one for each of PRODUCTS; formats: by kernel
    steps    (n, kernel): the best kernel from n SpMVs on, n exact and ascending from 1
    """

    place: Place
    matrices: int
    busy: int
    choices: Mapping[str, tuple[Choice, ...]]
    formats: Mapping[str, str]
    steps: tuple[tuple[int, str], ...]

    def chosen(self, number: int) -> str:
        """Return the best kernel for PRODUCTS[number] SpMVs."""
        return next(kernel for n, kernel in reversed(self.steps) if n <= PRODUCTS[number])


def info(data: StudyData) -> Panels[Panel]:
    """Return the kernels whose conversion time is known; csr without reordering needs no conversion."""
    every = (_panel(place, groups) for place, groups in by_place(data.measurements).items())
    return Panels(tuple(panel for panel in every if panel.matrices))


def draw(info: Panels[Panel]) -> go.Figure:
    """Return the slowdown for n SpMVs, a row per kernel, under a slider of n."""
    if not info.panels:
        return blank(NO_RESULTS)
    visible_kernels = [list(panel.choices)[:ROWS_MAX] for panel in info.panels]
    titles = [_title(panel, SLIDER_START) for panel in info.panels]
    figure = markers.bar_panels(
        titles, [list(map(escape, kernels)) for kernels in visible_kernels], 0, "overlay", ROW_PX
    )
    for row, (panel, kernels) in enumerate(zip(info.panels, visible_kernels, strict=True), start=1):
        colors = [style(panel.formats[kernel]).color for kernel in kernels]
        trace = markers.bars(
            [(x, escape(kernel), text) for x, kernel, text in _bars(panel, kernels, SLIDER_START)],
            markers.fill(colors, ""),
            showlegend=False,
        )
        figure.add_trace(trace, row=row, col=1)
    figure.update_xaxes(range=[0, FACTOR_MAX])
    figure.update_xaxes(title_text="slowdown", title_standoff=4, row=len(info.panels), col=1)
    margin = figure.layout.margin.b + SLIDER_PX
    figure.update_layout(
        height=figure.layout.height + SLIDER_PX, margin_b=margin, sliders=[_slider(info, visible_kernels)]
    )
    return figure


def table(info: Panels[Panel]) -> Table:
    """Return a row per kernel and a column per n: the mean slowdown, and on how many matrices it is the best."""
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
    return Table((*heads, *(Head(f"n = {count(n)}", "slowdown (best on)") for n in PRODUCTS)), tuple(rows))


def summary(info: Panels[Panel]) -> str:
    """Return which kernel is the best for which n."""
    if not info.panels:
        return NO_QUIET
    lone = all(panel.matrices == 1 for panel in info.panels)
    mean = "" if lone else ", geometric mean over the matrices"
    what = f"Slowdown of conversion plus n SpMVs against the best kernel{mean}. Move the slider to your n."
    more = "The conversion from CSR includes the reordering of the kernel, if any. A kernel without a timing counts as "
    return caption(what, map(_choices, info.panels), (f"{more}{FACTOR_MAX:g}×.",))


def _choices(panel: Panel) -> str:
    steps = panel.steps
    choices = "; ".join(f"{kernel} from n = {count(n)}" for n, kernel in steps)
    choices = choices if len(steps) > 1 else f"{steps[0][1]} for any n"
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
        kernel: tuple(Choice(mean_factor(each), sum(factor == 1.0 for factor in each)) for each in factors_by_n)
        for kernel, factors_by_n in factors.items()
    }
    steps = _steps(matrices)
    ordered = sorted(choices, key=lambda kernel: (min(each.mean for each in choices[kernel]), kernel))
    return Panel(place, len(matrices), busy(groups), {kernel: choices[kernel] for kernel in ordered}, formats, steps)


def _steps(matrices: Sequence[Sequence[Measurement]]) -> tuple[tuple[int, str], ...]:
    """Return the best kernels with the n from which they are: by break-even on one matrix, by means on several."""
    if len(matrices) < 2:
        return tuple((n, m.kernel) for group in matrices for n, m in crossovers(group))
    kernels = sorted({m.kernel for group in matrices for m in group})
    columns = {kernel: number for number, kernel in enumerate(kernels)}
    once, each = (np.full((len(matrices), len(kernels)), np.inf) for _ in range(2))
    for row, group in enumerate(matrices):
        for m in group:
            once[row, columns[m.kernel]], each[row, columns[m.kernel]] = once_s(m), m.median_s

    def best(n: int) -> str:
        times = once + n * each
        factors = np.minimum(times / times.min(axis=1, keepdims=True), FACTOR_MAX)
        return kernels[int(np.argmin(np.log(factors).mean(axis=0).round(ROUNDED)))]

    steps = [(PRODUCTS[0], best(PRODUCTS[0]))]
    for low, high in pairwise(PRODUCTS):
        steps += _changes(best, low, high)
    return tuple(steps)


def _changes(best: Callable[[int], str], low: int, high: int) -> list[tuple[int, str]]:
    """Return the n in (low, high] at which the best kernel changes, by bisection, which can miss a double change."""
    if best(low) == best(high):
        return []
    if high - low == 1:
        return [(high, best(high))]
    middle = (low + high) // 2
    return _changes(best, low, middle) + _changes(best, middle, high)


def _bars(panel: Panel, kernels: list[str], number: int) -> list[tuple[float, str, str]]:
    """Return (length, kernel, hover text) for PRODUCTS[number] SpMVs."""
    choices = [(kernel, panel.choices[kernel][number]) for kernel in kernels]
    what = f"for {count(PRODUCTS[number])} SpMVs"
    return [
        (
            each.mean,
            kernel,
            markers.hover(kernel, f" {what}", f"slowdown {ratio(each.mean)}", f"best on {each.best} matrices"),
        )
        for kernel, each in choices
    ]


def _title(panel: Panel, number: int) -> str:
    chosen = escape(panel.chosen(number))
    return f"{count(PRODUCTS[number])} SpMVs: <b>{chosen}</b> · {place_in_words(panel.place)}"


def _slider(info: Panels[Panel], visible_kernels: list[list[str]]) -> dict[str, object]:
    steps = []
    for number, n in enumerate(PRODUCTS):
        bars = [_bars(panel, kernels, number) for panel, kernels in zip(info.panels, visible_kernels, strict=True)]
        change = {
            "x": [[x for x, _, _ in rows] for rows in bars],
            "hovertext": [[t for _, _, t in rows] for rows in bars],
        }
        titles = {f"annotations[{row}].text": _title(panel, number) for row, panel in enumerate(info.panels)}
        steps.append({"method": "update", "args": [change, titles], "label": count(n)})
    prefix = {"prefix": "SpMVs: ", "xanchor": "left", "visible": True}
    return {
        "active": SLIDER_START,
        "steps": steps,
        "currentvalue": prefix,
        "pad": {"t": 56, "b": 8},
        "x": 0,
        "len": 0.95,
    }
