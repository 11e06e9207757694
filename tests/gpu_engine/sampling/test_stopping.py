"""Which cases need more rounds, by value: pure functions of what was sampled."""

import json
from itertools import permutations

import numpy as np
import pytest

from gpu_engine.sampling.stopping import FIRST_LOOK, SLOW_MIN_S, CaseSamples, aa_gap, undecided_cases
from gpu_engine.verdicts.verdict import ROUNDS_MIN
from tools.verdict_rates import RECORDED

QUICK_S = 1e-3


def sampled(rounds: int = FIRST_LOOK, turn_s: float = QUICK_S, **medians: float) -> dict[str, CaseSamples]:
    """Rounds without scatter."""
    return {name: CaseSamples((median,) * rounds, turn_s) for name, median in medians.items()}


def found(cases: dict[str, CaseSamples], again_s: float = 2.0) -> set[str]:
    return undecided_cases(cases, "ref", (again_s,) * FIRST_LOOK, "cuda")


def test_before_the_first_look_all_is_open() -> None:
    assert found(sampled(FIRST_LOOK - 1, ref=2.0, a=1.0, b=90.0)) == {"ref", "a", "b"}


def test_what_is_far_apart_is_settled_and_the_fastest_has_its_rounds() -> None:
    assert found(sampled(ref=2.0, a=1.0, b=9.0)) == {"a"}
    assert found(sampled(ROUNDS_MIN, ref=2.0, a=1.0, b=9.0)) == set()


def test_a_tie_with_the_fastest_stays_open_whatever_its_rounds() -> None:
    assert found(sampled(99, ref=2.0, a=1.0, b=1.005)) == {"a", "b"}


def test_those_behind_are_held_against_each_other_for_some_rounds() -> None:
    assert found(sampled(ROUNDS_MIN - 1, ref=2.0, a=1.0, b=9.0, c=9.05)) == {"a", "b", "c"}
    assert found(sampled(ROUNDS_MIN, ref=2.0, a=1.0, b=9.0, c=9.05)) == set()


def test_what_costs_much_is_settled_by_two_rounds_ten_times_apart() -> None:
    quick = sampled(ROUNDS_MIN, ref=2.0, a=1.0, c=1.5)
    assert found(quick | sampled(2, SLOW_MIN_S + 0.1, b=21.0, d=21.0)) == set()
    assert found(quick | sampled(2, SLOW_MIN_S + 0.1, b=19.0)) == {"ref", "b"}


def test_what_costs_much_costs_much_where_most_does() -> None:
    slow = sampled(2, SLOW_MIN_S + 0.1, b=21.0, c=22.0, d=22.0, e=24.0)
    assert found(sampled(ROUNDS_MIN, ref=2.0, a=1.0) | slow) == set()


def test_the_gap_of_the_reference_widens_what_has_to_lie_apart() -> None:
    cases = sampled(ROUNDS_MIN, ref=2.0, a=1.0, b=1.1)
    assert found(cases) == set()
    assert found(cases, again_s=2.2) == {"a", "b"}
    assert aa_gap((2.0, 2.0, 9.0), (2.2, 2.2, 0.1)) == pytest.approx(0.1)


@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_recorded_rounds_of_one_kernel_are_never_settled(device: str) -> None:
    for name, entries in json.loads(RECORDED.read_text(encoding="utf-8")).items():
        if name.partition(" ")[0] != device:
            continue
        times = np.asarray(entries) * 1e-9
        for rounds, (i, j) in zip(range(5, 15), permutations(range(2, 7), 2), strict=False):
            cases = {
                name: CaseSamples(tuple(times[n, :rounds]), QUICK_S) for name, n in (("ref", 0), ("a", i), ("b", j))
            }
            assert {"a", "b"} <= undecided_cases(cases, "ref", tuple(times[1, :rounds]), device.partition(":")[0])


def test_one_slow_round_of_many_settles_what_the_others_do() -> None:
    cases = sampled(ROUNDS_MIN, ref=2.0, b=9.0)
    assert found(cases | {"a": CaseSamples((1.0,) * (ROUNDS_MIN - 1) + (50.0,), QUICK_S)}) == set()
    # Half of them are no outliers.
    assert found(cases | {"a": CaseSamples((1.0,) * 5 + (50.0,) * 4, QUICK_S)}) == {"a", "ref", "b"}


def test_a_second_entry_that_is_faster_widens_the_gap_as_a_slower_one_does() -> None:
    cases = sampled(ROUNDS_MIN, ref=2.0, a=1.0, b=1.05)
    assert found(cases) == set()
    assert found(cases, again_s=1.8) == {"a", "b"}
    assert aa_gap((2.0,) * ROUNDS_MIN, (1.8,) * ROUNDS_MIN) == pytest.approx(0.1)


def test_what_is_as_far_apart_as_it_has_to_be_is_open_and_further_settled() -> None:
    assert found(sampled(ROUNDS_MIN, ref=2.0, a=1.0, b=1.25), again_s=2.5) == {"a", "b"}
    assert found(sampled(ROUNDS_MIN, ref=2.0, a=1.0, b=1.26), again_s=2.5) == set()


