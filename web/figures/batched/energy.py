"""GFLOP/s per watt and energy per SpMV by kernel, over uniform and mixed batches; outlook of the batched SpMV paper."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.batched.energy import BatchEnergy, EnergySetting, KernelEnergy, energies, sentences
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import INTERVAL
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from web.figures import markers
from web.figures.base import blank, caption, escape, log_axis
from web.figures.batched.markers import kernel_points, marker, rows_axis
from web.figures.panels import DOT, Legend, panels

ROW_PX = 24
PANELS_MAX = 6
MICRO = 1e-6

NO_ENERGY = "No energy was measured. A GPU with an energy counter and an energy_s above 0 are needed."

MEAN = "geometric mean"
"""Legend entry of the means."""


@dataclass(frozen=True, slots=True)
class Energies:
    """The settings with an energy: uniform batches of the paper's matrices, mixed ones, other ones."""

    settings: tuple[EnergySetting, ...]


def info(data: StudyData) -> Energies:
    """Return the energies of the batches of the selected size, or of the largest with an energy."""
    return Energies(energies(data))


def draw(info: Energies) -> go.Figure:
    """Return a row per kernel, a point per batch, and a mark for the mean: GFLOP/s per watt left, energy right."""
    settings = info.settings[:PANELS_MAX]
    if not settings:
        return blank(NO_ENERGY)
    titles = [part for setting in settings for part in (_title(setting), "")]
    heights = [max(3, len(setting.kernels)) * ROW_PX for setting in settings]
    figure = panels(titles, heights, 2, columns=2)
    legend = Legend()
    for row, setting in enumerate(settings, start=1):
        for kernel in setting.kernels:
            figure.add_traces(_points(kernel), rows=row, cols=[1, 2])
        figure.add_traces(_means(setting.kernels, legend), rows=row, cols=[1, 2])
        names = [escape(kernel.kernel) for kernel in setting.kernels]
        figure.update_yaxes(type="category", **rows_axis(names), ticklabelstandoff=4, row=row)
        joules = [batch.joules / MICRO for kernel in setting.kernels for batch in kernel.batches]
        figure.update_xaxes(rangemode="tozero", nticks=4, row=row, col=1)
        figure.update_xaxes(**log_axis(joules).settings, row=row, col=2)
    for column, title in enumerate(("GFLOP/s per watt", "µJ per SpMV of one matrix"), start=1):
        figure.update_xaxes(title_text=title, title_standoff=4, row=len(settings), col=column)
    return figure


def table(info: Energies) -> Table:
    """Return a row per setting and kernel, the highest GFLOP/s per watt first."""
    heads = (
        *(Head(text, numeric=False) for text in ("batches", "device", "cache", "kernel")),
        Head("batches", "with energy"),
        Head("throughput", "GFLOP/s per watt"),
        Head(INTERVAL),
        Head("energy", "per SpMV of one matrix"),
        Head("power", "W"),
        Head("least energy", numeric=False),
        Head("fastest", numeric=False),
    )
    rows = [
        (setting.kind, setting.device, setting.cache, *_cells(kernel, setting))
        for setting in info.settings
        for kernel in setting.kernels
    ]
    return Table(heads, tuple(rows)).without_empty(INTERVAL)


def summary(info: Energies) -> str:
    """Return which kernels need the least energy, and whether they are the fastest."""
    if not info.settings:
        return NO_ENERGY
    text = "Throughput per watt and energy per SpMV, a point per batch, with idle power included."
    if len(info.settings) > PANELS_MAX:
        text += f" Showing the first {PANELS_MAX} of {len(info.settings)}; the table has all."
    more = (
        "Kernels count as equal if the 95\u202f% CI of their mean ratio includes 1. "
        "Energy counters of GPUs are updated only about every 0.1 s, so the values of single batches scatter."
    )
    return caption(text, [" ".join(sentences(setting)) for setting in info.settings], (more,))


def _title(setting: EnergySetting) -> str:
    return DOT.join((setting.kind, setting.device, setting.cache))


def _points(kernel: KernelEnergy) -> list[go.Scatter]:
    looks = {**marker(kernel.kernel, 6), "opacity": 0.5}
    label = escape(kernel.kernel)
    return [
        kernel_points(
            kernel.kernel,
            [(value, label, _hover(kernel.kernel, batch), batch.measurement) for value, batch in values],
            looks,
            name=label,
            showlegend=False,
        )
        for values in (
            [(batch.per_watt, batch) for batch in kernel.batches],
            [(batch.joules / MICRO, batch) for batch in kernel.batches],
        )
    ]


def _means(kernels: Sequence[KernelEnergy], legend: Legend) -> list[go.Scatter]:
    counting = [kernel for kernel in kernels if kernel.quiet]
    return [
        markers.points(
            [(value, escape(kernel.kernel), _mean_hover(kernel)) for value, kernel in values],
            {"symbol": "line-ns", "size": 14, "line": {"width": 3}},
            **legend.entry(MEAN),
            meta={"role": "floor"},
        )
        for values in (
            [(kernel.per_watt, kernel) for kernel in counting],
            [((kernel.joules or 0.0) / MICRO, kernel) for kernel in counting],
        )
    ]


def _hover(kernel: str, batch: BatchEnergy) -> str:
    return markers.hover(
        kernel,
        f" on {batch.name}, batch size {units.count(batch.batch_size)}",
        f"{units.number(batch.per_watt)} GFLOP/s per watt",
        f"{units.energy(batch.joules)} per SpMV of one matrix",
        units.gflops(batch.measurement.gflops),
    )


def _mean_hover(kernel: KernelEnergy) -> str:
    means = f"{units.number(kernel.per_watt)} GFLOP/s per watt", f"{units.energy(kernel.joules)} per SpMV of one matrix"
    return markers.hover(kernel.kernel, f", {MEAN} over {len(kernel.quiet)} batches", *means)


def _cells(kernel: KernelEnergy, setting: EnergySetting) -> tuple[str, ...]:
    """Return the cells after the cache state; a setting without a verdict has no `yes`."""
    least = setting.least if setting.least and setting.least.decided else None
    ends = kernel.interval
    return (
        kernel.kernel,
        units.count(len(kernel.quiet)),
        units.number(kernel.per_watt),
        f"{units.number(ends[0])} – {units.number(ends[1])}" if ends else units.MISSING,
        units.energy(kernel.joules),
        units.number(kernel.watts),
        "yes" if least and kernel.kernel in least.energy else "",
        "yes" if least and kernel.kernel in least.fastest else "",
    )
