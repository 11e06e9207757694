"""The headline of the `formats` study: the fastest of our kernels beside cuSPARSE, over every matrix that has both."""

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
from web.figures import marks
from web.figures.base import Figure, blank, log_axis
from web.palette import OKABE_ITO

HEIGHT_PX = 270
NOTHING = "No matrix here has a time of a kernel of ours and one of cuSPARSE."
BUSY = "The machine was busy on every matrix here: these times do not count."
WORDS = ("faster", "slower", "same or inconclusive")
COLORS = dict(zip(WORDS, (OKABE_ITO[0], OKABE_ITO[5], OKABE_ITO[0]), strict=True))


@dataclass(frozen=True, slots=True)
class Point:
    """A matrix: ratio is the time of cuSPARSE's best over that of our fastest kernel.

    interval  from the ends of both 95 % intervals: no narrower than the interval of the ratio
    word      one of WORDS, the verdict on our kernel; measurements: of both
    busy      whether the machine was, so that the ratio is in no mean
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
    """The matrices, the largest gain first; mean: the geometric mean of the ratios that count, None without any."""

    points: tuple[Point, ...]
    mean: float | None


def info(data: StudyData) -> Info:
    """The findings with a time on both sides."""
    points = sorted((p for f in findings(data) for p in _points(f)), key=lambda point: -point.ratio)
    quiet = [point.ratio for point in points if not point.busy]
    return Info(tuple(points), geometric_mean(quiet) if quiet else None)


def draw(info: Info) -> go.Figure:
    """A point a matrix with its interval, above the line where our kernel is faster."""
    if not info.points:
        return blank(NOTHING)
    axis = log_axis([*(point.ratio for point in info.points), 1.0], least_span=3.0)
    span = [0, len(info.points) + 1]
    figure = go.Figure(go.Scatter(x=span, y=[1.0, 1.0], **_LINE))
    for word in WORDS:
        placed = [(place, point) for place, point in enumerate(info.points, start=1) if point.word == word]
        if placed:
            figure.add_trace(_markers(word, placed))
    figure.update_yaxes(**axis.settings, title_text="times as fast as cuSPARSE", automargin=True)
    figure.update_xaxes(
        title_text=f"{len(info.points)} matrices, the largest gain first",
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
    """On how many matrices our fastest kernel is faster, and by how much over all."""
    if info.mean is None:
        return BUSY if info.points else NOTHING
    quiet = [point for point in info.points if not point.busy]
    faster, slower = (sum(point.word == word for point in quiet) for word in WORDS[:2])
    total = len(quiet)
    return (
        f"Our fastest kernel of each matrix beside cuSPARSE's fastest algorithm: {units.number(info.mean)} times as "
        f"fast in the geometric mean of {total} matrices, faster on {faster}, slower on {slower}, "
        f"same or inconclusive on {total - faster - slower}. Which kernel that is depends on the matrix."
    )


def table(info: Info) -> Table:
    """A row a matrix."""
    heads = (
        Head("matrix", numeric=False),
        Head("our kernel", numeric=False),
        Head("against", BEST),
        Head("verdict", numeric=False),
    )
    return Table(heads, tuple((p.name, p.kernel, units.ratio(p.ratio), p.word) for p in info.points))


HEADLINE = Figure("headline", "Our fastest kernel against cuSPARSE", draw, summary, table, info=info)
_LINE = {"mode": "lines", "line": {"width": 1}, "hoverinfo": "skip", "showlegend": False, "meta": {"role": "line"}}


def _points(finding: Finding) -> Iterator[Point]:
    """The point of a finding, none where one side has no time."""
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
    """Nothing is settled on a machine that was too busy to name a leader."""
    return row.word if finding.leaders and row.word in WORDS else WORDS[-1]


def _markers(word: str, placed: Sequence[tuple[int, Point]]) -> go.Scatter:
    symbol, outline = ("circle-open", 1.5) if word == WORDS[-1] else ("circle", 0.5)
    own = [point for _, point in placed]
    return marks.points(
        [(place, point.ratio, _hover(point), *point.measurements) for place, point in placed],
        marks.point(COLORS[word], symbol, 7, outline),
        name=word,
        error_y=marks.intervals([p.ratio for p in own], [p.interval for p in own], width=0),
        meta={"role": "unsettled" if word == WORDS[-1] else "point"},
    )


def _hover(point: Point) -> str:
    return marks.hover(point.name, "", f"{point.kernel}: {units.ratio(point.ratio)} {BEST}, {point.word}")
