"""Every matrix against every kernel: the time over that of the fastest, as a colour and as a number.

The same place of the page shows the formats of a figure of the PELLR paper as bars, where the reader chose them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.formats.groups import baseline_of
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import count, number, ratio, seconds
from gpu_engine.verdicts.verdict import VerdictKind, compare
from web import sorting
from web.figures import marks
from web.figures.base import blank, caption, escape, shorten
from web.figures.formats import side_by_side
from web.figures.formats.groups import (
    FACTOR_MAX,
    NO_QUIET,
    NO_RESULTS,
    Groups,
    Place,
    busy,
    by_place,
    left_out,
    mean_factor,
    place_in_words,
    quiet,
)
from web.figures.formats.scale import explained, steps
from web.figures.panels import Panels, panels

COLUMNS_MAX = 20
"""Most kernels of a picture, those nearest to the fastest; the table has all."""

PANEL_PX, ROW_PX_MIN, ROW_PX_MAX, COLUMN_PX, NAMES_PX, SCALE_PX, LETTER_PX = 900, 13, 26, 36, 150, 34, 7.5
"""A panel is about as tall however many matrices it has; a narrow screen is scrolled."""

DEFAULT = "sigma"
"""What the matrices are sorted by where the reader chooses nothing."""

GLYPHS: Mapping[VerdictKind, str] = {"same": "=", "inconclusive": "?"}
"""Of what is not told apart from the fastest."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A kernel on a matrix; factor: its time over that of the fastest, inf without a time."""

    measurement: Measurement
    factor: float
    verdict: VerdictKind

    @property
    def text(self) -> str:
        """`1.23`, `12`, with a glyph where it is not told apart from the fastest; without a time a dash."""
        if not math.isfinite(self.factor):
            return "–"
        # All cells have the size of letters that the longest text has room for.
        short = f"{self.factor:.2f}" if self.factor < 10 else f"{self.factor:.0f}" if self.factor < 1000 else ">999"
        return f"{GLYPHS.get(self.verdict, '')}{short}"


@dataclass(frozen=True, slots=True)
class Line:
    """A matrix: its cells by kernel, and the id that tells it from others of its name; gain: baseline over fastest."""

    matrix_id: str
    matrix: MatrixFeatures
    cells: Mapping[str, Cell]
    gain: float | None

    def value(self, key: str) -> float | None:
        """What it is sorted by under a key of web/sorting.py, or the factor of a kernel."""
        if key == "best":
            return self.gain
        cell = self.cells.get(key)
        return (cell.factor if math.isfinite(cell.factor) else None) if cell else sorting.feature(self.matrix, key)


@dataclass(frozen=True, slots=True)
class Panel:
    """The matrices on one device in one cache state, in the order of `sort`.

    means  kernel → geometric mean of its factors, of which none counts more than FACTOR_MAX, the least first
    busy   how many matrices more have times that are not plausible
    """

    place: Place
    lines: tuple[Line, ...]
    means: Mapping[str, float]
    sort: str
    busy: int

    @property
    def drawn(self) -> list[str]:
        """The kernels of the picture, the one that the matrices are sorted by among them."""
        first, own = list(self.means)[:COLUMNS_MAX], self.sort.removeprefix("-")
        return first if own in first or own not in self.means else [*first[:-1], own]


Info = Panels[Panel] | side_by_side.Info


def info(data: StudyData) -> Info:
    """Every kernel on every matrix; with `series` the formats of that figure of the paper.

    data.kernels  are the columns; empty: all that were measured
    """
    if data.choice(side_by_side.SERIES_PARAMETER) in side_by_side.FIGURES:
        return side_by_side.info(data)
    found = (_panel(place, groups, data) for place, groups in by_place(data.measurements).items())
    return Panels(tuple(panel for panel in found if panel.lines))


