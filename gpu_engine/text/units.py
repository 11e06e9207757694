"""Numbers as text: SI values in, text with a unit out. A missing value is an en dash.

Columns of a table share one unit and one number of decimals, so that right-aligned digits line up.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from gpu_engine.rounds import shows_interval

MISSING = "–"
THIN = "\u202f"
"""Narrow no-break space between a number and its unit."""

RANGE = "–\u2060"
"""Dash between the ends of an interval; no line ends after it."""

NEAR_ONE = 0.05
"""Distance from 1 within which a ratio beside a verdict has three decimals."""

PERCENT_MIN = 0.05
"""Percentage below which one decimal would be 0.0."""

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
"""The digits of an exponent as superscripts."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit for display: a value in SI units is divided by `factor`."""

    symbol: str
    factor: float


TIME = (Unit("s", 1.0), Unit("ms", 1e-3), Unit("µs", 1e-6), Unit("ns", 1e-9))
SIZE = (Unit("TB", 1e12), Unit("GB", 1e9), Unit("MB", 1e6), Unit("kB", 1e3), Unit("B", 1.0))
ENERGY = (Unit("J", 1.0), Unit("mJ", 1e-3), Unit("µJ", 1e-6))
RATE = (Unit("TB/s", 1e12), Unit("GB/s", 1e9), Unit("MB/s", 1e6))


def unit_for(values: Iterable[float | None], units: Sequence[Unit], digits: int = 3) -> Unit:
    """Return the largest unit in which the smallest size is at least 1 after rounding; the last unit if there is none.

    digits  significant digits of the rounding: 999.99 µs is 1.00 ms
    """
    sizes = [abs(value) for value in values if value is not None and math.isfinite(value) and value]
    smallest = min(sizes, default=0.0)
    return next((unit for unit in units if _rounded(smallest / unit.factor, digits) >= 1), units[-1])


def scaled(value: float | None, unit: Unit) -> float | None:
    """Return an SI value in a unit; None stays None."""
    return None if value is None else value / unit.factor


def number(value: float | None, digits: int = 3) -> str:
    """Return a value with `digits` significant digits, without powers of ten, grouped by three."""
    if value is None or not math.isfinite(value):
        return MISSING
    return _grouped(value, _decimals(value, digits))


def count(value: float | None) -> str:
    """Return a whole number with its digits grouped by three."""
    return MISSING if value is None else _grouped(value, 0)


def column(values: Sequence[float | None], digits: int = 3) -> list[str]:
    """Return the values of a column with equal decimals (at most 3), so that the smallest has `digits` digits."""
    sizes = [abs(value) for value in values if value is not None and math.isfinite(value) and value]
    decimals = min(3, _decimals(min(sizes, default=1.0), digits))
    return [MISSING if v is None or not math.isfinite(v) else _grouped(v, decimals) for v in values]


def seconds(value: float | None) -> str:
    """Return a time with its unit: `12.3 µs`."""
    return _with_unit(value, TIME)


def size(value: float | None) -> str:
    """Return a number of bytes in decimal units: `41.2 MB`."""
    return _with_unit(value, SIZE)


def energy(value: float | None) -> str:
    """Return an energy with its unit: `1.2 mJ`."""
    return _with_unit(value, ENERGY)


def rate(value: float | None) -> str:
    """Return bytes per second with their unit: `4.1 TB/s`."""
    return _with_unit(value, RATE)


def gflops(value: float | None) -> str:
    """Return a throughput in GFLOP/s: `612 GFLOP/s`."""
    return MISSING if value is None else f"{number(value)}{THIN}GFLOP/s"


def percent(share: float | None) -> str:
    """Return a share of 1 in whole percent, with one decimal below ten percent; `< 0.1 %` for a smaller one."""
    if share is None or not math.isfinite(share):
        return MISSING
    if 0 < abs(100 * share) < PERCENT_MIN:
        return f"<{THIN}{2 * PERCENT_MIN:g}{THIN}%"
    return f"{_grouped(100 * share, 1 if 0 < abs(100 * share) < 9.95 else 0)}{THIN}%"


def interval(low: float | None, high: float | None) -> str:
    """Return two times in seconds as the ends of an interval: `12.2 µs – 12.5 µs`."""
    return f"{seconds(low)} – {seconds(high)}" if low and high else MISSING


def interval_or_rounds(
    rounds: int | None, interval_s: tuple[float | None, float | None], ends_s: tuple[float | None, float | None]
) -> str:
    """Return `12.2 µs – 12.5 µs`, or `2 rounds, 3.1 ms – 4.0 ms` with too few rounds for an interval.

    ends_s  the fastest and the slowest round
    """
    if rounds is None or shows_interval(rounds):
        return interval(*interval_s)
    spread = seconds(ends_s[0]) if rounds == 1 else interval(*ends_s)
    return rounds_text(rounds, spread)


