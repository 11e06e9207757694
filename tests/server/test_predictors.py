"""The advisor for a device of the service, calibrated by its own jobs, on databases of both kinds."""

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import delete

from gpu_engine.advisor import advise, near_best, rank
from gpu_engine.advisor.gpus import FITTED, gpu_named
from gpu_engine.advisor.model import MODELS, predict
from gpu_engine.advisor.sureness import UNSTEADY
from gpu_engine.records import OP, TRANSPOSED, Case, DeviceInfo, Measurement, dumps
from gpu_engine.studies.formats.experiment import ProductDetails
from server import devices, predictors
from server.catalogue import get_matrix, matrix_document
from server.db import Database
from server.models import JobRow, JobState, MatrixRow, MeasurementRow
from server.predictors import UNCALIBRATED, Predictor
from tests.gpu_engine.advisor.samples import EVEN, RANDOM
from tests.samples.rows import measurement_row

H100, H200 = "NVIDIA H100 80GB HBM3", "NVIDIA H200"
GPU = gpu_named(H100) or FITTED
FIRST, SECOND, *_ = (kernel for kernel, _ in rank(EVEN, GPU))
SLOWER = 2.0
"""How many times as long as predicted the first choice takes on this H100."""

TAUGHT = {FIRST: SLOWER, SECOND: 1.0, "csr/scalar": 1.0}
MATRICES = {"even": EVEN, "random": RANDOM, "bare": {"ave": 1.0}}
"""The last has too few features."""


@pytest.fixture
def database(either_database: Database) -> Database:
    """One H100, and matrices that were never measured."""
    register(either_database, H100)
    with either_database.write() as session:
        for name, found in MATRICES.items():
            known = {"features": json.loads(dumps(found)), "state": "ready", "created_at": 0.0}
            session.add(MatrixRow(id=name, name=name, sha256=name, fingerprint=name, **known))
    return either_database


def register(database: Database, name: str) -> None:
    """The device `cuda:0` is a GPU of that name from now on."""
    devices.register(database, [DeviceInfo("cpu", "cpu", "A CPU", 1, 1), DeviceInfo("cuda:0", "cuda", name, 1, 1)])


def rows(
    number: int,
    times: Mapping[str, float],
    matrix: str = "even",
    card: str = H100,
    op: str = "",
    order: str = "",
    state: Any = "ok",
    **job: Any,
) -> list[Any]:
    """A job that measured so many times what was predicted of each kernel, for products by one matrix."""
    known: dict[str, Any] = {"study": "formats", "device": "cuda:0", "state": JobState.SUCCEEDED, "created_at": 0.0}
    row = JobRow(id=f"j{number}", finished_at=float(number), **known | job)
    found: list[Any] = [row]
    for kernel, factor in times.items():
        case = Case(matrix, f"{kernel}{order}", "warm", ((OP, op),) if op else ())
        known = {"median_s": factor * predict(kernel, EVEN, GPU).seconds if kernel in TAUGHT else 1.0}
        known |= {"environment": {"device": card} if card else {}}
        m = Measurement.of(case, row.device, ProductDetails, state, **known)
        found.append(measurement_row(row.id, m, 0.0))
    return found


def add(database: Database, number: int, times: Mapping[str, float], **how: Any) -> None:
    """Commits such a job."""
    job, *measured = rows(number, times, **how)
    with database.write() as session:
        session.add(job)
        session.flush()
        session.add_all(measured)


def remove(database: Database, number: int) -> None:
    """Deletes a job with its measurements."""
    with database.write() as session:
        session.delete(session.get(JobRow, f"j{number}"))


def here(database: Database) -> Predictor:
    with database.read() as session:
        return predictors.of_service(session)


def factor(predictor: Predictor) -> float:
    """By how much the first choice is slower here than the second, against what is predicted of both."""
    return predictor.calibration[FIRST] / predictor.calibration[SECOND]


def test_before_anything_was_measured_it_is_that_of_the_model(database: Database) -> None:
    assert here(database) == Predictor(GPU)
    assert here(database).advise(EVEN) == advise(EVEN, GPU)
    assert here(database).near_best(RANDOM) == near_best(RANDOM, GPU)


