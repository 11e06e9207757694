"""The advisor for a device of the service, calibrated by its own jobs, on databases of both kinds."""

import json
from typing import Any

import pytest

from gpu_engine.advisor import advise, contenders, rank
from gpu_engine.advisor.gpus import FITTED, gpu_named
from gpu_engine.advisor.model import predict
from gpu_engine.products import ProductDetails
from gpu_engine.records import TRANSPOSED, Case, DeviceInfo, Measurement, dumps
from server import devices, predictors
from server.db import Database
from server.models import JobRow, JobState, MatrixRow
from server.predictors import UNCALIBRATED, Predictor
from tests.gpu_engine.advisor.samples import EVEN, RANDOM
from tests.samples.rows import measurement_row

H100 = "NVIDIA H100 80GB HBM3"
GPU = gpu_named(H100) or FITTED
FIRST, SECOND, *_ = (kernel for kernel, _ in rank(EVEN, GPU))
SLOWER = 2.0
"""How many times as long as predicted the first choice takes on this H100."""


@pytest.fixture
def database(either_database: Database) -> Database:
    """One H100, and two matrices that were never measured."""
    devices.register(
        either_database, [DeviceInfo("cpu", "cpu", "A CPU", 1, 1), DeviceInfo("cuda:0", "cuda", H100, 1, 1)]
    )
    with either_database.write() as session:
        for name, found in (("even", EVEN), ("random", RANDOM)):
            known = {"features": json.loads(dumps(found)), "state": "ready", "created_at": 0.0}
            session.add(MatrixRow(id=name, name=name, sha256=name, fingerprint=name, **known))
    return either_database


def add(database: Database, number: int, times: dict[str, float], transposed: bool = False, **job: Any) -> None:
    """A job that measured so many times what was predicted of each kernel, for products by one matrix."""
    known: dict[str, Any] = {
        "study": "formats",
        "device": "cuda:0",
        "state": JobState.SUCCEEDED,
        "created_at": 0.0,
    } | job
    row = JobRow(id=f"j{number}", finished_at=float(number), **known)
    axes = (("op", TRANSPOSED),) if transposed else ()
    with database.write() as session:
        session.add(row)
        session.flush()
        for kernel, factor in times.items():
            case, median_s = Case("even", kernel, "warm", axes), factor * predict(kernel, EVEN, GPU).seconds
            m = Measurement.of(case, known["device"], ProductDetails, "ok", median_s=median_s)
            session.add(measurement_row(row.id, m, 0.0))


def here(database: Database) -> Predictor:
    with database.read() as session:
        return predictors.of_service(session)


def test_before_anything_was_measured_it_is_that_of_the_model(database: Database) -> None:
    assert here(database) == Predictor(GPU)
    assert here(database).advise(EVEN) == advise(EVEN, GPU)
    assert here(database).contenders(RANDOM) == contenders(RANDOM, GPU)


def test_a_kernel_that_is_slower_here_than_predicted_is_put_behind_others(database: Database) -> None:
    add(database, 1, {FIRST: SLOWER, SECOND: 1.0, "csr/scalar": 1.0})
    found = here(database)
    assert found.matrices == 1
    assert found.calibration[FIRST] > found.calibration[SECOND]
    assert found.advise(EVEN)[0].kernel != FIRST
    assert next(iter(found.seconds(EVEN, "warm"))) == found.advise(EVEN)[0].kernel
    assert FIRST in [advice.kernel for advice in advise(EVEN, GPU)[:1]]


@pytest.mark.parametrize(
    "job",
    [
        {"state": JobState.FAILED},
        {"study": "batched"},
        {"device": "cpu"},
        {"transposed": True},
    ],
    ids=["that failed", "of another study", "on another device", "of transposes"],
)
def test_jobs_that_teach_nothing(database: Database, job: dict[str, Any]) -> None:
    add(database, 1, {FIRST: SLOWER, SECOND: 1.0}, **job)
    assert here(database).matrices == 0
    assert here(database).advise(EVEN) == advise(EVEN, GPU, here(database).calibration)
    assert len(set(here(database).calibration.values())) <= 1


def test_each_job_that_ends_is_learned_from(database: Database) -> None:
    add(database, 1, {FIRST: SLOWER, SECOND: 1.0})
    before = here(database)
    assert here(database) is before
    add(database, 2, {FIRST: 1.0, SECOND: 1.0})
    # The newest times of a matrix are the ones that count.
    assert here(database).calibration[FIRST] == pytest.approx(1.0)


def test_a_service_without_a_gpu_that_the_advisor_knows_has_none(either_database: Database) -> None:
    assert here(either_database) is UNCALIBRATED
    devices.register(either_database, [DeviceInfo("cuda:0", "cuda", "A new GPU", 1, 1)])
    assert here(either_database) is UNCALIBRATED
    with either_database.read() as session:
        assert predictors.of_device(session, "cuda:0", "A new GPU") is UNCALIBRATED
