"""Printed: a value or range that a paper prints, and whether a number of ours agrees with it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Printed:
    """Value, or both ends of a range, with the digits that the paper prints: `Printed("1.1", "1.3")`.

    One tolerance holds for all of them: half a unit of the last printed digit. `1.5` thus means 1.45 to 1.55, `about
    2` means 1.5 to 2.5, and a range is wider than printed by half a unit at each end.
    """

    low: str
    high: str = ""

    @property
    def least(self) -> float:
        """Smallest number that rounds to the lower end."""
        return float(self.low) - _half_unit(self.low)

    @property
    def most(self) -> float:
        """Number from which on all numbers round to more than the upper end."""
        end = self.high or self.low
        return float(end) + _half_unit(end)

    def holds(self, value: float) -> bool:
        """Return whether a number rounds to the value, or to one in the range."""
        return self.least <= value < self.most

    def is_reached(self, value: float) -> bool:
        """Return whether a number rounds to at least the lower end, for `at least 10` or `over 500`."""
        return value >= self.least

    def is_kept(self, value: float) -> bool:
        """Return whether a number rounds to at most the upper end, for `at most 5`."""
        return value < self.most

    def range_text(self, unit: str = "") -> str:
        """Return the numbers for which `holds` is true: `1.05 to 1.15 (rounds to 1.1)`; unit: follows the number."""
        return f"{self.least:g} to {self.most:g}{unit} (rounds to {self._text})"

    def reached_text(self, unit: str = "") -> str:
        """Return the numbers for which `is_reached` is true: `1.45 or more (rounds to 1.5)`."""
        return f"{self.least:g}{unit} or more (rounds to {self.low})"

    def kept_text(self, unit: str = "") -> str:
        """Return the numbers for which `is_kept` is true: `less than 5.5 GFLOP/s (rounds to 5)`."""
        return f"less than {self.most:g}{unit} (rounds to {self.high or self.low})"

    @property
    def _text(self) -> str:
        return f"{self.low} to {self.high}" if self.high else self.low


def _half_unit(printed: str) -> float:
    """Return half a unit of the last digit: 0.05 for `1.5`, 0.5 for `10`."""
    return 0.5 * 10.0 ** -len(printed.partition(".")[2])