def test_a_kernel_that_is_slower_here_than_predicted_is_put_behind_others(database: Database) -> None:
    add(database, 1, TAUGHT)
    found = here(database)
    assert found.matrices == 1
    assert factor(found) > 1.1
    assert advise(EVEN, GPU)[0].kernel == FIRST
    assert found.advise(EVEN)[0].kernel != FIRST
    assert found.near_best(EVEN)[0] == found.advise(EVEN)[0].kernel


def test_it_is_sure_of_a_gpu_that_was_judged_alone() -> None:
    unknown = gpu_named("NVIDIA A100-SXM4-40GB")
    assert unknown is not None
    assert [Predictor(gpu).is_sure(EVEN) for gpu in (GPU, FITTED, unknown)] == [True, True, False]


def test_a_document_has_its_advice_and_is_as_sure_as_without_it(database: Database) -> None:
    with database.read() as session:
        before = matrix_document(get_matrix(session, "even"), predictors.of_service(session))
    add(database, 1, TAUGHT)
    with database.read() as session:
        after = matrix_document(get_matrix(session, "even"), predictors.of_service(session))
    assert (before["advice"][0]["kernel"], before["near_best"][0], before["confidence"]) == (FIRST, FIRST, "high")
    assert after["advice"][0]["kernel"] == after["near_best"][0] != FIRST
    assert (after["confidence"], after["advice_gpu"]) == ("high", GPU.short_name)


@pytest.mark.parametrize(
    "how",
    [
        {"state": "unconverged"},
        {"study": "batched"},
        {"device": "cpu"},
        {"op": TRANSPOSED},
        {"order": "+rcm"},
        {"card": H200},
        {"card": ""},
        {"matrix": "bare"},
    ],
    ids=[
        "in another state",
        "of another study",
        "on another device",
        "of transposes",
        "in an order",
        "on another card of the same id",
        "on a card without a name",
        "of a matrix with too few features",
    ],
)
def test_measurements_that_teach_nothing(database: Database, how: dict[str, Any]) -> None:
    add(database, 1, TAUGHT, **how)
    assert here(database) == Predictor(GPU)


def test_a_job_that_failed_teaches_nothing(database: Database) -> None:
    job, *measured = rows(1, TAUGHT)
    job.state = JobState.FAILED
    with database.write() as session:
        session.add(job)
        session.flush()
        session.add_all(measured)
    assert here(database) == Predictor(GPU)


def test_each_job_that_ends_is_learned_from_and_the_newest_time_of_a_case_counts(database: Database) -> None:
    add(database, 1, TAUGHT)
    before = here(database)
    assert here(database) is before
    add(database, 2, dict.fromkeys(TAUGHT, 1.0))
    assert factor(here(database)) == pytest.approx(1.0)
    assert here(database).matrices == 1


def test_a_job_that_was_deleted_is_forgotten(database: Database) -> None:
    add(database, 1, TAUGHT)
    first = here(database)
    add(database, 2, dict.fromkeys(TAUGHT, 1.0))
    assert factor(here(database)) != factor(first)
    remove(database, 2)
    assert here(database) == first
    remove(database, 1)
    assert here(database) == Predictor(GPU)


def test_another_job_of_the_same_size_in_place_of_a_deleted_one_is_learned_from(database: Database) -> None:
    add(database, 1, TAUGHT)
    assert factor(here(database)) > 1.1
    # SQLite gives its measurements the ids of those that are gone.
    remove(database, 1)
    job, *measured = rows(2, dict.fromkeys(TAUGHT, 1.0))
    job.finished_at = 1.0
    with database.write() as session:
        session.add(job)
        session.flush()
        session.add_all(measured)
    assert factor(here(database)) == pytest.approx(1.0)


def test_measurements_that_were_deleted_without_their_job_are_forgotten(database: Database) -> None:
    add(database, 1, TAUGHT)
    add(database, 2, TAUGHT, matrix="random")
    assert here(database).matrices == 2
    with database.write() as session:
        session.execute(delete(MeasurementRow).where(MeasurementRow.matrix_id == "even"))
    assert here(database).matrices == 1


