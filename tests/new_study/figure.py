"""How fast both layouts are, a bar each."""

from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from web.figures.base import Figure, blank, escape

LAYOUT = "layout"


@dataclass(frozen=True, slots=True)
class Rate:
    """A point."""

    matrix: str
    kernel: str
    gflops: float


def info(data: StudyData) -> tuple[Rate, ...]:
    """A point per matrix and kernel, of the chosen layout alone."""
    shown = (m for m in data.measurements if m.format == data.choice(LAYOUT, m.format))
    return tuple(Rate(data.matrix(m.matrix_id).name, m.kernel, m.gflops) for m in shown if m.gflops)


def draw(info: tuple[Rate, ...]) -> go.Figure:
    """All points, a row each."""
    if not info:
        return blank("No results yet.")
    return go.Figure(
        go.Scatter(
            x=[rate.gflops for rate in info],
            y=[escape(f"{rate.matrix} {rate.kernel}") for rate in info],
            mode="markers",
            marker={"line": {"width": 1}},
            meta={"role": "point"},
        )
    )


def summary(info: tuple[Rate, ...]) -> str:
    """What is to be seen."""
    return "GFLOP/s of a product with the transposed matrix."


def table(info: tuple[Rate, ...]) -> Table:
    """A row a point."""
    heads = Head("matrix", numeric=False), Head("kernel", numeric=False), Head("rate", "GFLOP/s")
    return Table(heads, tuple((rate.matrix, rate.kernel, units.number(rate.gflops)) for rate in info))


RATES = Figure("transpose-rates", "Rates of both layouts", draw, summary, table, info=info)
