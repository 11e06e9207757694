"""The answer over several contests, by value."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from gpu_engine.findings import batched, formats, pagerank, reduced_spmv, scaling
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.overall_ranking import NEAR, ComparisonGroup, OverallRanking, answers, of_findings
from gpu_engine.findings.overall_ranking_text import buckets, sentence, table, visible_rows
from gpu_engine.findings.ranking import rank
from gpu_engine.text import units
from tests.samples.formats import timed, untimed
from tests.samples.studies import records_of

A, B, C = "packed/tile", "csr/vector", "coo/segmented"
QUIET: dict[str, Any] = {"roofline_s": 1e-9, "gather_probe_s": 1e-9}


def contest(name: str, times: Mapping[str, float | None], baseline: str = "", **fields: Any) -> ComparisonGroup:
    """Kernels with times in microseconds; None: skipped."""
    entrants = {
        kernel: timed(kernel, 1e-6 * time, matrix=name, **QUIET, **fields)
        if time
        else untimed(kernel, "skipped", "too large", matrix=name)
        for kernel, time in times.items()
    }
    return ComparisonGroup(name, "cpu", "warm", entrants, rank(entrants.values()), baseline)


def the_answer(contests: Sequence[ComparisonGroup]) -> OverallRanking:
    (answer,) = answers(contests)
    return answer


def said(answer: OverallRanking) -> str:
    return sentence(answer).replace(units.THIN, " ")


def rows(answer: OverallRanking) -> list[tuple[str, ...]]:
    return [tuple(cell.replace(units.THIN, " ") for cell in row) for row in table(answer, answer.standings).rows]


def test_the_mean_is_of_ratios_to_the_best_of_each_matrix_and_the_interval_over_the_matrices() -> None:
    answer = the_answer(
        [contest(f"m{i}", {A: 100, B: 200, C: 400}, B) for i in range(4)]
        + [contest(f"n{i}", {A: 200, B: 100, C: 400}, B) for i in range(4)]
        + [contest(f"o{i}", {A: 100, B: 800, C: 400}, B) for i in range(8)]
    )
    assert [(own.label, round(own.mean, 4), own.wins) for own in answer.standings] == [
        (A, round(2 ** (4 / 16), 4), 12),
        (B, round(2 ** (4 / 16) * 8 ** (8 / 16), 4), 4),
        (C, 4.0, 0),
    ]
    assert answer.level == (A,)
    first, *_, last = answer.standings
    assert first.low is not None
    assert first.high is not None
    # Of sixteen coins that show 2 × with a chance of a quarter 95 % show it one to seven or eight times.
    assert 2 ** (1 / 16) <= first.low < first.mean < first.high <= 2 ** (8 / 16)
    assert [last.low, last.high] == pytest.approx([4.0, 4.0])
    assert rows(answer)[0] == (A, "1.19 ×", units.ratio_interval((first.low, first.high)), "75 %", "2.00 ×", "0")
    assert said(answer) == (
        f"{A} is the best single choice over 16 matrices on cpu, warm. Mean slowdown: 1.19 × (95 % CI "
        f"{units.ratio_interval((first.low, first.high))}, worst 2.00 × on n0). Fastest or tied on 75 %. "
        f"Mean slowdown of {B}: 3.36 ×."
    )


def test_a_leader_is_named_with_all_that_the_matrices_do_not_tell_from_it() -> None:
    answer = the_answer(
        [contest(f"m{i}", {A: 100, B: 130, C: 500}) for i in range(5)]
        + [contest(f"n{i}", {A: 130, B: 101, C: 500}) for i in range(5)]
    )
    assert answer.level == (A, B)
    assert said(answer).startswith(
        f"{A} and {B} tie as the best single choice over 10 matrices on cpu, warm. Mean slowdown of {A}: "
    )


def test_of_few_matrices_the_verdicts_decide() -> None:
    clear = [contest(f"m{i}", {A: 100, B: 150}) for i in range(3)]
    assert (the_answer(clear).level, the_answer(clear).standings[0].low) == ((A,), None)
    assert the_answer([*clear[:2], contest("m2", {A: 100, B: 100})]).level == (A, B)
    assert said(the_answer(clear[:1])) == f"{A} is fastest of m0 on cpu: 100 µs."
    assert rows(the_answer(clear[:1])) == [(A, "100 µs", "1.00 ×"), (B, "150 µs", "1.50 ×")], "one has no mean"


def test_what_has_no_time_counts_as_twice_the_slowest_and_is_counted() -> None:
    answer = the_answer([contest("m0", {A: 100, B: 150, C: None}), contest("m1", {A: 100, B: 150, C: 100})])
    own = next(own for own in answer.standings if own.label == C)
    assert own.mean == pytest.approx(3**0.5)
    assert (own.failed, own.ratios) == (1, (("m1", 1.0),))
    assert rows(answer)[-1] == (C, "1.73 ×", "50 %", "1.00 ×", "1"), "two groups are too few for an interval"


def test_what_was_not_tried_everywhere_comes_last_and_is_no_baseline() -> None:
    answer = the_answer([contest("m0", {A: 150, B: 200, C: 100}, C), contest("m1", {A: 100, B: 200}, C)])
    assert [own.label for own in answer.standings] == [A, B, C]
    assert (rows(answer)[-1][-1], answer.baseline) == ("0 of 1", "")


def test_what_is_within_two_percent_is_folded_with_the_leader_and_what_is_behind_by_itself() -> None:
    times = {A: 100, B: 101, C: 110, "ell/thread": 120, "jad/thread": 130, "hyb/k": 140, "csc/atomic": 150, "x/y": 900}
    answer = the_answer([contest(f"m{i}", times, "x/y") for i in range(6)])
    first, near, far = visible_rows(answer, answer.apart)
    assert [own.label for own in near] == [B]
    assert [own.label for own in first] == [A, C, "ell/thread", "jad/thread", "hyb/k", "x/y"]
    assert [own.label for own in far] == ["csc/atomic"]
    assert answer.best == (A, B, C, "ell/thread", "jad/thread", "x/y")
    assert [own.label for own in visible_rows(answer, [B])[0]] == [A, B, "x/y"]


def test_what_is_folded_says_how_far_behind_it_is() -> None:
    times = {A: 100, B: 101, C: 105, "ell/thread": 109, "jad/thread": 111, "hyb/k": 300}
    answer = the_answer([contest(f"m{i}", times) for i in range(5)] + [contest("m5", {**times, "csc/atomic": 120})])
    _, near, rest = visible_rows(answer, [])
    assert [
        (text.replace(units.THIN, " "), [own.label for own in own]) for text, own in buckets(answer, near, rest)
    ] == [
        (f"1 more within 2 % of {A}", [B]),
        ("2 kernels are 2 to 10 % slower", [C, "ell/thread"]),
        ("2 kernels are more than 10 % slower: mean slowdown 1.11 × to 3.00 ×", ["jad/thread", "hyb/k"]),
        ("1 kernel was measured on only some matrices: mean slowdown 1.20 ×", ["csc/atomic"]),
    ]


def test_the_best_five_hold_what_was_tried_on_half_of_all_and_the_leader_what_was_tried_on_all() -> None:
    everywhere = {A: 100, B: 150, C: 160, "ell/thread": 170, "jad/thread": 500}
    contests = [contest(f"m{i}", everywhere) for i in range(3)]
    contests += [contest(f"n{i}", {**everywhere, "hyb/k": 100.5}) for i in range(2)]
    contests += [contest("o", {**everywhere, "hyb/k": 100.5, "x/y": 101})]
    answer = the_answer(contests)
    assert answer.standings[0].label == A
    assert answer.best == answer.apart == (A, "hyb/k", B, C, "ell/thread")
    assert answer.level == (A,)
    # By the mean over those where each was tried, behind what was tried on all.
    assert [own.label for own in answer.standings[-2:]] == ["hyb/k", "x/y"]


def test_busy_machines_do_not_count_and_most_of_them_leave_no_leader() -> None:
    quiet = [contest(f"m{i}", {A: 100, B: 150}) for i in range(6)]
    busy = [contest(f"b{i}", {A: 100, B: 50}, aa_gap=0.3) for i in range(7)]
    one = the_answer([*quiet, busy[0]])
    assert (one.contests, one.busy, one.level) == (6, 1, (A,))
    assert said(one).endswith(" 1 more matrix is excluded because the timings are too noisy.")
    most = the_answer([*quiet, *busy])
    assert most.level == ()
    assert said(most) == "No ranking on cpu, warm: the timings are too noisy on 7 of 13 matrices."
    assert the_answer(busy).standings == ()
    assert said(the_answer(busy[:1])) == "No ranking on cpu, warm: the timings are too noisy."
    nothing = the_answer([contest("m0", {A: None}), contest("m1", {A: None})])
    assert said(nothing) == "No ranking on cpu, warm: no kernel was timed."


def test_devices_and_caches_are_answered_by_themselves() -> None:
    here = contest("m0", {A: 100})
    cold, there = replace(here, cache="cold"), replace(here, device="cuda:0")
    assert [(own.device, own.cache) for own in answers([here, cold, there])] == [
        ("cpu", "warm"),
        ("cpu", "cold"),
        ("cuda:0", "warm"),
    ]


def data_of(study: str) -> StudyData:
    matrices = ("m1", "m2", "m3")
    measurements, _ = records_of(study, matrices, "cuda:0")
    return StudyData([m for m in measurements if m.cache == "warm"], {m: MatrixFeatures(m, 5, 5, 20) for m in matrices})


@pytest.mark.parametrize(
    ("study", "own"),
    [
        ("formats", formats),
        ("batched", batched),
        ("pagerank", pagerank),
        ("reduced_spmv", reduced_spmv),
        ("scaling", scaling),
    ],
)
def test_every_study_has_contests_whose_leaders_are_those_of_its_findings(study: str, own: object) -> None:
    data = data_of(study)
    contests = own.contests(data)  # type: ignore[attr-defined]
    assert contests
    every = {leader for finding in own.findings(data) for leader in finding.leaders}  # type: ignore[attr-defined]
    led = {leader for contest in contests for leader in contest.leaders}
    assert every & led if study in ("batched", "scaling") else every == led
    for answer in answers(contests):
        assert 1 <= answer.standings[0].mean == min(own.mean for own in answer.standings if not own.absent)
        assert answer.level[0] == answer.standings[0].label


def test_a_study_without_contests_is_answered_by_its_findings() -> None:
    data = data_of("formats")
    (answer,) = answers(of_findings(formats.findings(data)))
    assert answer.contests == 3
    assert answer.standings[0].label == formats.contests(data)[0].leaders[0]


def test_a_lone_matrix_among_busy_ones_is_one_of_them() -> None:
    busy = contest("busy", {A: 100, B: 50}, aa_gap=0.3)
    one = the_answer([contest("quiet", {A: 100, B: 200}), busy])
    assert said(one).startswith(f"{A} is the best single choice over 1 of 2 matrices on cpu, warm")


def test_a_leader_remains_where_half_of_the_machines_were_busy() -> None:
    quiet = [contest(f"m{i}", {A: 100, B: 150}) for i in range(3)]
    busy = [contest(f"b{i}", {A: 100, B: 50}, aa_gap=0.3) for i in range(3)]
    empty = [contest("e", {A: None})]
    assert the_answer([*quiet, *busy]).level == (A,)
    counted = the_answer([*quiet, *busy, *empty])
    assert (counted.contests, counted.busy, counted.empty) == (3, 3, 1)


def test_the_interval_is_of_ninety_five_percent() -> None:
    coins = [contest(f"m{i}", {A: 100, B: 200}) for i in range(12)] + [
        contest(f"n{i}", {A: 200, B: 100}) for i in range(4)
    ]
    first = the_answer(coins).standings[0]
    assert first.low == pytest.approx(2 ** (1 / 16))
    assert first.high is not None
    assert first.high >= 2 ** (6.9 / 16)
    assert first.worst[1] == pytest.approx(2.0)


@pytest.mark.parametrize("number", [5, 6])
def test_six_contests_have_an_interval_and_equals_are_not_told_apart(number: int) -> None:
    answer = the_answer([contest(f"m{i}", {A: 100, B: 100, C: 150}) for i in range(number)])
    assert [(own.label, own.low is None, own.wins) for own in answer.standings[:2]] == [
        (label, number < 6, number) for label in sorted((A, B))
    ]
    assert answer.level == tuple(sorted((A, B)))


def test_what_has_no_time_in_one_of_few_contests_and_is_slower_in_the_others_is_not_level() -> None:
    times = {A: 100, B: 150, C: 200}
    answer = the_answer([contest("m0", {**times, C: None}), contest("m1", times), contest("m2", times)])
    assert answer.level == (A,)
    # In every contest, not in some of them.
    tied = the_answer([contest("m0", {A: 100, C: None}), contest("m1", {A: 100, C: 100}), contest("m2", {A: 1, C: 2})])
    assert tied.level == (A, C)


def test_the_mean_of_what_was_tried_on_some_is_over_those_and_so_is_its_interval() -> None:
    contests = [contest(f"m{i}", {A: 100, B: 150}) for i in range(5)]
    contests += [contest(f"n{i}", {A: 100, B: 150, C: 300}) for i in range(4)]
    own = next(own for own in the_answer(contests).standings if own.label == C)
    assert [own.mean, own.low, own.high] == pytest.approx([3.0] * 3)
    assert (own.absent, own.failed, len(own.ratios)) == (5, 0, 4)


def test_what_was_tried_on_fewer_is_ordered_by_its_mean_and_never_level_or_near() -> None:
    contests = [contest(f"m{i}", {A: 100, B: 150}) for i in range(4)]
    contests += [contest("n", {A: 100, B: 150, C: 200}), contest("o", {A: 100, B: 150, C: 200, "hyb/k": 100})]
    answer = the_answer(contests)
    assert [own.label for own in answer.standings] == [A, B, "hyb/k", C]
    assert (answer.level, answer.near) == ((A,), ())
    few = the_answer(contests[3:])
    assert ([own.label for own in few.standings], few.level) == ([A, B, "hyb/k", C], (A,))


def test_near_is_less_than_two_percent_behind() -> None:
    answer = the_answer([contest(f"m{i}", {A: 100, B: 101, C: 150}) for i in range(6)])
    first, second, third = answer.standings
    for mean, near in ((0.9999 * NEAR, (B,)), (NEAR, ()), (1.0001 * NEAR, ())):
        own = replace(second, mean=mean)
        changed = replace(answer, standings=(replace(first, mean=1.0), own, third))
        assert tuple(own.label for own in changed.near) == near


def test_the_baseline_is_that_of_most_contests() -> None:
    contests = [contest("m0", {A: 100, B: 150, C: 200}, C)]
    contests += [contest(f"n{i}", {A: 100, B: 150, C: 200}, B) for i in range(2)]
    assert the_answer(contests).baseline == B


def test_what_sets_contests_apart_is_answered_by_itself_and_one_without_entrants_never() -> None:
    here = contest("m0", {A: 100})
    nothing = replace(here, entrants={}, ranking=rank(()))
    assert [own.of for own in answers([here, replace(here, of="cut"), nothing])] == ["", "cut"]
    assert answers([nothing]) == []


def test_what_came_to_no_right_end_counts_as_failed_whatever_its_time() -> None:
    entrants = {
        A: timed(A, 1e-4, matrix="m", **QUIET),
        B: replace(timed(B, 1e-5, matrix="m", **QUIET), state="unconverged"),
    }
    fast = ComparisonGroup("m", "cpu", "warm", entrants, rank(entrants.values()))
    answer = the_answer([fast, contest("n", {A: 100, B: 150})])
    (first, second) = answer.standings
    assert (first.label, first.ratios, second.failed) == (A, (("m", 1.0), ("n", 1.0)), 1)
    assert second.mean == pytest.approx(3**0.5)


def test_a_contest_whose_leader_is_not_clear_counts_too() -> None:
    vague = replace(timed(B, 1.04e-4, matrix="v", **QUIET), ci_low_s=0.9e-4, ci_high_s=1.2e-4)
    entrants = {A: timed(A, 1e-4, matrix="v", **QUIET), B: vague}
    unclear = ComparisonGroup("v", "cpu", "warm", entrants, rank(entrants.values()))
    assert unclear.unsettled == (B,)
    answer = the_answer([unclear, contest("m", {A: 100, B: 150})])
    assert (answer.contests, answer.level) == (2, (A, B))


def test_the_interval_leaves_out_two_and_a_half_percent_to_either_side() -> None:
    # Of sixteen fair coins 3.8 % show at most four heads and 1.1 % at most three.
    coins = [contest(f"m{i}", {A: 100, B: 200}) for i in range(8)] + [
        contest(f"n{i}", {A: 200, B: 100}) for i in range(8)
    ]
    first = the_answer(coins).standings[0]
    assert [first.low, first.high] == pytest.approx([2 ** (4 / 16), 2 ** (12 / 16)])


def test_a_kernel_without_a_record_of_one_group_in_ten_is_ranked_and_its_gap_is_said() -> None:
    contests = [contest(f"m{i}", {A: 100, B: 200}) for i in range(9)]
    answer = the_answer([*contests, contest("m9", {B: 200, C: 300})])
    assert [(own.label, own.absent) for own in answer.standings] == [(A, 1), (B, 0), (C, 9)]
    assert answer.level == (A,)
    assert said(answer).endswith(f"{A} was not measured on 1 of 10.")
    few = the_answer([*contests[:8], contest("m9", {B: 200, C: 300})])
    assert few.standings[0].label == B, "one of nine is more than a tenth"
    assert "not measured" not in said(few)


def test_kernels_are_compared_on_the_groups_with_both() -> None:
    contests = [contest(f"m{i}", {A: 100, B: 101.5}) for i in range(18)]
    contests += [contest(f"n{i}", {B: 100, C: 900}) for i in range(2)]
    answer = the_answer(contests)
    assert (answer.standings[0].label, answer.level) == (A, (A,)), "B is the fastest where A has no record"


def test_the_parts_of_the_groups_and_what_the_times_leave_out_are_said() -> None:
    each = contest("m", {A: 100, B: 150})
    contests = [
        replace(each, parts=(("systems", system), ("preconditioners", name)), without="conversion")
        for system in ("s1", "s2")
        for name in ("none", "jacobi", "ic")
    ]
    (answer,) = answers(contests, "solves")
    assert answer.parts == (("systems", 2), ("preconditioners", 3))
    assert "over 6 solves (2 systems, 3 preconditioners) on cpu, warm, without conversion. " in said(answer)
    (plain,) = answers([each for each in contests if dict(each.parts)["preconditioners"] == "none"], "solves")
    assert "over 2 solves (2 systems) on cpu, " in said(plain)


def test_kernels_that_tie_are_all_in_the_table() -> None:
    contests = [contest(f"m{i}", {A: 100, B: 150, C: 400}) for i in range(6)]
    contests += [contest(f"n{i}", {A: 150, B: 105, C: 400}) for i in range(6)]
    answer = the_answer(contests)
    assert answer.level == (A, B)
    assert [own.label for own in visible_rows(answer, [])[0]] == [A, B]
    assert "A tie: " in said(answer)
    assert "A tie: " not in said(the_answer(contests[:6]))