def test_a_matrix_that_was_deleted_is_forgotten(database: Database) -> None:
    add(database, 1, TAUGHT)
    assert here(database).matrices == 1
    with database.write() as session:
        session.delete(session.get(MatrixRow, "even"))
    assert here(database) == Predictor(GPU)


def test_it_sees_what_the_session_of_its_caller_sees(database: Database) -> None:
    with database.write() as session:
        job, *measured = rows(1, TAUGHT)
        session.add(job)
        session.flush()
        session.add_all(measured)
        session.flush()
        assert predictors.of_service(session).matrices == 1
        session.rollback()
    assert here(database) == Predictor(GPU)
    with database.write() as session:
        assert predictors.of_service(session) == Predictor(GPU)


def test_a_card_is_calibrated_by_what_was_measured_on_one_of_its_name(database: Database) -> None:
    add(database, 1, TAUGHT)
    add(database, 2, TAUGHT, card=H200)
    on_h100 = here(database)
    register(database, H200)
    on_h200 = here(database)
    assert (on_h200.gpu, on_h200.matrices) == (FITTED, 1)
    assert on_h200.calibration != on_h100.calibration
    register(database, H100)
    assert here(database) == on_h100


def test_what_the_advisor_does_not_know_pushes_out_nothing(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictors, "MEASUREMENTS_MAX", len(TAUGHT))
    add(database, 1, TAUGHT)
    before = here(database)
    assert before.matrices == 1
    add(database, 2, TAUGHT, op=TRANSPOSED)
    add(database, 3, TAUGHT, order="+rcm")
    add(database, 4, {f"custom:spmv/{number}": 1.0 for number in range(5)})
    add(database, 5, TAUGHT, card=H200)
    assert here(database) == before


@pytest.mark.parametrize("at_once", [1, 2, 50])
def test_the_newest_measurements_count_and_older_ones_again_when_those_are_gone(
    database: Database, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(predictors, "JOBS_AT_ONCE", at_once)
    monkeypatch.setattr(predictors, "MEASUREMENTS_MAX", 2 * len(TAUGHT))
    add(database, 1, TAUGHT)
    add(database, 2, dict.fromkeys(TAUGHT, 1.0), matrix="random")
    add(database, 3, dict.fromkeys(TAUGHT, 1.0), matrix="random")
    assert here(database).matrices == 1
    remove(database, 3)
    assert here(database).matrices == 2
    remove(database, 1)
    assert here(database).matrices == 1


def test_all_who_ask_at_once_get_the_same(database: Database) -> None:
    add(database, 1, TAUGHT)
    together = Barrier(4)

    def ask() -> Predictor:
        with database.read() as session:
            together.wait(10)
            return predictors.of_service(session)

    with ThreadPoolExecutor(4) as pool:
        found = [own.result() for own in [pool.submit(ask) for _ in range(4)]]
    assert found == [here(database)] * 4
    assert found[0].matrices == 1


def test_a_service_without_a_gpu_that_the_advisor_knows_has_none(either_database: Database) -> None:
    assert here(either_database) is UNCALIBRATED
    register(either_database, "A new GPU")
    assert here(either_database) is UNCALIBRATED
    with either_database.read() as session:
        assert predictors.of_device(session, "cuda:0", "A new GPU") is UNCALIBRATED


def test_it_is_not_sure_where_its_calibration_puts_an_unsteady_kernel_first() -> None:
    assert Predictor(GPU).is_sure(EVEN)
    assert not Predictor(GPU, {kernel: 1e6 for kernel in MODELS if kernel != UNSTEADY[0]}).is_sure(EVEN)


def test_the_newest_measurements_are_the_same_in_pieces_of_any_size(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predictors, "MEASUREMENTS_MAX", len(TAUGHT) + 1)
    add(database, 1, TAUGHT)
    add(database, 2, dict.fromkeys(TAUGHT, 1.0), matrix="random")
    together = here(database)
    predictors._CACHE.clear()
    monkeypatch.setattr(predictors, "JOBS_AT_ONCE", 1)
    assert here(database) == together
