"""Figures of one matrix: its sparsity pattern and its row lengths."""

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from gpu_engine.text.units import count
from web.figures.base import Drawing, blank
from web.palette import OKABE_ITO, SEQUENTIAL
from web.pictures import Picture

SIDE_PX = 380
WHOLE, SEPARATORS = ",d", ".,"
"""Format of whole numbers and the separators of their digits, as in the tables."""

CELLS = 128
"""Maximum number of cells per side: about three pixels each."""
SQUARE_LIMIT = 4
"""A matrix longer than wide by more than this factor is stretched, because true proportions would leave a line."""


def spy(counts: Sequence[Sequence[int]], n_rows: int, n_cols: int) -> go.Figure:
    """Return the density of the nonzeros on a log scale, row 0 on top; empty cells stay blank.

    counts  nonzeros per cell [cell rows][cell columns], each cell the same share of n_rows × n_cols

    Cells merge down to `CELLS` per side.
    """
    if not counts or not counts[0] or n_rows == 0 or n_cols == 0:
        return blank("The matrix has no nonzeros to show.")
    figure = go.Figure(_density(counts, n_rows, n_cols))
    axis = {"constrain": "domain", "showgrid": False, "zeroline": False, "tickformat": WHOLE}
    figure.update_xaxes(title_text="column", range=[0, n_cols], side="top", **axis)
    figure.update_yaxes(title_text="row", range=[n_rows, 0], automargin=True, **axis)
    if max(n_rows, n_cols) <= SQUARE_LIMIT * min(n_rows, n_cols):
        figure.update_yaxes(scaleanchor="x", scaleratio=1)
    figure.update_layout(
        template="none", height=SIDE_PX + 60, margin={"l": 8, "r": 8, "t": 52, "b": 8}, separators=SEPARATORS
    )
    return figure


def _density(counts: Sequence[Sequence[int]], n_rows: int, n_cols: int) -> go.Heatmap:
    cells = np.asarray(counts, dtype=np.int64)
    rows, cols = (-(-side // CELLS) for side in cells.shape)
    height, width = rows * n_rows / cells.shape[0], cols * n_cols / cells.shape[1]
    # The last cells may reach past the matrix; the axes end with the matrix.
    starts = np.arange(0, cells.shape[0], rows), np.arange(0, cells.shape[1], cols)
    merged = np.add.reduceat(np.add.reduceat(cells, starts[0], axis=0), starts[1], axis=1)
    top = int(merged.max())
    decades = range(math.floor(math.log10(max(top, 1))) + 1)
    return go.Heatmap(
        name="nonzeros per cell",
        z=[[round(math.log10(nonzeros), 3) if nonzeros else None for nonzeros in line] for line in merged.tolist()],
        x0=width / 2,
        dx=width,
        y0=height / 2,
        dy=height,
        zmin=0,
        zmax=max(math.log10(max(top, 1)), 1e-3),
        colorscale=[list(stop) for stop in SEQUENTIAL],
        colorbar={
            "title": {"text": "nonzeros per cell"},
            "orientation": "h",
            "thickness": 8,
            "y": 0,
            "yanchor": "top",
            "tickvals": [float(decade) for decade in decades],
            "ticktext": [count(10**decade) for decade in decades],
        },
        hovertemplate="row %{y:.0f}, column %{x:.0f}<extra></extra>",
        meta={"role": "density"},
    )


def row_lengths(bins: Sequence[tuple[int, int, int]]) -> go.Figure:
    """Return the number of rows by row length, in bins that double.

    bins  (shortest, longest, rows), ascending lengths, both ends included
    """
    if not bins:
        return blank("The matrix has no rows.")
    labels = [str(low) if low == high else f"{low}–{high}" for low, high, _ in bins]
    figure = go.Figure(
        go.Bar(
            name="rows",
            x=labels,
            y=[rows for _, _, rows in bins],
            marker={"color": OKABE_ITO[0], "line": {"width": 0}},
            hovertext=[
                f"{count(rows)} rows of {label} nonzeros" for label, (_, _, rows) in zip(labels, bins, strict=True)
            ],
            hoverinfo="text",
            meta={"role": "histogram"},
        )
    )
    figure.update_xaxes(title_text="nonzeros per row", type="category", tickangle=-45, automargin=True)
    figure.update_yaxes(title_text="rows", rangemode="tozero", tickformat=WHOLE, automargin=True)
    figure.update_layout(
        template="none",
        height=SIDE_PX,
        bargap=0.12,
        showlegend=False,
        margin={"l": 8, "r": 8, "t": 12, "b": 8},
        separators=SEPARATORS,
    )
    return figure


MATRIX_FIGURES: tuple[Drawing[Picture], ...] = (
    Drawing("spy", "Sparsity pattern", lambda picture: spy(picture.spy, picture.n_rows, picture.n_cols)),
    Drawing("row-lengths", "Distribution of row lengths", lambda picture: row_lengths(picture.row_lengths)),
)
