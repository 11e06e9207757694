"""The bars of a job: their order, length, and state while it runs, and what stands beside them when it is over."""

from collections.abc import Mapping
from typing import Any

import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import INTERVAL, RANGE, Finding
from gpu_engine.findings.formats import findings
from gpu_engine.records import Cache, Case, Interim, Measurement, as_json
from gpu_engine.text.units import MISSING, THIN
from tests.samples.formats import timed, untimed
from web.race import ROWS_SHOWN, JsonInterim, LiveCases, Race, finding_race, folded, live_race, states

KERNELS = ("csr/scalar", "csr/vector", "ell/thread", "coo/segmented")


def case(kernel: str, cache: Cache = "warm") -> Case:
    return Case("m", kernel, cache)


def so_far(kernel: str, time_s: float, rounds: int = 9, cache: Cache = "warm", decided: bool = False) -> JsonInterim:
    own = Interim(case(kernel, cache).key, time_s, None, None, rounds, decided, 0.9 * time_s, 1.1 * time_s)
    json: JsonInterim = as_json(own)
    return json


def race(
    *interim: JsonInterim,
    times: Mapping[str, float | None] | None = None,
    predicted: Mapping[str, float] | None = None,
    current: str = "",
    checking: bool = False,
    sampling: bool = False,
) -> Race:
    """The race of KERNELS, cold and warm."""
    plan = tuple(case(kernel, cache) for kernel in KERNELS for cache in ("cold", "warm"))
    cases = LiveCases(plan, interim, times or {}, predicted or {}, current, checking, sampling)
    return live_race(cases, "per SpMV")


def shown(of: Race) -> list[tuple[str, str]]:
    return [(row.kernel, row.state) for row in (*of.rows, *of.folded)]


def test_all_kernels_wait_from_the_first_second_in_the_order_of_their_forecast() -> None:
    predicted = {"ell/thread": 1.0, "csr/vector": 2.0}
    before = race(predicted=predicted)
    assert shown(before) == [(name, "waiting") for name in ("ell/thread", "csr/vector", "csr/scalar", "coo/segmented")]
    assert [(row.width, row.look) for row in before.rows] == [(100.0, "forecast"), (50.0, "forecast"), (0, ""), (0, "")]
    assert (before.has_forecast, race().has_forecast) == (True, False)
    assert shown(race()) == [(name, "waiting") for name in KERNELS]


def test_kernels_are_checked_one_after_the_other() -> None:
    # The case that is announced is cold; the race shows warm ones.
    now = race(current=case("ell/thread", "cold").key, checking=True)
    assert shown(now) == list(zip(KERNELS, ("checked", "checked", "checking", "waiting"), strict=True))
    assert set(states(race(current=case("csr/scalar").key, sampling=True))) == {"checked"}


def test_those_with_times_come_first_and_a_bar_is_the_rate_over_that_of_the_fastest() -> None:
    now = race(so_far("csr/vector", 2.0), so_far("csr/scalar", 1.0, 2, decided=True), so_far("coo/segmented", 8.0, 1))
    assert shown(now) == [
        ("csr/scalar", "settled"),
        ("csr/vector", "provisional"),
        ("coo/segmented", "provisional"),
        ("ell/thread", "no time"),
    ]
    assert [row.width for row in now.rows] == [100.0, 50.0, 12.5, 0.0]
    assert [row.note for row in now.rows] == ["2 rounds", "9 rounds", "1 round", ""]
    assert [row.time for row in now.rows[:2]] == [f"1.00{THIN}s", f"2.00{THIN}s"]


def test_a_case_with_a_record_is_settled_or_has_no_time() -> None:
    times = {case("csr/scalar").key: 1.0, case("csr/vector").key: None, case("ell/thread", "cold").key: 3.0}
    assert dict(shown(race(times=times))) == {
        "csr/scalar": "settled",
        "csr/vector": "no time",
        "ell/thread": "waiting",
        "coo/segmented": "waiting",
    }


