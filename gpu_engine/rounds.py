"""Rounds: from how many on a time has an interval, and what fewer of them say instead."""

INTERVAL_ROUNDS_MIN = 5
"""Fewer rounds have no 95 % interval: their number, the least and the greatest stand in its place."""


def has_interval(rounds: int | None) -> bool:
    """Return whether so many rounds have a 95 % interval; None, of records older than the field, has one."""
    return rounds is None or rounds >= INTERVAL_ROUNDS_MIN


def few_rounds(
    rounds: int | None, least: float | None, q1: float | None, median: float | None, q3: float | None
) -> tuple[float, ...]:
    """Return the ascending rounds, in the unit given, which the quartiles of one to four of them determine.

    Records keep quartiles and not always rounds. Empty where there are more rounds, or a quartile is missing.
    """
    if rounds is None or not 0 < rounds < INTERVAL_ROUNDS_MIN:
        return ()
    if least is None or median is None or q3 is None:
        return ()
    if rounds == 1:
        return (median,)
    if rounds == 2:
        return least, max(median, 2 * median - least)
    if rounds == 3:
        return least, median, max(median, 2 * q3 - median)
    # Of four, quartiles lie a quarter of a step from the inner two.
    second = least if q1 is None else (4 * q1 - least) / 3
    third = max(median, 2 * median - second)
    return least, second, third, max(third, 4 * q3 - 3 * third)
