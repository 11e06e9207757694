"""How long jobs take: the estimate of the study, and more and more of the job's own pace."""

import pytest

from server.db import Database
from server.jobs.eta import elapsed, job_etas, remaining_range_s, remaining_s
from server.models import JobRow, JobState

START = 1_000.0


def running(progress: float, attempt: int = 1, started_at: float | None = START) -> JobRow:
    """A job of 10 cases and 100 s."""
    return JobRow(progress=progress, cases_total=10, estimate_s=100.0, attempt=attempt, started_at=started_at)


@pytest.mark.parametrize(
    ("progress", "elapsed_s", "left_s"),
    [
        (0.0, 30.0, 100.0),
        # As expected: what is left of the estimate.
        (5.0, 50.0, 50.0),
        # Twice as slow: 200 s by its pace, 100 s by the estimate, half of each.
        (5.0, 100.0, 75.0),
        (9.0, 900.0, 91.0),
        (9.0, 9.0, 1.9),
        (10.0, 300.0, 0.0),
    ],
)
def test_the_further_a_job_is_the_more_its_pace_counts(progress: float, elapsed_s: float, left_s: float) -> None:
    assert remaining_s(running(progress), START + elapsed_s) == pytest.approx(left_s)


def test_a_later_attempt_has_no_pace_of_its_own() -> None:
    assert remaining_s(running(5.0, attempt=2), START + 900.0) == 50.0
    assert remaining_s(running(5.0, started_at=None), START + 900.0) == 50.0


def test_the_range_is_from_the_estimate_to_its_mixture_with_the_pace() -> None:
    assert remaining_range_s(running(5.0), START + 100.0) == pytest.approx((50.0, 75.0))
    assert remaining_range_s(running(9.0), START + 9.0) == pytest.approx((1.9, 10.0))
    assert remaining_range_s(running(5.0, attempt=2), START + 900.0) == (50.0, 50.0)


def test_time_passes_until_the_end() -> None:
    job = running(5.0)
    assert elapsed(job, START + 7.0) == 7.0
    job.finished_at = START + 3.0
    assert elapsed(job, START + 7.0) == 3.0
    assert elapsed(running(0.0, started_at=None), START) is None


def test_who_waits_comes_after_what_runs_and_waits_on_the_same_device(database: Database) -> None:
    jobs = [
        # id, device, state, progress of 10 cases
        ("a", "cpu", JobState.RUNNING, 0.0),
        ("b", "cpu", JobState.QUEUED, 5.0),
        ("c", "gpu", JobState.QUEUED, 0.0),
        ("d", "cpu", JobState.QUEUED, 0.0),
        ("e", "cpu", JobState.SUCCEEDED, 10.0),
    ]
    with database.write() as session:
        session.add_all(
            JobRow(
                id=name,
                study="formats",
                device=device,
                state=state,
                progress=progress,
                cases_total=10,
                estimate_s=100.0,
                attempt=2,
                created_at=START + place,
            )
            for place, (name, device, state, progress) in enumerate(jobs)
        )
    with database.read() as session:
        rows = {name: session.get_one(JobRow, name) for name, *_ in jobs}
        assert job_etas(session, list(rows.values())) == {
            "a": (None, 100.0),
            "b": (1, 200.0),
            "c": (1, 100.0),
            "d": (2, 250.0),
            "e": (None, None),
        }
        assert job_etas(session, [rows["d"]]) == {"d": (2, 250.0)}, "whoever else is asked for"


def test_waits_are_sums_that_no_order_of_rows_and_no_release_of_a_database_changes(database: Database) -> None:
    estimates = [0.1, 0.2, 0.3, 1e-6, 1e6 / 3, 0.7]
    with database.write() as session:
        jobs = [
            JobRow(
                id=f"j{number}", study="formats", matrix_ids=[], device="cpu", state=JobState.QUEUED,
                created_at=float(number), cases_total=2, progress=0.0, estimate_s=estimate_s,
            )
            for number, estimate_s in enumerate(estimates)
        ]  # fmt: skip
        session.add_all(jobs)
        session.flush()
        # One look from the last: the database sums; one at all of them: this process does.
        assert job_etas(session, jobs[-1:])["j5"] == job_etas(session, jobs)["j5"] == (6, 333334.633334)
