"""Retention: what is old or too much goes, and nothing that somebody needs, and nothing unless a setting says so."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select

from server import retention
from server.db import Database, clock
from server.ingest import Ingestor
from server.models import JobRow, MatrixRow, MeasurementRow
from server.settings import Settings
from server.store import Store
from tests.battery import BATTERY
from tests.conftest import AddMatrix

DAY = 86400.0

Sweep = Callable[..., tuple[set[str], set[str]]]


@pytest.fixture
def sweep(app: FastAPI, client: TestClient, settings: Settings, database: Database, store: Store) -> Sweep:
    """Sweeps with these settings; the ids of the matrices and of the jobs that are left."""

    def sweep(**limits: Any) -> tuple[set[str], set[str]]:
        retention.sweep(app.state.ingestor, settings.model_copy(update=limits))
        with database.read() as session:
            left = set(session.scalars(select(MatrixRow.id))), set(session.scalars(select(JobRow.id)))
        assert store.ids() <= left[0]
        return left

    return sweep


@pytest.fixture
def matrices(database: Database, add_matrix: AddMatrix) -> None:
    """Three equal matrices, made 30, 20 and 10 days ago, and a recorded one of 40 days ago."""
    with database.write() as session:
        now = session.execute(select(clock())).scalar_one()
        session.add(MatrixRow(id="r", name="r", state="recorded", sha256="r" * 64, created_at=now - 40 * DAY))
    for name, days in (("a", 30), ("b", 20), ("c", 10)):
        add_matrix(BATTERY["identity"](), id=name)
        with database.write() as session:
            session.get_one(MatrixRow, name).created_at = now - days * DAY


def add_job(database: Database, job_id: str, matrix_ids: str, state: str, days: float) -> None:
    with database.write() as session:
        at = session.execute(select(clock())).scalar_one() - days * DAY
        ended = at if state in ("succeeded", "failed", "cancelled") else None
        session.add(
            JobRow(id=job_id, study="formats", device="cpu", matrix_ids=list(matrix_ids), state=state, created_at=at,
                   finished_at=ended)
        )  # fmt: skip
        session.flush()
        for matrix_id in matrix_ids:
            session.add(
                MeasurementRow(
                    job_id=job_id, case_key=matrix_id, matrix_id=matrix_id, device="cpu", kernel="k", cache="warm",
                    state="ok", record={}, created_at=at,
                )
            )  # fmt: skip


@pytest.mark.usefixtures("matrices")
def test_matrices_and_jobs_go_by_age(sweep: Sweep, database: Database) -> None:
    add_job(database, "old", "c", "failed", 16)
    add_job(database, "young", "a", "succeeded", 5)
    assert sweep(keep_days=15) == ({"r", "a", "c"}, {"young"})
    with database.read() as session:
        assert session.scalars(select(MeasurementRow.job_id)).all() == ["young"]


@pytest.mark.parametrize("state", ["queued", "running"])
@pytest.mark.usefixtures("matrices")
def test_what_a_job_needs_stays_however_old(sweep: Sweep, database: Database, state: str) -> None:
    add_job(database, "needs", "ab", state, 50)
    assert sweep(keep_days=1, keep_bytes=1) == ({"r", "a", "b"}, {"needs"})


@pytest.mark.usefixtures("matrices")
def test_the_least_recently_used_go_until_the_rest_fits(sweep: Sweep, database: Database, store: Store) -> None:
    # Measured yesterday, the oldest has been used last.
    add_job(database, "one", "a", "succeeded", 1)
    add_job(database, "two", "b", "succeeded", 12)
    size = store.bytes("a")
    assert sweep(keep_bytes=3 * size) == ({"r", "a", "b", "c"}, {"one", "two"})
    assert sweep(keep_bytes=3 * size - 1) == ({"r", "a", "c"}, {"one"})
    assert sweep(keep_bytes=size) == ({"r", "a"}, {"one"})


@pytest.mark.usefixtures("matrices")
def test_nothing_goes_unless_a_setting_says_so(
    app: FastAPI, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "sweep", lambda *_: pytest.fail("it swept"))
    ingestor: Ingestor = app.state.ingestor
    retention.run(ingestor, settings, threading.Event())


def test_it_sweeps_until_told_to_stop(app: FastAPI, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    stopping, swept = threading.Event(), []

    def sweep(*_: object, by_age: bool) -> None:
        swept.append(by_age)
        stopping.set()

    monkeypatch.setattr(retention, "sweep", sweep)
    retention.run(app.state.ingestor, settings.model_copy(update={"keep_days": 1}), stopping)
    assert swept == [True]


@pytest.mark.usefixtures("matrices")
def test_a_clock_that_was_put_forward_ages_nothing_until_it_has_stayed_so_for_a_day(
    app: FastAPI, database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock put forward by 30 days looks like one by which a boot has lasted 30 days less."""
    passed_s = 100 * DAY
    monkeypatch.setattr("server.retention.time.clock_gettime", lambda _: passed_s)
    watch = retention.ClockWatch(database)
    assert watch.is_trusted()
    passed_s -= retention.JUMP_S - 60
    assert watch.is_trusted()
    passed_s -= 30 * DAY
    assert not watch.is_trusted()
    retention.sweep(app.state.ingestor, settings.model_copy(update={"keep_days": 15}), watch.is_trusted())
    with database.read() as session:
        assert {*session.scalars(select(MatrixRow.id))} == {"r", "a", "b", "c"}
    passed_s += DAY - 1
    assert not watch.is_trusted()
    passed_s += 1
    assert watch.is_trusted()
    passed_s -= 30 * DAY
    assert not watch.is_trusted()
    # It was wrong, and is put back.
    passed_s += 30 * DAY
    assert watch.is_trusted()
