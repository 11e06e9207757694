"""Panels of the study: a panel per group of runs, a row per run; many panels stand side by side."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.paper import paper_position
from gpu_engine.findings.pagerank.runs import SCHEDULE, Run, RunGroup, by_precision, has_right_ranks, run_groups
from gpu_engine.pagerank import Schedule
from gpu_engine.text.axes import axis_text
from web.figures import markers, panels
from web.figures.base import escape, shorten
from web.palette import OTHERS

ROW_PX, SMALL_ROW_PX, SMALL_FONT = 26, 15, 10
COLUMNS = 3
"""Maximum number of small panels side by side."""

PANELS_MAX = 12
"""Maximum number of panels of a figure, the first ones; the table has all."""

MARGIN, OVERLONG = 1.05, 1.3
"""End of an axis over its longest bar; runs with unverified ranks are cut at this multiple of the others."""

NO_RUN = "No run has a trace."
CUT = "Runs without verified ranks are cut if they are much longer than the others."

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Panel(Generic[Row]):
    """The rows of a group of runs.

    heading    matrix, device, and parameters that are not the defaults
    place      the first two cells of a table row: matrix with these parameters, and device
    device     the device only
    all_right  whether the ranks of all its runs are verified
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
        """Return several panels with only the first of rows that are alike; a single panel keeps all rows."""
        if len(self.panels) == 1:
            return self
        return Panels(tuple(replace(panel, rows=_firsts(panel.rows, alike)) for panel in self.panels))

    @property
    def omission(self) -> str:
        """Return a sentence on the matrices that are not drawn; empty if all are."""
        return markers.omission(len(self.visible), len(self.panels), " matrices")

    @property
    def cut(self) -> str:
        """Return a sentence on runs that may exceed an axis; empty if all ranks are verified."""
        return "" if all(panel.all_right for panel in self.panels) else CUT


def schedule_name(run: Run) -> str:
    """Return the name of runs that converge alike in any layout: `cpms4, start segments 1, raise at 16`."""
    axes, default = run.measurement.axes, Schedule()
    rule = (
        axis_text(name, axes[name])
        for name in SCHEDULE
        if axes.get(name, f"{default.stall_ratio:g}") != f"{default.stall_ratio:g}"
    )
    return ", ".join((run.storage, *(rule if run.in_fewer_bits else ())))


def panels_of(data: StudyData, row: Callable[[RunGroup, Run], Row | None]) -> Panels[Row]:
    """Return a panel per group with a row, by layout, fp64 first; row: returns None for a run without one."""
    group_panels = []
    for group in in_paper_order(data):
        ordered = sorted(group.runs, key=lambda run: (run.layout, by_precision(run)))
        rows = [(run, built_row) for run in ordered if (built_row := row(group, run)) is not None]
        if rows:
            right = all(has_right_ranks(run, data) for run, _ in rows)
            group_panels.append(panel_of(group, data, tuple(each for _, each in rows), right))
    return Panels(tuple(group_panels))


def in_paper_order(data: StudyData) -> list[RunGroup]:
    """Return the groups of runs: those of the paper's matrices first, in the order of Table I."""
    return sorted(run_groups(data), key=lambda group: paper_position(data.matrix(group.matrix_id).name))


def panel_of(group: RunGroup, data: StudyData, rows: tuple[Row, ...], all_right: bool = True) -> Panel[Row]:
    """Return a panel of these rows of a group."""
    name = data.matrix(group.matrix_id).name
    heading = " · ".join(filter(None, (shorten(name), group.device, group.parameters)))
    place = f"{name} ({group.parameters})" if group.parameters else name, group.place
    return Panel(heading, place, group.device, rows, all_right)


def _firsts(rows: Sequence[Row], alike: Callable[[Row], str]) -> tuple[Row, ...]:
    first: dict[str, Row] = {}
    for row in rows:
        first.setdefault(alike(row), row)
    return tuple(first.values())


def headings(visible_panels: Sequence[Panel[Row]]) -> list[str]:
    """Return the headings of panels. Several panels omit a device that all share, because the page names it."""
    devices = {panel.device for panel in visible_panels}
    lone = f" · {devices.pop()}" if len(visible_panels) > 1 == len(devices) else ""
    return [escape(panel.heading.replace(lone, "")) for panel in visible_panels]


def bar_panels(
    visible_panels: Sequence[Panel[Row]], labels: Sequence[Sequence[str]], legend: int, barmode: str, axis: str
) -> go.Figure:
    """Return panels of horizontal bars, a row per label, the first on top; axis: the title below the last one.

    Several panels are small, and stand side by side if the page is wide enough.
    """
    escaped = [list(map(escape, names)) for names in labels]
    if len(visible_panels) == 1:
        figure = markers.bar_panels(headings(visible_panels), escaped, legend, barmode, ROW_PX)
    else:
        small = {"across": COLUMNS, "tickfont_size": SMALL_FONT}
        figure = markers.bar_panels(headings(visible_panels), escaped, legend, barmode, SMALL_ROW_PX, **small)
        figure.update_xaxes(nticks=5, tickfont_size=SMALL_FONT)
    return figure.update_xaxes(title_text=axis, title_standoff=4, row=len(visible_panels))


def mark_fp64(figure: go.Figure, place: dict[str, int]) -> None:
    """Draw a line at 1, the time of fp64, in a panel."""
    figure.add_vline(x=1, line={"color": OTHERS, "dash": "dot", "width": 1}, **place)


def axis_end(values: Iterable[tuple[float, bool]]) -> float:
    """Return the end of an axis from 0 for (value, whether the ranks are verified); verified values set the scale.

    A run that never reaches ε takes the maximum number of iterations; drawn in full, it would hide the others.
    """
    known = list(values)
    longest = max((value for value, _ in known), default=1.0)
    right = max((value for value, is_right in known if is_right), default=longest)
    return MARGIN * min(longest, OVERLONG * right)
