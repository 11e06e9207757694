"""The axis of ratios: positions, ticks, and what lies beyond it."""

from itertools import pairwise
from statistics import median

import pytest

from web.plots.axis import MEDIAN_MAX, TICKS_MAX, log_axis

SAMPLES: tuple[list[float], ...] = (
    [1.06, 1.19, 1.02, 0.99, 1.01, 0.91, 0.99, 2.16, 0.96, 2.16, 0.95, 1.01],
    [1.0, 1.02, 1.5, 1.9, 3.0, 4.3, 6.0],
    [1.0, 1.01],
    [0.02, 0.5, 2.0, 40.0],
    [1e-5, 3e-3, 2e-4],
    [5.0],
    [1.0],
    [],
)


@pytest.mark.parametrize("values", SAMPLES)
def test_positions_are_within_the_axis_and_in_the_order_of_the_values(values: list[float]) -> None:
    axis = log_axis(values)
    assert axis.holds(1.0)
    positions = [axis.at(value) for value in sorted(values)]
    assert all(0 <= position <= 1 for position in positions)
    assert all(left <= right for left, right in pairwise(positions))
    assert (axis.at(axis.low), axis.at(axis.high)) == (0.0, 1.0)


@pytest.mark.parametrize("values", SAMPLES)
def test_ticks_are_few_ascending_and_round(values: list[float]) -> None:
    axis = log_axis(values)
    ticks = axis.ticks(lambda value: f"{value:g}")
    assert 2 <= len(ticks) <= TICKS_MAX
    assert all(left < right for (left, _), (right, _) in pairwise(ticks))
    assert all(axis.at(float(text)) == position for position, text in ticks)
    assert "1" in [text for _, text in ticks]


def test_outliers_do_not_stretch_the_axis() -> None:
    axis = log_axis(SAMPLES[0])
    assert axis.high < 1.3
    dot = axis.dot(2.16, "diamond", "faster", low=2.1, high=2.2)
    assert (dot.at, dot.low, dot.high) == (1.0, None, None)
    assert dot.beyond.startswith("2.16")
    assert axis.dot(1.19, "diamond", "faster").beyond == ""


def test_the_axis_ends_at_a_multiple_of_the_median() -> None:
    values = [1.0, 1.1, 5.0, 8.0, 30.0, 60.0, 100.0]
    assert log_axis(values).high <= 1.2 * MEDIAN_MAX * median(values)
    assert not log_axis(values).holds(100.0)


def test_intervals_end_where_the_axis_does() -> None:
    dot = log_axis([0.9, 1.1]).dot(1.05, "circle", "same", low=0.1, high=9.0)
    assert (dot.low, dot.high) == (0.0, 1.0)
    assert dot.beyond == ""


def test_an_axis_of_slowdowns_begins_at_one() -> None:
    axis = log_axis([1.0, 1.4, 2.0], least=1.0)
    assert axis.low == 1.0
    assert axis.at(1.0) == 0.0
