"""Axes of a drawing: positions of values in pixels, ticks, and their labels."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpu_engine.text.units import THIN
from web.figure_svg import dates

PADDING = 0.05
"""Share of the range of an axis without a given range that stays free at its ends."""

NICE = (1, 2, 5, 10)
TICK_PX = {"x": 64, "y": 22}
"""Least distance of ticks that the drawing chooses."""

Extent = tuple[float, float]


@dataclass(slots=True)
class Axis:
    """An axis; start, end: pixels of the ends of its range, set by the layout.

    kind        `linear`, `log`, `date`, or `category`; low, high: ends of the range, powers of ten of a log axis
    categories  label → position on a category axis
    """

    letter: str
    settings: Mapping[str, Any]
    kind: str
    low: float
    high: float
    categories: Mapping[str, int]
    start: float = 0.0
    end: float = 1.0

    def position(self, value: Any) -> float | None:
        """Return the position of a value in the range; None if it has none."""
        if value is None or value == "":
            return None
        if self.kind == "category":
            place = self.categories.get(str(value))
            return float(value) if place is None and isinstance(value, int | float) else place
        if self.kind == "date":
            return dates.position(value)
        number = float(value)
        if self.kind == "log":
            return math.log10(number) if number > 0 else None
        return number if math.isfinite(number) else None

    def at(self, value: Any) -> float | None:
        """Return the pixel of a value."""
        position = self.position(value)
        return None if position is None else self.pixel(position)

    def pixel(self, position: float) -> float:
        """Return the pixel of a position in the range."""
        return self.start + (self.end - self.start) * (position - self.low) / ((self.high - self.low) or 1.0)

    @property
    def unit_px(self) -> float:
        """Pixels per unit of the range."""
        return abs(self.end - self.start) / (abs(self.high - self.low) or 1.0)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """(position in the range, label) of all ticks inside the range."""
        given = self.settings.get("tickvals")
        if given is not None:
            texts = self.settings.get("ticktext") or [self._text(value, 1.0) for value in given]
            pairs = [(self.position(value), str(text)) for value, text in zip(given, texts, strict=True)]
        elif self.kind == "category":
            pairs = [(float(place), label) for label, place in self.categories.items()]
        elif self.kind == "log":
            pairs = [
                (float(d), self._text(10.0**d, 1.0)) for d in range(math.ceil(self._ends[0]), int(self._ends[1]) + 1)
            ]
        elif self.kind == "date":
            pairs = [*dates.ticks(*self._ends, self._number())]
        else:
            pairs = self._nice()
        low, high = self._ends
        slack = 1e-9 * (high - low)
        return [
            (position, text)
            for position, text in pairs
            if position is not None and low - slack <= position <= high + slack
        ]

    @property
    def _ends(self) -> Extent:
        return min(self.low, self.high), max(self.low, self.high)

    def _number(self) -> int:
        """Return the number of ticks for which there is room."""
        room = int(abs(self.end - self.start) / TICK_PX[self.letter])
        return max(1, min(self.settings.get("nticks") or 10, room))

    def _nice(self) -> list[tuple[float | None, str]]:
        low, high = self._ends
        rough = (high - low) / self._number() or 1.0
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(factor * power for factor in NICE if factor * power >= rough * (1 - 1e-9))
        count = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
        return [(place * step, self._text(place * step, step)) for place in count]

    def _text(self, value: float, step: float) -> str:
        tick_format, suffix = self.settings.get("tickformat", ""), self.settings.get("ticksuffix", "")
        if tick_format.endswith("%"):
            return f"{100 * value:.0f}%"
        if tick_format == ",d":
            return f"{value:,.0f}"
        scales = () if tick_format.startswith(",") else ((1e9, "G"), (1e6, "M"), (1e3, "k"))
        factor, sign = next(((f, s) for f, s in scales if abs(value) >= max(f, 1e4)), (1.0, ""))
        digits = max(0, -math.floor(math.log10(step / factor) + 1e-9)) if step < factor else 0
        number = f"{value / factor:{',' if not scales else ''}.{digits}f}"
        number = number.rstrip("0").rstrip(".") if "." in number else number
        return f"{number.replace('-', '−')}{THIN if sign else ''}{sign}{suffix}"


def axis_of(letter: str, settings: Mapping[str, Any], values: Sequence[Any], extents: Sequence[Extent]) -> Axis:
    """Return an axis without its place.

    values   of all marks on the axis; extents: of bars and cells along the axis, in positions of its range
    """
    texts = any(isinstance(value, str) for value in values)
    kind = settings.get("type") or ("category" if texts else "linear")
    categories: dict[str, int] = {}
    if kind == "category":
        labels = (*(settings.get("categoryarray") or ()), *values)
        categories = {label: place for place, label in enumerate(dict.fromkeys(map(str, labels)))}
    axis = Axis(letter, settings, kind, 0.0, 1.0, categories)
    axis.low, axis.high = _range(axis, values, extents)
    return axis


def _range(axis: Axis, values: Sequence[Any], extents: Sequence[Extent]) -> Extent:
    given = axis.settings.get("range")
    if given and axis.kind == "date":
        return dates.position(given[0]), dates.position(given[1])
    if given:
        return float(given[0]), float(given[1])
    if axis.kind == "category":
        low, high = -0.5, len(axis.categories) - 0.5
    else:
        low, high = _free_range(axis, values, extents)
    return (high, low) if axis.settings.get("autorange") == "reversed" else (low, high)


def _free_range(axis: Axis, values: Iterable[Any], extents: Sequence[Extent]) -> Extent:
    positions = [p for value in values if (p := axis.position(value)) is not None]
    every = [*positions, *(end for extent in extents for end in extent)] or [0.0, 1.0]
    low, high = min(every), max(every)
    pad = PADDING * ((high - low) or 1.0)
    # Bars begin at zero; cells fill their axis.
    ends = [end for extent in extents for end in extent]
    low_free = low if low in ends else low - pad
    high_free = high if high in ends and low < 0 else high + pad
    if axis.settings.get("rangemode") == "tozero" and axis.kind == "linear":
        low_free = 0.0 if low >= 0 else low_free
    return low_free, high_free
