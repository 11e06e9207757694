"""What the figures of the study share: a panel a group of runs, a row a run, as many as somebody reads."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.runs import Run, RunGroup, by_precision, has_right_ranks, run_groups
from web.figures import marks
from web.figures.base import escape, shorten
from web.palette import OTHERS

ROW_PX = 26
ROWS_MAX = 60
"""Panels are drawn until they have so many rows together, the first in any case."""

MARGIN, OVERLONG = 1.05, 1.3
"""How far an axis goes past its longest bar; a run whose ranks are not right is cut where it is so much longer."""

NO_RUN = "No run has a trace here."
CUT = " A run whose ranks are not right is cut where it is much longer than the others."

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Panel(Generic[Row]):
    """The rows of a group of runs.

    heading    matrix, device, and parameters that are not the defaults
    place      the first two cells of a table's row: matrix, with these parameters, and device
    all_right  whether the ranks of all its runs are right
    """

    heading: str
    place: tuple[str, str]
    rows: tuple[Row, ...]
    all_right: bool = True


@dataclass(frozen=True, slots=True)
class Panels(Generic[Row]):
    """All panels of a figure."""

    panels: tuple[Panel[Row], ...]

    @property
    def drawn(self) -> list[Panel[Row]]:
        """The panels until ROWS_MAX."""
        return marks.first_panels(self.panels, lambda panel: len(panel.rows), ROWS_MAX)

    @property
    def omission(self) -> str:
        """A sentence on the matrices that are not drawn; empty where all are."""
        return marks.omission(len(self.drawn), len(self.panels), " matrices")

    @property
    def cut(self) -> str:
        """A sentence on runs that an axis may not reach the end of; empty where all ranks are right."""
        return "" if all(panel.all_right for panel in self.panels) else CUT


def panels_of(data: StudyData, row: Callable[[RunGroup, Run], Row | None]) -> Panels[Row]:
    """A panel for each group with a row, layout by layout, each from fp64 on; row: None for a run that has none."""
    panels = []
    for group in run_groups(data):
        ordered = sorted(group.runs, key=lambda run: (run.layout, by_precision(run)))
        rows = [(run, own) for run in ordered if (own := row(group, run)) is not None]
        if rows:
            right = all(has_right_ranks(run, data) for run, _ in rows)
            panels.append(panel_of(group, data, tuple(own for _, own in rows), right))
    return Panels(tuple(panels))


def panel_of(group: RunGroup, data: StudyData, rows: tuple[Row, ...], all_right: bool = True) -> Panel[Row]:
    """A panel of these rows of a group."""
    name = data.matrix(group.matrix_id).name
    heading = " · ".join(filter(None, (shorten(name), group.device, group.parameters)))
    place = f"{name} ({group.parameters})" if group.parameters else name, group.device
    return Panel(heading, place, rows, all_right)


def bar_panels(
    panels: Sequence[Panel[Row]], labels: Sequence[Sequence[str]], legend: int, barmode: str, axis: str
) -> go.Figure:
    """Panels of horizontal bars, a row a label, the first on top; axis: the title below the last one."""
    headings, escaped = [escape(panel.heading) for panel in panels], [list(map(escape, own)) for own in labels]
    figure = marks.bar_panels(headings, escaped, legend, barmode, ROW_PX)
    return figure.update_xaxes(title_text=axis, title_standoff=4, row=len(panels), col=1)


def mark_fp64(figure: go.Figure, row: int) -> None:
    """A line in a panel at 1, where fp64 is."""
    figure.add_vline(x=1, line={"color": OTHERS, "dash": "dot", "width": 1}, row=row, col=1)


def axis_end(values: Iterable[tuple[float, bool]]) -> float:
    """Where an axis from 0 ends that shows (value, whether the ranks are right): what is right sets the scale.

    A run that never comes under ε takes all the iterations that it may; drawn whole it would hide the others.
    """
    known = list(values)
    longest = max((value for value, _ in known), default=1.0)
    right = max((value for value, is_right in known if is_right), default=longest)
    return MARGIN * min(longest, OVERLONG * right)
