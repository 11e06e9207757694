"""A run that is far behind another one of its graph is ended; the clock is one that the test sets."""

from collections.abc import Sequence

import pytest

from gpu_engine.errors import ParameterError
from gpu_engine.pagerank import early_stopping
from gpu_engine.pagerank.early_stopping import EarlyStopping
from gpu_engine.pagerank.run import PLAIN, Lap, Run
from gpu_engine.settling import COSTLY

SHORT_S = 0.125
"""A whole run of the shortest kernel, in the fractions that a clock of binary numbers adds up exactly."""


class Clock:
    """Stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(early_stopping, "now", clock)
    return clock


def run(stopping: EarlyStopping, clock: Clock, iterations_s: Sequence[float]) -> int:
    """Iterations that took so long each; how many of them were made before the run was ended, or all."""
    made, reason = 0, ""

    def iterate(lap: Lap) -> Run:
        nonlocal made
        for seconds in iterations_s:
            clock.now_s += seconds
            made += 1
            lap()
        return Run(PLAIN, (0.0,) * made, (), True)

    try:
        stopping.run(iterate)
    except ParameterError as error:
        reason = error.message
    assert made == len(iterations_s) or (f"far behind: {made} of" in reason and "sampling = full" in reason)
    return made


def test_a_run_ends_when_its_iterations_took_eight_times_the_shortest(clock: Clock) -> None:
    stopping = EarlyStopping(stops=True)
    assert run(stopping, clock, [SHORT_S / 8] * 8) == 8
    assert run(stopping, clock, [SHORT_S / 2] * 1000) == 2 * COSTLY + 1
    # Exactly so many times as long is not more.
    assert run(stopping, clock, [SHORT_S] * int(COSTLY)) == COSTLY


def test_the_first_run_is_made_whatever_it_takes(clock: Clock) -> None:
    assert run(EarlyStopping(stops=True), clock, [3600.0] * 3) == 3


def test_a_longer_run_does_not_raise_the_bar_and_a_shorter_one_lowers_it(clock: Clock) -> None:
    stopping = EarlyStopping(stops=True)
    for seconds in (SHORT_S, 4 * SHORT_S):
        assert run(stopping, clock, [seconds]) == 1
    assert run(stopping, clock, [SHORT_S] * 100) == COSTLY + 1
    assert run(stopping, clock, [SHORT_S / 2]) == 1
    assert run(stopping, clock, [SHORT_S] * 100) == COSTLY / 2 + 1


def test_what_takes_less_than_a_tenth_of_a_second_is_never_ended(clock: Clock) -> None:
    stopping = EarlyStopping(stops=True)
    assert run(stopping, clock, [2.0**-20]) == 1
    assert run(stopping, clock, [2.0**-10] * 102) == 102
    assert run(stopping, clock, [2.0**-10] * 104) == 103


def test_an_iteration_in_which_something_was_compiled_ends_no_run(clock: Clock) -> None:
    stopping = EarlyStopping(stops=True)
    assert run(stopping, clock, [SHORT_S]) == 1
    assert run(stopping, clock, [60.0, *[SHORT_S / 64] * 100]) == 101


def test_without_a_bound_every_run_is_made_to_its_end(clock: Clock) -> None:
    stopping = EarlyStopping(stops=False)
    assert run(stopping, clock, [2.0**-10]) == 1
    assert run(stopping, clock, [3600.0] * 50) == 50
