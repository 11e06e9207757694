"""What a token may use of a day and of the queue, to the last upload, byte, job and second."""

from threading import Barrier, Thread

import pytest
from sqlalchemy import select, update

from gpu_engine.errors import ForbiddenError, LimitError
from gpu_engine.records import DeviceInfo
from server import devices, quotas, tokens
from server.db import Database
from server.jobs import queue
from server.jobs.queue import JobRequest, submit
from server.models import JobRow, JobState, TokenRow
from server.quotas import DAY_S, charge_upload
from server.roles import LOCAL, Caller, Role
from server.tokens import Quotas
from tests.server.jobs.conftest import Jobs
from tests.server.jobs.fake_study import FAKE

GPU = DeviceInfo("cuda:0", "cuda", "A GPU", 2**30, 2**20, "GPU-1")
GPUS = DeviceInfo("cuda:all", "cuda", "GPUs", 2**30, 2**20, "GPU-1,GPU-2,GPU-3")
ESTIMATE_S = 10.0
"""What a fake study says that a job takes."""


def caller(database: Database, name: str = "ci", role: Role = Role.SUBMIT, **quotas: int) -> Caller:
    tokens.add(database, name, role, None, Quotas(**quotas))
    with database.read() as session:
        row = session.scalars(select(TokenRow).where(TokenRow.name == name)).one()
    return Caller(name, role, row.id)


def submit_as(jobs: Jobs, who: Caller, device: str = "cpu") -> JobRow:
    request = JobRequest("fake", ("a" * 32,), {"folder": str(jobs.folder)}, device)
    return submit(jobs.database, jobs.settings, request, studies=FAKE, caller=who)[0]


def used(database: Database) -> tuple[int, int]:
    with database.read() as session:
        row = session.scalars(select(TokenRow)).one()
        return row.day_uploads, row.day_bytes


def test_the_last_upload_of_a_day_goes_through_and_the_next_does_not(database: Database) -> None:
    who = caller(database, uploads_per_day=2)
    charge_upload(database, who, 10)
    charge_upload(database, who, 10)
    with pytest.raises(LimitError, match=r"Daily upload limit reached \(2\)") as caught:
        charge_upload(database, who, 10)
    assert 0 < caught.value.retry_after_s <= DAY_S
    assert used(database) == (2, 20)


def test_the_last_byte_of_a_day_goes_through_and_the_next_does_not(database: Database) -> None:
    who = caller(database, bytes_per_day=100)
    charge_upload(database, who, 60)
    with pytest.raises(LimitError, match=r"this upload counts 41\.0\sB, and 40\.0\sB are left today"):
        charge_upload(database, who, 41)
    charge_upload(database, who, 40)
    with pytest.raises(LimitError, match=r"0\sB are left today"):
        charge_upload(database, who, 1)
    charge_upload(database, who, 0)
    assert used(database) == (3, 100)


def test_a_new_day_begins_with_nothing_used(database: Database) -> None:
    who = caller(database, uploads_per_day=1)
    charge_upload(database, who, 5)
    with database.write() as session:
        session.execute(update(TokenRow).values(day=TokenRow.day - 1))
    charge_upload(database, who, 7)
    assert used(database) == (1, 7)


def test_uploads_at_the_same_moment_get_no_more_than_the_quota(database: Database) -> None:
    who, barrier, refused = caller(database, uploads_per_day=3), Barrier(6), list[LimitError]()

    def charge() -> None:
        barrier.wait()
        try:
            charge_upload(database, who, 1)
        except LimitError as error:
            refused.append(error)

    threads = [Thread(target=charge) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(refused), used(database)) == (3, (3, 3))


def test_who_has_no_quotas_is_not_counted(database: Database, jobs: Jobs) -> None:
    charge_upload(database, LOCAL, 10**12)
    assert submit_as(jobs, LOCAL).token_id == ""
    free = caller(database)
    charge_upload(database, free, 10**12)
    assert used(database) == (1, 10**12)
    assert submit_as(jobs, free).token_id == free.token_id


def test_a_token_has_so_many_jobs_in_the_queue(jobs: Jobs) -> None:
    one, two = caller(jobs.database, "one", queued_jobs=2), caller(jobs.database, "two", queued_jobs=1)
    first = submit_as(jobs, one)
    submit_as(jobs, one)
    with pytest.raises(LimitError, match="This token already has 2 queued jobs") as caught:
        submit_as(jobs, one)
    assert caught.value.retry_after_s == quotas.LATER_S
    submit_as(jobs, two)
    with pytest.raises(LimitError):
        queue.retry(
            jobs.database, jobs.settings, queue.cancel(jobs.database, submit_as(jobs, LOCAL).id).id, None, FAKE, two
        )
    queue.cancel(jobs.database, first.id, one)
    submit_as(jobs, one)


