"""Quartiles and intervals of rounds, by value."""

import math

import pytest

from gpu_engine.measure import statistics
from gpu_engine.measure.statistics import interval, quartiles, reach


def test_quartiles_are_those_between_which_a_quarter_of_the_samples_lies() -> None:
    assert quartiles([4.0, 1.0, 3.0, 2.0, 5.0]) == (1.0, 2.0, 3.0, 4.0)


def test_an_interval_of_many_rounds_is_that_of_their_resampled_median() -> None:
    assert interval([2.0] * 9) == (2.0, 2.0)
    assert interval([1.0, 1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 3.0]) == (1.0, 3.0)
    # Of nine resampled values five are the same odd one with a chance of less than 2.5 %.
    assert interval([1.0] * 8 + [9.0]) == (1.0, 1.0)


def test_an_interval_holds_the_middle_ninety_five_percent_of_resampled_medians() -> None:
    # Drawn from nine values, the median is one of the lowest two with a chance of 3 %, the lowest with one of 0.1 %.
    assert interval([float(n) for n in range(1, 10)]) == (2.0, 8.0)


@pytest.mark.parametrize(("count", "has"), [(1, False), (4, False), (5, True), (9, True)])
def test_fewer_than_five_rounds_have_no_interval(count: int, has: bool) -> None:
    assert (interval([1.0 + 0.1 * n for n in range(count)]) is not None) is has


@pytest.mark.parametrize(
    ("count", "student"),
    [(2, 12.706), (3, 4.303), (4, 3.182), (5, 2.776), (6, 2.571), (7, 2.447), (8, 2.365)],
)
def test_a_few_rounds_reach_as_far_as_student_says(count: int, student: float) -> None:
    # Of one step and else zeros the mean is 1 / n and the standard error too.
    low, high = reach([1.0] * (count - 1) + [math.exp(0.1)])
    assert math.log(low) == pytest.approx(0.1 * (1 - student) / count)
    assert math.log(high) == pytest.approx(max(0.1, 0.1 * (1 + student) / count))


def test_a_few_rounds_reach_at_least_from_the_least_to_the_largest() -> None:
    # Of eight rounds half a deviation to either side would leave out the odd one.
    assert reach([1.0] * 7 + [9.0])[1] == 9.0
    assert reach([9.0] * 7 + [1.0])[0] == 1.0


def test_one_round_reaches_anywhere_and_no_reach_is_infinite_else() -> None:
    assert reach([3.0]) == (0.0, math.inf)
    low, high = reach([1e-300, 1e300])
    assert 0.0 < low <= 1e-300
    assert 1e300 <= high < math.inf


def test_the_middle_is_that_of_the_logarithms() -> None:
    low, high = reach([1.0, 4.0])
    assert math.sqrt(low * high) == pytest.approx(2.0)


def test_equal_samples_have_equal_intervals_in_every_process() -> None:
    samples = [2.0 + math.sin(n) for n in range(100)]
    first = interval(samples)
    statistics._reach.cache_clear()
    assert interval(samples) == first
