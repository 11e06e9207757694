"""A run that is far behind another one of its graph is ended where it costs too much; the test sets the clock."""

import math
from collections.abc import Sequence

import pytest

from gpu_engine.errors import ParameterError
from gpu_engine.pagerank import early_stopping
from gpu_engine.pagerank.early_stopping import MIN_ITERATIONS, TOGETHER_S, EarlyStopping
from gpu_engine.pagerank.run import PLAIN, Lap, Run
from gpu_engine.sampling.stopping import SLOW_FACTOR

SHORT_S = 0.125
"""A whole run of the shortest kernel, in the fractions that a clock of binary numbers adds up exactly."""

ITERATIONS, RUNS = 64, 2
"""Iterations of a run, and runs of a case."""

SHARE_S = 1.0


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


def run(stopping: EarlyStopping, clock: Clock, iteration_s: float | Sequence[float], most_s: float = SHARE_S) -> int:
    """Iterations that were made before the run was ended, or ITERATIONS of them; each takes so long."""
    made, reason = 0, ""

    def iterate(lap: Lap) -> Run:
        nonlocal made
        for seconds in [iteration_s] * ITERATIONS if isinstance(iteration_s, float) else iteration_s:
            clock.now_s += seconds
            made += 1
            lap()
        return Run(PLAIN, (0.0,) * made, (), True)

    try:
        stopping.run(iterate, most_s)
    except ParameterError as error:
        reason = error.message
    assert bool(reason) == (made < ITERATIONS)
    assert not reason or (f"after {made} iterations" in reason and "sampling=fixed" in reason)
    return made


def after_the_shortest(clock: Clock, stops: bool = True) -> EarlyStopping:
    """One of which the shortest run has taken SHORT_S."""
    stopping = EarlyStopping(stops, ITERATIONS, RUNS)
    assert run(stopping, clock, SHORT_S / ITERATIONS) == ITERATIONS
    return stopping


def whole(seconds: float) -> float:
    """Seconds of an iteration of a run of so many."""
    return seconds / ITERATIONS


BEHIND_S = 2 * SLOW_FACTOR * SHORT_S
"""A run that is far behind."""


@pytest.mark.parametrize(
    ("whole_s", "most_s", "made"),
    [
        # Far behind and under its share: finished.
        (BEHIND_S, RUNS * BEHIND_S, ITERATIONS),
        # Far behind and over its share: given up as soon as that can be told.
        (BEHIND_S, RUNS * BEHIND_S - 1e-3, MIN_ITERATIONS),
        # Over its share, and no more than SLOW_FACTOR times as long as the shortest: finished.
        (SLOW_FACTOR * SHORT_S, 0.0, ITERATIONS),
        (SLOW_FACTOR * SHORT_S * 1.01, 0.0, MIN_ITERATIONS),
        # Needed: finished whatever it takes.
        (3600.0, math.inf, ITERATIONS),
    ],
)
def test_a_run_is_given_up_that_is_far_behind_and_costs_more_than_it_may(
    clock: Clock, whole_s: float, most_s: float, made: int
) -> None:
    assert run(after_the_shortest(clock), clock, whole(whole_s), most_s) == made


def test_the_first_run_is_made_whatever_it_takes(clock: Clock) -> None:
    assert run(EarlyStopping(True, ITERATIONS, RUNS), clock, 3600.0, 0.0) == ITERATIONS


def test_a_longer_run_does_not_raise_the_bar_and_a_shorter_one_lowers_it(clock: Clock) -> None:
    stopping = after_the_shortest(clock)
    assert run(stopping, clock, whole(4 * SHORT_S), 0.0) == ITERATIONS
    assert run(stopping, clock, whole(SLOW_FACTOR * SHORT_S), 0.0) == ITERATIONS
    assert run(stopping, clock, whole(SHORT_S / 2), 0.0) == ITERATIONS
    assert run(stopping, clock, whole(SLOW_FACTOR * SHORT_S), 0.0) == MIN_ITERATIONS


def test_what_takes_less_than_a_tenth_of_a_second_is_never_ended(clock: Clock) -> None:
    stopping = EarlyStopping(True, ITERATIONS, RUNS)
    assert run(stopping, clock, whole(2.0**-20), 0.0) == ITERATIONS
    assert run(stopping, clock, whole(0.09), 0.0) == ITERATIONS
    assert run(stopping, clock, whole(0.11), 0.0) == MIN_ITERATIONS


def test_iterations_in_which_something_was_compiled_end_no_run(clock: Clock) -> None:
    stopping = after_the_shortest(clock)
    assert run(stopping, clock, [60.0, 60.0, *[whole(SHORT_S)] * (ITERATIONS - 2)], 0.0) == ITERATIONS


def test_a_run_that_has_more_iterations_than_expected_is_judged_by_those(clock: Clock) -> None:
    stopping = EarlyStopping(True, 1, RUNS)
    assert run(stopping, clock, whole(SHORT_S)) == ITERATIONS
    # By four iterations it may be short, by eight of them it is not.
    assert run(stopping, clock, SLOW_FACTOR * SHORT_S / 6, 0.0) == 8


def test_all_that_are_far_behind_have_a_budget_together(clock: Clock) -> None:
    stopping, each = after_the_shortest(clock), TOGETHER_S / 2
    assert run(stopping, clock, whole(each / RUNS), each) == ITERATIONS
    # One that is not far behind takes nothing of it.
    assert run(stopping, clock, whole(SHORT_S), each) == ITERATIONS
    assert run(stopping, clock, whole(each / RUNS), each) == ITERATIONS
    assert run(stopping, clock, whole(each / RUNS), each) == MIN_ITERATIONS
    assert run(stopping, clock, whole(each / RUNS), math.inf) == ITERATIONS


def test_without_a_bound_every_run_is_made_to_its_end(clock: Clock) -> None:
    assert run(after_the_shortest(clock, stops=False), clock, 3600.0, 0.0) == ITERATIONS
