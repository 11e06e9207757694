"""Comparison of devices: the same matrices on several devices, and the speedup next to the ratio of bandwidths.

Kernels are ranked on each device separately; the fastest of each is shown.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean, geometric_mean

import plotly.graph_objects as go

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.finding import INTERVAL, interval_text, with_intervals
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from web.figures import markers
from web.figures.base import blank, caption, escape, log_axis
from web.figures.formats.groups import by_place, left_out, quiet, rate_of
from web.figures.panels import DOT, Legend, Panels, panels
from web.palette import OKABE_ITO, SYMBOLS

RATE_PX, GAIN_PX = 260, 200
DEVICES_MIN = 2
NOTHING = "No matrix has usable timings on two devices."


@dataclass(frozen=True, slots=True)
class Point:
    """A matrix with the fastest kernel of each device; slowest: the device that is the base of all ratios."""

    matrix: MatrixFeatures
    fastest: Mapping[str, Measurement]
    slowest: str

    def gain(self, device: str) -> float | None:
        """Return the speedup over the slowest device; None if either has no time."""
        pair = self.pair(device)
        return (pair[0].median_s or 0.0) / (pair[1].median_s or 1.0) if pair else None

    def interval(self, device: str) -> tuple[float, float]:
        """Return the ends of the interval of the speedup."""
        return markers.ratio_interval(*self.pair(device) or (self.fastest[device],) * 2)

    def bandwidth(self, device: str) -> float | None:
        """Return the ratio of the measured bandwidths at this size, from the rooflines of both."""
        rooflines = [m.roofline_s for m in self.pair(device)]
        return rooflines[0] / rooflines[1] if rooflines and rooflines[0] and rooflines[1] else None

    def pair(self, device: str) -> tuple[Measurement, ...]:
        """Return the fastest measurements of the slowest device and of this one; empty if one has no time."""
        pair = self.fastest.get(self.slowest), self.fastest.get(device)
        return tuple(m for m in pair if m) if all(pair) else ()


@dataclass(frozen=True, slots=True)
class Panel:
    """The matrices in one cache state by ascending nnz, and the devices, the slowest first."""

    cache: str
    devices: tuple[str, ...]
    points: tuple[Point, ...]

    @property
    def others(self) -> tuple[str, ...]:
        """Return all devices except the slowest."""
        return self.devices[1:]


def info(data: StudyData) -> Panels[Panel]:
    """Return the matrices that have usable timings on at least two devices, by cache state."""
    caches: dict[str, dict[str, dict[str, Measurement]]] = {}
    for (device, cache), groups in by_place(data.measurements).items():
        for matrix_id, group in quiet(groups).items():
            caches.setdefault(cache, {}).setdefault(matrix_id, {})[device] = group[0]
    shared = {
        cache: {matrix_id: fastest for matrix_id, fastest in of_cache.items() if len(fastest) >= DEVICES_MIN}
        for cache, of_cache in caches.items()
    }
    return Panels(tuple(_panel(cache, matrices, data) for cache, matrices in shared.items() if matrices))


def draw(info: Panels[Panel]) -> go.Figure:
    """Return GFLOP/s of each device over nnz; below, speedups over the slowest device and ratios of bandwidths."""
    if not info.panels:
        return blank(NOTHING)
    titles = [title for panel in info.panels for title in _titles(panel)]
    devices = tuple(dict.fromkeys(device for panel in info.panels for device in panel.devices))
    figure = panels(titles, [RATE_PX, GAIN_PX] * len(info.panels), len(devices) + 1)
    legend = Legend()
    for number, panel in enumerate(info.panels):
        row = 2 * number + 1
        for device in panel.devices:
            look = _look(devices.index(device))
            figure.add_trace(_rates(panel, device, look, legend), row=row, col=1)
            if device in panel.others:
                figure.add_trace(_bandwidths(panel, device, look[0], legend), row=row + 1, col=1)
                figure.add_trace(_gains(panel, device, look, legend), row=row + 1, col=1)
        rates = [end for p in panel.points for m in p.fastest.values() for end in rate_of(m).interval]
        gains = [gain for p in panel.points for d in panel.others for gain in (p.gain(d), p.bandwidth(d)) if gain]
        figure.update_yaxes(**log_axis(rates).settings, title_text="GFLOP/s", row=row)
        figure.update_yaxes(**log_axis(gains).settings, title_text="speedup", row=row + 1)
    figure.update_xaxes(**log_axis([p.matrix.nnz for panel in info.panels for p in panel.points]).settings)
    return figure.update_xaxes(title_text="nnz", title_standoff=4, row=2 * len(info.panels), col=1)


def table(info: Panels[Panel]) -> Table:
    """Return a row per matrix and device, by ascending nnz."""
    heads = (
        *(Head(text, numeric=False) for text in ("matrix", "device", "cache")),
        Head("nnz"),
        Head("fastest kernel", numeric=False),
        *(Head(text) for text in ("time", INTERVAL)),
        Head("throughput", "GFLOP/s"),
        Head("speedup", "vs slowest"),
        Head("bandwidth", "vs slowest"),
    )
    rows = [
        (point.matrix.name, device, panel.cache, units.count(point.matrix.nnz), *_cells(point, device))
        for panel in info.panels
        for point in panel.points
        for device in panel.devices
        if device in point.fastest
    ]
    every = (m for panel in info.panels for point in panel.points for m in point.fastest.values())
    return with_intervals(Table(heads, tuple(rows)), every)


def summary(info: Panels[Panel]) -> str:
    """Return the speedup of each device over the slowest, and the ratio of their bandwidths."""
    if not info.panels:
        return NOTHING
    return caption(
        "Fastest kernel of each device on each matrix. Below: speedup over the slowest device. "
        "Dotted: ratio of the measured bandwidths at that size.",
        (_gain_text(panel, device) for panel in info.panels for device in panel.others),
        (
            "Each device has its own ranking. There is no verdict between devices, because their rounds are not "
            "interleaved.",
        ),
    )


def _panel(cache: str, matrices: Mapping[str, Mapping[str, Measurement]], data: StudyData) -> Panel:
    names = dict.fromkeys(device for fastest in matrices.values() for device in fastest)
    means = {
        device: _mean_log_rate(fastest[device] for fastest in matrices.values() if device in fastest)
        for device in names
    }
    devices = tuple(sorted(names, key=lambda device: means[device]))
    points = [Point(data.matrix(matrix_id), fastest, devices[0]) for matrix_id, fastest in matrices.items()]
    return Panel(cache, devices, tuple(sorted(points, key=lambda point: (point.matrix.nnz, point.matrix.name))))


def _mean_log_rate(measurements: Iterable[Measurement]) -> float:
    return fmean(math.log(m.gflops or 1.0) for m in measurements)


def _titles(panel: Panel) -> tuple[str, str]:
    devices = ", ".join(panel.devices)
    return f"{panel.cache}{DOT}{escape(devices)}", f"{panel.cache}{DOT}over {escape(panel.devices[0])}"


def _look(index: int) -> tuple[str, str]:
    return OKABE_ITO[index % len(OKABE_ITO)], SYMBOLS[index % len(SYMBOLS)]


def _rates(panel: Panel, device: str, look: tuple[str, str], legend: Legend) -> go.Scatter:
    points = [point for point in panel.points if device in point.fastest]
    rates = [rate_of(point.fastest[device]) for point in points]
    return markers.points(
        [
            (p.matrix.nnz, rate.value, _hover(p, device), rate.measurement)
            for p, rate in zip(points, rates, strict=True)
        ],
        markers.point(*look, 8),
        **legend.entry(escape(device)),
        error_y=markers.intervals([rate.value for rate in rates], [rate.interval for rate in rates], width=0),
        meta={"role": "point"},
    )


def _gains(panel: Panel, device: str, look: tuple[str, str], legend: Legend) -> go.Scatter:
    points_with_gain = [(point, gain) for point in panel.points if (gain := point.gain(device))]
    ends = [point.interval(device) for point, _ in points_with_gain]
    return markers.points(
        [(point.matrix.nnz, gain, _hover(point, device), *point.pair(device)) for point, gain in points_with_gain],
        markers.point(*look, 8),
        **legend.entry(escape(device)),
        error_y=markers.intervals([gain for _, gain in points_with_gain], ends, width=0),
        meta={"role": "point"},
    )


def _bandwidths(panel: Panel, device: str, color: str, legend: Legend) -> go.Scatter:
    ratios = [(point.matrix.nnz, value) for point in panel.points if (value := point.bandwidth(device))]
    return go.Scatter(
        x=[nnz for nnz, _ in ratios],
        y=[value for _, value in ratios],
        mode="lines",
        line={"color": color, "dash": "dot", "width": 2},
        hoverinfo="skip",
        **legend.entry("ratio of bandwidths"),
        meta={"role": "profile"},
    )


def _cells(point: Point, device: str) -> tuple[str, ...]:
    m = point.fastest[device]
    return (
        m.kernel,
        units.seconds(m.median_s),
        interval_text(m),
        units.number(m.gflops),
        *(units.ratio(value(device) if device != point.slowest else None) for value in (point.gain, point.bandwidth)),
    )


def _gain_text(panel: Panel, device: str) -> str:
    gains, by_bytes = (
        [quotient for point in panel.points if (quotient := value(point, device))]
        for value in (Point.gain, Point.bandwidth)
    )
    if not gains:
        return f"{device} and {panel.devices[0]} have no matrix in common ({panel.cache})."
    mean, low, high = map(units.ratio, (geometric_mean(gains), min(gains), max(gains)))
    bandwidth = f"; bandwidth {units.ratio(geometric_mean(by_bytes))} as high" if by_bytes else ""
    return (
        f"{device} vs {panel.devices[0]}, {panel.cache}: geometric-mean speedup {mean} over {left_out(len(gains), 0)} "
        f"({low} to {high}){bandwidth}."
    )


def _hover(point: Point, device: str) -> str:
    m, gain = point.fastest[device], point.gain(device)
    against = f"speedup {units.ratio(gain)} vs {point.slowest}" if gain and device != point.slowest else ""
    lines = (f"{point.matrix.name}, {units.count(point.matrix.nnz)} nonzeros", m.kernel, against)
    return markers.hover(device, f" {units.gflops(m.gflops)}", *filter(None, lines))