def test_a_job_without_warm_cases_races_cold() -> None:
    cases = LiveCases((case("csr/scalar", "cold"),), (), {}, {}, "", False, False)
    assert shown(live_race(cases, "time")) == [("csr/scalar", "waiting")]


def test_the_slower_rows_are_folded_and_one_is_not() -> None:
    plan = tuple(case(f"k/{n}") for n in range(ROWS_SHOWN + 2))
    interim = [so_far(each.kernel, 1.0 + n) for n, each in enumerate(plan)]
    long = live_race(LiveCases(plan, interim, {}, {}, "", False, True), "time")
    assert (len(long.rows), len(long.folded)) == (ROWS_SHOWN, 2)
    assert long.folded_summary == f"2 more, 13.0{THIN}s to 14.0{THIN}s"
    assert folded(long, ROWS_SHOWN + 1).folded == ()


def test_a_custom_kernel_is_never_folded() -> None:
    kernels = [f"csr/{number}" for number in range(ROWS_SHOWN + 3)] + ["custom:mine/rows"]
    measurements = [timed(kernel, number + 1.0) for number, kernel in enumerate(kernels)]
    (own,) = findings(StudyData(measurements))
    race = finding_race(own)
    assert [row.kernel for row in race.rows] == [*kernels[:ROWS_SHOWN], "custom:mine/rows"]
    assert (len(race.folded), race.folded_summary.split()[0]) == (3, "3")


def finding(*measurements: Measurement) -> Finding:
    (own,) = findings(StudyData(measurements))
    return own


@pytest.mark.parametrize(("rounds", "head"), [(9, INTERVAL), (8, RANGE), (5, RANGE), (2, RANGE)])
def test_fewer_than_nine_rounds_show_their_number_and_ends_instead_of_an_interval(rounds: int, head: str) -> None:
    ends = {"min_s": 0.9e-3, "max_s": 1.5e-3, "ci_low_s": 0.95e-3, "ci_high_s": 1.05e-3}
    fields: dict[str, Any] = {"rounds": rounds, **ends}
    result = finding_race(finding(timed("csr/vector", 1e-3, **fields)))
    (row,) = result.rows
    assert result.spread_head == head
    assert row.spread == (
        f"950{THIN}µs – 1.05{THIN}ms" if rounds == 9 else f"{rounds} rounds, 900{THIN}µs – 1.50{THIN}ms"
    )
    assert row.look == ("settled" if rounds == 9 else "provisional")


def test_results_have_verdicts_and_cases_without_a_time_no_row() -> None:
    of = finding(timed("csr/vector", 1e-3), timed("csr/scalar", 2e-3), untimed("ell/thread", "skipped", "large"))
    result = finding_race(of)
    assert [(row.kernel, row.state, row.width) for row in result.rows] == [
        ("csr/vector", "baseline", 100.0),
        ("csr/scalar", "slower", 50.0),
    ]
    assert (result.time_head, result.is_busy) == ("per SpMV", False)


def test_on_a_busy_machine_nothing_has_an_interval_or_a_verdict() -> None:
    result = finding_race(finding(timed("csr/vector", 1e-3, aa_gap=0.4), timed("csr/scalar", 2e-3, aa_gap=0.4)))
    assert (result.is_busy, result.spread_head) == (True, "")
    assert {(row.state, row.spread, row.look) for row in result.rows} == {("", "", "provisional")}
    assert MISSING not in {row.time for row in result.rows}


def test_axes_are_named_if_they_tell_cases_of_a_kernel_apart() -> None:
    plan = tuple(
        Case("m", kernel, "warm", (("devices", devices), ("merge", "host")))
        for kernel, number in (("a/b", 2), ("c/d", 1))
        for devices in ("1", "2")[:number]
    )
    cases = LiveCases(plan, (), {}, {}, plan[1].key, True, False)
    assert shown(live_race(cases, "time")) == [
        ("a/b devices=1", "checked"),
        ("a/b devices=2", "checking"),
        ("c/d", "waiting"),
    ]
