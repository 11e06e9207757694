"""Measured against predicted time of each kernel, as the performance model predicts it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.advisor import can_advise, rank
from gpu_engine.advisor.evaluation import WITHIN
from gpu_engine.advisor.gpus import Gpu, gpu_named
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.finding import INTERVAL, interval_text, with_intervals
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from web.figures import markers
from web.figures.base import blank, caption, escape, log_axis
from web.figures.formats.groups import Groups, Place, by_place, nearest, place_in_words, quiet
from web.figures.panels import Panels
from web.palette import OKABE_ITO, OTHERS

ROW_PX = 20
BAND = {"fillcolor": OTHERS, "opacity": 0.18, "line_width": 0, "layer": "below"}
"""Band of differences too small to matter."""

NOTHING = "No predictions. The performance model needs a known GPU model and all features of a matrix."


@dataclass(frozen=True, slots=True)
class Point:
    """A kernel on a matrix; predicted_s: of one SpMV in the cache state of the measurement."""

    matrix: str
    measurement: Measurement
    predicted_s: float

    @property
    def ratio(self) -> float:
        """Return measured over predicted time; above 1, the kernel is slower than predicted."""
        return (self.measurement.median_s or 0.0) / self.predicted_s

    @property
    def interval(self) -> tuple[float, float]:
        """Return the interval of the ratio, from the interval of the measurement."""
        low, high = markers.interval_of(self.measurement)
        return low / self.predicted_s, high / self.predicted_s


@dataclass(frozen=True, slots=True)
class Panel:
    """The kernels with a time and a prediction in one place, by mean slowdown; gpu: the model of the device."""

    place: Place
    gpu: Gpu
    points: Mapping[str, tuple[Point, ...]]

    @property
    def every(self) -> list[Point]:
        """Return all points."""
        return [point for points in self.points.values() for point in points]

    @property
    def within(self) -> float:
        """Return the share of points within the band of WITHIN around the prediction."""
        return sum(1 / WITHIN <= point.ratio <= WITHIN for point in self.every) / len(self.every)


def predictable(data: StudyData) -> dict[Place, tuple[Gpu, Groups]]:
    """Return the places whose GPU has a model, with the matrices that have usable timings and predictions."""
    places = {}
    for place, groups in by_place(data.measurements).items():
        gpu = gpu_named(place[0])
        predicted = {i: group for i, group in quiet(groups).items() if can_advise(data.matrix(i).stored)}
        if gpu and predicted:
            places[place] = gpu, predicted
    return places


def info(data: StudyData) -> Panels[Panel]:
    """Return the kernels that are predicted and timed, by device and cache state."""
    every = (_panel(place, gpu, groups, data) for place, (gpu, groups) in predictable(data).items())
    return Panels(tuple(panel for panel in every if panel.points))


def draw(info: Panels[Panel]) -> go.Figure:
    """Return measured over predicted time, a row per kernel, a dot per matrix, with a band where they agree."""
    if not info.panels:
        return blank(NOTHING)
    titles = [place_in_words(panel.place) for panel in info.panels]
    figure = markers.bar_panels(
        titles, [list(map(escape, panel.points)) for panel in info.panels], 0, "overlay", ROW_PX
    )
    ratios = [point.ratio for panel in info.panels for point in panel.every]
    axis = log_axis([*ratios, 1 / WITHIN, WITHIN], least_span=2.0)
    for row, panel in enumerate(info.panels, start=1):
        # Plotly omits the shapes of a panel that has no trace yet.
        figure.add_trace(_markers(panel), row=row, col=1)
        figure.add_vrect(1 / WITHIN, WITHIN, **BAND, row=row, col=1)
        figure.add_vline(1.0, line={"width": 1, "color": OTHERS}, row=row, col=1)
    figure.update_xaxes(**axis.settings)
    return figure.update_xaxes(title_text="measured / predicted time", title_standoff=4, row=len(info.panels), col=1)


def table(info: Panels[Panel]) -> Table:
    """Return a row per kernel and matrix."""
    heads = (
        *(Head(text, numeric=False) for text in ("kernel", "matrix", "device", "cache")),
        *(Head(text) for text in ("predicted", "measured", INTERVAL)),
        Head("ratio", "measured/predicted"),
    )
    rows = [
        (
            kernel,
            point.matrix,
            *panel.place,
            units.seconds(point.predicted_s),
            units.seconds(point.measurement.median_s),
            interval_text(point.measurement),
            units.ratio(point.ratio),
        )
        for panel in info.panels
        for kernel, points in panel.points.items()
        for point in points
    ]
    every = (point.measurement for panel in info.panels for point in panel.every)
    return with_intervals(Table(heads, tuple(rows)), every)


def summary(info: Panels[Panel]) -> str:
    """Return what is drawn, and how many times are as predicted."""
    if not info.panels:
        return NOTHING
    return caption(
        "Measured over predicted time of each kernel, a dot per matrix. "
        f"Right of the band (±{units.THIN}{round(100 * (WITHIN - 1))}{units.THIN}%), a kernel is slower than "
        "predicted.",
        map(_accuracy, info.panels),
        ("The predictions use only the features of the matrix. Library kernels are not predicted.",),
    )


def _accuracy(panel: Panel) -> str:
    every = panel.every
    farthest = max(every, key=lambda point: max(point.ratio, 1 / point.ratio))
    return (
        f"On {place_in_words(panel.place)}, {units.percent(panel.within)} of {len(every)} times are in the band "
        f"(model: {panel.gpu.name}). Largest deviation: {farthest.measurement.kernel} on {farthest.matrix}, "
        f"{units.ratio(farthest.ratio)} the predicted time."
    )


def _panel(place: Place, gpu: Gpu, groups: Groups, data: StudyData) -> Panel:
    every: dict[str, list[Point]] = {}
    for matrix_id, group in groups.items():
        for point in _points(group, data.matrix(matrix_id), gpu):
            every.setdefault(point.measurement.kernel, []).append(point)
    times = [{m.kernel: m.median_s for m in group if m.median_s and m.kernel in every} for group in groups.values()]
    return Panel(place, gpu, {kernel: tuple(every[kernel]) for kernel in nearest(times)})


def _points(group: Sequence[Measurement], matrix: MatrixFeatures, gpu: Gpu) -> list[Point]:
    predicted = {kernel: prediction.seconds for kernel, prediction in rank(matrix.stored, gpu, group[0].cache)}
    timed = (m for m in group if m.median_s and m.kernel in predicted)
    return [Point(matrix.name, m, predicted[m.kernel]) for m in timed]


def _markers(panel: Panel) -> go.Scatter:
    every = panel.every
    is_single = len(every) == len(panel.points)
    errors = markers.intervals([p.ratio for p in every], [p.interval for p in every], width=0, visible=is_single)
    return markers.points(
        [(point.ratio, escape(point.measurement.kernel), _hover(point), point.measurement) for point in every],
        markers.point(OKABE_ITO[0], "circle", 9 if is_single else 6),
        opacity=1.0 if is_single else 0.6,
        error_x=errors,
        showlegend=False,
        name="kernels",
        meta={"role": "point"},
    )


def _hover(point: Point) -> str:
    m = point.measurement
    times = f"predicted {units.seconds(point.predicted_s)}, measured {units.seconds(m.median_s)}"
    return markers.hover(m.kernel, f" on {point.matrix}", times, f"{units.ratio(point.ratio)} the predicted time")
