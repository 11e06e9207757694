"""Dots: a dot plot with one line per row; template `_dots.html`; positions come from `web.plots.axis`."""

from dataclasses import dataclass

NEAR = 0.17
"""Least distance of two texts of a narrow axis, as a share of it."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A mark on a row.

    at         position, 0 … 1; low, high: 95 % interval, None without one
    form       `circle`, `diamond`, `triangle`, `ring`, `cross`, `square`, or `stem` (a mean)
    color      class of its color: a family (`of-csr`) or a verdict (`faster`, `slower`, `same`, `inconclusive`)
    beyond     its value as text, if it lies beyond the axis; empty: it does not
    is_small   whether it is one of many on its row; is_hollow: whether it is predicted
    """

    at: float
    low: float | None
    high: float | None
    form: str
    color: str
    beyond: str = ""
    is_small: bool = False
    is_hollow: bool = False


@dataclass(frozen=True, slots=True)
class DotValue:
    """A value at the right of a row; verdict: `faster`, `slower`, `same`, `inconclusive`, or empty.

    low_high   small text after it: its 95 % interval, a time, or empty
    """

    text: str
    verdict: str = ""
    low_high: str = ""


@dataclass(frozen=True, slots=True)
class DotRow:
    """A row.

    href          address that its name opens, or empty
    is_summary    whether it is a mean of the other rows
    color, form   mark before its name; empty: none
    note          text after its name
    is_open       whether the drawer shows it
    """

    name: str
    href: str
    dots: tuple[Dot, ...]
    values: tuple[DotValue, ...]
    is_summary: bool = False
    color: str = ""
    form: str = ""
    note: str = ""
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """An entry of the legend; meaning: explanation for a tooltip, or empty."""

    name: str
    form: str
    color: str
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Dots:
    """A dot plot.

    ticks      (position, text); one: position of the line of 1×, None without it
    heads      heads of the columns of values; wide: those that phones leave out
    what       head of the column of names
    note       text beside the heading
    verdicts   whether the legend explains the colors of verdicts
    """

    heading: str
    series: tuple[Series, ...]
    ticks: tuple[tuple[float, str], ...]
    one: float | None
    heads: tuple[str, ...]
    rows: tuple[DotRow, ...]
    what: str = ""
    wide: tuple[str, ...] = ()
    note: str = ""
    verdicts: bool = False
    kind: str = "dots"

    @property
    def near_ticks(self) -> tuple[float, ...]:
        """Positions of ticks whose text would touch another one if many columns leave little room for the axis."""
        positions = [] if self.one is None else [self.one]
        for at, _ in self.ticks:
            if all(abs(at - other) >= NEAR for other in positions):
                positions.append(at)
        return tuple(at for at, _ in self.ticks if at not in positions)
