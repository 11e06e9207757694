"""Axis: values → positions on a logarithmic axis that outliers do not stretch, and its ticks."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from gpu_engine.text import units
from web.plots.dots import Dot

TICKS_MAX = 6

FENCE = 3.0
"""A value farther from the quartiles than this multiple of their distance, in logarithms, is beyond the axis."""

SPREAD_MIN = 1.06
"""Least ratio of the quartiles for the fence."""

MEDIAN_MAX = 4.0
"""The axis ends at most at this multiple of the median, and begins at no less than the reciprocal multiple."""

MARGIN = 0.03
"""Share of the axis that stays empty at each end."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A logarithmic axis from `low` to `high`."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """Return the position of a value, 0 … 1; values beyond the axis are at its ends."""
        return round(log_share(min(max(value, self.low), self.high), self.low, self.high), 4)

    def holds(self, value: float) -> bool:
        """Return whether the axis reaches a value."""
        return self.low <= value <= self.high

    def ticks(self, text: Callable[[float], str] | None = None) -> tuple[tuple[float, str], ...]:
        """Return position and text of at most six ticks; text: value → text (default: a ratio such as `1.5×`)."""
        return tuple((self.at(value), (text or ratio_text)(value)) for value in _tick_values(self.low, self.high))

    def dot(
        self,
        value: float,
        form: str,
        color: str,
        *,
        low: float | None = None,
        high: float | None = None,
        text: Callable[[float], str] = units.ratio,
        is_small: bool = False,
        is_hollow: bool = False,
    ) -> Dot:
        """Return the mark of a value; its interval ends where the axis does, and is left out beyond the axis."""
        if not self.holds(value):
            return Dot(self.at(value), None, None, form, color, text(value), is_small=is_small, is_hollow=is_hollow)
        left, right = (None if end is None else self.at(end) for end in (low, high))
        return Dot(self.at(value), left, right, form, color, is_small=is_small, is_hollow=is_hollow)


def log_share(value: float, low: float, high: float) -> float:
    """Return the position of a value on a logarithmic axis: 0 at `low`, 1 at `high`."""
    return math.log(value / low) / math.log(high / low)


def ratio_text(value: float) -> str:
    """Return a ratio without superfluous digits: `1.5 ×`."""
    return f"{value:g}{units.THIN}×"


def log_axis(values: Iterable[float], through: float | None = 1.0, least: float | None = None) -> Axis:
    """Return the axis of positive values without its outliers.

    through  value that the axis always has: that of the line of 1×; None: no value
    least    where the axis begins, such as 1 for slowdowns; None: below the least value
    """
    known = sorted(value for value in values if value > 0)
    fixed = [value for value in (through, least) if value is not None]
    low_fence, high_fence = _fences(known) if known else (1.0, 1.0)
    inside = [*(value for value in known if low_fence <= value <= high_fence), *fixed]
    low, high = (min(inside), max(inside)) if inside else (1.0, 1.0)
    # An axis around one value.
    low, high = (low, high) if high > 1.02 * low else (low / 1.05, high * 1.05)
    edge = (high / low) ** (MARGIN / (1 - 2 * MARGIN))
    return Axis(least if least is not None else low / edge, high * edge)


def _fences(values: Sequence[float]) -> tuple[float, float]:
    """Return where outliers begin, below and above."""
    first, _, third = quantiles(values, n=4, method="inclusive") if len(values) > 1 else (values[0],) * 3
    spread = max(third / first, SPREAD_MIN) ** FENCE
    middle = median(values)
    return max(first / spread, middle / MEDIAN_MAX), min(third * spread, middle * MEDIAN_MAX)


def _tick_values(low: float, high: float) -> list[float]:
    """Return the most values with round steps, at most six, between the ends of an axis."""
    return max((ticks for ticks in _candidates(low, high) if len(ticks) <= TICKS_MAX), key=len, default=[])


def _candidates(low: float, high: float) -> Iterable[list[float]]:
    """Yield equidistant ticks (narrow axes) and ticks per power of ten (wide axes), from coarse to fine."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 6, 8)):
        yield _within((digit * 10.0**power for power in powers for digit in digits), low, high)
    for step in (0.5, 0.2, 0.1, 0.05, 0.02, 0.01) if high / low < 3 else ():
        first = math.ceil(round(low / step, 6))
        yield _within((step * index for index in range(first, math.floor(high / step + 1e-6) + 1)), low, high)


def _within(values: Iterable[float], low: float, high: float) -> list[float]:
    return [rounded for value in values if low <= (rounded := float(f"{value:.6g}")) <= high]
