from dataclasses import replace

import pytest

from gpu_engine.findings.ranking import Ranking, join, rank
from gpu_engine.records import Measurement
from tests.samples.formats import timed, untimed

FIRST, SAME, SLOWER = timed("csr/vector", 800e-6), timed("coo/segmented", 803e-6), timed("csr/scalar", 1e-3)
VAGUE = timed("ell/thread", 840e-6, ci_low_s=700e-6, ci_high_s=950e-6)
UNCONVERGED = replace(timed("csr/k", 700e-6), state="unconverged")
BUSY = (
    "Too noisy to rank: two runs of the control kernel differ by 30.0\u202f%. "
    "Close other programs on this machine and measure "
)


def kernels(measurements: tuple[Measurement, ...]) -> list[str]:
    return [m.kernel for m in measurements]


def said(ranking: Ranking) -> str:
    return ranking.sentence(lambda m: m.kernel, "here", ["a fact", "", "another"])


@pytest.mark.parametrize(
    ("given", "leaders", "unsettled", "decided", "sentence"),
    [
        ([FIRST], ["csr/vector"], [], True, "csr/vector is the only kernel ranked here: a fact, another."),
        ([SLOWER, FIRST], ["csr/vector"], [], True, "csr/vector is fastest here: a fact, another."),
        (
            [SAME, FIRST],
            ["csr/vector", "coo/segmented"],
            [],
            True,
            "csr/vector and coo/segmented show no measurable difference here: a fact, another.",
        ),
        (
            [SLOWER, SAME, FIRST],
            ["csr/vector", "coo/segmented"],
            [],
            True,
            "csr/vector and coo/segmented tie for fastest here: a fact, another.",
        ),
        (
            [VAGUE, FIRST],
            ["csr/vector"],
            ["ell/thread"],
            False,
            "csr/vector is probably fastest here: a fact, another. ell/thread may be equally fast (inconclusive).",
        ),
        (
            [VAGUE, SAME, FIRST],
            ["csr/vector", "coo/segmented"],
            ["ell/thread"],
            False,
            "csr/vector and coo/segmented probably tie for fastest here: a fact, another. ell/thread may be "
            "equally fast (inconclusive).",
        ),
        ([], [], [], False, ""),
        ([untimed("csr/vector", "failed", "no")], [], [], False, ""),
        ([UNCONVERGED], [], [], False, ""),
        (
            [FIRST, UNCONVERGED],
            ["csr/vector"],
            [],
            True,
            ("csr/vector is the only kernel ranked here: a fact, another."),
        ),
    ],
)
def test_what_times_allow_to_say(
    given: list[Measurement], leaders: list[str], unsettled: list[str], decided: bool, sentence: str
) -> None:
    ranking = rank(given)
    assert (kernels(ranking.leaders), kernels(ranking.unsettled)) == (leaders, unsettled)
    assert (ranking.decided, said(ranking), ranking.busy) == (decided, sentence, "")


def test_the_fastest_comes_first() -> None:
    assert kernels(rank([SLOWER, SAME, FIRST]).measurements) == ["csr/vector", "coo/segmented", "csr/scalar"]


@pytest.mark.parametrize("ranked", [True, False])
def test_nothing_leads_on_a_busy_machine_whoever_shows_it(ranked: bool) -> None:
    noisy = replace(SLOWER, aa_gap=0.3)
    ranking = rank([FIRST, noisy]) if ranked else rank([FIRST], beside=[noisy])
    assert (ranking.leaders, ranking.decided, said(ranking)) == ((), False, f"{BUSY}again.")
    assert rank([FIRST, replace(UNCONVERGED, aa_gap=0.3)]).busy == f"{BUSY}again."


def test_many_names_are_counted_and_not_all_said() -> None:
    ranking = rank(timed(f"csr/k{number}", 1e-3) for number in range(6))
    assert len(ranking.leaders) == 6
    assert said(ranking).startswith("csr/k0, csr/k1, csr/k2 and 3 more show no measurable difference")
    vague = [replace(VAGUE, kernel=f"ell/k{number}") for number in range(5)]
    assert said(rank([FIRST, *vague])).endswith(
        ". ell/k0, ell/k1, ell/k2 and 2 more may be equally fast (inconclusive)."
    )


def test_join() -> None:
    assert [join(names) for names in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]
    assert join(["a", "b", "c"], most=3) == "a, b and c"
    assert join(["a", "b", "c", "d"], most=3) == "a, b and 2 more"


def test_a_ranking_is_kept_for_these_very_measurements_and_no_equal_ones() -> None:
    ranking = rank([SLOWER, FIRST])
    assert rank(iter((SLOWER, FIRST))) is ranking
    again = rank([replace(SLOWER), FIRST])
    assert again is not ranking
    assert again == ranking
    assert rank([SLOWER, FIRST], beside=[SAME]) is not ranking


def test_the_fastest_leads_though_it_has_no_interval() -> None:
    alone = timed("csr/vector", 800e-6, ci_low_s=None, ci_high_s=None)
    ranking = rank([alone])
    assert (ranking.leaders, ranking.unsettled, ranking.decided) == ((alone,), (), True)


def test_all_are_held_against_the_fastest_and_not_against_the_next() -> None:
    first, second, third = (timed(f"csr/k{n}", median) for n, median in enumerate((800e-6, 812e-6, 826e-6)))
    ranking = rank([third, second, first])
    assert (kernels(ranking.leaders), kernels(ranking.unsettled)) == (["csr/k0", "csr/k1"], [])


def test_the_order_is_that_of_the_medians() -> None:
    lucky = timed("csr/lucky", 1e-3, min_s=600e-6)
    assert kernels(rank([lucky, FIRST]).measurements) == ["csr/vector", "csr/lucky"]


def test_nothing_is_decided_on_a_busy_machine_whether_others_may_be_as_fast_or_not() -> None:
    noisy = replace(FIRST, aa_gap=0.3)
    assert not rank([noisy]).decided
    assert not rank([noisy, VAGUE]).decided


@pytest.mark.parametrize(("slower", "claim"), [(1, "is fastest"), (2, "is fastest"), (0, "is the only kernel ranked")])
def test_only_what_runs_by_itself_is_compared_with_nothing(slower: int, claim: str) -> None:
    ranking = rank([FIRST, *(timed(f"csr/k{n}", 2e-3) for n in range(slower))])
    assert ranking.claim == claim


def test_a_gap_is_over_the_time_of_the_slower_one() -> None:
    # 816.2 µs are 2.03 % more than 800, which are 1.98 % less.
    assert len(rank([FIRST, timed("coo/segmented", 816.2e-6)]).leaders) == 2
