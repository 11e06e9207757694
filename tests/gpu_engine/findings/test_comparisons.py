"""Kernels beside their rivals, by value: rows, means over them, and what has no time."""

from typing import Any

import pytest

from gpu_engine.findings.bootstrap import CONTESTS_MIN, interval_of_mean
from gpu_engine.findings.comparisons import Comparison, spread, summary, tables
from gpu_engine.records import Case, Details, Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table

NAMES = (Head("matrix", numeric=False),)


def measured(matrix: str, kernel: str, us: float | None, **fields: Any) -> Measurement:
    """One with an interval of a hundredth to both sides and a floor of 8 µs."""
    fields = {"rounds": 15, "roofline_s": 8e-6, "aa_gap": 0.001} | fields
    if us is None:
        return Measurement.of(Case(matrix, kernel, "cold"), "cpu", Details, state="failed", **fields)
    ends: dict[str, Any] = {
        "median_s": us * 1e-6,
        "ci_low_s": us * 0.99e-6,
        "ci_high_s": us * 1.01e-6,
        "min_s": us * 0.99e-6,
        "q3_s": us * 1.01e-6,
    }
    return Measurement.of(Case(matrix, kernel, "cold"), "cpu", Details, **fields, **ends, max_s=us * 1.01e-6)


def plain(table: Table) -> list[list[str]]:
    return [[cell.replace(units.THIN, " ") for cell in row] for row in table.rows]


BOTH = (
    Comparison("cold", ("a",), measured("a", "csr/vector", 10), {"best": measured("a", "best", 20, note="coo_alg1")}),
    Comparison("cold", ("b",), measured("b", "ell/thread", 40), {"best": measured("b", "best", 20)}),
    Comparison("warm", ("a",), measured("a", "csr/vector", 8), {"best": None, "other": measured("a", "x/y", 16)}),
)


def test_a_row_has_the_kernel_its_floor_and_what_it_is_over() -> None:
    found = tables(BOTH, NAMES)
    assert plain(found["cold"]) == [
        ["a", "csr/vector", "10.0 µs", "8.00 µs", "80 %", "20.0 µs (coo_alg1), 2.00 × (faster)"],
        ["b", "ell/thread", "40.0 µs", "8.00 µs", "20 %", "20.0 µs, 0.50 × (slower)"],
    ]
    assert plain(found["warm"]) == [
        ["a", "csr/vector", "8.00 µs", "8.00 µs", "100 %", "16.0 µs (x/y), 2.00 × (faster)"]
    ]


def test_the_gather_floor_has_columns_where_it_is_known() -> None:
    own = measured("a", "csr/vector", 10, gather_probe_s=9e-6)
    (table,) = tables([Comparison("cold", ("a",), own, {})], NAMES).values()
    assert plain(table) == [["a", "csr/vector", "10.0 µs", "8.00 µs", "80 %", "9.00 µs", "90 %"]]


def test_over_all_cases_there_are_means_verdicts_and_shares() -> None:
    assert plain(summary(BOTH, "matrices")) == [
        ["cold", "best", "2", "1.00 ×", "0.50 × (b)", "2.00 × (a)", "1", "0", "0", "1", "40 %"],
        ["warm", "other", "1", "2.00 ×", "2.00 × (a)", "2.00 × (a)", "1", "0", "0", "0", "100 %"],
    ]


def test_what_has_no_time_is_compared_with_nothing() -> None:
    failed = Comparison("cold", ("a",), measured("a", "csr/vector", 10), {"best": measured("a", "best", None)})
    assert summary([failed], "matrices").rows == ()
    assert plain(tables([failed], NAMES)["cold"]) == [["a", "csr/vector", "10.0 µs", "8.00 µs", "80 %"]]


def test_the_mean_share_is_of_the_cases_with_a_rival() -> None:
    alone = Comparison("cold", ("b",), measured("b", "csr/vector", 40), {"best": None})
    (row,) = plain(summary([BOTH[0], alone], "matrices"))
    assert (row[2], row[-1]) == ("1", "80 %")


def test_a_share_that_is_withheld_is_in_no_mean() -> None:
    quick = Comparison("cold", ("a",), measured("a", "csr/vector", 1), {"best": measured("a", "best", 2)})
    assert plain(summary([quick], "matrices"))[0][-1] == "–"


def test_a_few_rounds_have_verdicts_without_an_interval() -> None:
    own, other = (measured("a", kernel, us, rounds=3, q1_s=us * 0.995e-6) for kernel, us in (("x", 1), ("y", 100)))
    assert (own.ci_low_s, len(own.few_rounds_s)) == (None, 3)
    only = [Comparison("cold", ("a",), own, {"y": other})]
    assert plain(tables(only, NAMES)["cold"])[0][-1] == "100 µs, 100 × (faster)"
    assert len(summary(only, "matrices").heads) == 3 + 3 + 4 + 1


def test_medians_alone_have_no_verdicts() -> None:
    own, other = (
        Measurement.of(Case("a", kernel, "cold"), "cpu", Details, median_s=us * 1e-6)
        for kernel, us in (("x", 1), ("y", 2))
    )
    only = [Comparison("cold", ("a",), own, {"y": other})]
    assert plain(tables(only, NAMES)["cold"]) == [["a", "x", "1.00 µs", "2.00 µs, 2.00 ×"]]
    assert len(summary(only, "matrices").heads) == 3 + 3


def test_a_spread_is_of_positive_numbers_a_mean_else_a_median() -> None:
    assert [cell.replace(units.THIN, " ") for cell in spread([("a", 2.0), ("b", 8.0)])] == [
        *("4.00 ×", "–", "2.00 × (a)", "8.00 × (b)")
    ]
    assert [cell.replace(units.THIN, " ") for cell in spread([("a", -0.2), ("b", 0.5), ("c", 1.0)], units.percent)] == [
        *("50 % (median)", "–", "−20 % (a)", "100 % (c)")
    ]
    assert spread([]) == ("–",) * 4


def test_the_interval_of_a_mean_holds_it_and_narrows_with_more_numbers() -> None:
    few, many = interval_of_mean([0.5, 1.0, 2.0, 4.0] * 2), interval_of_mean([0.5, 1.0, 2.0, 4.0] * 16)
    assert few is not None
    assert many is not None
    assert few[0] < many[0] < 2**0.5 < many[1] < few[1]
    assert few == interval_of_mean([0.5, 1.0, 2.0, 4.0] * 2), "drawn with a seed"
    assert interval_of_mean([1.0] * (CONTESTS_MIN - 1)) is None
    assert interval_of_mean([1.0] * CONTESTS_MIN) == (1.0, 1.0)


@pytest.mark.parametrize("rival", ["best", "other"])
def test_a_verdict_needs_two_times(rival: str) -> None:
    verdict = BOTH[2].verdict(rival)
    assert (verdict.kind if verdict else None) == {"best": None, "other": "faster"}[rival]
