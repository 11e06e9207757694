"""Panels of the figures: one per problem, with the methods and preconditioners that solve it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.solvers.consistent import NONE
from gpu_engine.findings.solvers.groups import TITLES, SolveGroup, problems
from gpu_engine.findings.solvers.systems import system_texts
from gpu_engine.text.axes import axis_text
from gpu_engine.text.units import scientific
from web.figures import markers, panels
from web.figures.base import escape, shorten
from web.figures.panels import DOT
from web.palette import DASHES, OKABE_ITO, OTHERS

PANELS_MAX = 12
"""Maximum number of panels of a figure, the first ones; the table has all."""

NO_SOLVE = "No solve has a time."

Row = TypeVar("Row")

COLORS = dict(zip(TITLES.values(), OKABE_ITO, strict=False))
"""Method → its color."""


@dataclass(frozen=True, slots=True)
class Panel(Generic[Row]):
    """The rows of a problem.

    heading  matrix, device, tolerance, and system; place: matrix and device, the first cells of a table row
    """

    heading: str
    place: tuple[str, str]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Panels(panels.Panels[Panel[Row]]):
    """The panels of a figure, of which the first PANELS_MAX are drawn."""

    number: int | None = PANELS_MAX

    @property
    def omission(self) -> str:
        """Return a sentence on the problems that are not drawn; empty if all are."""
        return markers.omission(len(self.visible), len(self.panels), " systems")


def panels_of(data: StudyData, rows: Callable[[SolveGroup], Sequence[Row]]) -> Panels[Row]:
    """Return a panel per problem with a row; rows: returns those of one method and preconditioner."""
    made = []
    for groups in problems(data).values():
        of_problem = tuple(row for group in groups for row in rows(group))
        if of_problem:
            first = groups[0]
            name = data.matrix(first.matrix_id).name
            rtol = f"to {scientific(first.solves[0].rtol)}"
            heading = escape(DOT.join((shorten(name), first.device, ", ".join((rtol, *system_texts(first.axes))))))
            made.append(Panel(heading, (name, first.device), of_problem))
    return Panels(tuple(made))


def headings(visible: Sequence[Panel[Row]]) -> list[str]:
    """Return the headings of panels."""
    return [panel.heading for panel in visible]


def way(group: SolveGroup) -> str:
    """Return the method and the preconditioner: `CG, jacobi`."""
    extra = () if group.preconditioner == NONE else (group.preconditioner,)
    options = (axis_text(name, group.axes[name]) for name in ("check_every", "restart") if name in group.axes)
    return ", ".join((group.method, *extra, *options))


def look(group: SolveGroup, names: Sequence[str]) -> tuple[str, str]:
    """Return the color of the method and the dashes of the preconditioner; names: all preconditioners in order."""
    return COLORS.get(group.method, OTHERS), DASHES[list(names).index(group.preconditioner) % len(DASHES)]
