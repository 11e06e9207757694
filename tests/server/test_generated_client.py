"""A client that another tool generates from the API's description: typed, and right about what is answered."""

import importlib
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from types import ModuleType
from typing import Any

import pytest
from fastapi.testclient import TestClient

from gpu_engine.records import DeviceInfo, as_json
from server import devices, matrix_lifecycle
from server.db import Database
from server.examples import MEASUREMENT
from server.main import create_app
from server.models import JobRow, JobState, MeasurementRow
from server.settings import Settings

CPU = DeviceInfo("cpu", "cpu", "A processor", 2**34, 2**25)
MATRIX = b"%%MatrixMarket matrix coordinate real general\n3 4 2\n1 1 1\n3 2 -3\n"
TOKEN = "correct horse"


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The package that openapi-python-client makes of the description; a warning of it is an error."""
    folder = tmp_path_factory.mktemp("generated")
    description, package = folder / "openapi.json", folder / "generated_client"
    description.write_text(json.dumps(create_app(Settings(home=folder, token=TOKEN)).openapi()))
    (folder / "config.json").write_text('{"post_hooks": []}')
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none", "--fail-on-warning"]
    options = ["--path", str(description), "--output-path", str(package), "--config", str(folder / "config.json")]
    ended = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "warning" not in (ended.stdout + ended.stderr).lower()
    sys.path.insert(0, str(folder))
    yield importlib.import_module(package.name)
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.partition(".")[0] == package.name]:
        del sys.modules[name]


def call(generated: ModuleType, name: str) -> Any:
    """The module of a call, such as `jobs.list_jobs`."""
    return importlib.import_module(f"{generated.__name__}.api.{name}")


def finish(database: Database, job_id: str, matrix_id: str) -> None:
    """What a worker would do: a measurement, and the end of the job."""
    with database.write() as session:
        job = session.get_one(JobRow, job_id)
        job.state, job.started_at, job.finished_at = JobState.SUCCEEDED, job.created_at, job.created_at + 1
        record = as_json(MEASUREMENT) | {"matrix_id": matrix_id, "device": "cpu"}
        columns = {name: record[name] for name in ("matrix_id", "device", "kernel", "cache", "state")}
        session.add(MeasurementRow(job_id=job_id, case_key="c", record=record, created_at=job.created_at, **columns))


def test_it_uploads_queues_lists_and_reads(
    generated: ModuleType, client: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        matrix_lifecycle, "ANSWER_S", 300.0
    )  # The upload is answered when it is read, however busy we are.
    models = importlib.import_module(f"{generated.__name__}.models")
    types = importlib.import_module(f"{generated.__name__}.types")
    mine = generated.Client(base_url=str(client.base_url), raise_on_unexpected_status=True).set_httpx_client(client)
    devices.register(database, [CPU])

    body = models.UploadMatrixBody(file=types.File(payload=io.BytesIO(MATRIX), file_name="a.mtx"))
    matrix = call(generated, "matrices.upload_matrix").sync(client=mine, body=body)
    assert isinstance(matrix, models.Matrix)
    assert (matrix.n_rows, matrix.n_cols, matrix.nnz, matrix.state.value) == (3, 4, 2, "ready")

    params = models.JobBodyParams.from_dict({"rounds": 9})
    wanted = models.JobBody(study="formats", matrix_ids=[matrix.id], params=params, device="cpu")
    job = call(generated, "jobs.create_job").sync(client=mine, body=wanted)
    assert isinstance(job, models.Job)
    assert job.created_at.tzinfo is not None
    assert abs(job.created_at - datetime.now(UTC)).total_seconds() < 3600
    finish(database, job.id, matrix.id)

    results = call(generated, "jobs.get_results").sync(job.id, client=mine)
    (measurement,) = results.measurements
    assert isinstance(measurement, models.Measurement)
    assert (measurement.median_s, measurement.cache.value, measurement.details.convert_s) == (2.1e-5, "warm", None)
    assert (results.summary.ok, results.summary.fastest[0].kernel) == (1, "csr/vector")

    page = call(generated, "jobs.list_jobs").sync(client=mine, state="succeeded")
    assert isinstance(page, models.JobList)
    assert [(entry.id, entry.state.value) for entry in page.items] == [(job.id, "succeeded")]
    problem = call(generated, "jobs.get_job").sync("nope", client=mine)
    assert (type(problem), problem.code) == (models.Problem, "not_found")
