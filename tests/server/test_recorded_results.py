"""What recordings brought, as callers see it: read-only devices and matrices, results joined by fingerprint."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from gpu_engine.generators import generate
from gpu_engine.recordings import files
from gpu_engine.records import DeviceInfo
from server import devices, first_start, import_recordings, recorded_results
from server.db import Database
from tests.battery import BATTERY
from tests.conftest import AddMatrix
from tests.samples.recording import GRID, grid, sample

CPU = DeviceInfo("cpu", "cpu", "Test CPU", 2**33, 2**20)
GRID_ID = f"recorded-{grid().fingerprint[:16]}"
WEB_ID = f"recorded-{sample().matrices[1].fingerprint[:16]}"
STUDY, H200 = "formats", "recorded:h200"


@pytest.fixture
def imported(database: Database, tmp_path: Path) -> Path:
    """The folder of the sample, which the database holds."""
    folder = tmp_path / "recorded"
    files.write(folder / "h200" / "formats.json.gz", sample())
    import_recordings.run(database, folder)
    return folder


def test_a_matrix_with_the_same_fingerprint_has_the_recorded_results(
    database: Database, imported: Path, add_matrix: AddMatrix
) -> None:
    own = add_matrix(generate("stencil", GRID), "mine")
    other = add_matrix(BATTERY["identity"](), "other")
    with database.read() as session:
        found = recorded_results.measurements(session, STUDY, (other, own), (H200,))
        assert recorded_results.device_ids(session, STUDY, own) == (H200,)
        assert recorded_results.device_ids(session, STUDY, other) == ()
    assert len(found) == 8
    assert {(m.matrix_id, m.device) for m in found} == {(own, H200)}
    (fastest,) = [m for m in found if (m.kernel, m.cache) == ("csr/vector", "warm")]
    assert (fastest.case, fastest.median_s) == (f"{own}|csr/vector|warm|", 800e-6 * 0.01)
    assert fastest.environment == {"driver": "580.1"}


def test_what_has_most_matrices_is_the_first_device(database: Database, imported: Path) -> None:
    whole = sample()
    one = whole.matrices[0]
    own = tuple(m for m in whole.measurements if m.matrix_id == one.id)
    files.write(imported / "h100" / "formats.json.gz", replace(whole, matrices=(one,), measurements=own))
    import_recordings.run(database, imported)
    with database.read() as session:
        assert recorded_results.device_ids(session, STUDY) == (H200, "recorded:h100")


def test_results_come_in_the_order_of_the_matrices_asked_for(database: Database, imported: Path) -> None:
    with database.read() as session:
        assert recorded_results.matrix_ids(session, STUDY, (H200,)) == (GRID_ID, WEB_ID)
        found = recorded_results.measurements(session, STUDY, (WEB_ID, GRID_ID), (H200,))
        assert list(dict.fromkeys(m.matrix_id for m in found)) == [WEB_ID, GRID_ID]
        assert recorded_results.measurements(session, STUDY, (WEB_ID,), ("recorded:a100",)) == []
        assert recorded_results.measurements(session, "pagerank", (WEB_ID,), (H200,)) == []


def test_recorded_devices_are_listed_and_never_offered(client: TestClient, database: Database, imported: Path) -> None:
    devices.register(database, [CPU])
    listed = {entry["id"]: entry for entry in client.get("/api/v1/devices").json()["items"]}
    assert {name: (entry["recorded"], entry["alive"]) for name, entry in listed.items()} == {
        "cpu": (False, True),
        H200: (True, False),
    }
    assert listed[H200]["name"] == "NVIDIA H200 (recorded)"
    assert listed[H200]["profile"]["bandwidth"][0]["copy"] == 4.3e12
    assert "recorded" not in client.get("/metrics").text.partition("device_alive")[2]


@pytest.mark.parametrize("workers", [[], [CPU]])
def test_a_job_on_a_recorded_device_is_refused(
    client: TestClient, database: Database, imported: Path, add_matrix: AddMatrix, workers: list[DeviceInfo]
) -> None:
    devices.register(database, workers)
    body = {"study": STUDY, "matrix_ids": [add_matrix(BATTERY["identity"]())], "device": H200}
    answer = client.post("/api/v1/jobs", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_device")
    known = ", ".join(["auto", *(worker.id for worker in workers)])
    assert answer.json()["detail"].endswith(f"jobs cannot run on it. Available devices: {known}.")


def test_a_recorded_matrix_is_listed_as_such(client: TestClient, imported: Path) -> None:
    assert client.get("/api/v1/matrices").json()["items"] == []
    items = client.get("/api/v1/matrices?sort=name&recorded=true").json()["items"]
    assert [(item["id"], item["name"], item["state"]) for item in items] == [
        (GRID_ID, "a grid", "recorded"),
        (WEB_ID, "web-Test", "recorded"),
    ]
    assert items[1]["source"] == {"kind": "collection", "name": "T/web"}
    assert items[0]["features"]["ave"] == grid().features["ave"]


@pytest.mark.parametrize(
    ("matrix_id", "remedy"),
    [
        (GRID_ID, "It is stencil:points=5,nx="),
        (WEB_ID, "Download T/web from the SuiteSparse Matrix Collection"),
    ],
)
def test_what_needs_values_is_refused_with_the_way_to_get_them(
    client: TestClient, database: Database, imported: Path, matrix_id: str, remedy: str
) -> None:
    devices.register(database, [CPU])
    job = client.post("/api/v1/jobs", json={"study": STUDY, "matrix_ids": [matrix_id], "device": "cpu"})
    deleted = client.delete(f"/api/v1/matrices/{matrix_id}?with_results=true")
    for answer in (job, deleted):
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
        assert remedy in answer.json()["detail"]
    assert client.get(f"/api/v1/matrices/{matrix_id}").json()["state"] == "recorded"


def test_the_call_of_a_recorded_matrix_makes_a_matrix_of_its_own(
    client: TestClient, database: Database, imported: Path
) -> None:
    row = client.get(f"/api/v1/matrices/{GRID_ID}").json()
    call = {"generator": row["source"]["generator"], **row["source"]["params"], "name": row["name"]}
    made = client.post("/api/v1/matrices/generate", json=call)
    assert made.status_code == 202
    assert made.json()["id"] != GRID_ID
    with database.read() as session:
        from server import catalogue

        assert recorded_results.generate_call(catalogue.get_matrix(session, GRID_ID)) == call


def test_recorded_results_are_read_as_those_of_a_job(
    client: TestClient, imported: Path, add_matrix: AddMatrix, database: Database
) -> None:
    answer = client.get(f"/api/v1/matrices/{GRID_ID}/recordings")
    document = answer.json()
    assert {(m["matrix_id"], m["device"]) for m in document["measurements"]} == {(GRID_ID, H200)}
    expected = [m for m in sample().measurements if m.matrix_id == sample().matrices[0].id]
    assert [m["median_s"] for m in document["measurements"]] == [m.median_s for m in expected]
    rows = client.get(f"/api/v1/matrices/{GRID_ID}/recordings", headers={"accept": "text/csv"}).text.splitlines()
    assert len(rows) == len(expected) + 1
    again = client.get(f"/api/v1/matrices/{GRID_ID}/recordings", headers={"if-none-match": answer.headers["etag"]})
    assert again.status_code == 304
    other = client.get(f"/api/v1/matrices/{GRID_ID}/recordings?study=scaling").json()
    assert (other["measurements"], other["summary"]["total"]) == ([], 0)
    assert client.get(f"/api/v1/matrices/{GRID_ID}/recordings?study=nope").status_code == 422
    assert client.get("/api/v1/matrices/nope/recordings").status_code == 404
    own = add_matrix(BATTERY["identity"]())
    assert client.get(f"/api/v1/matrices/{own}/recordings").json()["measurements"] == []


def test_no_job_comes_with_a_recording(client: TestClient, imported: Path) -> None:
    assert client.get("/api/v1/jobs").json()["items"] == []
    metrics = client.get("/metrics").text
    assert 'sparsight_matrices{state="recorded"} 2.0' in metrics
    assert 'sparsight_jobs{state="succeeded",study="formats"} 0.0' in metrics


def test_a_database_with_recordings_only_still_gets_its_samples(database: Database, imported: Path) -> None:
    assert first_start.is_first(database)


def test_pages_answer_while_recordings_are_imported(
    client: TestClient, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The import stands still before it writes; the first page does not wait for it."""
    reached, go_on = threading.Event(), threading.Event()
    read = files.read

    def read_and_wait(path: Path) -> files.Recording:
        found = read(path)
        reached.set()
        assert go_on.wait(60)
        return found

    monkeypatch.setattr(files, "read", read_and_wait)
    files.write(tmp_path / "recorded" / "h200" / "formats.json.gz", sample())
    importer = threading.Thread(target=import_recordings.run, args=(database, tmp_path / "recorded"))
    importer.start()
    assert reached.wait(60)
    assert client.get("/api/v1/matrices?recorded=true").json()["items"] == []
    go_on.set()
    importer.join(60)
    assert len(client.get("/api/v1/matrices?recorded=true").json()["items"]) == 2
