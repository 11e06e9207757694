"""What the figures of the study share: a panel a group of runs, a row a run, as many as somebody reads."""

from collections.abc import Callable, Iterable, Sequence

import plotly.graph_objects as go

from web.figures.base import escape, shorten
from web.figures.panels import panels
from web.runs import Run, RunGroup, by_precision, has_right_ranks, run_groups
from web.shown import Shown

ROW_PX = 26
ROWS_MAX = 60
"""Panels are drawn until they have so many rows together, the first in any case."""

MARGIN, OVERLONG = 1.05, 1.3
"""How far an axis goes past its longest bar; a run whose ranks are not right is cut where it is so much longer."""

NO_RUN = "No run has a trace here."

Rows = tuple[RunGroup, list[Run]]
"""A group and those of its runs that a figure draws."""


def rows_of(shown: Shown, wanted: Callable[[RunGroup, Run], bool]) -> list[Rows]:
    """The wanted runs of each group that has any, layout by layout, each from fp64 on."""
    found = []
    for group in run_groups(shown):
        ordered = sorted(group.runs, key=lambda run: (run.layout, by_precision(run)))
        runs = [run for run in ordered if wanted(group, run)]
        if runs:
            found.append((group, runs))
    return found


def drawn(found: Sequence[Rows]) -> list[Rows]:
    """The groups until ROWS_MAX."""
    kept: list[Rows] = []
    for entry in found:
        if kept and sum(len(runs) for _, runs in (*kept, entry)) > ROWS_MAX:
            break
        kept.append(entry)
    return kept


def left_out(found: Sequence[Rows]) -> str:
    """A sentence on the matrices that are not drawn; empty where all are."""
    number = len(drawn(found))
    return f" Drawn are the first {number} of {len(found)} matrices; the table has all." if number < len(found) else ""


def cut(found: Sequence[Rows], shown: Shown) -> str:
    """A sentence on runs that an axis may not reach the end of; empty where all ranks are right."""
    wrong = any(not has_right_ranks(run, shown) for _, runs in found for run in runs)
    return " A run whose ranks are not right is cut where it is much longer than the others." if wrong else ""


def heading(group: RunGroup, shown: Shown) -> str:
    """The title of a panel: matrix, device, and parameters that are not the defaults."""
    name = escape(shorten(shown.matrix(group.matrix_id).name))
    return " · ".join(part for part in (name, group.device, escape(group.parameters)) if part)


def place(group: RunGroup, shown: Shown) -> tuple[str, str]:
    """The first two cells of a table's row: matrix, with parameters that are not the defaults, and device."""
    name = shown.matrix(group.matrix_id).name
    return (f"{name} ({group.parameters})" if group.parameters else name), group.device


def bar_panels(heads: Sequence[str], rows: Sequence[Sequence[str]], legend: int, barmode: str) -> go.Figure:
    """Panels of horizontal bars, a row a label, the first on top."""
    heights = [max(2, len(labels)) * ROW_PX for labels in rows]
    # A narrow screen has half as many entries a line, and panels of few rows have nothing to give.
    figure = panels(heads, heights, 2 * legend, bargap=0.25, barmode=barmode)
    for row, labels in enumerate(rows, start=1):
        order = list(labels)
        figure.update_yaxes(
            categoryorder="array",
            categoryarray=order,
            range=[len(order) - 0.5, -0.5],
            ticklabelstandoff=4,
            row=row,
            col=1,
        )
    figure.update_layout(legend_traceorder="normal")
    return figure


def axis_end(values: Iterable[tuple[float, bool]]) -> float:
    """Where an axis from 0 ends that shows (value, whether the ranks are right): what is right sets the scale.

    A run that never comes under ε takes all the iterations that it may; drawn whole it would hide the others.
    """
    known = list(values)
    longest = max((value for value, _ in known), default=1.0)
    right = max((value for value, is_right in known if is_right), default=longest)
    return MARGIN * min(longest, OVERLONG * right)
