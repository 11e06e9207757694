"""What the figures of the study share: how kernels are drawn, and the words of their panels and tables."""

from collections.abc import Iterable, Sequence
from typing import Any

import plotly.graph_objects as go

from gpu_engine.records import Measurement
from web.batches import BatchGroup, name_of, share_of_floor
from web.figures.base import Head, escape, shorten
from web.figures.panels import Legend
from web.palette import batch_position, batch_style
from web.shown import Shown
from web.units import gflops, percent, seconds

NO_TIME = "No kernel has a time on such a batch here."
"""The summary where nothing was timed."""

PLACE = tuple(Head(text, numeric=False) for text in ("matrix", "device", "cache"))


def place(group: BatchGroup, shown: Shown) -> tuple[str, str, str]:
    """The cells under PLACE."""
    return name_of(group, shown), group.device, group.cache


def heading(group: BatchGroup, shown: Shown) -> str:
    """The title of a panel: matrix or mixture, device, cache."""
    return f"{escape(shorten(name_of(group, shown)))} · {group.device} · {group.cache}"


def kernels_of(groups: Iterable[BatchGroup]) -> list[str]:
    """The kernels with a time on any of them: ours in the order of the engine, then libraries."""
    return sorted({m.kernel for group in groups for m in group.timed}, key=batch_position)


def line(points: Sequence[tuple[float, Measurement]], legend: Legend, texts: Sequence[str]) -> go.Scatter:
    """A kernel over x, joined by a line; texts: what each point says of itself."""
    kernel = points[0][1].kernel
    look = batch_style(kernel)
    return go.Scatter(
        **legend.entry(escape(kernel)),
        x=[x for x, _ in points],
        y=[m.gflops for _, m in points],
        mode="lines+markers",
        line={"color": look.color, "dash": look.dash, "width": 1.5},
        marker=marker(kernel, 7),
        hovertext=texts,
        hoverinfo="text",
        meta={"role": "point", "kernel": kernel},
    )


def marker(kernel: str, size: int) -> dict[str, Any]:
    """The marker of a kernel."""
    look = batch_style(kernel)
    return {"color": look.color, "symbol": look.symbol, "size": size, "line": {"width": 0.5}}


def floor_line(points: Sequence[tuple[float, float]], legend: Legend) -> go.Scatter:
    """The rate, over x, of a product that takes as long as the floor."""
    return go.Scatter(
        **legend.entry("floor"),
        x=[x for x, _ in points],
        y=[rate for _, rate in points],
        mode="lines",
        line={"dash": "dot", "width": 1.5},
        hovertext=[f"floor: {gflops(value)}" for _, value in points],
        hoverinfo="text",
        meta={"role": "roof"},
    )


def hover(m: Measurement, of: str) -> str:
    """What a mark says of its kernel."""
    share = share_of_floor(m)
    floor = f", {percent(share)} of the floor" if share is not None else ""
    return f"<b>{escape(m.kernel)}</b> on {escape(of)}<br>{gflops(m.gflops)}{floor}<br>median {seconds(m.median_s)}"
