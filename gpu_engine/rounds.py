"""Rounds of a measurement: how many a confidence interval needs, and how fewer are recovered from quartiles."""

INTERVAL_ROUNDS_MIN = 5
"""Least number of rounds for a 95 % CI."""

SHOWN_ROUNDS_MIN = 9
"""Rounds from which the 95 % CI is shown, and decides; with fewer, their number, the fastest, and the slowest are."""


def has_interval(rounds: int | None) -> bool:
    """Return whether a number of rounds has a 95 % CI; True for None (records older than the field)."""
    return rounds is None or rounds >= INTERVAL_ROUNDS_MIN


def shows_interval(rounds: int | None) -> bool:
    """Return whether the 95 % CI of a number of rounds is shown; True for None (records older than the field)."""
    return rounds is None or rounds >= SHOWN_ROUNDS_MIN


def few_rounds(
    rounds: int | None, least: float | None, q1: float | None, median: float | None, q3: float | None
) -> tuple[float, ...]:
    """Return one to four rounds, ascending, in the unit of the arguments, as their quartiles determine them.

    Records store quartiles, but not always rounds. Empty if there are more rounds, or a quartile is missing.
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
    # With four rounds, the quartiles lie a quarter of a step from the inner two.
    second = least if q1 is None else (4 * q1 - least) / 3
    third = max(median, 2 * median - second)
    return least, second, third, max(third, 4 * q3 - 3 * third)
