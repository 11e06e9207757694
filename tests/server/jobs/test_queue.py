"""The queue as its users see it: submit, list, place in the queue, cancel, retry."""

from collections.abc import Iterator
from dataclasses import replace
from threading import Barrier, Thread

import pytest
from sqlalchemy import delete, select

from gpu_engine.errors import (
    ConflictError,
    NotFoundError,
    ParameterError,
    TooLargeError,
    UnavailableError,
    UnknownDeviceError,
)
from gpu_engine.records import BACKENDS, Backend, Case, DeviceInfo, Progress
from server import devices
from server.jobs import lease as leases
from server.jobs import queue
from server.jobs.documents import job_document
from server.jobs.estimates import COMPILE_S
from server.jobs.queue import JobRequest, list_jobs, submit
from server.models import DeviceRow, EventRow, JobRow, JobState, MatrixRow
from tests.server.jobs.conftest import Jobs
from tests.server.jobs.fake_study import FAKE

A, B = "a" * 32, "b" * 32
REQUEST = JobRequest("fake", (A,), {"n_cases": 3}, "cpu")

FIRST_S = 10.0 + COMPILE_S["cpu"]
"""Estimate of a job of the fake study that compiles its kernels."""


def document(jobs: Jobs, job: JobRow) -> dict[str, object]:
    with jobs.database.read() as session:
        return job_document(session, queue.get_job(session, job.id))


def test_a_submitted_job_is_queued_with_its_cases_counted_and_its_parameters_complete(jobs: Jobs) -> None:
    job, created = submit(jobs.database, jobs.settings, REQUEST, studies=FAKE)
    assert created
    shown = document(jobs, job)
    assert shown["state"] == "queued"
    assert shown["attempt"] == 0
    assert shown["progress"] == {"done": 0.0, "total": 3, "message": "", "interim": []}
    assert shown["params"] == {
        "folder": "", "n_cases": 3, "killed": -1, "segfault": -1, "lost": -1, "raises": -1, "pause_s": 0.0,
        "dies_outside": False,
    }  # fmt: skip
    assert (shown["queue_position"], shown["estimate_s"]) == (1, FIRST_S)
    assert shown["links"] == {
        "self": f"/api/v1/jobs/{job.id}",
        "results": f"/api/v1/jobs/{job.id}/results",
        "events": f"/api/v1/events?topics=job:{job.id}",
        "cancel": f"/api/v1/jobs/{job.id}/cancel",
    }
    with jobs.database.read() as session:
        event = session.scalars(select(EventRow)).one()
    assert (event.topic, event.kind, event.data["state"]) == (f"job:{job.id}", "state", "queued")


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        ({"study": "nope"}, ParameterError, "There is no study 'nope'; known studies: fake."),
        ({"params": {"cases": 1}}, ParameterError, "There is no parameter 'cases'"),
        ({"params": {"n_cases": -1}}, ParameterError, "n_cases is '-1'; expected a whole number at least 0."),
        ({"params": {"n_cases": 20_001}}, TooLargeError, "a job can have at most 20000"),
        ({"params": {"n_cases": 10**12}}, TooLargeError, "Use fewer matrices or parameter values, or several jobs."),
        ({"params": {"n_cases": 0}}, ParameterError, "The fake study has no case with these parameters on cpu."),
        ({"device": "cuda:7"}, UnknownDeviceError, "Unknown device 'cuda:7'. Available devices: auto, cpu."),
        ({"matrix_ids": ()}, ParameterError, "A job can have 1 to 100 different matrices, not 0."),
        ({"matrix_ids": (A, A)}, ParameterError, "A job can have 1 to 100 different matrices, not 2."),
        ({"matrix_ids": ("c",)}, ParameterError, "Unknown matrix 'c'."),
        ({"matrix_ids": ("\ud800\x00",)}, ParameterError, "Unknown matrix"),
        ({"matrix_ids": (A, B)}, ConflictError, "is ingesting. Only a ready matrix can be measured."),
    ],
)
def test_a_wrong_request_is_refused_with_a_sentence_and_leaves_nothing(
    jobs: Jobs, change: dict[str, object], error: type[Exception], sentence: str
) -> None:
    with jobs.database.write() as session:
        session.get_one(MatrixRow, B).state = "ingesting"
    with pytest.raises(error) as refusal:
        submit(jobs.database, jobs.settings, replace(REQUEST, **change), "key", studies=FAKE)  # type: ignore[arg-type]
    assert sentence in str(refusal.value)
    assert jobs.count(JobRow) == jobs.count(EventRow) == 0


def test_as_many_cases_as_a_job_takes(jobs: Jobs) -> None:
    assert jobs.submit(n_cases=queue.CASES_MAX).cases_total == queue.CASES_MAX


