"""Measurements as objects: read from databases of both kinds, the same ones as long as nothing has changed."""

import dataclasses
from typing import Any

import pytest

from gpu_engine.records import Case, DeviceInfo, Measurement, as_json
from gpu_engine.studies.formats.experiment import ProductDetails
from server import devices, results
from server.db import Database
from server.models import JobRow, JobState, MatrixRow, MeasurementRow
from tests.samples.rows import measurement_row

SAMPLES = (1e-6, 2e-6)


def measured(kernel: str, **fields: Any) -> Measurement:
    case = Case("m", kernel, "warm", (("op", "Aᵀ"),))
    return Measurement.of(case, "cpu", ProductDetails, median_s=1.5e-6, convert_s=0.25, **fields)


@pytest.fixture
def database(either_database: Database) -> Database:
    """Two measurements of one job."""
    devices.register(either_database, [DeviceInfo("cpu", "cpu", "A CPU", 1, 1)])
    with either_database.write() as session:
        session.add(MatrixRow(id="m", name="m", sha256="m", fingerprint="m", state="ready", created_at=0.0))
        session.add(JobRow(id="j", study="formats", device="cpu", state=JobState.SUCCEEDED, created_at=0.0))
        session.flush()
        session.add_all(measurement_row("j", measured(kernel), 0.0, SAMPLES) for kernel in ("csr/scalar", "csr/vector"))
    return either_database


def read(database: Database, samples: bool = False) -> list[Measurement]:
    with database.read() as session:
        return results.measurements(session, ["j"], samples=samples)


def test_they_are_what_was_measured(database: Database) -> None:
    assert read(database) == [measured("csr/scalar"), measured("csr/vector")]
    assert read(database, samples=True) == [
        dataclasses.replace(m, samples_s=SAMPLES) for m in (measured("csr/scalar"), measured("csr/vector"))
    ]


def test_one_that_has_not_changed_is_the_same_object(database: Database) -> None:
    before = read(database)
    with database.write() as session:
        row = session.query(MeasurementRow).filter_by(kernel="csr/vector").one()
        row.record = as_json(measured("csr/vector", note="measured again"))
    first, second = read(database)
    assert first is before[0]
    assert (second.note, before[1].note) == ("measured again", "")
