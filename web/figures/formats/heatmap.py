"""Heat map of every matrix and kernel: the slowdown against the fastest kernel, as a color and a number.

The same section of the page shows the formats of a figure of the PELLR paper as bars, if the reader selects them.
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
from gpu_engine.verdicts.verdict import VerdictKind, compare, verdict_text
from web import sorting
from web.figures import markers
from web.figures.base import blank, caption, escape, shorten
from web.figures.formats import side_by_side
from web.figures.formats.color_scale import color_bar, steps
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
from web.figures.panels import Panels, panels

COLUMNS_MAX = 20
"""Maximum number of kernels in the drawing, those with the smallest mean slowdown; the table has all."""

PANEL_PX, ROW_PX_MIN, ROW_PX_MAX, COLUMN_PX, NAMES_PX, SCALE_PX, LETTER_PX = 900, 12, 26, 36, 150, 34, 7.5
"""Sizes in pixels. A panel has about the same height for any number of matrices; narrow screens scroll."""

DEFAULT = "sigma"
"""Default sort key of the matrices."""

GLYPHS: Mapping[VerdictKind, str] = {"same": "=", "inconclusive": "?"}
"""Glyphs of kernels that are not slower than the fastest by their verdict."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A kernel on a matrix; factor: its slowdown against the fastest kernel, inf without a time."""

    measurement: Measurement
    factor: float
    verdict: VerdictKind

    @property
    def text(self) -> str:
        """Return `1.23` or `12`, with a glyph if the verdict is not slower; a dash without a time."""
        if not math.isfinite(self.factor):
            return "–"
        # All cells have the font size at which the longest text fits.
        short = f"{self.factor:.2f}" if self.factor < 10 else f"{self.factor:.0f}" if self.factor < 1000 else ">999"
        return f"{GLYPHS.get(self.verdict, '')}{short}"


@dataclass(frozen=True, slots=True)
class Line:
    """A matrix: its cells by kernel, its id, and gain, the speedup of the fastest kernel over the baseline."""

    matrix_id: str
    matrix: MatrixFeatures
    cells: Mapping[str, Cell]
    gain: float | None

    def value(self, key: str) -> float | None:
        """Return the value to sort by: a key of web/sorting.py, or the slowdown of a kernel."""
        if key == "best":
            return self.gain
        cell = self.cells.get(key)
        return (cell.factor if math.isfinite(cell.factor) else None) if cell else sorting.feature(self.matrix, key)


@dataclass(frozen=True, slots=True)
class Panel:
    """The matrices on one device in one cache state, in the order of `sort`.

    means  kernel → geometric mean of its slowdowns, each counted up to FACTOR_MAX, the smallest first
    busy   how many matrices have only timings that are too noisy
    """

    place: Place
    lines: tuple[Line, ...]
    means: Mapping[str, float]
    sort: str
    busy: int

    @property
    def visible(self) -> list[str]:
        """Return the kernels of the drawing, including the one that the matrices are sorted by."""
        first, sort_key = list(self.means)[:COLUMNS_MAX], self.sort.removeprefix("-")
        return first if sort_key in first or sort_key not in self.means else [*first[:-1], sort_key]


Info = Panels[Panel] | side_by_side.Info


def info(data: StudyData) -> Info:
    """Return every kernel on every matrix; with `series`, the formats of that figure of the paper.

    data.kernels  the columns; empty: all kernels that were measured
    """
    if data.choice(side_by_side.SERIES_PARAMETER) in side_by_side.FIGURES:
        return side_by_side.info(data)
    every = (_panel(place, groups, data) for place, groups in by_place(data.measurements).items())
    return Panels(tuple(panel for panel in every if panel.lines))


def draw(info: Info) -> go.Figure:
    """Return a cell per matrix and kernel, the kernels with the smallest mean slowdown on the left."""
    if isinstance(info, side_by_side.Info):
        return side_by_side.draw(info)
    if not info.panels:
        return blank(NO_RESULTS)
    heights = [_row_px(panel) * len(panel.lines) for panel in info.panels]
    titles = [place_in_words(panel.place) for panel in info.panels]
    # Slanted by 60°.
    longest = max(len(kernel) for panel in info.panels for kernel in panel.visible)
    figure = panels(titles, heights, above_px=10 + round(LETTER_PX * math.sin(math.pi / 3) * longest))
    for row, panel in enumerate(info.panels, start=1):
        for trace in (_cells(panel, scale=row == 1), _without_time(panel)):
            figure.add_trace(trace, row=row, col=1)
        size = min(12, _row_px(panel) - 3)
        figure.update_yaxes(autorange="reversed", tickfont={"size": size}, showgrid=False, row=row, col=1)
        # Every row and column has its label: without explicit positions, Plotly omits some.
        labels = [shorten(line.matrix.name, 20) for line in panel.lines]
        figure.update_yaxes(tickvals=list(range(len(labels))), ticktext=[escape(each) for each in labels], row=row)
        figure.update_xaxes(
            tickvals=list(range(len(panel.visible))), ticktext=list(map(escape, panel.visible)), row=row
        )
    figure.update_xaxes(side="top", tickangle=-60, showgrid=False, zeroline=False)
    figure.update_yaxes(zeroline=False)
    columns = max(len(panel.visible) for panel in info.panels)
    figure.update_layout(height=figure.layout.height + SCALE_PX, margin_t=figure.layout.margin.t + SCALE_PX)
    figure.update_layout(meta={**figure.layout.meta, "width_min": NAMES_PX + COLUMN_PX * columns})
    return figure