def rounds_text(rounds: int, spread: str) -> str:
    """Return `2 rounds, 3.1 ms – 4.0 ms` for a few rounds and their range."""
    return ", ".join((f"{rounds} round{'s' if rounds != 1 else ''}", *([spread] if spread != MISSING else [])))


def ratio(value: float | None) -> str:
    """Return a ratio with two decimals, and at most three significant digits: `1.24 ×`, `12.9 ×`, `143 ×`."""
    return MISSING if value is None or not math.isfinite(value) else f"{_grouped(value, _ratio_decimals(value))}{THIN}×"


def speedup(value: float | None) -> str:
    """Return a speedup: `1.24 ×`, below 1 for a slower kernel; at least two significant digits (`0.0031 ×`)."""
    if value is None or not math.isfinite(value):
        return MISSING
    return f"{_grouped(value, max(2, _decimals(value, 2)) if abs(value) < 1 else _ratio_decimals(value))}{THIN}×"


def ratio_beside_verdict(value: float | None) -> str:
    """Return a ratio as a number that agrees with its verdict: `1.24`, and `0.993` where two decimals would be 0.99.

    Two decimals within NEAR_ONE of 1 would show one number beside different verdicts.
    """
    if value is None or not math.isfinite(value):
        return MISSING
    return _grouped(value, _judged_decimals(value))


def judged_ratio(value: float | None) -> str:
    """Return `ratio_beside_verdict` with its sign: `0.993 ×`."""
    text = ratio_beside_verdict(value)
    return text if text == MISSING else f"{text}{THIN}×"


def ratio_interval(ends: tuple[float | None, float | None] | None, *, beside_verdict: bool = False) -> str:
    """Return the ends of an interval of ratios: `1.16–1.26`; empty without an interval.

    beside_verdict  whether ends near 1 have three decimals, as in `ratio_beside_verdict`: `0.983–1.012`
    """
    low, high = ends or (None, None)
    if not low or not high:
        return ""
    decimals = max(map(_judged_decimals, (low, high))) if beside_verdict else 2
    return RANGE.join(_grouped(end, decimals) for end in (low, high))


def times(value: float | None) -> str:
    """Return a ratio of times as a factor of at least 1: `1.24 ×`. A word beside it says whether it is faster."""
    return ratio(max(value, 1 / value) if value else None)


def duration(value: float | None) -> str:
    """Return a waiting time in seconds as text: `40 s`, `2 min 10 s`, `1 h 5 min`."""
    if value is None or not math.isfinite(value):
        return MISSING
    whole = max(0, round(value))
    if value < 1:
        return f"under 1{THIN}s"
    if whole < 60:
        return f"{whole}{THIN}s"
    if whole < 3600:
        return f"{whole // 60}{THIN}min {whole % 60}{THIN}s"
    return f"{whole // 3600}{THIN}h {whole % 3600 // 60}{THIN}min"


def scientific(value: float) -> str:
    """Return a number as two digits times a power of ten: `8.1·10⁻¹¹`, `10⁻⁶`."""
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    times = "" if mantissa == "1.0" else f"{mantissa}·"
    return f"{times}10{str(int(exponent)).translate(SUPERSCRIPTS)}"


def about(value: float) -> str:
    """Return an estimated waiting time: `about 40 s`, `under 1 s`."""
    return duration(value) if value < 1 else f"about {duration(value)}"


def about_range(low: float, high: float) -> str:
    """Return a range of estimated waiting times: `about 20–30 s`, `about 50 s to 2 min 10 s`, `about 40 s`."""
    ends = duration(low), duration(high)
    if ends[0] == ends[1]:
        return about(high)
    if round(low) >= 1 and round(high) < 60:
        return f"about {round(low)}–{ends[1]}"
    return f"{ends[0] if low < 1 else f'about {ends[0]}'} to {ends[1]}"


def moment(timestamp: float | None) -> str:
    """Return seconds since 1970 as date and time in UTC: `2026-11-26 00:29`."""
    return MISSING if timestamp is None else datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%d %H:%M")


def _decimals(value: float, digits: int) -> int:
    if value == 0:
        return 0
    # Rounding first, because 9.999 rounds to a number with one more digit before the point.
    rounded = _rounded(value, digits)
    return max(0, digits - 1 - math.floor(math.log10(abs(rounded))))


def _judged_decimals(value: float) -> int:
    return (
        3
        if 0 < abs(value - 1) < NEAR_ONE
        else max(2, _decimals(value, 2))
        if abs(value) < 1
        else _ratio_decimals(value)
    )


def _ratio_decimals(value: float) -> int:
    return min(2, _decimals(value, 3))


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits - 1}e}")


def _grouped(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}".replace("-", "−")


def _with_unit(value: float | None, units: Sequence[Unit]) -> str:
    if value is None or not math.isfinite(value):
        return MISSING
    unit = unit_for([value], units)
    return f"{number(value / unit.factor)}{THIN}{unit.symbol}"
