"""Figures: pure functions from records to plotly.graph_objects.Figure, one module a study."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import plotly.graph_objects as go

from gpu_engine.errors import NotFoundError, quote
from web.figures import formats, matrix


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that the API offers.

    needs  what `draw` is called with: `measurements` (list[Measurement], matrix names by id), `spy` (counts per cell,
           n_rows, n_cols) or `row_lengths` (bins as (shortest, longest, rows))
    """

    name: str
    title: str
    needs: Literal["measurements", "spy", "row_lengths"]
    draw: Callable[..., go.Figure]


FIGURES: tuple[Figure, ...] = (
    Figure("formats", "GFLOP/s by kernel beside the floors", "measurements", formats.bars),
    Figure("spy", "Where the entries of a matrix lie", "spy", matrix.spy),
    Figure("row-lengths", "How many rows have how many entries", "row_lengths", matrix.row_lengths),
)


def find_figure(name: str) -> Figure:
    """The figure of that name; raises NotFoundError naming the known ones."""
    for candidate in FIGURES:
        if candidate.name == name:
            return candidate
    known = ", ".join(figure.name for figure in FIGURES)
    raise NotFoundError(f"There is no figure {quote(name)}; known figures: {known}.")
