"""Figures: pure functions from records to plotly.graph_objects.Figure; of a study with several, one module each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import plotly.graph_objects as go

from gpu_engine.errors import NotFoundError, quote
from web.figures import matrix
from web.figures.base import Table
from web.figures.batched import conversion as batch_conversion
from web.figures.batched import density, growth, mixed, winners
from web.figures.formats import bars, conversion, profile, rate, ratio, roofline, side_by_side
from web.figures.pagerank import breakdown, gamma, pull, timeline, total, what_if
from web.figures.scaling import balance, cold, iteration, phases, staying
from web.shown import Shown

Needs = Literal["measurements", "runs", "batches", "works", "spy", "row_lengths"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that the API offers.

    needs         what `draw` is called with: `measurements`, `runs`, `batches` or `works` (Shown of the formats study,
                  of the pagerank study with traces, of the batched study, of the scaling study), `spy` (counts per
                  cell, n_rows, n_cols) or `row_lengths` (bins as (shortest, longest, rows))
    summary       of a study's figure: what there is to see, in sentences; table: its numbers
    matrices_min  of a study's figure: with fewer matrices it says nothing
    """

    name: str
    title: str
    needs: Needs
    draw: Callable[..., go.Figure]
    summary: Callable[[Shown], str] | None = None
    table: Callable[[Shown], Table] | None = None
    matrices_min: int = 1


FIGURES: tuple[Figure, ...] = (
    Figure(
        "side-by-side",
        "All formats side by side",
        "measurements",
        side_by_side.draw,
        side_by_side.summary,
        side_by_side.table,
        matrices_min=2,
    ),
    Figure(
        "performance-profile",
        "How far from the fastest",
        "measurements",
        profile.draw,
        profile.summary,
        profile.table,
        matrices_min=2,
    ),
    Figure("formats", "GFLOP/s by kernel beside the floors", "measurements", bars.draw, bars.summary),
    Figure("roofline", "How near the roof", "measurements", roofline.draw, roofline.summary, roofline.table),
    Figure("conversion", "What a format costs", "measurements", conversion.draw, conversion.summary, conversion.table),
    Figure(
        "ratio", "One format against another", "measurements", ratio.draw, ratio.summary, ratio.table, matrices_min=2
    ),
    Figure("rate", "Rate by size", "measurements", rate.draw, rate.summary, rate.table, matrices_min=2),
    Figure("pagerank-total", "How much faster whole runs are", "runs", total.draw, total.summary, total.table),
    Figure("pagerank-gamma", "How the runs converge", "runs", gamma.draw, gamma.summary, gamma.table),
    Figure("pagerank-schedule", "Which precision when", "runs", timeline.draw, timeline.summary, timeline.table),
    Figure("pagerank-time", "Where the time of a run goes", "runs", breakdown.draw, breakdown.summary, breakdown.table),
    Figure("pagerank-pull", "What fewer bits do to a product", "runs", pull.draw, pull.summary, pull.table),
    Figure("pagerank-what-if", "What another schedule would do", "runs", what_if.draw, what_if.summary, what_if.table),
    Figure("batched-growth", "How rates grow with the batch", "batches", growth.draw, growth.summary, growth.table),
    Figure("batched-winners", "Who is fastest where", "batches", winners.draw, winners.summary, winners.table),
    Figure("batched-density", "Rate by row length", "batches", density.draw, density.summary, density.table),
    Figure("batched-mixed", "Mixed batches", "batches", mixed.draw, mixed.summary, mixed.table),
    Figure(
        "batched-conversion",
        "What another layout costs",
        "batches",
        batch_conversion.draw,
        batch_conversion.summary,
        batch_conversion.table,
    ),
    Figure("scaling-cold", "Speed-up of products from the host", "works", cold.draw, cold.summary, cold.table),
    Figure("scaling-phases", "Where the time of a product goes", "works", phases.draw, phases.summary, phases.table),
    Figure("scaling-balance", "Nonzeros of each device", "works", balance.draw, balance.summary, balance.table),
    Figure(
        "scaling-staying",
        "Speed-up where the matrix stays on the devices",
        "works",
        staying.draw,
        staying.summary,
        staying.table,
    ),
    Figure(
        "scaling-iteration", "What an iteration is made of", "works", iteration.draw, iteration.summary, iteration.table
    ),
    Figure("spy", "Where the entries of a matrix lie", "spy", matrix.spy),
    Figure("row-lengths", "How many rows have how many entries", "row_lengths", matrix.row_lengths),
)
"""The figures of a study in the order of its page: what a solver writer asks first comes first."""


def find_figure(name: str) -> Figure:
    """The figure of that name; raises NotFoundError naming the known ones."""
    for candidate in FIGURES:
        if candidate.name == name:
            return candidate
    known = ", ".join(figure.name for figure in FIGURES)
    raise NotFoundError(f"There is no figure {quote(name)}; known figures: {known}.")