def draw(info: Info) -> go.Figure:
    """A cell a matrix and kernel, the kernels that stay nearest to the fastest on the left."""
    if isinstance(info, side_by_side.Info):
        return side_by_side.draw(info)
    if not info.panels:
        return blank(NO_RESULTS)
    heights = [_row_px(panel) * len(panel.lines) for panel in info.panels]
    titles = [place_in_words(panel.place) for panel in info.panels]
    # Slanted by 60°.
    longest = max(len(kernel) for panel in info.panels for kernel in panel.drawn)
    figure = panels(titles, heights, above_px=10 + round(LETTER_PX * math.sin(math.pi / 3) * longest))
    for row, panel in enumerate(info.panels, start=1):
        for trace in (_cells(panel, scale=row == 1), _without_time(panel)):
            figure.add_trace(trace, row=row, col=1)
        size = min(12, _row_px(panel) - 3)
        figure.update_yaxes(autorange="reversed", tickfont={"size": size}, showgrid=False, row=row, col=1)
        # Every row and column has its label: without places to put them at, Plotly leaves some out.
        labels = [shorten(line.matrix.name, 20) for line in panel.lines]
        figure.update_yaxes(tickvals=list(range(len(labels))), ticktext=[escape(each) for each in labels], row=row)
        figure.update_xaxes(tickvals=list(range(len(panel.drawn))), ticktext=list(map(escape, panel.drawn)), row=row)
    figure.update_xaxes(side="top", tickangle=-60, showgrid=False, zeroline=False)
    figure.update_yaxes(zeroline=False)
    columns = max(len(panel.drawn) for panel in info.panels)
    figure.update_layout(height=figure.layout.height + SCALE_PX, margin_t=figure.layout.margin.t + SCALE_PX)
    figure.update_layout(meta={**figure.layout.meta, "width_min": NAMES_PX + COLUMN_PX * columns})
    return figure


def table(info: Info) -> Table:
    """A row a matrix, a column a kernel: the time over that of the fastest; above them the geometric means."""
    if isinstance(info, side_by_side.Info):
        return side_by_side.table(info)
    kernels = list(dict.fromkeys(kernel for panel in info.panels for kernel in panel.means))
    heads = (*(Head(text, numeric=False) for text in ("matrix", "device", "cache")), *map(Head, sorting.KEYS.values()))
    rows: list[tuple[str, ...]] = []
    for panel in info.panels:
        means = (ratio(panel.means.get(kernel)) for kernel in kernels)
        rows.append(("geometric mean", *panel.place, *("" for _ in sorting.KEYS), *means))
        for line in panel.lines:
            texts = (_text(line.cells.get(kernel)) for kernel in kernels)
            known = number(line.matrix.sigma), count(line.matrix.nnz), number(line.matrix.ave), ratio(line.gain)
            rows.append((line.matrix.name, *panel.place, *known, *texts))
    return Table((*heads, *(Head(kernel, "over fastest") for kernel in kernels)), tuple(rows))


def summary(info: Info) -> str:
    """What a cell is, and which kernel is nearest to the fastest."""
    if isinstance(info, side_by_side.Info):
        return side_by_side.summary(info)
    if not info.panels:
        return NO_QUIET
    most = max(len(panel.means) for panel in info.panels)
    text = (
        "The time of each kernel over that of the fastest of the matrix; = is the same by its verdict, ? inconclusive, "
    )
    text += f"– without a time.{marks.omission(min(COLUMNS_MAX, most), most, ' kernels')}"
    more = f"Kernels by their geometric mean, where what has no time counts as {FACTOR_MAX:g}; matrices by "
    more += f"{sorting.in_words(info.panels[0].sort)} from the top; a click on a cell opens its matrix."
    return caption(text, map(_nearest, info.panels), (more,))


def _nearest(panel: Panel) -> str:
    kernel, mean = next(iter(panel.means.items()))
    over = left_out(len(panel.lines), panel.busy)
    where = place_in_words(panel.place)
    return f"On {where}, over {over}, {kernel} is nearest: {ratio(mean)} the fastest in the geometric mean."