def test_of_two_the_one_with_fewer_rounds_decides() -> None:
    many = sampled(ROUNDS_MIN, ref=2.0, a=1.0)
    assert found(many | sampled(ROUNDS_MIN - 1, b=1.025)) == {"a", "b"}
    assert found(many | sampled(ROUNDS_MIN, b=1.025)) == set()
    assert found(many | sampled(ROUNDS_MIN, b=9.0) | sampled(ROUNDS_MIN - 1, c=9.05)) == {"b", "c"}


def test_what_takes_the_limit_exactly_is_not_costly() -> None:
    assert "b" in found(sampled(ROUNDS_MIN, ref=2.0, a=1.0) | sampled(FIRST_LOOK - 1, SLOW_MIN_S, b=90.0))


def test_rounds_that_differ_widen_what_has_to_lie_apart_by_their_third_quartile() -> None:
    shape = (1.0,) * 5 + (1.2,) * 4
    medians = {"ref": 9.0, "a": 1.0, "b": 1.3}
    spread = {name: CaseSamples(tuple(median * share for share in shape), QUICK_S) for name, median in medians.items()}
    assert undecided_cases(spread, "ref", spread["ref"].samples_s, "cuda") == {"a", "b"}


def of_shape(median: float, *shares: float) -> CaseSamples:
    """Rounds at these shares of a median."""
    return CaseSamples(tuple(median * share for share in shares), QUICK_S)


def test_the_fastest_is_the_one_of_the_shortest_median_not_of_the_quickest_round() -> None:
    unsteady = {"a": CaseSamples((1.0,) * 5 + (10.0,) * 4, QUICK_S), "b": CaseSamples((0.6,) + (1.2,) * 8, QUICK_S)}
    # The fastest, `a`, leaves c open; b would not.
    assert found(sampled(ROUNDS_MIN, ref=90.0, c=5.0) | unsteady, again_s=90.0) == {"a", "b", "c"}


def test_the_fastest_has_its_rounds_whatever_they_cost() -> None:
    cases = sampled(ROUNDS_MIN, ref=30.0, b=60.0) | sampled(2, SLOW_MIN_S + 0.1, a=1.0)
    assert found(cases, again_s=30.0) == {"a"}


def test_what_costs_much_is_not_held_against_a_quick_one_behind() -> None:
    cases = sampled(ROUNDS_MIN, ref=2.0, a=1.0, c=21.0)
    assert found(cases | sampled(2, SLOW_MIN_S + 0.1, b=21.0)) == set()
    assert found(cases | sampled(2, b=21.0)) == {"b", "c"}


def test_nothing_is_costly_beside_turns_that_take_nearly_as_long() -> None:
    cases = sampled(ROUNDS_MIN, 0.1, ref=2.0, a=1.0)
    assert "b" in found(cases | sampled(FIRST_LOOK - 1, 0.7, b=90.0))
    assert found(cases | sampled(FIRST_LOOK - 1, 0.9, b=90.0)) == set()


def test_one_quick_round_of_the_slower_one_leaves_both_open_however_many_there_are() -> None:
    slow = {"b": CaseSamples((1.0,) + (9.0,) * (ROUNDS_MIN - 1), QUICK_S)}
    assert found(sampled(ROUNDS_MIN, ref=2.0, a=1.0) | slow) == {"a", "b", "ref"}


def test_one_unsteady_case_widens_nothing_for_the_others() -> None:
    unsteady = {"b": of_shape(90.0, *(1.0,) * 5, *(3.0,) * 4)}
    assert found(sampled(ROUNDS_MIN, ref=2.0, a=1.0, c=9.0) | unsteady) == set()


@pytest.mark.parametrize(("slower", "is_open"), [(1.9, True), (1.92, False)])
def test_the_spread_that_widens_is_of_the_third_quartile_over_the_quickest_round_times_the_limit(
    slower: float, is_open: bool
) -> None:
    # 1.1 over 0.8, times 1.01: 0.8 of the slower one has to be over 1.1 times that.
    shape = (0.8, 0.9, 0.9, 1.0, 1.0, 1.0, 1.1, 1.2, 1.2)
    cases = {name: of_shape(median, *shape) for name, median in {"ref": 9.0, "a": 1.0, "b": slower}.items()}
    expected = {"a", "b"} if is_open else set()
    assert undecided_cases(cases, "ref", cases["ref"].samples_s, "cuda") == expected


@pytest.mark.parametrize(("backend", "expected"), [("cuda", set()), ("cpu", {"a", "b"})])
def test_the_limit_is_that_of_the_backend(backend: str, expected: set[str]) -> None:
    cases = sampled(ROUNDS_MIN, ref=9.0, a=1.0, b=1.015)
    assert undecided_cases(cases, "ref", cases["ref"].samples_s, backend) == expected
