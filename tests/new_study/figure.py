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
    errors: tuple[float, ...]


def info(data: StudyData) -> tuple[Rate, ...]:
    """A point per matrix and kernel, of the chosen layout alone, with the errors that its trace has."""
    shown = (m for m in data.measurements if m.format == data.choice(LAYOUT, m.format) and m.gflops)
    return tuple(
        Rate(data.matrix(m.matrix_id).name, m.kernel, m.gflops or 0.0, _errors(data, m.device, m.case)) for m in shown
    )


def _errors(data: StudyData, device: str, case: str) -> tuple[float, ...]:
    trace = data.traces.get((device, case))
    return trace.arrays["errors"] if trace else ()


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
            meta={"role": "point", "errors": [len(rate.errors) for rate in info]},
        )
    )


def summary(info: tuple[Rate, ...]) -> str:
    """What is to be seen."""
    return "GFLOP/s of a product with the transposed matrix."


def table(info: tuple[Rate, ...]) -> Table:
    """A row a point."""
    heads = Head("matrix", numeric=False), Head("kernel", numeric=False), Head("rate", "GFLOP/s"), Head("error")
    rows = ((r.matrix, r.kernel, units.number(r.gflops), f"{max(r.errors, default=0.0):.1e}") for r in info)
    return Table(heads, tuple(rows))


RATES = Figure("transpose-rates", "Rates of both layouts", draw, summary, table, info=info)
