"""Activity of a day: who waited, ran, and failed when."""

import pytest

from server.jobs.activity import PARTS, JobTimes, activity_of
from server.quotas import DAY_S

NOW = 1e9
PART_S = DAY_S / PARTS


def job(state: str, *times: float | None, device: str = "cpu") -> JobTimes:
    """A job created, started, and finished this many parts of a day ago."""
    created, started, finished = (None if ago is None else NOW - ago * PART_S for ago in times)
    return JobTimes(device, state, created or 0.0, started, finished)


def test_a_wait_and_a_run_fill_the_parts_that_they_overlap() -> None:
    day = activity_of([job("succeeded", 3.0, 2.5, 1.0)], NOW)
    assert day.waiting[-4:] == pytest.approx((0, 0.5, 0, 0))
    assert day.running[-4:] == pytest.approx((0, 0.5, 1, 0))
    assert day.busy_s == pytest.approx({"cpu": 1.5 * PART_S})
    assert day.median_wait_s == pytest.approx(0.5 * PART_S)
    assert day.last_end == NOW - PART_S


def test_busy_time_is_a_share_of_the_time_since_the_service_started() -> None:
    run = job("succeeded", 3.0, 2.5, 1.0)
    assert activity_of([run], NOW).busy("cpu") == pytest.approx(1.5 / PARTS)
    young = activity_of([run], NOW, 2.0 * PART_S)
    assert (young.period_s, young.busy("cuda:0")) == (2.0 * PART_S, 0.0)
    assert young.busy("cpu") == pytest.approx(0.5)
    assert activity_of([run], NOW, 0.5 * PART_S).busy("cpu") == 0.0
    assert activity_of([run], NOW, 2.0 * DAY_S).period_s == DAY_S


def test_a_queued_job_waits_until_now_and_has_lost_its_former_start() -> None:
    day = activity_of([job("queued", 2.0, 1.5, None)], NOW)
    assert day.waiting[-3:] == pytest.approx((0, 1, 1))
    assert sum(day.running) == 0
    assert (day.busy_s, day.median_wait_s, day.last_end) == ({}, None, None)


def test_a_running_job_runs_until_now_and_one_before_the_day_is_cut() -> None:
    day = activity_of([job("running", 60.0, 50.0, None, device="cuda:0")], NOW)
    assert day.running == pytest.approx([1.0] * PARTS)
    assert day.busy_s == pytest.approx({"cuda:0": DAY_S})
    assert sum(day.waiting) == 0


def test_a_job_that_was_cancelled_in_the_queue_waited_until_then() -> None:
    day = activity_of([job("cancelled", 2.0, None, 1.0)], NOW)
    assert day.waiting[-3:] == pytest.approx((0, 1, 0))
    assert sum(day.running) == 0


def test_failures_are_counted_in_the_part_of_their_end() -> None:
    failures = [job("failed", 3.0, 2.9, ago) for ago in (2.5, 2.1, 0.0)]
    day = activity_of([*failures, job("succeeded", 3.0, 2.9, 2.5)], NOW)
    assert day.failed[-3:] == (2, 0, 1)


def test_a_clock_that_was_put_back_makes_no_time_negative() -> None:
    day = activity_of([job("running", -2.0, -1.0, None), job("failed", -3.0, -2.0, -1.0)], NOW)
    assert min((*day.waiting, *day.running, *day.failed)) == 0
    assert day.failed[-1] == 1


def test_a_day_without_jobs_is_empty() -> None:
    day = activity_of([], NOW)
    assert {len(part) for part in (day.waiting, day.running, day.failed)} == {PARTS}
    assert sum((*day.waiting, *day.running, *day.failed)) == 0
