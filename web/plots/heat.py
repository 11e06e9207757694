"""Heat: a table of kernels with a strip of cells per kernel, one column per matrix; template `_heat.html`."""

from dataclasses import dataclass
from itertools import groupby

BOUNDS = (1.02, 1.1, 1.25, 1.5, 2.0)
"""Largest slowdown of each step of the color scale but the last."""

LABEL_SHARE = 0.06
"""Share of the columns that a group needs to have room for its label."""

NOT_TRIED, FAILED = -1, -2
"""Steps of cells without a time."""


def step_of(slowdown: float) -> int:
    """Return the step of the color scale: 0 is the fastest."""
    return sum(slowdown > bound for bound in BOUNDS)


@dataclass(frozen=True, slots=True)
class HeatRow:
    """A kernel, or a choice of kernels.

    color, form   classes of its mark
    mean, ci      geometric mean of the speedup over the baseline and its 95 % interval, as text; empty without one
    wins          numbers of matrices on which it is faster, equal or inconclusive, and slower; None: the baseline
    cells         step of the color scale per matrix, 0 (fastest) … 5; −1: not tried; −2: failed
    note          number of matrices, if it did not run on all
    is_choice     whether it chooses a kernel per matrix
    """

    name: str
    color: str
    form: str
    mean: str
    ci: str
    wins: tuple[int, int, int] | None
    cells: tuple[int, ...]
    note: str = ""
    is_choice: bool = False

    @property
    def runs(self) -> tuple[tuple[int, int, int], ...]:
        """(first column, number of columns, step) of neighboring cells of one step, without those not tried."""
        places = groupby(enumerate(self.cells), key=lambda pair: pair[1])
        runs = ((next(members)[0], 1 + sum(1 for _ in members), step) for step, members in places)
        return tuple(run for run in runs if run[2] != NOT_TRIED)


@dataclass(frozen=True, slots=True)
class HeatColumn:
    """A matrix.

    href     address that opens its drawer; is_open: whether the drawer shows it
    meaning  what its best cell says, for a tooltip and for screen readers
    """

    name: str
    href: str
    is_open: bool = False
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Heat:
    """A heat table; groups: (class of the color, name, number of columns) of neighboring columns.

    setting  device and cache state, if the page has several
    """

    heading: str
    baseline: str
    columns: tuple[HeatColumn, ...]
    groups: tuple[tuple[str, str, int], ...]
    rows: tuple[HeatRow, ...]
    folded: tuple[HeatRow, ...] = ()
    setting: str = ""
    kind: str = "heat"

    @property
    def has_intervals(self) -> bool:
        """Whether a row has an interval: with few matrices, none has one."""
        return any(row.ci for row in (*self.rows, *self.folded))

    @property
    def unlabeled(self) -> tuple[str, ...]:
        """Names and numbers of the groups that are too narrow for a label."""
        return tuple(f"{name} {number}" for _, name, number in self.groups if number < LABEL_SHARE * len(self.columns))

    @property
    def open_column(self) -> int | None:
        """Place of the column of the open drawer."""
        return next((place for place, column in enumerate(self.columns) if column.is_open), None)


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A matrix in the table below the strips.

    best           (kernel, color, form) of the kernel that is compared with the baseline; None without one
    chosen         (kernel, color, form) of the one with the least time for n SpMVs
    time, speedup  of `best`; verdict: `faster`, `slower`, `same`, or `inconclusive`, empty without one
    cells          (step of the color scale, slowdown as text)
    """

    name: str
    href: str
    is_open: bool
    best: tuple[str, str, str] | None
    time: str
    speedup: str
    verdict: str
    chosen: tuple[str, str, str] | None
    cells: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class MatrixTable:
    """The matrices of a heat table.

    baseline  what the speedup is over; best: head of the kernels that it is of
    chosen    head of the column of kernels for n SpMVs
    heads     heads of the cells
    sorts     (text, address, whether it is the current one) of the orders; verdicts: the same of the verdicts
    """

    heading: str
    baseline: str
    best: str
    chosen: str
    heads: tuple[str, ...]
    rows: tuple[MatrixRow, ...]
    folded: tuple[MatrixRow, ...] = ()
    sorts: tuple[tuple[str, str, bool], ...] = ()
    verdicts: tuple[tuple[str, str, bool], ...] = ()
    kind: str = "matrices"
