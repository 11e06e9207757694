"""The switch rule and the state machine on hand-made changes."""

import math
from itertools import pairwise

import pytest

from gpu_engine.errors import ParameterError
from gpu_engine.pagerank import Schedule, Step, advance, ends, must_raise, replay, start
from gpu_engine.pagerank.schedule import converts, iterations_by_segments
from gpu_engine.parameters import parse_params

TWO, FOUR = Schedule(), Schedule(segments=4)
FALLING = [0.5 * 0.7**k for k in range(70)]
"""γ of an iteration that converges by 0.7 a step."""


def test_mantissa_bits() -> None:
    assert [TWO.mantissa_bits(k) for k in (1, 2)] == [20, 52]
    assert [FOUR.mantissa_bits(k) for k in (1, 2, 3, 4)] == [4, 20, 36, 52]
    assert [Schedule(short=True).mantissa_bits(k) for k in (1, 2)] == [27, 52]


@pytest.mark.parametrize(
    ("schedule", "read", "gamma", "previous", "raised"),
    [
        (TWO, 1, 16 * 2.0**-20, 1.0, True),
        (TWO, 1, math.nextafter(16 * 2.0**-20, 1), 1.0, False),
        (TWO, 1, 0.98, 1.0, False),
        (TWO, 1, math.nextafter(0.98, 1), 1.0, True),
        (TWO, 1, 5.0, math.inf, False),
        (TWO, 1, 0.0, 1.0, True),
        (TWO, 2, 0.0, 0.0, False),
        (TWO, 2, 2.0, 1.0, False),
        (FOUR, 1, 1.0, math.inf, True),
        (FOUR, 1, 1.01, math.inf, False),
        (FOUR, 2, 16 * 2.0**-20, 1.0, True),
        (FOUR, 3, 16 * 2.0**-20, 1.0, False),
        (FOUR, 3, 16 * 2.0**-36, 1.0, True),
        (FOUR, 4, 0.0, 1.0, False),
        (Schedule(raise_at=1.0), 1, 2.0**-19, 1.0, False),
        (Schedule(raise_at=1.0), 1, 2.0**-20, 1.0, True),
        (Schedule(stall_ratio=0.5), 1, 0.51, 1.0, True),
        (Schedule(raise_at=0.0), 1, 1e-300, 1.0, False),
    ],
)
def test_the_switch_rule(schedule: Schedule, read: int, gamma: float, previous: float, raised: bool) -> None:
    assert must_raise(schedule, read, gamma, previous) is raised


def test_a_run_goes_through_every_precision_and_no_step_skips_one() -> None:
    step, steps = start(FOUR), []
    for gamma in (0.9, 0.3, 1e-5, 1e-6, 2e-10, 1e-10):
        steps.append((step.read, step.write))
        step = advance(FOUR, step, gamma)
    assert steps == [(1, 1), (1, 2), (2, 2), (2, 3), (3, 3), (3, 4)]
    assert step == Step(4, 4, 1e-10)
    assert advance(FOUR, step, 1e-10) == Step(4, 4, 1e-10, 1e-10)


def test_each_precision_has_an_iteration_however_small_the_change() -> None:
    assert replay([0.0] * 6, FOUR) == (1, 2, 3, 4, 4, 4)
    assert replay([0.0] * 3, TWO) == (1, 2, 2)


def test_the_last_transition_converts() -> None:
    assert [converts(FOUR, Step(*rw)) for rw in ((1, 1), (1, 2), (2, 3), (3, 4), (4, 4))] == [
        *(False, False, False),
        *(True, False),
    ]
    assert not converts(Schedule(start_segments=2), start(Schedule(start_segments=2)))


def test_the_change_of_a_transition_is_compared_with_no_other() -> None:
    schedule = Schedule(segments=4, start_segments=2)
    # 0.395 stalls after 0.4. Neither the jump to 0.6 nor 0.595 after it is a stall; 0.59 after 0.595 is one.
    assert replay([0.5, 0.4, 0.395, 0.6, 0.595, 0.59, 0.59], schedule) == (2, 2, 2, 3, 3, 3, 4)
    assert advance(schedule, Step(2, 3, 0.395, 0.395), 0.6) == Step(3, 3, 0.6, math.inf)
    assert advance(schedule, Step(3, 3, 0.6, math.inf), 0.595) == Step(3, 3, 0.595, 0.595)


def test_standing_still_in_low_precision_ends_nothing() -> None:
    after = advance(TWO, start(TWO), 0.0)
    assert (after, ends(after, 1e-10)) == (Step(1, 2, 0.0, 0.0), False)
    done = advance(TWO, after, 1e-11)
    assert (done, ends(done, 1e-10)) == (Step(2, 2, 1e-11), True)


def test_a_loose_threshold_is_met_in_low_precision() -> None:
    after = advance(TWO, start(TWO), 9e-5)
    assert ends(after, 1e-4)
    assert not ends(after, 9e-5)


def test_nothing_ends_before_it_began() -> None:
    assert not ends(start(TWO), 2.0)


def test_replay_with_other_parameters() -> None:
    written = replay(FALLING, TWO)
    # 0.5 · 0.7^k ≤ 16 · 2^−20 first at k = 30: the iterations 0 … 30 write one segment.
    assert iterations_by_segments(written, TWO) == (31, 39)
    assert iterations_by_segments(replay(FALLING, Schedule(raise_at=1.0)), TWO) == (38, 32)
    assert replay(FALLING, Schedule(start_segments=2)) == (2,) * 70
    # 4 bits: γ ≤ 1 at once; 36 bits: 0.5 · 0.7^k ≤ 16 · 2^−36 first at k = 61.
    assert iterations_by_segments(replay(FALLING, FOUR), FOUR) == (1, 30, 31, 8)
    assert iterations_by_segments(replay(FALLING, Schedule(segments=4, start_segments=2)), FOUR) == (0, 31, 31, 8)


def test_replay_gives_back_the_schedule_of_the_trace() -> None:
    step, written = start(FOUR), []
    for gamma in FALLING:
        written.append(step.write)
        step = advance(FOUR, step, gamma)
    assert replay(FALLING, FOUR) == tuple(written)
    assert all(after - before in (0, 1) for before, after in pairwise(written))
    assert replay([], FOUR) == ()


def test_the_first_precision_is_one_of_the_segments() -> None:
    with pytest.raises(ParameterError, match=r"start_segments is 3, but segments is 2"):
        parse_params(Schedule, {"start_segments": 3})
    assert parse_params(Schedule, {"segments": 4, "start_segments": 4}) == Schedule(segments=4, start_segments=4)