def test_others_write_while_cases_are_counted(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    def cases(*_: object) -> Iterator[Case]:
        devices.withdraw(jobs.database, ["cpu"])
        yield from (Case(A, f"fake/k{i}", "warm") for i in range(7))

    monkeypatch.setattr(FAKE[0], "cases", cases)
    job, _ = submit(jobs.database, jobs.settings, REQUEST, studies=FAKE)
    assert job.cases_total == 7


def test_auto_takes_a_live_gpu_before_the_cpu_and_stores_it(jobs: Jobs) -> None:
    gpu = DeviceInfo("cuda:0", "cuda", "A GPU", 2**30, 2**20, "GPU-1")
    assert jobs.submit(device="auto").device == "cpu"
    devices.register(jobs.database, [gpu])
    assert jobs.submit(device="auto").device == "cuda:0"
    devices.withdraw(jobs.database, ["cuda:0"])
    assert jobs.submit(device="auto").device == "cpu"
    devices.withdraw(jobs.database, ["cpu"])
    with pytest.raises(UnavailableError, match="No device is available"):
        jobs.submit(device="auto")
    assert jobs.submit(device="cpu").device == "cpu"


def test_only_studies_that_share_a_matrix_take_several_gpus(jobs: Jobs) -> None:
    devices.register(jobs.database, [DeviceInfo("cuda:all", "cuda", "2 × A GPU", 1, 1, "GPU-1,GPU-2")])
    assert jobs.submit(device="auto").device == "cpu"
    with pytest.raises(ParameterError, match="cuda:all is 2 GPUs together"):
        jobs.submit(device="cuda:all")
    with jobs.database.read() as session:
        assert devices.resolve(session, "auto", several=True).id == "cuda:all"


def test_auto_is_a_device_that_has_kernels_of_the_study(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    devices.register(jobs.database, [DeviceInfo("cuda:0", "cuda", "A GPU", 1, 1, "GPU-1")])
    (fake,) = FAKE
    for backends, first in ((BACKENDS, "cuda:0"), (("cpu",), "cpu"), (("cuda",), "cuda:0")):
        monkeypatch.setattr(fake, "backends", backends, raising=False)
        assert jobs.submit(device="auto").device == first
    with pytest.raises(ParameterError, match="cpu is a CPU"):
        jobs.submit(device="cpu")


def test_auto_takes_no_hosts_together_where_they_alone_have_the_kernels(jobs: Jobs) -> None:
    devices.register(jobs.database, [DeviceInfo("cluster", "cuda", "2 × A GPU on 2 hosts", 1, 1, hosts=(1, 1))])
    gpus: tuple[Backend, ...] = ("cuda",)
    with jobs.database.read() as session:
        assert devices.resolve(session, "auto", backends=gpus).id == "cpu"


def test_several_hosts_are_taken_by_name_alone(jobs: Jobs) -> None:
    hosts = DeviceInfo("cluster", "cpu", "3 × virtual device on 2 hosts", 1, 1, hosts=(2, 1))
    devices.register(jobs.database, [hosts])
    with jobs.database.read() as session:
        assert [row.id for row in devices.list_devices(session)] == ["cpu", "cluster"]
        assert devices.resolve(session, "auto", several=True).id == "cpu"
        assert devices.resolve(session, "cluster", several=True) == hosts
    with pytest.raises(ParameterError, match="cluster is 3 devices of 2 hosts together"):
        jobs.submit(device="cluster")


def test_before_any_worker_has_started_a_named_device_may_still_come(jobs: Jobs) -> None:
    with jobs.database.write() as session:
        session.execute(delete(DeviceRow))
    with pytest.raises(UnavailableError, match="No device is available"):
        jobs.submit(device="cpu")


def test_a_full_queue_refuses(jobs: Jobs) -> None:
    jobs.settings = jobs.settings.model_copy(update={"queue_limit": 2})
    jobs.submit()
    jobs.submit()
    with pytest.raises(UnavailableError, match=r"The queue is full \(2 jobs\)"):
        jobs.submit()


def test_the_same_key_and_request_is_the_same_job_and_another_request_is_refused(jobs: Jobs) -> None:
    first, created = submit(jobs.database, jobs.settings, REQUEST, "key", studies=FAKE)
    again, created_again = submit(jobs.database, jobs.settings, REQUEST, "key", studies=FAKE)
    assert (created, created_again) == (True, False)
    assert again.id == first.id
    with pytest.raises(ParameterError, match="The Idempotency-Key 'key' was used for another request"):
        submit(jobs.database, jobs.settings, replace(REQUEST, params={"n_cases": 2}), "key", studies=FAKE)
    with pytest.raises(ParameterError, match="must have 1 to 200 characters"):
        submit(jobs.database, jobs.settings, REQUEST, "k" * 201, studies=FAKE)
    other, _ = submit(jobs.database, jobs.settings, REQUEST, "other", studies=FAKE)
    assert other.id != first.id


def test_equal_keys_at_the_same_moment_make_one_job(jobs: Jobs) -> None:
    barrier, made = Barrier(8), []

    def post() -> None:
        barrier.wait()
        made.append(submit(jobs.database, jobs.settings, REQUEST, "key", studies=FAKE))

    threads = [Thread(target=post) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 8
    assert len({job.id for job, _ in made}) == 1
    assert [created for _, created in made].count(True) == 1


def test_the_place_in_the_queue_counts_the_jobs_of_the_same_device(jobs: Jobs) -> None:
    devices.register(jobs.database, [DeviceInfo("cuda:0", "cuda", "A GPU", 2**30, 2**20, "GPU-1")])
    first, elsewhere, second = jobs.submit(), jobs.submit(device="cuda:0"), jobs.submit()
    assert [document(jobs, job)["queue_position"] for job in (first, second, elsewhere)] == [1, 2, 1]
    assert [document(jobs, job)["estimate_s"] for job in (first, second, elsewhere)] == [FIRST_S, 2 * FIRST_S, 10.0]
    taken = leases.claim(jobs.database, "me", ["cpu"], 60)
    assert taken is not None
    assert taken.id == first.id
    assert [document(jobs, job)["queue_position"] for job in (first, second)] == [None, 1]
    leases.progressed(jobs.database, leases.Lease(first.id, 1), "", Progress(3.0, ""))
    left, both = (float(str(document(jobs, job)["estimate_s"])) for job in (first, second))
    assert 0.0 < left <= 2.5
    assert both == pytest.approx(left + FIRST_S, abs=1.0)
    queue.cancel(jobs.database, first.id)
    assert document(jobs, first)["estimate_s"] is None
    assert document(jobs, second)["estimate_s"] == FIRST_S


def test_jobs_are_listed_newest_first_page_by_page_and_filtered(jobs: Jobs) -> None:
    made = [jobs.submit(name).id for name in ("a", "b", "ab", "a", "b")]
    with jobs.database.read() as session:
        pages, cursor = [], None
        while True:
            page = list_jobs(session, limit=2, cursor=cursor, studies=FAKE)
            pages.append([job.id for job in page.items])
            cursor = page.next
            if cursor is None:
                break
        assert pages == [[made[4], made[3]], [made[2], made[1]], [made[0]]]
        assert {job.id for job in list_jobs(session, matrix_id=A).items} == {made[0], made[2], made[3]}
        assert list_jobs(session, matrix_id="%").items == []
        assert len(list_jobs(session, state="queued", study="fake", studies=FAKE).items) == 5
        assert list_jobs(session, state="running").items == []
        for wrong in ({"state": "lost"}, {"study": "nope"}, {"cursor": "x"}):
            with pytest.raises(ParameterError):
                list_jobs(session, **wrong)  # type: ignore[arg-type]


def test_cancel_ends_a_queued_job_for_good(jobs: Jobs) -> None:
    job = jobs.submit()
    assert queue.cancel(jobs.database, job.id).state == "cancelled"
    assert queue.cancel(jobs.database, job.id).state == "cancelled"
    assert jobs.count(EventRow) == 2
    assert leases.claim(jobs.database, "me", ["cpu"], 60) is None
    with pytest.raises(NotFoundError):
        queue.cancel(jobs.database, "nope")


def test_a_job_that_is_over_cannot_be_cancelled(jobs: Jobs) -> None:
    job = jobs.submit()
    leases.claim(jobs.database, "me", ["cpu"], 60)
    leases.finish(jobs.database, leases.Lease(job.id, 1), JobState.SUCCEEDED, 1.0)
    with pytest.raises(ConflictError, match="The job is succeeded"):
        queue.cancel(jobs.database, job.id)


def test_retry_makes_a_new_job_of_one_that_is_over(jobs: Jobs) -> None:
    job = jobs.submit(n_cases=2)
    with pytest.raises(ConflictError, match="The job is still queued"):
        queue.retry(jobs.database, jobs.settings, job.id, studies=FAKE)
    queue.cancel(jobs.database, job.id)
    again, _ = queue.retry(jobs.database, jobs.settings, job.id, "key", studies=FAKE)
    same, created = queue.retry(jobs.database, jobs.settings, job.id, "key", studies=FAKE)
    assert (same.id, created) == (again.id, False)
    assert again.id != job.id
    assert (again.retry_of, again.state, again.params, again.device) == (job.id, "queued", job.params, "cpu")
    assert jobs.get(job).state == "cancelled"


def test_a_device_of_other_hardware_forgets_its_profile(jobs: Jobs) -> None:
    with jobs.database.write() as session:
        session.get_one(DeviceRow, "cpu").profile = {"name": "A CPU of the tests"}
    devices.register(jobs.database, [DeviceInfo("cpu", "cpu", "A CPU of the tests", 1, 1)])
    with jobs.database.read() as session:
        assert session.get_one(DeviceRow, "cpu").profile == {"name": "A CPU of the tests"}
    devices.register(jobs.database, [DeviceInfo("cpu", "cpu", "Another CPU", 1, 1)])
    with jobs.database.read() as session:
        assert session.get_one(DeviceRow, "cpu").profile == {}
