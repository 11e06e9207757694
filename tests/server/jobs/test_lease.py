"""The queue as a worker sees it: one claim a job, and writes that only the running attempt can make."""

import threading
from threading import Barrier, Thread
from typing import Any

import pytest
from sqlalchemy import select, update

from gpu_engine.records import Case, Details, DeviceInfo, Interim, Measurement, Progress, Trace
from server import devices
from server.db import clock
from server.jobs import lease as leases
from server.jobs import queue
from server.jobs.documents import job_document
from server.jobs.journal import Journal
from server.jobs.lease import Lease
from server.models import EventRow, JobRow, JobState, MeasurementRow, TraceRow
from server.results import measurements, traces
from tests.server.jobs.conftest import Jobs

GPU = DeviceInfo("cuda:0", "cuda", "A GPU", 2**30, 2**20, "GPU-1")
A = "a" * 32
KEY = f"{A}|fake/k0|warm|"
MEASUREMENT = Measurement.of(Case.parse(KEY), "cpu", Details, median_s=0.5, samples_s=(0.4, 0.6))


def test_jobs_are_claimed_oldest_first_and_once(jobs: Jobs) -> None:
    made = [jobs.submit().id for _ in range(12)]
    barrier, claimed = Barrier(4), []

    def work(owner: str) -> None:
        barrier.wait()
        while (job := leases.claim(jobs.database, owner, ["cpu"], 60)) is not None:
            claimed.append(job.id)

    threads = [Thread(target=work, args=(str(number),)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(claimed) == sorted(made)


def test_a_claim_is_the_oldest_of_the_devices_and_waits_for_those_who_need_more(jobs: Jobs) -> None:
    devices.register(jobs.database, [GPU])
    first, on_cpu, second = jobs.submit(device="cuda:0"), jobs.submit(), jobs.submit(device="cuda:0")

    def claim(*device_ids: str, waiting: tuple[str, ...] = ()) -> Any:
        job = leases.claim(jobs.database, "me", device_ids, 60, waiting)
        return job.id if job else None

    assert claim("cuda:1") is None
    assert claim("cuda:0", waiting=("cpu",)) == first.id
    assert claim("cuda:0", waiting=("cpu",)) is None
    assert claim("cuda:0", "cpu") == on_cpu.id
    assert claim("cuda:0", waiting=("cpu",)) == second.id


def test_a_measurement_and_its_trace_are_committed_together_and_read_back(jobs: Jobs) -> None:
    job = jobs.submit()
    leases.claim(jobs.database, "me", ["cpu"], 60)
    trace = Trace(KEY, {"residual": (1.0, 0.5)})
    assert leases.measured(jobs.database, Lease(job.id, 1), MEASUREMENT, trace)
    with jobs.database.read() as session:
        assert measurements(session, [job.id], samples=True) == [MEASUREMENT]
        assert measurements(session, matrix_ids=[A], devices=["cpu"])[0].samples_s == ()
        assert measurements(session, devices=["cuda:0"]) == []
        assert traces(session, [jobs.get(job)]) == {("cpu", KEY): trace}
        kinds = session.scalars(select(EventRow.kind).order_by(EventRow.id)).all()
    assert kinds == ["state", "state", "trace", "measurement"]
    assert (jobs.get(job).cases_done, jobs.get(job).progress) == (1, 1.0)


@pytest.mark.parametrize("lost", ["cancelled", "requeued", "taken over", "finished"])
def test_every_write_of_a_lost_lease_is_discarded(jobs: Jobs, lost: str) -> None:
    job = jobs.submit()
    leases.claim(jobs.database, "me", ["cpu"], 60)
    lease = Lease(job.id, 1)
    if lost == "cancelled":
        queue.cancel(jobs.database, job.id)
    elif lost == "finished":
        leases.finish(jobs.database, lease, JobState.FAILED, 1.0, {"code": "internal", "detail": "x"})
    else:
        leases.release(jobs.database, lease)
        if lost == "taken over":
            leases.claim(jobs.database, "another", ["cpu"], 60)
    before = vars(jobs.get(job)).copy()
    events = jobs.count(EventRow)
    assert not leases.measured(jobs.database, lease, MEASUREMENT, Trace(KEY, {}))
    assert not leases.progressed(jobs.database, lease, KEY, Progress(1.0, "late"))
    assert leases.died(jobs.database, lease, KEY) is None
    assert not leases.finish(jobs.database, lease, JobState.SUCCEEDED, 1.0)
    assert not leases.release(jobs.database, lease)
    after = vars(jobs.get(job)).copy()
    before.pop("_sa_instance_state")
    after.pop("_sa_instance_state")
    assert after == before
    assert jobs.count(EventRow) == events
    assert jobs.count(MeasurementRow) == jobs.count(TraceRow) == 0


def test_a_lost_lease_is_requeued_and_counts_as_a_loss_of_its_case_and_no_death(jobs: Jobs) -> None:
    job, other = jobs.submit(), jobs.submit()
    leases.claim(jobs.database, "dead", ["cpu"], 60)
    leases.claim(jobs.database, "alive", ["cpu"], 60)
    leases.progressed(jobs.database, Lease(job.id, 1), KEY, Progress(0.5, ""))
    assert leases.requeue_lost(jobs.database, 60) == 0
    leases.renew_leases(jobs.database, "dead", [job.id], ["cpu"], -1)
    leases.renew_leases(jobs.database, "alive", [other.id], ["cpu"], 60)
    assert leases.requeue_lost(jobs.database, 60) == 1
    assert (jobs.get(job).state, jobs.get(job).progress, jobs.get(job).attempt) == ("queued", 0.0, 1)
    assert leases.owned_jobs(jobs.database, "alive") == {other.id: False}
    with jobs.database.read() as session:
        assert leases.case_losses(session, job.id) == {KEY: 1}
        assert leases.case_deaths(session, job.id) == {}
    assert leases.requeue_lost(jobs.database, 60, ["alive"]) == 1


def test_a_lease_given_before_the_clock_was_put_back_ends_as_late_as_one_given_now(jobs: Jobs) -> None:
    job = jobs.submit()
    leases.claim(jobs.database, "gone", ["cpu"], 86400)
    assert leases.requeue_lost(jobs.database, 86500) == 0
    with jobs.database.read() as session:
        assert jobs.get(job).lease_until - session.execute(select(clock())).scalar_one() > 86000
    assert leases.requeue_lost(jobs.database, 60) == 0
    with jobs.database.read() as session:
        assert 0 < jobs.get(job).lease_until - session.execute(select(clock())).scalar_one() <= 60


@pytest.mark.parametrize("moved_s", [-86400.0, 0.0, 86400.0])
def test_a_job_took_as_long_as_it_ran_whatever_the_clock_did_meanwhile(jobs: Jobs, moved_s: float) -> None:
    job = jobs.submit()
    leases.claim(jobs.database, "me", ["cpu"], 60)
    with jobs.database.write() as session:
        session.execute(update(JobRow).values(started_at=JobRow.started_at + moved_s))
    journal = Journal(jobs.database, Lease(job.id, 1), threading.Event())
    journal.finish(JobState.SUCCEEDED)
    row = jobs.get(job)
    assert row.started_at is not None
    assert row.finished_at is not None
    assert 0 <= row.finished_at - row.started_at < 30


def test_a_death_counts_against_its_case_and_starts_the_next_attempt(jobs: Jobs) -> None:
    job = jobs.submit()
    leases.claim(jobs.database, "me", ["cpu"], 60)
    second = leases.died(jobs.database, Lease(job.id, 1), KEY)
    assert second == Lease(job.id, 2)
    assert leases.died(jobs.database, second, KEY) == Lease(job.id, 3)
    with jobs.database.read() as session:
        assert leases.case_deaths(session, job.id) == {KEY: 2}
    assert leases.owned_jobs(jobs.database, "me") == {job.id: False}


def test_progress_never_falls_and_never_passes_the_total(jobs: Jobs) -> None:
    job = jobs.submit()
    leases.claim(jobs.database, "me", ["cpu"], 60)
    lease = Lease(job.id, 1)
    for said, shown in ((1.5, 1.5), (0.5, 1.5), (9.0, 4.0)):
        leases.progressed(jobs.database, lease, KEY, Progress(said, "m" * 300))
        assert (jobs.get(job).progress, len(jobs.get(job).message)) == (shown, 200)


def test_what_the_rounds_say_so_far_is_gone_with_the_process(jobs: Jobs) -> None:
    job = jobs.submit()
    leases.claim(jobs.database, "me", ["cpu"], 60)
    said = Progress(0.5, "half", (Interim(KEY, 2.0, 1.0, 3.0, 5, True),))
    stored = [{"case": KEY, "median_s": 2.0, "ci_low_s": 1.0, "ci_high_s": 3.0, "rounds": 5, "decided": True}]
    stored[0] |= {"min_s": None, "max_s": None}
    leases.progressed(jobs.database, Lease(job.id, 1), KEY, said)
    with jobs.database.read() as session:
        assert job_document(session, jobs.get(job))["progress"]["interim"] == stored
    lease = leases.died(jobs.database, Lease(job.id, 1), KEY)
    assert lease is not None
    assert jobs.get(job).interim == []
    leases.progressed(jobs.database, lease, KEY, said)
    assert jobs.get(job).interim == stored
    leases.finish(jobs.database, lease, JobState.SUCCEEDED, 1.0)
    assert jobs.get(job).interim == []


def test_old_events_are_pruned(jobs: Jobs) -> None:
    jobs.submit()
    jobs.submit()
    with jobs.database.write() as session:
        session.execute(update(EventRow).where(EventRow.id == 1).values(created_at=0.0))
    leases.prune_events(jobs.database)
    with jobs.database.read() as session:
        assert session.scalars(select(EventRow.id)).all() == [2]
