"""One format against another over σ, the standard deviation of the row lengths: for which matrices is it worth it?

The default pairs are those of the PELLR paper, §4, Figures 6, 8, 9 and 10.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

import plotly.graph_objects as go

from gpu_engine.records import Measurement
from gpu_engine.verdict import Verdict, compare
from web import units
from web.figures.base import Head, LogAxis, Table, blank, escape, log_axis
from web.figures.formats.groups import Place, by_place, fastest_by_format, formats_of, in_words
from web.figures.panels import panels
from web.palette import OKABE_ITO
from web.shown import MatrixFeatures, Shown

PAPER_PAIRS = (("pellr", "ellr"), ("pellr", "hyb"), ("pellr", "biell"), ("pellr", "bijad"))
PANEL_PX = 190
NOTHING = "No matrix here has a time in both formats of a pair."

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Point:
    """The fastest kernels of two formats on one matrix; the verdict is on `first` against `second`."""

    matrix_id: str
    first: Measurement
    second: Measurement
    verdict: Verdict

    @property
    def ratio(self) -> float:
        """Performance of the first over that of the second."""
        return (self.second.median_s or 0.0) / (self.first.median_s or 1.0)

    @property
    def interval(self) -> tuple[float, float]:
        """From the ends of both 95 % intervals: no narrower than the interval of the ratio."""
        first, second = self.first, self.second
        low = (second.ci_low_s or second.median_s or 0.0) / (first.ci_high_s or first.median_s or 1.0)
        high = (second.ci_high_s or second.median_s or 0.0) / (first.ci_low_s or first.median_s or 1.0)
        return low, high

    @property
    def settled(self) -> bool:
        """Whether one of the two is faster."""
        return self.verdict.kind in ("faster", "slower")


Comparisons = dict[tuple[Pair, Place], list[Point]]


def draw(shown: Shown) -> go.Figure:
    """Ratio of performance over sigma, a panel per pair, device and cache, a point a matrix, above 1 the first wins.

    shown.pair  formats, the first against each of the others; alone, against every other one; empty: PAPER_PAIRS
    """
    found = points(shown)
    if not found:
        return blank(NOTHING)
    every = [point for group in found.values() for point in group]
    sigmas = [_sigma(shown, point) for point in every]
    sigma = log_axis(sigmas, before="" if all(sigmas) else "0")
    ratios = log_axis([*(end for point in every for end in point.interval), 1.0], least_span=4.0)
    titles = [f"{escape(first)} over {escape(second)} · {in_words(place)}" for (first, second), place in found]
    figure = panels(titles, [PANEL_PX] * len(found), 2)
    for row, group in enumerate(found.values(), start=1):
        figure.add_trace(_unity(sigma), row=row, col=1)
        for settled in (True, False):
            figure.add_trace(_markers(group, settled, shown, sigma, legend=row == 1), row=row, col=1)
    figure.update_xaxes(**sigma.settings)
    figure.update_yaxes(**ratios.settings, title_text="ratio")
    figure.update_xaxes(title_text="σ of the row lengths", title_standoff=4, row=len(found), col=1)
    return figure


def table(shown: Shown) -> Table:
    """A row per pair and matrix, with the features that the ratio is looked at against, and the verdict."""
    heads = (
        *(Head(text, numeric=False) for text in ("pair", "matrix", "device", "cache")),
        *(Head(text) for text in ("σ", "ave", "max − min", "ratio")),
        *(Head(text, numeric=False) for text in ("verdict", "kernels")),
    )
    rows = []
    for ((first, second), place), group in points(shown).items():
        for point in group:
            known = shown.matrix(point.matrix_id)
            features = units.number(known.sigma), units.number(known.ave), units.count(known.max_min)
            rows.append(
                (
                    f"{first} over {second}",
                    known.name,
                    *place,
                    *features,
                    units.ratio(point.ratio),
                    point.verdict.kind,
                    f"{point.first.kernel}, {point.second.kernel}",
                )
            )
    return Table(heads, tuple(rows))


def summary(shown: Shown) -> str:
    """How often the first of each pair is faster, and the geometric mean of the ratios."""
    found = points(shown)
    if not found:
        return f"{NOTHING} Choose another pair above."
    several = len({place for _, place in found}) > 1
    said = [_count(pair, place if several else (), group) for (pair, place), group in found.items()]
    axis = "Performance of one format over another, the fastest kernel of each; hollow points are not settled."
    return " ".join([axis, *said])


def points(shown: Shown) -> Comparisons:
    """The matrices with a time in both formats and a known sigma, per pair and place with at least one."""
    found: Comparisons = {}
    places = by_place(shown.measurements)
    measured = list(dict.fromkeys(name for groups in places.values() for name in formats_of(groups)))
    for first, second in _pairs(measured, shown.pair):
        for place, groups in places.items():
            group = [
                Point(matrix_id, fastest[first], fastest[second], compare(fastest[second], fastest[first]))
                for matrix_id, fastest in ((m, fastest_by_format(kernels)) for m, kernels in groups.items())
                if first in fastest and second in fastest and shown.matrix(matrix_id).sigma is not None
            ]
            if group:
                found[(first, second), place] = sorted(group, key=lambda point: _sigma(shown, point))
    return found


def _pairs(measured: Sequence[str], pair: Sequence[str]) -> Iterator[Pair]:
    if not pair:
        yield from PAPER_PAIRS
        return
    first, *others = pair
    for second in others or [name for name in measured if name != first]:
        yield first, second


def _sigma(shown: Shown, point: Point) -> float:
    return shown.matrix(point.matrix_id).sigma or 0.0


def _unity(sigma: LogAxis) -> go.Scatter:
    ends = [10**end for end in sigma.settings["range"]]
    return go.Scatter(
        x=ends, y=[1.0, 1.0], mode="lines", line={"width": 1}, hoverinfo="skip", showlegend=False, meta={"role": "line"}
    )


def _markers(group: Sequence[Point], settled: bool, shown: Shown, sigma: LogAxis, legend: bool) -> go.Scatter:
    name = "faster or slower" if settled else "same or ambiguous"
    drawn = [point for point in group if point.settled == settled]
    return go.Scatter(
        name=name,
        legendgroup=name,
        showlegend=legend,
        x=[_sigma(shown, point) or sigma.before for point in drawn],
        y=[point.ratio for point in drawn],
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [point.interval[1] - point.ratio for point in drawn],
            "arrayminus": [point.ratio - point.interval[0] for point in drawn],
            "width": 0,
        },
        mode="markers",
        marker={
            "color": OKABE_ITO[0],
            "symbol": "circle" if settled else "circle-open",
            "size": 9,
            "line": {"width": 0.5 if settled else 1.5},
        },
        hovertext=[_hover(point, shown.matrix(point.matrix_id)) for point in drawn],
        hoverinfo="text",
        meta={"role": "point" if settled else "unsettled"},
    )


def _hover(point: Point, known: MatrixFeatures) -> str:
    return "<br>".join(
        (
            f"<b>{escape(known.name)}</b>",
            f"{point.first.kernel} {units.ratio(point.ratio)} {point.second.kernel}: {point.verdict.kind}",
            f"σ {units.number(known.sigma)}, ave {units.number(known.ave)}, max − min {units.count(known.max_min)}",
        )
    )


def _count(pair: Pair, place: Sequence[str], group: Sequence[Point]) -> str:
    kinds = [point.verdict.kind for point in group]
    counts = f"faster on {kinds.count('faster')} of {len(kinds)}, slower on {kinds.count('slower')}"
    known = [point.ratio for point in group if point.verdict.kind != "ambiguous"]
    # A mean over what is not decided would look like a result.
    of = "" if len(known) == len(group) else f" of the {len(known)} not ambiguous"
    mean = f"; geometric mean{of} {units.ratio(geometric_mean(known))}" if known else ""
    where = "".join(f", {name}" for name in place)
    return f"{pair[0]} over {pair[1]}{where}: {counts}{mean}."
