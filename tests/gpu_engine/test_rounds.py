"""From how many rounds on a time has an interval, and what quartiles say of fewer, by value."""

import numpy as np
import pytest

from gpu_engine.rounds import INTERVAL_ROUNDS_MIN, few_rounds, has_interval, shows_interval


@pytest.mark.parametrize(("rounds", "has"), [(0, False), (1, False), (4, False), (5, True), (6, True), (None, True)])
def test_five_rounds_have_an_interval(rounds: int | None, has: bool) -> None:
    assert has_interval(rounds) is has


@pytest.mark.parametrize(("rounds", "shown"), [(0, False), (5, False), (8, False), (9, True), (None, True)])
def test_nine_rounds_show_it(rounds: int | None, shown: bool) -> None:
    assert shows_interval(rounds) is shown


@pytest.mark.parametrize(
    "samples",
    [(3.0,), (3.0, 4.5), (3.0, 3.5, 9.0), (3.0, 3.25, 8.0, 9.5), (1.0, 1.0, 1.0, 64.0), (1.0, 7.0, 7.5, 8.0)],
)
def test_quartiles_of_one_to_four_rounds_give_each_of_them(samples: tuple[float, ...]) -> None:
    quartiles = map(float, np.quantile(samples, (0.0, 0.25, 0.5, 0.75)))
    assert few_rounds(len(samples), *quartiles) == pytest.approx(samples)


@pytest.mark.parametrize("rounds", [None, 0, INTERVAL_ROUNDS_MIN, 9])
def test_none_or_many_rounds_are_not_told_by_their_quartiles(rounds: int | None) -> None:
    assert few_rounds(rounds, 1.0, 1.5, 2.0, 2.5) == ()


@pytest.mark.parametrize("missing", ["least", "median", "q3"])
def test_a_missing_quartile_tells_nothing(missing: str) -> None:
    known = {"least": 1.0, "q1": 1.5, "median": 2.0, "q3": 2.5} | {missing: None}
    assert few_rounds(3, **known) == ()


def test_of_four_rounds_without_a_first_quartile_the_second_is_the_least() -> None:
    assert few_rounds(4, 1.0, None, 2.0, 3.0) == (1.0, 1.0, 3.0, 3.0)
    # A first quartile matters to four rounds alone.
    assert few_rounds(3, 1.0, None, 2.0, 2.5) == (1.0, 2.0, 3.0)
