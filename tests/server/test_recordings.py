"""Recordings of callers: exported from one service, imported into another, refused whole or kept whole."""

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from gpu_engine.errors import ConflictError, NotFoundError, ParameterError
from gpu_engine.recordings import files as recordings
from gpu_engine.recordings.files import Recording
from gpu_engine.records import DeviceInfo
from server import body_limit, devices, export_recording, import_recordings
from server.db import Database
from server.models import JobState, MatrixRow, RecordedResultsRow, RecordingRow
from tests.battery import BATTERY
from tests.conftest import AddMatrix
from tests.samples.formats import study_of
from tests.samples.recording import sample
from tests.web.conftest import add_job

ALL = "/api/v1/recordings"
CPU = DeviceInfo("cpu", "cpu", "A processor", 2**34, 2**25)


def file_of(recording: Recording) -> bytes:
    return recordings.dump(recording, "it")


def send(client: TestClient, data: bytes, **fields: str) -> Any:
    return client.post(ALL, files={"file": ("found.json.gz", data)}, data=fields)


def test_what_is_imported_is_a_device_whose_results_are_found_by_fingerprint(client: TestClient) -> None:
    answer = send(client, file_of(sample()), name="node7")
    assert (answer.status_code, answer.json()["id"], answer.json()["imported"]) == (201, "node7/formats", True)
    assert client.get(ALL).json()["items"] == [answer.json()]
    assert [d["id"] for d in client.get("/api/v1/devices").json()["items"] if d["recorded"]] == ["recorded:node7"]
    listed = client.get("/api/v1/matrices", params={"recorded": "true"}).json()["items"]
    assert {matrix["name"] for matrix in listed} == {"a grid", "web-Test"}
    found = client.get(f"/api/v1/matrices/{listed[0]['id']}/recordings").json()["measurements"]
    assert {m["device"] for m in found} == {"recorded:node7"}


def test_a_device_is_called_as_its_recording_says_where_nobody_says_otherwise(client: TestClient) -> None:
    assert send(client, file_of(sample())).json()["id"] == "nvidia-h200/formats"


def test_the_same_device_and_study_take_the_place_of_what_was_there(client: TestClient, database: Database) -> None:
    first = sample()
    assert send(client, file_of(first), name="node7").status_code == 201
    assert send(client, file_of(first), name="node7").status_code == 200
    one = replace(first, matrices=first.matrices[:1], measurements=first.measurements[:8], traces=())
    assert send(client, file_of(one), name="node7").status_code == 200
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(RecordedResultsRow)) == 1
        assert session.scalars(select(MatrixRow.name)).all() == ["a grid"]


def contradicting(change: Callable[[Any], object]) -> bytes:
    document = json.loads(gzip.decompress(file_of(sample())))
    change(document)
    return gzip.compress(json.dumps(document).encode())


@pytest.mark.parametrize(
    ("data", "name", "status", "words"),
    [
        (b"no gzip", "node7", 422, "The file is not gzipped JSON"),
        (gzip.compress(b"[]"), "node7", 422, "The file is not a recording"),
        (gzip.compress(b"[" * 10**6), "node7", 422, "The file is not gzipped JSON"),
        (gzip.compress(bytes(2**25)), "node7", 413, "unpacked, has 16777217 bytes"),
        (bytes(recordings.BYTES_MAX + 1), "node7", 413, "has 2000001 bytes"),
        (bytes(body_limit.RECORDING_BYTES + 1), "node7", 413, "exceeds the limit"),
        (contradicting(lambda d: d["measurements"][0].update(median_s=-1.0)), "node7", 422, "is ok with the time -1.0"),
        (contradicting(lambda d: d["measurements"][0].update(device="cpu")), "node7", 422, "was measured on 'cpu'"),
        (contradicting(lambda d: d["matrices"][0].update(fingerprint="../..")), "node7", 422, "must be a sha256"),
        (
            contradicting(lambda d: d["traces"][0].update(case="none")),
            "node7",
            422,
            "the trace 'none' has no measurement",
        ),
        (contradicting(lambda d: d["matrices"][0].update(name="a\0b")), "node7", 422, "contains the character U+0000"),
        (contradicting(lambda d: d["matrices"][0].update(name="a\ud800")), "node7", 422, "is not gzipped JSON"),
        (
            contradicting(lambda d: d["matrices"][0].update(name="a" * 201)),
            "node7",
            422,
            "a name of 1 to 200 characters",
        ),
        (contradicting(lambda d: d["matrices"][0].update(nnz=-1)), "node7", 422, "no negative sizes"),
        (contradicting(lambda d: d["matrices"][0].update(nnz=2**64)), "node7", 422, "is too large"),
        (contradicting(lambda d: d["device"].update(name="")), "node7", 422, "the name of the device has 0"),
        (gzip.compress(b'{"study": 1e999}'), "node7", 422, "1e999 is too large"),
        (file_of(sample()), "Node 7", 422, "Invalid device name"),
        (file_of(sample()), "../h200", 422, "Invalid device name"),
    ],
)
def test_what_is_no_recording_leaves_nothing(
    client: TestClient, database: Database, data: bytes, name: str, status: int, words: str
) -> None:
    answer = send(client, data, name=name)
    assert answer.status_code == status, answer.text
    assert words in answer.json()["detail"]
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(RecordingRow)) == 0
        assert session.scalar(select(func.count()).select_from(MatrixRow)) == 0