def take(jobs: Jobs, job: JobRow, seconds: float, ago_s: float = 0.0) -> None:
    """The job has run so long, and is over since."""
    with jobs.database.write() as session:
        over = tokens.now(session) - ago_s
        values = {"state": JobState.SUCCEEDED, "started_at": over - seconds, "finished_at": over}
        session.execute(update(JobRow).where(JobRow.id == job.id).values(values))


@pytest.fixture
def noon(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    """No day begins while a test runs: what is called now is in the middle of one."""
    locked = quotas._locked
    devices.register(jobs.database, [GPU, GPUS])

    def at_noon(*given: object) -> tuple[TokenRow, float]:
        row, now = locked(*given)  # type: ignore[arg-type]
        return row, now + (DAY_S / 2 - now % DAY_S)

    monkeypatch.setattr(quotas, "_locked", at_noon)
    clock = tokens.now
    monkeypatch.setattr(tokens, "now", lambda session: clock(session) + DAY_S / 2 - clock(session) % DAY_S)


@pytest.mark.usefixtures("noon")
def test_gpu_seconds_are_those_that_jobs_took_and_those_that_are_promised(jobs: Jobs) -> None:
    who = caller(jobs.database, gpu_seconds_per_day=100)
    take(jobs, submit_as(jobs, who, "cuda:0"), 70)
    submit_as(jobs, who, "cuda:0")
    # 70 taken, 10 promised, 10 wanted: two more fit, and no third.
    submit_as(jobs, who, "cuda:0")
    submit_as(jobs, who, "cuda:0")
    with pytest.raises(LimitError, match="about 10 GPU seconds, but today 100 of the 100 GPU seconds") as caught:
        submit_as(jobs, who, "cuda:0")
    assert caught.value.retry_after_s == pytest.approx(DAY_S / 2, abs=2)
    submit_as(jobs, who, "cpu")


@pytest.mark.usefixtures("noon")
def test_several_gpus_take_their_seconds_each_and_a_cpu_takes_none(jobs: Jobs) -> None:
    who = caller(jobs.database, gpu_seconds_per_day=100)
    take(jobs, submit_as(jobs, who, "cpu"), 1000)
    together = submit_as(jobs, who, "cuda:0")
    with jobs.database.write() as session:
        session.execute(update(JobRow).where(JobRow.id == together.id).values(device=GPUS.id))
    take(jobs, together, 30)
    submit_as(jobs, who, "cuda:0")
    with pytest.raises(LimitError, match="today 100 of the 100"):
        submit_as(jobs, who, "cuda:0")


@pytest.mark.usefixtures("noon")
def test_what_ran_yesterday_is_not_counted(jobs: Jobs) -> None:
    who = caller(jobs.database, gpu_seconds_per_day=100)
    take(jobs, submit_as(jobs, who, "cuda:0"), 1000, ago_s=DAY_S / 2 + 1)
    take(jobs, submit_as(jobs, who, "cuda:0"), 1000, ago_s=DAY_S / 2 - 80)
    submit_as(jobs, who, "cuda:0")
    submit_as(jobs, who, "cuda:0")
    with pytest.raises(LimitError, match="today 100 of the 100"):
        submit_as(jobs, who, "cuda:0")


def test_a_job_that_never_ran_took_nothing(jobs: Jobs) -> None:
    devices.register(jobs.database, [GPU])
    who = caller(jobs.database, gpu_seconds_per_day=10)
    queue.cancel(jobs.database, submit_as(jobs, who, "cuda:0").id, who)
    submit_as(jobs, who, "cuda:0")
    with pytest.raises(LimitError):
        submit_as(jobs, who, "cuda:0")


def test_a_job_is_ended_by_its_token_or_an_admin(jobs: Jobs) -> None:
    one, two = caller(jobs.database, "one"), caller(jobs.database, "two")
    job, other = submit_as(jobs, one), submit_as(jobs, LOCAL)
    for refused in (job, other):
        with pytest.raises(ForbiddenError, match="This job belongs to another token"):
            queue.cancel(jobs.database, refused.id, two)
        assert jobs.get(refused).state == "queued"
    assert queue.cancel(jobs.database, job.id, one).state == "cancelled"
    assert queue.cancel(jobs.database, other.id, Caller("boss", Role.ADMIN)).state == "cancelled"