def table(info: Info) -> Table:
    """Return a row per matrix and a column per kernel with the slowdown, and the geometric means above them."""
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
    return Table((*heads, *(Head(kernel, "slowdown") for kernel in kernels)), tuple(rows))


def summary(info: Info) -> str:
    """Return the meaning of a cell, and the kernel with the smallest mean slowdown."""
    if isinstance(info, side_by_side.Info):
        return side_by_side.summary(info)
    if not info.panels:
        return NO_QUIET
    most = max(len(panel.means) for panel in info.panels)
    text = (
        "Slowdown of each kernel against the fastest kernel of the matrix. “=” tied, “?” inconclusive, “–” no timing."
    )
    text += markers.omission(min(COLUMNS_MAX, most), most, " kernels")
    more = f"Kernels are sorted by mean slowdown; no timing counts as {FACTOR_MAX:g}\u202f×. Matrices are sorted by "
    more += f"{sorting.in_words(info.panels[0].sort)} from the top. Click a cell to open its matrix."
    return caption(text, map(_nearest, info.panels), (more,))


def _nearest(panel: Panel) -> str:
    kernel, mean = next(iter(panel.means.items()))
    over = left_out(len(panel.lines), panel.busy)
    where = place_in_words(panel.place)
    return f"On {where}, {kernel} has the smallest mean slowdown: {ratio(mean)} over {over}."


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
    """Return the line of a matrix or a transpose; `group` is sorted, and its first, the fastest, has a time."""
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
    """Return the cells of a panel; scale: whether the color bar stands above it."""
    rows = [[line.cells.get(kernel) for kernel in panel.visible] for line in panel.lines]
    return go.Heatmap(
        z=[[_z(cell) for cell in row] for row in rows],
        text=[[cell.text if cell and cell.measurement.median_s else "" for cell in row] for row in rows],
        texttemplate="%{text}",
        hovertext=[[_hover(cell, line) for cell in row] for row, line in zip(rows, panel.lines, strict=True)],
        hoverinfo="text",
        customdata=[[line.matrix_id] * len(panel.visible) for line in panel.lines],
        zmin=0,
        zmax=math.log(FACTOR_MAX),
        colorscale=steps(),
        xgap=1,
        ygap=1,
        showscale=scale,
        colorbar=color_bar(),
        meta={"role": "heat", "opens": "matrix"},
    )


def _without_time(panel: Panel) -> go.Scatter:
    """Return a dash in every cell without a time, which has no color."""
    positions = [
        (x, y)
        for y, line in enumerate(panel.lines)
        for x, kernel in enumerate(panel.visible)
        if (cell := line.cells.get(kernel)) and not math.isfinite(cell.factor)
    ]
    return go.Scatter(
        x=[x for x, _ in positions],
        y=[y for _, y in positions],
        mode="text",
        text=["–"] * len(positions),
        hoverinfo="skip",
        showlegend=False,
        meta={"role": "reason"},
    )


def _z(cell: Cell | None) -> float | None:
    """Return the color value on a log scale, capped at FACTOR_MAX; None without a time."""
    return math.log(min(cell.factor, FACTOR_MAX)) if cell and math.isfinite(cell.factor) else None


def _hover(cell: Cell | None, line: Line) -> str:
    if cell is None:
        return markers.hover(line.matrix.name, "", "not measured")
    m = cell.measurement
    if not m.median_s:
        return markers.hover(m.kernel, f" on {line.matrix.name}", m.note or m.state)
    verdict = "fastest" if cell.verdict == "faster" else f"{verdict_text(cell.verdict)}, compared with the fastest"
    of = f"{seconds(m.median_s)}, slowdown {ratio(cell.factor)}"
    return markers.hover(m.kernel, f" on {line.matrix.name}", of, verdict)


def _text(cell: Cell | None) -> str:
    if cell is None:
        return ""
    return cell.text if math.isfinite(cell.factor) else cell.measurement.state
