"""Figure of the home page: the fastest Sparsight kernel and cuSPARSE, for every matrix that has both."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

import plotly.graph_objects as go

from gpu_engine.competitors import BEST
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import Finding, Row
from gpu_engine.findings.formats import findings
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from web.figures import markers
from web.figures.base import Figure, blank, log_axis
from web.palette import OKABE_ITO

HEIGHT_PX = 270
NOTHING = "No matrix has timings of both a Sparsight kernel and cuSPARSE."
BUSY = "All timings were too noisy to compare."
WORDS = ("faster", "slower", "equal or inconclusive")
COLORS = dict(zip(WORDS, (OKABE_ITO[0], OKABE_ITO[5], OKABE_ITO[0]), strict=True))


@dataclass(frozen=True, slots=True)
class Point:
    """A matrix; ratio: the time of the best cuSPARSE algorithm over that of the fastest Sparsight kernel.

    interval  from the ends of both 95 % intervals: not narrower than the interval of the ratio
    word      one of WORDS, the verdict on the Sparsight kernel; measurements: of both
    busy      whether the timings were too noisy, so that no mean includes the ratio
    """

    matrix_id: str
    name: str
    kernel: str
    word: str
    ratio: float
    interval: tuple[float, float]
    measurements: tuple[Measurement, ...] = ()
    busy: bool = False


@dataclass(frozen=True, slots=True)
class Info:
    """The matrices, the largest speedup first; mean: the geometric mean of the ratios that count, None without any."""

    points: tuple[Point, ...]
    mean: float | None


def info(data: StudyData) -> Info:
    """Return the matrices with a time on both sides."""
    points = sorted((p for f in findings(data) for p in _points(f)), key=lambda point: -point.ratio)
    quiet = [point.ratio for point in points if not point.busy]
    return Info(tuple(points), geometric_mean(quiet) if quiet else None)


def draw(info: Info) -> go.Figure:
    """Return a point per matrix with its interval, above the line if the Sparsight kernel is faster."""
    if not info.points:
        return blank(NOTHING)
    axis = log_axis([*(point.ratio for point in info.points), 1.0], least_span=3.0)
    span = [0, len(info.points) + 1]
    figure = go.Figure(go.Scatter(x=span, y=[1.0, 1.0], **_LINE))
    for word in WORDS:
        placed = [(place, point) for place, point in enumerate(info.points, start=1) if point.word == word]
        if placed:
            figure.add_trace(_markers(word, placed))
    figure.update_yaxes(**axis.settings, title_text="speedup vs cuSPARSE", automargin=True)
    figure.update_xaxes(
        title_text=f"{len(info.points)} matrices, largest speedup first",
        showticklabels=False,
        showgrid=False,
        zeroline=False,
        range=span,
    )
    figure.update_layout(
        template="none",
        height=HEIGHT_PX,
        margin={"l": 8, "r": 8, "t": 30, "b": 32},
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
    )
    return figure


def summary(info: Info) -> str:
    """Return the mean speedup, and on how many matrices the fastest Sparsight kernel is faster or slower."""
    if info.mean is None:
        return BUSY if info.points else NOTHING
    quiet = [point for point in info.points if not point.busy]
    faster, slower = (sum(point.word == word for point in quiet) for word in WORDS[:2])
    total = len(quiet)
    return (
        f"Best Sparsight kernel against best cuSPARSE algorithm, per matrix: geometric-mean speedup "
        f"{units.ratio(info.mean)} over {total} matrices. Faster on {faster}, slower on {slower}, "
        f"{WORDS[-1]} on {total - faster - slower}. The best kernel depends on the matrix."
    )


def table(info: Info) -> Table:
    """Return a row per matrix."""
    heads = (
        Head("matrix", numeric=False),
        Head("Sparsight kernel", numeric=False),
        Head("speedup", f"vs {BEST}"),
        Head("verdict", numeric=False),
    )
    return Table(heads, tuple((p.name, p.kernel, units.ratio(p.ratio), p.word) for p in info.points))


HEADLINE = Figure("headline", "Fastest Sparsight kernel and cuSPARSE", draw, summary, table, info=info)
_LINE = {"mode": "lines", "line": {"width": 1}, "hoverinfo": "skip", "showlegend": False, "meta": {"role": "line"}}


def _points(finding: Finding) -> Iterator[Point]:
    """Yield the point of a finding, or nothing if one side has no time."""
    theirs = next((row.measurement for row in finding.rows if row.label == BEST), None)
    ours = next((row for row in finding.rows if row.measurement.format != BEST.partition("/")[0]), None)
    if theirs is None or finding.baseline != BEST or ours is None or not ours.ratio:
        return
    m = ours.measurement
    ends = (theirs.ci_low_s, m.ci_high_s), (theirs.ci_high_s, m.ci_low_s)
    low, high = (over / under if over and under else ours.ratio for over, under in ends)
    word, both, busy = _word(finding, ours), (m, theirs), bool(finding.busy)
    yield Point(finding.matrix_id, finding.title, m.kernel, word, ours.ratio, (low, high), both, busy)


def _word(finding: Finding, row: Row) -> str:
    """Return the verdict of a row; on timings too noisy to name a fastest kernel, it is inconclusive."""
    return row.word if finding.leaders and row.word in WORDS else WORDS[-1]


def _markers(word: str, placed: Sequence[tuple[int, Point]]) -> go.Scatter:
    symbol, outline = ("circle-open", 1.5) if word == WORDS[-1] else ("circle", 0.5)
    points = [point for _, point in placed]
    return markers.points(
        [(place, point.ratio, _hover(point), *point.measurements) for place, point in placed],
        markers.point(COLORS[word], symbol, 7, outline),
        name=word,
        error_y=markers.intervals([p.ratio for p in points], [p.interval for p in points], width=0),
        meta={"role": "unsettled" if word == WORDS[-1] else "point"},
    )


def _hover(point: Point) -> str:
    return markers.hover(point.name, "", f"{point.kernel}: speedup {units.ratio(point.ratio)} vs {BEST}, {point.word}")
