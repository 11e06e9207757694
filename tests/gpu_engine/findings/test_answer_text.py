"""The numbers and names in the words of an answer, by value."""

from dataclasses import replace
from typing import Any

import pytest

from gpu_engine.findings.overall_ranking import FAR, KernelSummary, OverallRanking
from gpu_engine.findings.overall_ranking_text import buckets, sentence, short, table, visible_rows
from gpu_engine.text import units
from tests.samples.formats import timed

A, B, C, D = "packed/tile", "csr/vector", "coo/segmented", "ell/thread"


def standing(
    label: str, mean: float, wins: int = 0, absent: int = 0, failed: int = 0, worst: float = 9.0
) -> KernelSummary:
    ratios = (("m1", mean), ("m2", worst))
    return KernelSummary(label, timed(label, 1e-3), ratios, mean, 0.9 * mean, 1.1 * mean, wins, failed, absent)


def answer(
    *standings: KernelSummary, contests: int = 8, busy: int = 0, empty: int = 0, **fields: str
) -> OverallRanking:
    known: dict[str, Any] = {"device": "cpu", "cache": "warm", "of": "", "what": "matrices", "baseline": ""} | fields
    level = tuple(own.label for own in standings[:1])
    return OverallRanking(**known, contests=contests, busy=busy, empty=empty, standings=standings, level=level)


def said(text: str) -> str:
    return text.replace(units.THIN, " ")


def test_shares_are_of_the_contests_that_count() -> None:
    own = answer(standing(A, 1.25, wins=4), busy=3, empty=2)
    assert "over 8 matrices" in said(sentence(own))
    assert "Mean slowdown: 1.25 × (95 % CI 1.12–⁠1.38, worst 9.00 × on m2)" in said(sentence(own))
    assert "Fastest or tied on 50 %. 3 more matrices are excluded" in said(sentence(own))
    assert said(sentence(own)).endswith("2 more matrices are without a timing.")
    assert " more " not in sentence(answer(standing(A, 1.25)))


@pytest.mark.parametrize(
    ("contests", "busy", "empty", "number"), [(1, 1, 0, "1 of 2"), (1, 1, 2, "1 of 4"), (2, 1, 0, "2"), (3, 0, 4, "3")]
)
def test_one_contest_is_one_of_all_that_were_begun(contests: int, busy: int, empty: int, number: str) -> None:
    own = answer(standing(A, 1.25, wins=1), contests=contests, busy=busy, empty=empty)
    assert f"the best single choice over {number} matrices on cpu, warm. " in sentence(own)


def test_where_nothing_leads_the_busy_are_counted_among_all() -> None:
    nothing = replace(answer(standing(A, 1.0), contests=2, busy=3, empty=4), level=())
    assert "3 of 9 matrices" in sentence(nothing)
    busy_alone = replace(answer(contests=0, busy=1), level=())
    assert " of " not in sentence(busy_alone)
    assert sentence(busy_alone) != sentence(replace(busy_alone, busy=0, empty=1))


def test_the_baseline_is_told_unless_it_leads() -> None:
    standings = standing(A, 1.0), standing(B, 2.5)
    assert said(sentence(answer(*standings, baseline=B))).endswith(f". Mean slowdown of {B}: 2.50 ×.")
    for baseline in (A, C, ""):
        assert "; " not in sentence(answer(*standings, baseline=baseline))


def test_a_row_counts_what_failed_among_what_was_tried_and_wins_among_all() -> None:
    own = answer(standing(A, 1.0, wins=2, failed=1), standing(B, 1.5, wins=2, absent=4, failed=3, worst=4.0))
    first, second = table(own, own.standings).rows
    assert [said(cell) for cell in first] == [A, "1.00 ×", "0.90–⁠1.10", "25 %", "9.00 ×", "1"]
    assert [said(cell) for cell in second] == [B, "1.50 ×", "1.35–⁠1.65", "25 %", "4.00 ×", "3 of 4"]


def test_what_is_shown_is_in_one_list_alone() -> None:
    own = answer(standing(A, 1.0), standing(B, 1.01), standing(C, 1.015), standing(D, 3.0))
    assert [[each.label for each in rows] for rows in visible_rows(own, [B])] == [[A, B], [C], [D]]
    assert [[each.label for each in rows] for rows in visible_rows(own, [])] == [[A], [B, C], [D]]


def test_folds_end_at_ten_percent_behind_the_leader_whose_mean_is_not_one() -> None:
    first = standing(A, 2.0)
    inside, beyond = standing(B, FAR * 2.0), standing(C, FAR * 2.0 + 1e-9)
    elsewhere = standing(D, 2.1, absent=1)
    found = buckets(answer(first, inside, beyond, elsewhere), [], [inside, beyond, elsewhere])
    assert [[each.label for each in own] for _, own in found] == [[B], [C], [D]]
    _, far = found[1]
    assert far == [beyond]
    several = [standing(B, 4.0), standing(C, 3.0), standing(D, 8.0)]
    ((text, _),) = buckets(answer(first, *several), [], several)
    assert "3.00 × to 8.00 ×" in said(text)


def test_a_line_has_what_sets_an_answer_apart_from_any_beside_it() -> None:
    here = answer(standing(A, 1.0), of="cut")
    assert short(here, [replace(here, cache="cold")]).startswith(f"Warm: {A} ")
    assert short(here, [replace(here, of="")]).startswith(f"Cut: {A} ")
    assert short(here, [replace(here, device="cuda:0"), replace(here, cache="cold")]).startswith(f"On cpu, warm: {A} ")
    assert short(here, []).startswith(f"On cpu, warm, cut: {A} ")
    assert A not in short(replace(here, level=()), [])
