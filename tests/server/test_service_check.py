"""Concerns of a service: which there are, in which order, and with the thresholds of the alerts."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi import FastAPI
from sqlalchemy import select, update

from server import devices, engine_faults, service_check
from server.db import Database, clock
from server.metric_values import MetricValues
from server.models import DeviceRow, EngineFaultRow, JobRow
from server.quotas import DAY_S
from server.service_check import IDLE_S, LONG_WAIT_S, Concern, Queues, concerns
from tests.web.conftest import CPU, GPU

START = "Start it."
ALERTS = Path(__file__).parents[2] / "docs" / "monitoring" / "alerts.yml"


def check(app: FastAPI, database: Database, last_end: float | None = None) -> list[Concern]:
    with database.read() as session:
        return service_check.check(session, app.state.metrics.values(), {}, last_end, START)


def ids(found: list[Concern]) -> list[str]:
    return [concern.id for concern in found]


def add(database: Database, job_id: str, state: str, waited: float = 0.0, **columns: Any) -> None:
    with database.write() as session:
        now = session.execute(select(clock())).scalar_one()
        started = None if state == "queued" else now - 1
        ended = now if state in ("failed", "succeeded") else None
        job = {"device": "cpu", "study": "formats", "cases_total": 4, "estimate_s": 1.0} | columns
        session.add(
            JobRow(id=job_id, state=state, created_at=now - waited, started_at=started, finished_at=ended, **job)
        )


def test_a_service_with_a_worker_and_no_job_is_well(app: FastAPI, database: Database) -> None:
    devices.register(database, [CPU])
    add(database, "a", "running", lease_until=1e12)
    add(database, "b", "queued", 60.0)
    assert ids(check(app, database)) == []


def test_without_a_worker_nothing_runs(app: FastAPI, database: Database) -> None:
    (concern,) = check(app, database)
    assert (concern.id, concern.stops) == ("no-worker", True)
    assert concern.remedy.startswith(START)
    add(database, "a", "queued")
    assert "1 job waits" in check(app, database)[0].text


def test_a_fault_of_an_engine_comes_with_its_reason_and_hides_that_no_device_is_there(
    app: FastAPI, database: Database
) -> None:
    devices.register(database, [CPU])
    with database.write() as session:
        session.merge(engine_faults.with_failed_start(session, "w", ["cpu"], "Ray is broken. Reinstall it."))
    add(database, "a", "queued")
    (concern,) = check(app, database)
    assert (concern.id, concern.stops) == ("engine", True)
    assert "Ray is broken. Reinstall it." in concern.remedy


def test_jobs_of_a_device_that_is_gone(app: FastAPI, database: Database) -> None:
    devices.register(database, [CPU, GPU])
    with database.write() as session:
        session.execute(update(DeviceRow).where(DeviceRow.id == GPU.id).values(seen_at=0.0))
    add(database, "a", "queued", device=GPU.id)
    add(database, "b", "running", lease_until=1e12)
    assert ids(check(app, database)) == ["device-away"]


@pytest.mark.parametrize(("silent_s", "found"), [(15.0, []), (25.0, ["quiet"]), (65.0, ["no-worker"])])
def test_a_worker_that_misses_heartbeats(app: FastAPI, database: Database, silent_s: float, found: list[str]) -> None:
    devices.register(database, [CPU])
    with database.write() as session:
        session.execute(update(DeviceRow).values(seen_at=DeviceRow.seen_at - silent_s))
    assert ids(check(app, database)) == found


def test_a_running_job_without_its_worker(app: FastAPI, database: Database) -> None:
    devices.register(database, [CPU])
    add(database, "a", "running", lease_until=1.0)
    assert ids(check(app, database)) == ["lost"]


def queues(waited_s: float, idle_s: float | None) -> Queues:
    return Queues({"cpu": 2}, {"cpu": waited_s}, frozenset({"cpu"}), {"cpu": "A processor"}, 0, idle_s)


@pytest.mark.parametrize(
    ("waited_s", "idle_s", "found"),
    [
        (IDLE_S + 1, IDLE_S + 1, ["stands"]),
        (IDLE_S + 1, IDLE_S - 1, []),
        (IDLE_S - 1, 1e9, []),
        (LONG_WAIT_S + 1, None, ["long-wait"]),
        (LONG_WAIT_S - 1, None, []),
    ],
)
def test_a_queue_that_stands_and_a_long_wait(waited_s: float, idle_s: float | None, found: list[str]) -> None:
    assert ids(list(concerns(queues(waited_s, idle_s), [], MetricValues({}), START))) == found


def test_disks_streams_and_failures_are_found_by_their_metrics() -> None:
    values = MetricValues({
        "sparsight_disk_free_bytes": {frozenset({("folder", "home")}): 4.9e9, frozenset({("folder", "store")}): 5.1e9},
        "sparsight_event_streams": {frozenset(): 181.0},
        "sparsight_event_streams_max": {frozenset(): 200.0},
        "sparsight_jobs_ended_day": {frozenset({("state", "failed")}): 3.0},
    })  # fmt: skip
    assert ids(list(concerns(queues(0.0, None), [], values, START))) == ["disk", "streams", "failed"]


def test_what_stops_jobs_comes_first(app: FastAPI, database: Database) -> None:
    add(database, "a", "failed", DAY_S)
    assert ids(check(app, database)) == ["no-worker", "failed"]


def test_sentences_are_short() -> None:
    fault = EngineFaultRow(id="w", host="node", reason="x", tries=2, since=0.0, seen_at=0.0, devices=[])
    many = Queues({"cpu": 1234}, {"cpu": 1e6}, frozenset(), {}, 3, 1e6)
    for concern in (*concerns(many, [fault], MetricValues({}), START), *concerns(many, [], MetricValues({}), START)):
        assert len(concern.text.split()) <= 25


def test_the_thresholds_are_those_of_the_alerts() -> None:
    rules = {
        rule["alert"]: rule["expr"]
        for group in yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
        for rule in group["rules"]
    }
    limits = {name: float(rules[name].split(operator)[1].split()[0]) for name, operator in (
        ("SparsightDiskFull", "<"), ("SparsightStreamsFull", ">"), ("SparsightQueueLong", ">"),
    )}  # fmt: skip
    assert limits == {
        "SparsightDiskFull": service_check.DISK_FREE_BYTES,
        "SparsightStreamsFull": service_check.STREAMS_SHARE,
        "SparsightQueueLong": LONG_WAIT_S,
    }