def _panel(place: Place, groups: Groups, data: StudyData) -> Panel:
    trusted = quiet(groups)
    lines = [_line(i, trusted[i], data) for i in data.by_sigma(trusted)]
    kernels = {kernel for line in lines for kernel in line.cells}
    rows = {kernel: [line.cells.get(kernel) for line in lines] for kernel in kernels}
    means = {kernel: mean_factor(cell.factor if cell else math.inf for cell in row) for kernel, row in rows.items()}
    ordered = sorted(kernels, key=lambda kernel: (means[kernel], kernel))
    sort = data.sort or DEFAULT
    return Panel(
        place,
        tuple(sorting.arranged(lines, sort, Line.value)),
        {kernel: means[kernel] for kernel in ordered},
        sort,
        busy(groups),
    )


def _line(subject: str, group: Sequence[Measurement], data: StudyData) -> Line:
    """The line of a matrix or a transpose; `group` is sorted, the fastest first, which has a time."""
    fastest, best_s = group[0], group[0].median_s or 1.0
    cells = {
        m.kernel: Cell(m, m.median_s / best_s if m.median_s else math.inf, compare(fastest, m).kind)
        for m in group
        if not data.kernels or m.kernel in (*data.kernels, data.sort.removeprefix("-"))
    }
    # A kernel is not compared with itself.
    if fastest.kernel in cells:
        cells[fastest.kernel] = Cell(fastest, 1.0, "faster")
    base = baseline_of([m for m in group if m.median_s], data.baseline)
    gain = base.median_s / best_s if base and base.median_s else None
    return Line(fastest.matrix_id, data.matrix(subject), cells, gain)


def _row_px(panel: Panel) -> int:
    return max(ROW_PX_MIN, min(ROW_PX_MAX, PANEL_PX // len(panel.lines)))


def _cells(panel: Panel, scale: bool) -> go.Heatmap:
    """The cells of a panel; scale: whether the colours are explained above it."""
    rows = [[line.cells.get(kernel) for kernel in panel.drawn] for line in panel.lines]
    return go.Heatmap(
        z=[[_z(cell) for cell in row] for row in rows],
        text=[[cell.text if cell and cell.measurement.median_s else "" for cell in row] for row in rows],
        texttemplate="%{text}",
        hovertext=[[_hover(cell, line) for cell in row] for row, line in zip(rows, panel.lines, strict=True)],
        hoverinfo="text",
        customdata=[[line.matrix_id] * len(panel.drawn) for line in panel.lines],
        zmin=0,
        zmax=math.log(FACTOR_MAX),
        colorscale=steps(),
        xgap=1,
        ygap=1,
        showscale=scale,
        colorbar=explained(),
        meta={"role": "heat", "opens": "matrix"},
    )


def _without_time(panel: Panel) -> go.Scatter:
    """A dash in every cell without a time, which has no colour."""
    places = [
        (x, y)
        for y, line in enumerate(panel.lines)
        for x, kernel in enumerate(panel.drawn)
        if (cell := line.cells.get(kernel)) and not math.isfinite(cell.factor)
    ]
    return go.Scatter(
        x=[x for x, _ in places],
        y=[y for _, y in places],
        mode="text",
        text=["–"] * len(places),
        hoverinfo="skip",
        showlegend=False,
        meta={"role": "reason"},
    )


def _z(cell: Cell | None) -> float | None:
    """On a log scale, the darkest for all that are far off; None where there is no time."""
    return math.log(min(cell.factor, FACTOR_MAX)) if cell and math.isfinite(cell.factor) else None


def _hover(cell: Cell | None, line: Line) -> str:
    if cell is None:
        return marks.hover(line.matrix.name, "", "not measured")
    m = cell.measurement
    if not m.median_s:
        return marks.hover(m.kernel, f" on {line.matrix.name}", m.note or m.state)
    verdict = "the fastest" if cell.verdict == "faster" else f"{cell.verdict}, against the fastest"
    of = f"{seconds(m.median_s)}, {ratio(cell.factor)} the time of the fastest"
    return marks.hover(m.kernel, f" on {line.matrix.name}", of, verdict)


def _text(cell: Cell | None) -> str:
    if cell is None:
        return ""
    return cell.text if math.isfinite(cell.factor) else cell.measurement.state
