"""Figures 11 and 12 of the PELLR paper: its formats side by side, matrix by matrix."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.formats.paper import FIGURE_11, FIGURE_12, SERIES, name_of, original
from gpu_engine.findings.ranking import join, rank
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import column, gflops, number, seconds
from web.figures import markers
from web.figures.base import blank, caption, escape, shorten
from web.figures.formats.groups import (
    NO_RESULTS,
    Groups,
    Place,
    Rate,
    by_place,
    left_out,
    place_in_words,
    rate_of,
)
from web.figures.panels import Legend, panels
from web.palette import style

BAR_PX, BETWEEN_PX = 8, 12
MATRICES_MAX = 20
"""Maximum number of matrices in the drawing if none of the paper was measured; the table has all."""

SERIES_PARAMETER = "series"
"""Name of the parameter that selects the formats: all, or those of a figure of the PELLR paper."""

FIGURES = {"figure-11": FIGURE_11, "figure-12": FIGURE_12}
"""Value of `series` → the formats of that figure of the paper, in its order and with its names."""


@dataclass(frozen=True, slots=True)
class Line:
    """A matrix: the fastest kernel of each format with a time, and the states of the others."""

    matrix: MatrixFeatures
    fastest: Mapping[str, Rate]
    states: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Panel:
    """The matrices on one device in one cache state by ascending sigma.

    bars     those of the paper by label, or the first MATRICES_MAX of the selection if there are none
    formats  those with a time on any of these matrices
    papers   whether the bars are of the matrices of the paper
    """

    place: Place
    lines: tuple[Line, ...]
    bars: Mapping[str, Line]
    formats: tuple[str, ...]
    papers: bool = False


@dataclass(frozen=True, slots=True)
class Info:
    """The panels; formats: all of them, the timed ones first; series: a key of FIGURES."""

    panels: tuple[Panel, ...]
    formats: tuple[str, ...]
    series: str


def info(data: StudyData) -> Info:
    """Return the fastest kernel of each format of the figure `series`, a key of FIGURES, on each matrix."""
    names = FIGURES[data.choice(SERIES_PARAMETER)]
    places = by_place([m for m in data.measurements if name_of(m) in names])
    # A graph whose values are all 1 has times of library kernels only, not of the formats of the paper.
    places = {place: _compared(groups) for place, groups in places.items()}
    names_measured = {name_of(m) for groups in places.values() for group in groups.values() for m in group}
    timed = [name for groups in places.values() for name in _timed(groups, names)]
    every = tuple(dict.fromkeys((*timed, *sorted(names_measured))))
    return Info(
        tuple(_panel(place, groups, data) for place, groups in places.items()), every, data.choice(SERIES_PARAMETER)
    )


def draw(info: Info) -> go.Figure:
    """Return GFLOP/s of the fastest kernel of each format, a group of bars per matrix, by ascending σ."""
    if not any(line.fastest for panel in info.panels for line in panel.lines):
        return blank(NO_RESULTS)
    heights = [len(panel.bars) * (BAR_PX * len(panel.formats) + BETWEEN_PX) + BETWEEN_PX for panel in info.panels]
    entries = {name for panel in info.panels for name in panel.formats}
    titles = [place_in_words(panel.place) for panel in info.panels]
    figure = panels(titles, heights, len(entries), barmode="group", bargap=0.12, bargroupgap=0.0)
    legend = Legend()
    for row, panel in enumerate(info.panels, start=1):
        for name in panel.formats:
            figure.add_trace(_bars(panel.bars, name, legend), row=row, col=1)
        markers.label_rows(figure, row, [escape(label) for label in panel.bars])
    figure.update_xaxes(rangemode="tozero")
    figure.update_xaxes(title_text="GFLOP/s", title_standoff=4, row=len(info.panels), col=1)
    figure.update_layout(legend_traceorder="normal")
    return figure


def table(info: Info) -> Table:
    """Return GFLOP/s per matrix and format; a format without a time shows its state."""
    heads = (*(Head(text, numeric=False) for text in ("matrix", "device", "cache")), Head("σ"))
    rows = []
    for panel in info.panels:
        for line in panel.lines:
            rates = column([_gflops(line, name) for name in info.formats])
            cells = (line.states.get(name, rate) for name, rate in zip(info.formats, rates, strict=True))
            rows.append((line.matrix.name, *panel.place, number(line.matrix.sigma), *cells))
    return Table((*heads, *(Head(name, "GFLOP/s") for name in info.formats)), tuple(rows))


def summary(info: Info) -> str:
    """Return what the bars show, how often each format is the fastest there, and which matrices they omit."""
    what = f"Throughput of the fastest kernel of each format{_of_figure(info.series)}"
    rates = (rate for panel in info.panels for line in panel.lines for rate in line.fastest.values())
    intervals = markers.with_intervals(rate.measurement for rate in rates)
    order = f"Matrices are sorted by ascending σ from the top.{_omission(info)}"
    return caption(f"{what}{intervals}. {order}", filter(None, map(_wins, info.panels)))


def _omission(info: Info) -> str:
    """Return a sentence on the matrices that have no bars."""
    panel = max(info.panels, key=lambda panel: len(panel.lines), default=None)
    if panel is None:
        return ""
    visible, total = len(panel.bars), len(panel.lines)
    if panel.papers and visible < total:
        return f" Showing the {visible} of the paper among {total}; the table has all."
    return markers.omission(visible, total)


def _wins(panel: Panel) -> str:
    """Return on how many of the drawn matrices each format is the fastest or tied, the most frequent first."""
    rankings = [rank([rate.measurement for rate in line.fastest.values()]) for line in panel.bars.values()]
    decided = [ranking for ranking in rankings if ranking.leaders]
    wins = Counter(name_of(m) for ranking in decided for m in ranking.leaders)
    if not wins:
        return ""
    named = join([f"{name} on {number}" for name, number in wins.most_common()])
    return f"Fastest or tied, {place_in_words(panel.place)}: {named} of {left_out(len(decided), 0)}."


def _of_figure(series: str) -> str:
    """Return the figure of the paper that has these formats, and the kernels that its names stand for."""
    names = FIGURES[series]
    kernels = [f"{name} is {' or '.join(SERIES[name])}" for name in names if SERIES[name] != (name.lower(),)]
    hyb = "HYB is the Sparsight kernel by the 1/3 rule, and cuSPARSE in the paper"
    return f" of {series.replace('-', ' ').capitalize()} of the paper ({join([*kernels, hyb])})"


def _compared(groups: Groups) -> Groups:
    """Return the matrices with measurements of at least two formats."""
    return {i: group for i, group in groups.items() if len({name_of(m) for m in group}) > 1}


def _timed(groups: Groups, names: Sequence[str]) -> list[str]:
    """Return the names that have a time on any of these matrices."""
    timed = {name_of(m) for group in groups.values() for m in group if m.median_s}
    return [name for name in names if name in timed]


def _panel(place: Place, groups: Groups, data: StudyData) -> Panel:
    lines = {i: _line(data.matrix(i), groups[i]) for i in data.by_sigma(groups)}
    papers = [i for i in groups if original(data.matrix(i).name)]
    first = papers or list(groups)[:MATRICES_MAX]
    labels = _labels(data.by_sigma(first), data)
    formats = _timed({i: groups[i] for i in first}, FIGURES[data.choice(SERIES_PARAMETER)])
    return Panel(place, tuple(lines.values()), {labels[i]: lines[i] for i in labels}, tuple(formats), bool(papers))


def _line(matrix: MatrixFeatures, group: Sequence[Measurement]) -> Line:
    """Return the line of a matrix; `group` is sorted, the fastest first."""
    fastest: dict[str, Rate] = {}
    for m in group:
        if m.median_s:
            fastest.setdefault(name_of(m), rate_of(m))
    return Line(matrix, fastest, {name: m.state for m in group if (name := name_of(m)) not in fastest})


def _labels(ids: Iterable[str], data: StudyData) -> dict[str, str]:
    """Return a label per matrix, distinct even if names are equal or too long to differ."""
    labels: dict[str, str] = {}
    for matrix_id in ids:
        label = shorten(data.matrix(matrix_id).name)
        labels[matrix_id] = f"{label} ({matrix_id[:4]})" if label in labels.values() else label
    return labels


def _bars(lines: Mapping[str, Line], name: str, legend: Legend) -> go.Bar:
    rates = {label: line.fastest[name] for label, line in lines.items() if name in line.fastest}
    look = style(next(rate.measurement.format for rate in rates.values()))
    values = [rate.measurement.gflops or 0.0 for rate in rates.values()]
    texts = [_hover(rate.measurement, label) for label, rate in rates.items()]
    return markers.bars(
        [
            (value, escape(label), text, rate.measurement)
            for value, text, (label, rate) in zip(values, texts, rates.items(), strict=True)
        ],
        markers.fill(look.color, look.pattern, opacity=0.45, size=5),
        **legend.entry(name),
        error_x=markers.intervals(values, [rate.interval for rate in rates.values()], width=0),
        meta={"role": "kernel", "format": name},
    )


def _hover(m: Measurement, label: str) -> str:
    return markers.hover(m.kernel, f" on {label}", f"{gflops(m.gflops)}, median {seconds(m.median_s)}")


def _gflops(line: Line, name: str) -> float | None:
    return line.fastest[name].measurement.gflops if name in line.fastest else None