def test_what_came_with_the_release_is_neither_replaced_nor_deleted(client: TestClient, database: Database) -> None:
    import_recordings.run(database)
    with pytest.raises(ConflictError, match=r"is part of this release\. Choose another device name"):
        import_recordings.take(database, file_of(sample()), "h200")
    assert client.delete(f"{ALL}/h200/formats").status_code == 409
    # The next start leaves what was imported where it is.
    import_recordings.take(database, file_of(sample()), "node7")
    import_recordings.run(database)
    ids = {recording["id"]: recording["imported"] for recording in client.get(ALL).json()["items"]}
    assert ids["node7/formats"] is True
    assert ids["h200/formats"] is False


def test_what_is_imported_says_nothing_else_of_a_matrix_that_is_known(client: TestClient, database: Database) -> None:
    send(client, file_of(sample()), name="node7")
    first = sample()
    other = replace(first, matrices=tuple(replace(matrix, name="renamed") for matrix in first.matrices))
    assert send(client, file_of(other), name="node8").status_code == 201
    with database.read() as session:
        assert set(session.scalars(select(MatrixRow.name))) == {"a grid", "web-Test"}


def test_what_is_deleted_takes_its_matrices_along(client: TestClient, database: Database) -> None:
    send(client, file_of(sample()), name="node7")
    assert client.delete(f"{ALL}/node7/formats").status_code == 204
    assert client.delete(f"{ALL}/node7/formats").status_code == 404
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(MatrixRow)) == 0


def test_no_more_are_imported_than_are_kept(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_recordings, "IMPORTS_MAX", 1)
    import_recordings.take(database, file_of(sample()), "node7")
    import_recordings.take(database, file_of(sample(0.02)), "node7")
    with pytest.raises(ParameterError, match="Delete one first"):
        import_recordings.take(database, file_of(sample()), "node8")


def test_what_a_device_here_has_measured_goes_to_another_service_and_back(
    client: TestClient, database: Database, add_matrix: AddMatrix
) -> None:
    devices.register(database, [CPU])
    matrix_id = add_matrix(BATTERY["tall"](), "tall", "m1")
    newest = study_of(matrix_id, "cpu", 2.0)
    for job_id, found in (("j1", study_of(matrix_id)), ("j2", newest)):
        add_job(database, job_id, "cpu", JobState.SUCCEEDED, found)
    answer = client.get("/api/v1/devices/cpu/recording", params={"study": "formats"})
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == 'attachment; filename="a-processor-formats.json.gz"'
    recording = recordings.load(answer.content, "it")
    assert {m.case: m.median_s for m in recording.measurements} == {m.case: m.median_s for m in newest}
    assert (recording.device, [matrix.name for matrix in recording.matrices]) == (CPU, ["tall"])
    assert send(client, answer.content, name="node7").status_code == 201
    shown = client.get(f"/api/v1/matrices/{matrix_id}/recordings").json()
    assert len(shown["measurements"]) == len(newest)


def test_a_device_without_results_has_no_recording(client: TestClient, database: Database) -> None:
    devices.register(database, [CPU])
    assert client.get("/api/v1/devices/cpu/recording", params={"study": "formats"}).status_code == 404
    assert client.get("/api/v1/devices/cpu/recording", params={"study": "none"}).status_code == 422
    with pytest.raises(NotFoundError, match="No formats results on 'cuda:9'"), database.read() as session:
        export_recording.of_device(session, "formats", "cuda:9")
