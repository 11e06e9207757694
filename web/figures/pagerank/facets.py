"""What the figures of the study share: a panel a group of runs, a row a run; many panels stand side by side."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.runs import SCHEDULE, Run, RunGroup, by_precision, has_right_ranks, run_groups
from gpu_engine.pagerank import Schedule
from gpu_engine.text.axes import axis_text
from web.figures import marks, panels
from web.figures.base import escape, shorten
from web.palette import OTHERS

ROW_PX, SMALL_ROW_PX, SMALL_FONT = 26, 15, 10
COLUMNS = 3
"""Most small panels side by side."""

PANELS_MAX = 12
"""Most panels of a figure, the first ones; the table has all."""

MARGIN, OVERLONG = 1.05, 1.3
"""How far an axis goes past its longest bar; a run whose ranks are not right is cut where it is so much longer."""

NO_RUN = "No run has a trace here."
CUT = "A run whose ranks are not right is cut where it is much longer than the others."

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Panel(Generic[Row]):
    """The rows of a group of runs.

    heading    matrix, device, and parameters that are not the defaults
    place      the first two cells of a table's row: matrix, with these parameters, and where it ran
    device     the device alone
    all_right  whether the ranks of all its runs are right
    """

    heading: str
    place: tuple[str, str]
    device: str
    rows: tuple[Row, ...]
    all_right: bool = True


@dataclass(frozen=True, slots=True)
class Panels(panels.Panels[Panel[Row]]):
    """The panels of a figure, of which the first PANELS_MAX are drawn."""

    number: int | None = PANELS_MAX

    def folded(self, alike: Callable[[Row], str]) -> "Panels[Row]":
        """Of several panels, in each the first of the rows that are alike; a lone panel has all its rows."""
        if len(self.panels) == 1:
            return self
        return Panels(tuple(replace(panel, rows=_firsts(panel.rows, alike)) for panel in self.panels))

    @property
    def omission(self) -> str:
        """A sentence on the matrices that are not drawn; empty where all are."""
        return marks.omission(len(self.drawn), len(self.panels), " matrices")

    @property
    def cut(self) -> str:
        """A sentence on runs that an axis may not reach the end of; empty where all ranks are right."""
        return "" if all(panel.all_right for panel in self.panels) else CUT


def schedule_name(run: Run) -> str:
    """Of the runs that converge alike, whatever the layout: `cpms4, start segments 1, raise at 16`."""
    axes, default = run.measurement.axes, Schedule()
    rule = (
        axis_text(name, axes[name])
        for name in SCHEDULE
        if axes.get(name, f"{default.stall_ratio:g}") != f"{default.stall_ratio:g}"
    )
    return ", ".join((run.storage, *(rule if run.in_fewer_bits else ())))


def panels_of(data: StudyData, row: Callable[[RunGroup, Run], Row | None]) -> Panels[Row]:
    """A panel for each group with a row, layout by layout, each from fp64 on; row: None for a run that has none."""
    found = []
    for group in run_groups(data):
        ordered = sorted(group.runs, key=lambda run: (run.layout, by_precision(run)))
        rows = [(run, own) for run in ordered if (own := row(group, run)) is not None]
        if rows:
            right = all(has_right_ranks(run, data) for run, _ in rows)
            found.append(panel_of(group, data, tuple(own for _, own in rows), right))
    return Panels(tuple(found))


def panel_of(group: RunGroup, data: StudyData, rows: tuple[Row, ...], all_right: bool = True) -> Panel[Row]:
    """A panel of these rows of a group."""
    name = data.matrix(group.matrix_id).name
    heading = " · ".join(filter(None, (shorten(name), group.device, group.parameters)))
    place = f"{name} ({group.parameters})" if group.parameters else name, group.place
    return Panel(heading, place, group.device, rows, all_right)


def _firsts(rows: Sequence[Row], alike: Callable[[Row], str]) -> tuple[Row, ...]:
    first: dict[str, Row] = {}
    for row in rows:
        first.setdefault(alike(row), row)
    return tuple(first.values())


def headings(shown: Sequence[Panel[Row]]) -> list[str]:
    """What stands over panels. Several have no room for a device that all have: the page and saved files name it."""
    devices = {panel.device for panel in shown}
    lone = f" · {devices.pop()}" if len(shown) > 1 == len(devices) else ""
    return [escape(panel.heading.replace(lone, "")) for panel in shown]


def bar_panels(
    shown: Sequence[Panel[Row]], labels: Sequence[Sequence[str]], legend: int, barmode: str, axis: str
) -> go.Figure:
    """Panels of horizontal bars, a row a label, the first on top; axis: the title below the last one.

    Several panels are small, and stand side by side where the page is wide enough.
    """
    escaped = [list(map(escape, own)) for own in labels]
    if len(shown) == 1:
        figure = marks.bar_panels(headings(shown), escaped, legend, barmode, ROW_PX)
    else:
        small = {"across": COLUMNS, "tickfont_size": SMALL_FONT}
        figure = marks.bar_panels(headings(shown), escaped, legend, barmode, SMALL_ROW_PX, **small)
        figure.update_xaxes(nticks=5, tickfont_size=SMALL_FONT)
    return figure.update_xaxes(title_text=axis, title_standoff=4, row=len(shown))


def mark_fp64(figure: go.Figure, place: dict[str, int]) -> None:
    """A line in a panel at 1, where fp64 is."""
    figure.add_vline(x=1, line={"color": OTHERS, "dash": "dot", "width": 1}, **place)


def axis_end(values: Iterable[tuple[float, bool]]) -> float:
    """Where an axis from 0 ends that shows (value, whether the ranks are right): what is right sets the scale.

    A run that never comes under ε takes all the iterations that it may; drawn whole it would hide the others.
    """
    known = list(values)
    longest = max((value for value, _ in known), default=1.0)
    right = max((value for value, is_right in known if is_right), default=longest)
    return MARGIN * min(longest, OVERLONG * right)
