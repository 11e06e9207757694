"""Jobs that run: every case has one record, whatever happens to the process that measures."""

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import replace

import pytest
from sqlalchemy import select

from gpu_engine.errors import ConflictError, UnavailableError
from gpu_engine.records import DeviceInfo, Progress
from server import devices as device_table
from server.jobs import lease as leases
from server.jobs import queue
from server.jobs.dispatcher import Dispatcher, excludes, named
from server.jobs.dispatcher_lock import sole_dispatcher
from server.jobs.engine import Engine
from server.jobs.lease import Lease
from server.jobs.runner import LOSSES_MAX
from server.models import DeviceRow, MeasurementRow, TraceRow
from tests.postgres import DATABASES
from tests.server.jobs.conftest import PATIENCE_S, Jobs, wait_for
from tests.server.jobs.fake_study import CPU, FAKE

Serve = Callable[..., AbstractContextManager[Dispatcher]]
ALL_OK = [(f"fake/k{i}", "ok") for i in range(4)]


@pytest.fixture
def kind() -> str:
    return "sqlite"


def is_alive(process: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(process, 0)
        return True
    return False


@pytest.mark.parametrize("kind", DATABASES)
def test_a_job_runs_to_its_end_with_every_case_once(jobs: Jobs, dispatching: Serve) -> None:
    job = jobs.submit("ab")
    with dispatching():
        ended = jobs.wait(job, "succeeded")
    assert jobs.records(job) == ALL_OK * 2
    assert jobs.count(TraceRow) == 8
    assert (ended.attempt, ended.cases_done, ended.cases_total, ended.progress) == (1, 8, 8, 8.0)
    assert ended.started_at is not None
    assert ended.finished_at is not None
    with jobs.database.read() as session:
        assert session.get_one(DeviceRow, "cpu").profile["name"] == "A CPU of the tests"


@pytest.mark.parametrize("kind", DATABASES)
def test_a_killed_process_is_followed_by_another_that_measures_what_is_owed(jobs: Jobs, dispatching: Serve) -> None:
    job, hold = jobs.submit(), jobs.hold(2)
    with dispatching():
        os.kill(jobs.wait_begun(2), signal.SIGKILL)
        jobs.wait_begun(2, times=2)
        assert jobs.get(job).attempt == 2
        hold.unlink()
        jobs.wait(job, "succeeded")
    assert jobs.records(job) == ALL_OK
    assert [case for _, case in jobs.begun()] == [0, 1, 2, 2, 3]


def test_each_job_runs_in_a_process_that_has_warmed_up_for_it(jobs: Jobs, engine: Engine, dispatching: Serve) -> None:
    import ray

    ready = ray.get(engine._warm)
    with dispatching():
        for _ in range(2):
            jobs.wait(jobs.submit(), "succeeded")
            ready += ray.get(engine._warm)
    assert list(dict.fromkeys(process for process, _ in jobs.begun())) == ready[:2]
    assert len(set(ready)) == 3


@pytest.mark.parametrize("kind", DATABASES)
def test_a_case_that_two_processes_died_of_is_recorded_as_failed(jobs: Jobs, dispatching: Serve) -> None:
    job = jobs.submit(killed=1)
    with dispatching():
        ended = jobs.wait(job, "succeeded")
    assert sorted(jobs.records(job)) == [(f"fake/k{i}", "failed" if i == 1 else "ok") for i in range(4)]
    assert ended.attempt == 3
    with jobs.database.read() as session:
        failed = session.scalars(select(MeasurementRow).where(MeasurementRow.state == "failed")).one()
    assert failed.record["note"] == "process died (signal 9) twice"


def test_a_crash_is_told_by_its_signal(jobs: Jobs, dispatching: Serve) -> None:
    job = jobs.submit(segfault=0, n_cases=1)
    with dispatching():
        jobs.wait(job, "succeeded")
    with jobs.database.read() as session:
        assert session.scalars(select(MeasurementRow)).one().record["note"] == "process died (signal 11) twice"


def test_a_lost_device_ends_the_process_and_counts_as_its_death(jobs: Jobs, dispatching: Serve) -> None:
    job = jobs.submit(lost=3)
    with dispatching():
        ended = jobs.wait(job, "succeeded")
    assert jobs.records(job) == [*ALL_OK[:3], ("fake/k3", "failed")]
    assert ended.attempt == 3
    with jobs.database.read() as session:
        failed = session.scalars(select(MeasurementRow).where(MeasurementRow.state == "failed")).one()
    assert failed.record["note"] == "process lost its device (an illegal access broke the context) twice"
    assert len({process for process, case in jobs.begun() if case == 3}) == 2


def test_a_gpu_that_fell_off_the_bus_gives_its_job_back_and_ends_the_dispatcher(
    jobs: Jobs, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next dispatcher offers what is left; the job waits for its device and goes on where it was."""
    here = {"GPU-1", "GPU-2"}
    monkeypatch.setattr("server.jobs.dispatcher.gpu_uuids", lambda: frozenset(here))
    monkeypatch.setattr("server.jobs.runner.gpu_uuids", lambda: here - {"GPU-1"})
    job = jobs.submit(lost=1)
    dispatcher = Dispatcher(jobs.settings, jobs.database, engine, [replace(CPU, uuid="GPU-1")], FAKE, 60.0)
    with pytest.raises(UnavailableError, match="A GPU has disappeared"):
        dispatcher.run()
    assert (jobs.get(job).state, jobs.get(job).attempt, jobs.records(job)) == ("queued", 2, ALL_OK[:1])
    with jobs.database.read() as session:
        assert list(leases.case_deaths(session, job.id).values()) == [1]
        assert session.get_one(DeviceRow, "cpu").seen_at == 0.0


def test_a_study_that_raises_fails_the_job_and_keeps_its_records(jobs: Jobs, dispatching: Serve) -> None:
    job = jobs.submit(raises=1)
    with dispatching():
        ended = jobs.wait(job, "failed")
    assert ended.error == {"code": "kernel_failed", "detail": "the fake study fails after this case"}
    assert jobs.records(job) == ALL_OK[:2]


def test_a_process_that_dies_outside_its_cases_fails_the_job(jobs: Jobs, dispatching: Serve) -> None:
    job = jobs.submit(dies_outside=True)
    with dispatching():
        ended = jobs.wait(job, "failed")
    assert ended.error["detail"] == "The process died (signal 9) twice outside any case."


def test_cancel_ends_the_process(jobs: Jobs, dispatching: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    job = jobs.submit()
    jobs.hold(1)
    with dispatching():
        process = jobs.wait_begun(1)
        begin = time.monotonic()
        queue.cancel(jobs.database, job.id)
        wait_for(lambda: not is_alive(process), "the process to end")
        took_s = time.monotonic() - begin
        after = jobs.submit(n_cases=1)
        jobs.wait(after, "succeeded")
    with capsys.disabled():
        print(f"\ncancel of a running case ended its process after {took_s:.2f} s")  # noqa: T201
    assert jobs.get(job).state == "cancelled"
    assert jobs.records(job) == ALL_OK[:1]


@pytest.mark.parametrize("kind", DATABASES)
def test_a_dispatcher_that_stops_gives_its_job_back(jobs: Jobs, dispatching: Serve) -> None:
    job, hold = jobs.submit(), jobs.hold(2)
    with dispatching():
        process = jobs.wait_begun(2)
    assert jobs.get(job).state == "queued"
    wait_for(lambda: not is_alive(process), "the process to end")
    assert jobs.records(job) == ALL_OK[:2]
    hold.unlink()
    with dispatching():
        ended = jobs.wait(job, "succeeded")
    assert jobs.records(job) == ALL_OK
    assert ended.attempt == 2


@pytest.fixture
def patient(jobs: Jobs) -> None:
    jobs.settings = jobs.settings.model_copy(update={"drain_seconds": PATIENCE_S})


@pytest.mark.usefixtures("patient")
def test_a_dispatcher_that_drains_ends_the_running_job_and_begins_no_other(jobs: Jobs, dispatching: Serve) -> None:
    job, next_job, hold = jobs.submit(), jobs.submit(), jobs.hold(2)
    with dispatching() as dispatcher:
        jobs.wait_begun(2)
        dispatcher.stop()
        hold.unlink()
        jobs.wait(job, "succeeded")
        wait_for(dispatcher.stopped.is_set, "the dispatcher to stop")
    assert (jobs.get(job).attempt, jobs.records(job)) == (1, ALL_OK)
    assert (jobs.get(next_job).state, jobs.get(next_job).attempt) == ("queued", 0)


@pytest.mark.usefixtures("patient")
def test_a_dispatcher_that_is_told_twice_drains_no_longer(jobs: Jobs, dispatching: Serve) -> None:
    job, _ = jobs.submit(), jobs.hold(2)
    with dispatching() as dispatcher:
        jobs.wait_begun(2)
        dispatcher.stop()
        assert not dispatcher.stopped.is_set()
        dispatcher.stop()
        assert dispatcher.stopped.is_set()
    assert (jobs.get(job).state, jobs.records(job)) == ("queued", ALL_OK[:2])


def test_a_job_that_outlasts_the_drain_goes_back_to_the_queue(jobs: Jobs, dispatching: Serve) -> None:
    jobs.settings = jobs.settings.model_copy(update={"drain_seconds": 0.001})
    job, _ = jobs.submit(), jobs.hold(2)
    with dispatching() as dispatcher:
        jobs.wait_begun(2)
        dispatcher.stop()
        wait_for(dispatcher.stopped.is_set, "the dispatcher to stop")
    assert (jobs.get(job).state, jobs.records(job)) == ("queued", ALL_OK[:2])


def test_what_a_process_says_after_its_job_was_taken_over_is_discarded(jobs: Jobs, dispatching: Serve) -> None:
    job, hold = jobs.submit(), jobs.hold(1)
    with dispatching():
        process = jobs.wait_begun(1)
        lease = Lease(job.id, 1)
        assert leases.release(jobs.database, lease)
        taken = leases.claim(jobs.database, "another", ["cpu"], 60)
        assert taken is not None
        assert taken.attempt == 2
        hold.unlink()
        wait_for(lambda: not is_alive(process), "the process to end")
    assert jobs.records(job) == ALL_OK[:1]
    assert jobs.get(job).state == "running"


class StubbornEngine:
    """Ray that starts no process until it was started anew."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.starts = 0

    def start(self) -> None:
        self.starts += 1

    def stop(self) -> None:
        """Nothing: the real one is shared by all tests."""

    def cluster(self) -> None:
        """It is of one host."""

    def submit(self, work: object) -> object:
        return self.engine.submit(work) if self.starts else SilentStream()  # type: ignore[arg-type]


class SilentStream:
    def take(self, timeout_s: float) -> None:
        return None

    def end(self) -> None:
        """Nothing to end."""


def test_ray_is_started_anew_when_no_process_starts(jobs: Jobs, engine: Engine, dispatching: Serve) -> None:
    job, stubborn = jobs.submit(), StubbornEngine(engine)
    with dispatching(engine=stubborn, first_event_s=0.0):
        wait_for(lambda: stubborn.starts, "Ray to be restarted")
    assert jobs.get(job).state in ("queued", "succeeded")
    with dispatching():
        jobs.wait(job, "succeeded")
    assert jobs.records(job) == ALL_OK


@pytest.mark.parametrize("kind", ["postgres"])
def test_two_hosts_on_one_database_run_no_job_twice(jobs: Jobs, dispatching: Serve) -> None:
    made = [jobs.submit(n_cases=1) for _ in range(6)]
    with dispatching(), dispatching():
        attempts = [jobs.wait(job, "succeeded").attempt for job in made]
    assert attempts == [1] * 6
    assert len(jobs.begun()) == 6
    assert all(jobs.records(job) == ALL_OK[:1] for job in made)


def test_a_case_in_which_the_worker_always_ends_is_recorded_as_failed(jobs: Jobs, dispatching: Serve) -> None:
    job = jobs.submit(n_cases=2)
    for attempt in range(1, LOSSES_MAX + 1):
        leases.claim(jobs.database, "dead", ["cpu"], 60)
        leases.progressed(jobs.database, Lease(job.id, attempt), f"{'a' * 32}|fake/k1|warm|", Progress(0.0, ""))
        assert leases.requeue_lost(jobs.database, 60, ["dead"]) == 1
    with dispatching():
        jobs.wait(job, "succeeded")
    assert sorted(jobs.records(job)) == [("fake/k0", "ok"), ("fake/k1", "failed")]
    with jobs.database.read() as session:
        failed = session.scalars(select(MeasurementRow).where(MeasurementRow.state == "failed")).one()
    assert failed.record["note"] == "its worker ended 10 times"


def test_what_measures_at_the_same_time() -> None:
    cpu, first = DeviceInfo("cpu", "cpu", "", 1, 1), DeviceInfo("cuda:0", "cuda", "", 1, 1, "GPU-1")
    second, both = replace(first, id="cuda:1", uuid="GPU-2"), replace(first, id="cuda:all", uuid="GPU-1,GPU-2")
    pairs = itertools.combinations((cpu, first, second, both), 2)
    assert [(a.id, b.id) for a, b in pairs if not excludes(a, b)] == [("cuda:0", "cuda:1")]
    hosts = replace(first, id="cluster", uuid="", hosts=(1, 1))
    assert all(excludes(hosts, device) and excludes(device, hosts) for device in (cpu, first, second, both))
    assert all(excludes(device, device) for device in (cpu, first, second, both))


def test_a_named_host_puts_its_name_before_its_devices() -> None:
    assert [device.id for device in named("gpu-1", [CPU])] == ["gpu-1/cpu"]
    assert named("", [CPU]) == [CPU]


def test_devices_are_free_at_once_though_a_dispatcher_was_killed_before_it_could_offer_them(jobs: Jobs) -> None:
    home, stop = jobs.settings.home, threading.Event()
    with sole_dispatcher(home, "first", stop) as dead:
        device_table.register(jobs.database, [CPU], "first", dead or ())
    with sole_dispatcher(home, "second", stop) as dead:
        assert dead == ("first",)
    with sole_dispatcher(home, "third", stop) as dead:
        assert dead == ("first", "second")
        device_table.register(jobs.database, [CPU], "third", dead)


@pytest.mark.parametrize("kind", DATABASES)
def test_a_dispatcher_waits_for_devices_that_another_one_offers(
    jobs: Jobs, engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("server.jobs.dispatcher.OFFER_S", 0.01)
    first, second, third = (Dispatcher(jobs.settings, jobs.database, engine, [CPU], FAKE) for _ in range(3))
    assert first.offer()
    offered: list[bool] = []
    waiting = threading.Thread(target=lambda: offered.append(second.offer()))
    waiting.start()
    wait_for(lambda: "SPARSIGHT_HOST_NAME" in caplog.text, "the refusal")
    device_table.withdraw(jobs.database, ["cpu"], first.owner)
    waiting.join(PATIENCE_S)
    assert offered == [True]
    assert caplog.text.count("SPARSIGHT_HOST_NAME") == 1
    with pytest.raises(ConflictError, match="'cpu'"):
        leases.renew_leases(jobs.database, first.owner, [], ["cpu"], 60)

    stopped = threading.Thread(target=lambda: offered.append(third.offer()))
    stopped.start()
    wait_for(lambda: caplog.text.count("SPARSIGHT_HOST_NAME") == 2, "the second refusal")
    third.stop()
    stopped.join(PATIENCE_S)
    assert offered == [True, False]
    assert third.offer(dead=[second.owner]) is False
    assert Dispatcher(jobs.settings, jobs.database, engine, [CPU], FAKE).offer(dead=[second.owner])
