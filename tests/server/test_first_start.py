"""The first start: two samples and their study, once."""

import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import select

from gpu_engine.formats import kernel_names
from gpu_engine.records import DeviceInfo
from server import devices, first_start, matrix_lifecycle
from server.db import Database
from server.ingest import Ingestor
from server.models import JobRow, MatrixRow
from server.settings import Settings
from server.store import Store

CPU = DeviceInfo("cpu", "cpu", "Test CPU", 2**33, 2**20)
SAMPLES = (
    ("a stencil", "stencil", {"points": 5, "nx": 8, "ny": 8}),
    ("some rows", "powerlaw", {"n": 60, "mean": 3.0, "max_length": 20}),
)


@pytest.fixture
def ingestor(
    settings: Settings, database: Database, store: Store, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Ingestor]:
    """An ingestor on an empty database; the samples are small ones."""
    monkeypatch.setattr(first_start, "SAMPLES", SAMPLES)
    opened = Ingestor(settings, database, store)
    opened.open()
    yield opened
    opened.close()


def jobs(database: Database) -> list[JobRow]:
    with database.read() as session:
        return list(session.scalars(select(JobRow)))


def names(database: Database) -> set[str]:
    with database.read() as session:
        return set(session.scalars(select(MatrixRow.name)))


def test_an_empty_database_gets_two_samples_and_one_study(ingestor: Ingestor, settings: Settings) -> None:
    devices.register(ingestor.database, [CPU])
    first_start.run(ingestor, settings, threading.Event())
    (job,) = jobs(ingestor.database)
    assert (job.study, job.device, job.state) == ("formats", "cpu", "queued")
    assert names(ingestor.database) == {"a stencil", "some rows"}
    assert len(job.matrix_ids) == 2
    assert job.params["kernels"] == list(first_start.KERNELS)
    assert job.note == first_start.NOTE


def test_the_first_kernels_are_on_every_backend() -> None:
    for backend in ("cpu", "cuda"):
        assert set(first_start.KERNELS) <= set(kernel_names(backend))


def test_a_second_start_adds_nothing(ingestor: Ingestor, settings: Settings) -> None:
    devices.register(ingestor.database, [CPU])
    first_start.run(ingestor, settings, threading.Event())
    first_start.run(ingestor, settings, threading.Event())
    assert len(jobs(ingestor.database)) == 1
    assert len(names(ingestor.database)) == 2


def test_a_database_with_a_matrix_of_its_own_stays_as_it_is(ingestor: Ingestor, settings: Settings) -> None:
    devices.register(ingestor.database, [CPU])
    matrix_lifecycle.add_generated(ingestor, "stencil", {"points": 5, "nx": 3, "ny": 3}, "mine")
    first_start.run(ingestor, settings, threading.Event())
    assert jobs(ingestor.database) == []
    assert names(ingestor.database) == {"mine"}


def test_a_start_that_was_broken_off_is_taken_up_again(ingestor: Ingestor, settings: Settings) -> None:
    stopping = threading.Event()
    stopping.set()
    first_start.run(ingestor, settings, stopping)
    assert jobs(ingestor.database) == []
    devices.register(ingestor.database, [CPU])
    first_start.run(ingestor, settings, threading.Event())
    assert len(jobs(ingestor.database)) == 1
    assert len(names(ingestor.database)) == 2


def test_nothing_is_queued_before_a_device_is_there(
    ingestor: Ingestor, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that comes up late: its device appears between two looks."""
    looks: list[int] = []
    has_device = first_start._has_device

    def look(database: Database) -> bool:
        looks.append(len(jobs(database)))
        if len(looks) == 2:
            devices.register(database, [CPU])
        return has_device(database)

    monkeypatch.setattr(first_start, "_has_device", look)
    first_start.run(ingestor, settings, threading.Event())
    assert looks == [0, 0]
    assert len(jobs(ingestor.database)) == 1


def test_the_real_samples_are_calls_that_the_generators_know(database: Database) -> None:
    assert first_start.is_first(database)
    assert len(first_start.SAMPLES) == 2
