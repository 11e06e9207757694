"""Speedup of one format over another, against a feature of the row lengths.

The default pairs are those of the PELLR paper, §4, Figures 6, 8, 9 and 10.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean

import plotly.graph_objects as go

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.formats.paper import original
from gpu_engine.findings.ranking import rank
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.verdicts.verdict import VerdictKind, compare, verdict_text
from web.figures import markers
from web.figures.base import LogAxis, Role, blank, caption, escape, log_axis
from web.figures.formats.groups import Groups, Place, by_place, fastest_by_format, formats_of, place_in_words
from web.figures.panels import Legend, Panels, panels
from web.palette import OKABE_ITO

PAPER_PAIRS = {("pellr", "ellr"): 6, ("pellr", "hyb"): 8, ("pellr", "biell"): 9, ("pellr", "bijad"): 10}
"""Pair → its figure in the paper."""

PAIR = "pair"
"""Name of the parameter that selects the formats of pairs."""

OF_PAPER = "of the paper"
"""Legend of the matrices of the PELLR paper and their stand-ins, which are drawn as diamonds."""

PANEL_PX = 190
NOTHING = "No matrix has timings in both formats of a pair."

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Over:
    """The feature on the x axis; pairs: the default pairs."""

    title: str
    value: Callable[[MatrixFeatures], float | None]
    pairs: tuple[Pair, ...]


SIGMA = Over("σ of the row lengths", lambda matrix: matrix.sigma, tuple(PAPER_PAIRS))
IMBALANCE = Over("max − min of the row lengths", lambda matrix: matrix.max_min, (("csr", "coo"),))


@dataclass(frozen=True, slots=True)
class Info(Panels["Panel"]):
    """The panels, and the feature on their x axis."""

    over: Over = SIGMA


@dataclass(frozen=True, slots=True)
class Look:
    """Legend entry, symbol, outline, and role of a kind of points."""

    name: str
    symbol: str
    outline: float
    role: Role


SETTLED, OPEN = (
    Look("faster or slower", "circle", 0.5, "point"),
    Look("equal or inconclusive", "circle-open", 1.5, "unsettled"),
)


@dataclass(frozen=True, slots=True)
class Point:
    """The fastest kernels of two formats on one matrix; the verdict is on the first, `inconclusive` if too noisy.

    feature   value on the x axis; measurements: of the first and of the second
    ratio     speedup of the first over the second
    interval  from the ends of both 95 % intervals: not narrower than the interval of the ratio
    """

    matrix: MatrixFeatures
    feature: float
    measurements: tuple[Measurement, Measurement]
    verdict: VerdictKind
    ratio: float
    interval: tuple[float, float]

    @property
    def kernels(self) -> tuple[str, str]:
        """Return the names of the two kernels."""
        first, second = self.measurements
        return first.kernel, second.kernel

    @property
    def settled(self) -> bool:
        """Return whether one of the two is faster."""
        return self.verdict in ("faster", "slower")

    @property
    def look(self) -> Look:
        """Return how it is drawn: filled if one of the two is faster."""
        return SETTLED if self.settled else OPEN


@dataclass(frozen=True, slots=True)
class Panel:
    """A pair of formats on one device in one cache state, by ascending feature.

    decided  number of points that are not inconclusive; mean: the geometric mean of their ratios, None without any
    """

    pair: Pair
    place: Place
    points: tuple[Point, ...]
    decided: int
    mean: float | None


def info(data: StudyData, over: Over = SIGMA) -> Info:
    """Return the matrices with a time in both formats and a known feature, per pair and place with at least one.

    `pair`: formats, the first against each of the others; a single one: against all others; empty: the pairs of `over`
    """
    places = by_place(data.measurements)
    formats = list(dict.fromkeys(name for groups in places.values() for name in formats_of(groups)))
    return Info(
        tuple(
            _panel(pair, place, points)
            for pair in _pairs(formats, data.chosen.get(PAIR, ()), over)
            for place, groups in places.items()
            if (points := _points(pair, groups, data, over))
        ),
        over=over,
    )


def imbalance(data: StudyData) -> Info:
    """Return the info over the imbalance of the rows, by default of the pair (csr, coo)."""
    return info(data, IMBALANCE)


def draw(info: Info) -> go.Figure:
    """Return the speedup over the feature, a panel per pair, device, and cache state, a point per matrix."""
    if not info.panels:
        return blank(NOTHING)
    every = [point for panel in info.panels for point in panel.points]
    sigmas = [point.feature for point in every]
    sigma = log_axis(sigmas, before="" if all(sigmas) else "0")
    ratios = log_axis([*(point.ratio for point in every), 1.0], least_span=4.0)
    titles = [title(panel) for panel in info.panels]
    figure = panels(titles, [PANEL_PX] * len(info.panels), 4, across=2)
    legend = Legend()
    for row, panel in enumerate(info.panels, start=1):
        figure.add_trace(_unity(sigma), row=row, col=1)
        for look in (SETTLED, OPEN):
            of_look = [point for point in panel.points if point.look == look]
            others, papers = (
                [p for p in of_look if bool(original(p.matrix.name)) == is_papers] for is_papers in (False, True)
            )
            figure.add_trace(_markers(others, look, sigma, legend), row=row, col=1)
            if papers:
                figure.add_trace(_markers(papers, of_paper(look), sigma, legend), row=row, col=1)
    figure.update_xaxes(**sigma.settings)
    figure.update_yaxes(**ratios.settings, title_text="speedup")
    figure.update_xaxes(title_text=info.over.title, title_standoff=4, row=len(info.panels), col=1)
    return figure


def table(info: Info) -> Table:
    """Return a row per pair and matrix, with the features, the speedup, and the verdict."""
    heads = (
        *(Head(text, numeric=False) for text in ("pair", "matrix", "device", "cache")),
        *(Head(text) for text in ("σ", "ave", "max − min", "speedup")),
        *(Head(text, numeric=False) for text in ("verdict", "kernels")),
    )
    rows = [
        (
            " vs ".join(panel.pair),
            point.matrix.name,
            *panel.place,
            *_features(point.matrix),
            units.ratio(point.ratio),
            verdict_text(point.verdict),
            ", ".join(point.kernels),
        )
        for panel in info.panels
        for point in panel.points
    ]
    return Table(heads, tuple(rows))


def summary(info: Info) -> str:
    """Return how often the first of each pair is faster, and the geometric mean of the speedups."""
    if not info.panels:
        return f"{NOTHING} Select another pair above."
    several = len({panel.place for panel in info.panels}) > 1
    axis = f"Speedup of one format over another (fastest kernel of each), by {info.over.title}."
    return caption(axis, (counts(panel, panel.place if several else ()) for panel in info.panels))


def title(panel: Panel) -> str:
    """Return the title of a panel: its pair, with the figure of the paper, and its device and cache state."""
    figure = f"Fig. {PAPER_PAIRS[panel.pair]}: " if panel.pair in PAPER_PAIRS else ""
    return f"{figure}{escape(' vs '.join(panel.pair))} · {place_in_words(panel.place)}"


def _pairs(formats: Sequence[str], pair: Sequence[str], over: Over) -> Iterator[Pair]:
    if not pair:
        yield from over.pairs
        return
    first, *others = pair
    for second in others or [name for name in formats if name != first]:
        yield first, second


def _points(pair: Pair, groups: Groups, data: StudyData, over: Over) -> list[Point]:
    points = []
    for matrix_id, group in groups.items():
        fastest, matrix = fastest_by_format(group), data.matrix(matrix_id)
        if all(name in fastest for name in pair) and (feature := over.value(matrix)) is not None:
            both = fastest[pair[0]], fastest[pair[1]]
            points.append(_point(matrix, feature, both, bool(rank(group).busy)))
    return sorted(points, key=lambda point: point.feature)


def _point(matrix: MatrixFeatures, feature: float, both: tuple[Measurement, Measurement], is_busy: bool) -> Point:
    first, second = both
    verdict = "inconclusive" if is_busy else compare(second, first).kind
    gain = (second.median_s or 0.0) / (first.median_s or 1.0)
    interval = markers.ratio_interval(second, first)
    return Point(matrix, feature, both, verdict, gain, interval)


def _panel(pair: Pair, place: Place, points: Sequence[Point]) -> Panel:
    # A mean over inconclusive ratios would look like a result.
    decided = [point.ratio for point in points if point.verdict != "inconclusive"]
    return Panel(pair, place, tuple(points), len(decided), geometric_mean(decided) if decided else None)


def _unity(sigma: LogAxis) -> go.Scatter:
    ends = [10**end for end in sigma.settings["range"]]
    return go.Scatter(
        x=ends, y=[1.0, 1.0], mode="lines", line={"width": 1}, hoverinfo="skip", showlegend=False, meta={"role": "line"}
    )


def of_paper(look: Look) -> Look:
    """Return the look of the matrices of the paper: diamonds."""
    return replace(look, name=f"{OF_PAPER}, {look.name}", symbol=look.symbol.replace("circle", "diamond"))


def _markers(points: Sequence[Point], look: Look, sigma: LogAxis, legend: Legend) -> go.Scatter:
    color = OKABE_ITO[5 if look.symbol.startswith("diamond") else 0]
    errors = markers.intervals([point.ratio for point in points], [point.interval for point in points], width=0)
    return markers.points(
        [(point.feature or sigma.before, point.ratio, hover(point), *point.measurements) for point in points],
        markers.point(color, look.symbol, 9, look.outline),
        **legend.entry(look.name),
        error_y=errors,
        meta={"role": look.role},
    )


def _features(matrix: MatrixFeatures) -> tuple[str, str, str]:
    return units.number(matrix.sigma), units.number(matrix.ave), units.count(matrix.max_min)


def hover(point: Point) -> str:
    """Return the hover text of a point: both kernels, the verdict, and the features of the matrix."""
    sigma, ave, max_min = _features(point.matrix)
    first, second = point.kernels
    verdict = f"{first}: speedup {units.ratio(point.ratio)} vs {second}, {verdict_text(point.verdict)}"
    return markers.hover(point.matrix.name, "", verdict, f"σ {sigma}, ave {ave}, max − min {max_min}")


def counts(panel: Panel, place: Sequence[str]) -> str:
    """Return how often the first of the pair is faster and slower, and its mean speedup, as a sentence."""
    verdicts = [point.verdict for point in panel.points]
    both = f"faster on {verdicts.count('faster')} of {len(verdicts)}, slower on {verdicts.count('slower')}"
    of = "" if panel.decided == len(verdicts) else f" over the {panel.decided} conclusive ones"
    mean = f" Geometric-mean speedup: {units.ratio(panel.mean)}{of}." if panel.mean else ""
    return f"{', '.join((' vs '.join(panel.pair), *place))}: {both}.{mean}"
