"""Systems: the same matrices on several devices, and what one gains over another beside what its bandwidth gives it.

Kernels are ranked on each device by themselves; of each the fastest is shown.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean, geometric_mean

import plotly.graph_objects as go

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.finding import INTERVAL, interval_text, with_interval_head
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from web.figures import marks
from web.figures.base import blank, caption, escape, log_axis
from web.figures.formats.groups import by_place, quiet, rate_of
from web.figures.panels import DOT, Legend, Panels, panels
from web.palette import OKABE_ITO, SYMBOLS

RATE_PX, GAIN_PX = 260, 200
DEVICES_MIN = 2
NOTHING = "No matrix here has plausible times on two devices."


@dataclass(frozen=True, slots=True)
class Point:
    """A matrix with the fastest kernel of each device; slowest: the device that the others are set against."""

    matrix: MatrixFeatures
    fastest: Mapping[str, Measurement]
    slowest: str

    def gain(self, device: str) -> float | None:
        """How many times as fast as the slowest device it is; None where one of both has no time."""
        pair = self.pair(device)
        return (pair[0].median_s or 0.0) / (pair[1].median_s or 1.0) if pair else None

    def interval(self, device: str) -> tuple[float, float]:
        """Of the gain."""
        return marks.ratio_interval(*self.pair(device) or (self.fastest[device],) * 2)

    def bandwidth(self, device: str) -> float | None:
        """The same of their floors: how many times its measured bandwidth is at this size."""
        floors = [m.roofline_s for m in self.pair(device)]
        return floors[0] / floors[1] if floors and floors[0] and floors[1] else None

    def pair(self, device: str) -> tuple[Measurement, ...]:
        """The fastest of the slowest device and of this one; empty where one has no time."""
        found = self.fastest.get(self.slowest), self.fastest.get(device)
        return tuple(m for m in found if m) if all(found) else ()


@dataclass(frozen=True, slots=True)
class Panel:
    """The matrices in one cache state by ascending nnz, and the devices, the slowest of them first."""

    cache: str
    devices: tuple[str, ...]
    points: tuple[Point, ...]

    @property
    def others(self) -> tuple[str, ...]:
        """All devices but the slowest."""
        return self.devices[1:]


def info(data: StudyData) -> Panels[Panel]:
    """The matrices that have plausible times on two devices or more, by cache state."""
    caches: dict[str, dict[str, dict[str, Measurement]]] = {}
    for (device, cache), groups in by_place(data.measurements).items():
        for matrix_id, group in quiet(groups).items():
            caches.setdefault(cache, {}).setdefault(matrix_id, {})[device] = group[0]
    shared = {
        cache: {matrix_id: own for matrix_id, own in of_cache.items() if len(own) >= DEVICES_MIN}
        for cache, of_cache in caches.items()
    }
    return Panels(tuple(_panel(cache, own, data) for cache, own in shared.items() if own))


def draw(info: Panels[Panel]) -> go.Figure:
    """GFLOP/s of each device over nnz; below it how many times as fast as the slowest, and as its bandwidth says."""
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
        figure.update_yaxes(**log_axis(gains).settings, title_text="times as fast", row=row + 1)
    figure.update_xaxes(**log_axis([p.matrix.nnz for panel in info.panels for p in panel.points]).settings)
    return figure.update_xaxes(title_text="nnz", title_standoff=4, row=2 * len(info.panels), col=1)


def table(info: Panels[Panel]) -> Table:
    """A row a matrix and device, by ascending nnz."""
    heads = (
        *(Head(text, numeric=False) for text in ("matrix", "device", "cache")),
        Head("nnz"),
        Head("fastest kernel", numeric=False),
        *(Head(text) for text in ("time", INTERVAL)),
        Head("rate", "GFLOP/s"),
        Head("times as fast", "as the slowest"),
        Head("times the bandwidth", "of the slowest"),
    )
    rows = [
        (point.matrix.name, device, panel.cache, units.count(point.matrix.nnz), *_cells(point, device))
        for panel in info.panels
        for point in panel.points
        for device in panel.devices
        if device in point.fastest
    ]
    every = (m for panel in info.panels for point in panel.points for m in point.fastest.values())
    return Table(with_interval_head(heads, every), tuple(rows))


def summary(info: Panels[Panel]) -> str:
    """What each device gains over the slowest, and what its bandwidth would give it."""
    if not info.panels:
        return NOTHING
    return caption(
        "The fastest kernel of each device on each matrix; below it how many times as fast as the slowest device, and "
        "dotted how many times its measured bandwidth is at that size.",
        (_gained(panel, device) for panel in info.panels for device in panel.others),
        (
            "Kernels are ranked on each device by themselves. Rounds of two devices are not interleaved, so that there "
            "is no verdict between them.",
        ),
    )


def _panel(cache: str, matrices: Mapping[str, Mapping[str, Measurement]], data: StudyData) -> Panel:
    names = dict.fromkeys(device for own in matrices.values() for device in own)
    means = {device: _mean_log_rate(own[device] for own in matrices.values() if device in own) for device in names}
    devices = tuple(sorted(names, key=lambda device: means[device]))
    points = [Point(data.matrix(matrix_id), own, devices[0]) for matrix_id, own in matrices.items()]
    return Panel(cache, devices, tuple(sorted(points, key=lambda point: (point.matrix.nnz, point.matrix.name))))


def _mean_log_rate(measurements: Iterable[Measurement]) -> float:
    return fmean(math.log(m.gflops or 1.0) for m in measurements)


def _titles(panel: Panel) -> tuple[str, str]:
    devices = ", ".join(panel.devices)
    return f"{panel.cache}{DOT}{escape(devices)}", f"{panel.cache}{DOT}over {escape(panel.devices[0])}"


def _look(place: int) -> tuple[str, str]:
    return OKABE_ITO[place % len(OKABE_ITO)], SYMBOLS[place % len(SYMBOLS)]


def _rates(panel: Panel, device: str, look: tuple[str, str], legend: Legend) -> go.Scatter:
    own = [point for point in panel.points if device in point.fastest]
    rates = [rate_of(point.fastest[device]) for point in own]
    return marks.points(
        [(p.matrix.nnz, rate.value, _hover(p, device), rate.measurement) for p, rate in zip(own, rates, strict=True)],
        marks.point(*look, 8),
        **legend.entry(escape(device)),
        error_y=marks.intervals([rate.value for rate in rates], [rate.interval for rate in rates], width=0),
        meta={"role": "point"},
    )


def _gains(panel: Panel, device: str, look: tuple[str, str], legend: Legend) -> go.Scatter:
    own = [(point, gain) for point in panel.points if (gain := point.gain(device))]
    ends = [point.interval(device) for point, _ in own]
    return marks.points(
        [(point.matrix.nnz, gain, _hover(point, device), *point.pair(device)) for point, gain in own],
        marks.point(*look, 8),
        **legend.entry(escape(device)),
        error_y=marks.intervals([gain for _, gain in own], ends, width=0),
        meta={"role": "point"},
    )


def _bandwidths(panel: Panel, device: str, color: str, legend: Legend) -> go.Scatter:
    own = [(point.matrix.nnz, value) for point in panel.points if (value := point.bandwidth(device))]
    return go.Scatter(
        x=[nnz for nnz, _ in own],
        y=[value for _, value in own],
        mode="lines",
        line={"color": color, "dash": "dot", "width": 2},
        hoverinfo="skip",
        **legend.entry("by bandwidth"),
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


def _gained(panel: Panel, device: str) -> str:
    gains, by_bytes = (
        [found for point in panel.points if (found := value(point, device))] for value in (Point.gain, Point.bandwidth)
    )
    if not gains:
        return f"{device} and {panel.devices[0]} share no matrix, {panel.cache}."
    mean, low, high = map(units.ratio, (geometric_mean(gains), min(gains), max(gains)))
    bytes_said = f"; its bandwidth is {units.ratio(geometric_mean(by_bytes))} as large" if by_bytes else ""
    return (
        f"{device} against {panel.devices[0]}, {panel.cache}, on {len(gains)} matrices: {mean} as fast in the "
        f"geometric mean, from {low} to {high}{bytes_said}."
    )


def _hover(point: Point, device: str) -> str:
    m, gain = point.fastest[device], point.gain(device)
    against = f"{units.ratio(gain)} {point.slowest}" if gain and device != point.slowest else ""
    lines = (f"{point.matrix.name}, {units.count(point.matrix.nnz)} nonzeros", m.kernel, against)
    return marks.hover(device, f" {units.gflops(m.gflops)}", *filter(None, lines))
