import gzip
import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx import Response
from sqlalchemy import func, select

from gpu_engine.csr_matrix import fingerprint
from server import matrix_lifecycle
from server.db import Database
from server.models import EventRow, JobRow, MatrixRow, MeasurementRow
from server.settings import Settings
from server.store import Store
from tests.battery import BATTERY
from tests.conftest import AddMatrix

PATIENCE_S = 120.0
#  [ 2 . ]
#  [ . 4 ]
#  [ 1 . ]
GOOD = b"%%MatrixMarket matrix coordinate real general\n3 2 3\n1 1 2.0\n2 2 4.0\n3 1 1.0\n"


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """An upload is answered when it is read, however slow the machine and however cold its caches."""
    monkeypatch.setattr(matrix_lifecycle, "ANSWER_S", PATIENCE_S)


def upload(client: TestClient, content: bytes, filename: str = "small.mtx", **fields: str) -> Response:
    answer: Response = client.post("/api/v1/matrices", files={"file": (filename, content)}, data=fields)
    return answer


def until_settled(client: TestClient, matrix_id: str) -> dict[str, Any]:
    """The matrix once it is no longer ingesting."""
    running = client.app.state.ingestor.running(matrix_id)  # type: ignore[attr-defined]
    if running is not None:
        running.exception(PATIENCE_S)
    document: dict[str, Any] = client.get(f"/api/v1/matrices/{matrix_id}").json()
    assert document["state"] != "ingesting"
    return document


def events_of(database: Database, matrix_id: str) -> list[str]:
    with database.read() as session:
        found = select(EventRow.data).where(EventRow.topic == f"matrix:{matrix_id}").order_by(EventRow.id)
        return [data["state"] for data in session.scalars(found)]


def test_an_upload_is_read_stored_and_described(client: TestClient, store: Store, database: Database) -> None:
    answer = upload(client, GOOD, "../../etc/small.mtx", name="my matrix")
    document = answer.json()
    assert answer.status_code == 201
    assert answer.headers["location"] == f"/api/v1/matrices/{document['id']}"
    assert client.get(answer.headers["location"]).json() == document
    matrix = store.load(document["id"])
    assert matrix.to_scipy().toarray().tolist() == [[2.0, 0.0], [0.0, 4.0], [1.0, 0.0]]
    shown = ("name", "state", "n_rows", "n_cols", "nnz", "sha256", "fingerprint", "error")
    assert [document[key] for key in shown] == [
        "my matrix",
        "ready",
        3,
        2,
        3,
        hashlib.sha256(GOOD).hexdigest(),
        fingerprint(matrix),
        None,
    ]
    assert document["source"] == {
        "kind": "upload",
        "filename": "../../etc/small.mtx",
        "bytes": len(GOOD),
        "notes": [],
        "duplicates": 0,
    }
    assert document["features"]["ave"] == 1.0
    assert events_of(database, document["id"]) == ["ingesting", "ready"]


def test_pages_find_the_pictures_in_the_store(client: TestClient, store: Store) -> None:
    meta = store.meta(upload(client, GOOD).json()["id"])
    assert sum(map(sum, meta["spy"])) == 3
    assert sum(rows for _, _, rows in meta["row_lengths"]) == 3


@pytest.mark.parametrize(
    ("filename", "name"),
    [
        ("a\x1b \u202eb.mtx", "a b"),
        ("cnr-2000.mtx.gz", "cnr-2000"),
        ("Dubcova1.MTX", "Dubcova1"),
        ("cage8.tar.gz", "cage8"),
        ("cage8.tgz", "cage8"),
        ("a.mtx.bz2", "a"),
        ("a.npz", "a"),
        ("Si2.mat", "Si2"),
        ("bcsstk02.rsa.gz", "bcsstk02"),
        ("west0989.rua", "west0989"),
        ("mtx.notes.pdf", "mtx.notes.pdf"),
        (".mtx", "matrix"),
    ],
)
def test_the_file_name_without_its_endings_is_the_name_where_none_is_given(
    client: TestClient, filename: str, name: str
) -> None:
    assert upload(client, GOOD, filename).json()["name"] == name


def test_nothing_but_the_matrix_stays(client: TestClient, settings: Settings, store: Store) -> None:
    document = upload(client, GOOD).json()
    assert list((settings.home / "uploads").iterdir()) == []
    assert store.ids() == {document["id"]}


def test_the_same_bytes_are_the_same_matrix(client: TestClient) -> None:
    first, again = upload(client, GOOD), upload(client, GOOD, "other.mtx", name="other")
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json()
    assert again.headers["location"] == first.headers["location"]


def test_other_bytes_of_the_same_matrix_share_the_fingerprint(client: TestClient) -> None:
    plain, packed = upload(client, GOOD).json(), upload(client, gzip.compress(GOOD), "small.mtx.gz").json()
    assert plain["id"] != packed["id"]
    assert plain["fingerprint"] == packed["fingerprint"]


def test_the_same_bytes_at_the_same_time_are_one_matrix(client: TestClient, database: Database) -> None:
    barrier = threading.Barrier(4)

    def send(_: int) -> Response:
        barrier.wait(PATIENCE_S)
        return upload(client, GOOD)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(send, range(4)))
    assert len({answer.json()["id"] for answer in answers}) == 1
    made, *others = sorted((answer.status_code for answer in answers), key=lambda status: status != 201)
    # Whoever asks between its row and its reading has nothing to wait for, and is told so.
    assert (made, {*others} <= {200, 202}) == (201, True)
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(MatrixRow)) == 1


def test_two_uploads_at_a_time(client: TestClient) -> None:
    other = GOOD.replace(b"4.0", b"5.0")
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda content: upload(client, content), (GOOD, other)))
    assert [answer.status_code for answer in answers] == [201, 201]
    assert len({answer.json()["fingerprint"] for answer in answers}) == 2


def test_a_long_read_is_answered_before_it_ends(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, database: Database
) -> None:
    monkeypatch.setattr(matrix_lifecycle, "ANSWER_S", 0.0)
    answer = upload(client, GOOD)
    document = answer.json()
    assert (answer.status_code, document["state"], document["features"]) == (202, "ingesting", {})
    assert answer.headers["retry-after"] == "1"
    assert until_settled(client, document["id"])["state"] == "ready"
    assert upload(client, GOOD).status_code == 200


def test_a_failure_after_the_answer_is_kept_with_its_reason(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, database: Database, settings: Settings, store: Store
) -> None:
    bad = GOOD.replace(b"3 1 1.0", b"9 1 1.0")
    monkeypatch.setattr(matrix_lifecycle, "ANSWER_S", 0.0)
    matrix_id = upload(client, bad).json()["id"]
    document = until_settled(client, matrix_id)
    assert document["state"] == "failed"
    assert document["error"] == {"type": "about:blank", "title": "Unprocessable Content", "status": 422} | {
        key: document["error"][key] for key in ("code", "detail", "line")
    }
    assert (document["error"]["code"], document["error"]["line"]) == ("invalid_matrix_file", 5)
    assert events_of(database, matrix_id) == ["ingesting", "failed"]
    assert store.ids() == set()
    assert list((settings.home / "uploads").iterdir()) == []
    monkeypatch.setattr(matrix_lifecycle, "ANSWER_S", PATIENCE_S)
    assert upload(client, bad).status_code == 422
    assert client.get(f"/api/v1/matrices/{matrix_id}").json()["state"] == "failed"


@pytest.mark.parametrize(
    ("headers", "body", "sentence"),
    [
        ({"content-type": "application/json"}, b"{}", "Send multipart/form-data"),
        ({}, b"", "Send multipart/form-data"),
        ({"content-type": "multipart/form-data"}, b"", "Send multipart/form-data"),
        ({"content-type": "multipart/form-data; boundary=b"}, b"", "ends before its last boundary"),
        ({"content-type": "multipart/form-data; boundary=b"}, b"--b--\r\n", "no part `file`"),
        ({"content-type": "multipart/form-data; boundary=b"}, b"junk" * 999, "invalid multipart"),
        ({"content-type": "multipart/form-data; boundary=" + "b" * 999}, b"--b", "boundary"),
        (
            {"content-type": "multipart/form-data; boundary=b"},
            b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n' + GOOD,
            "ends before its last boundary",
        ),
        (
            {"content-type": "multipart/form-data; boundary=b"},
            b'--b\r\nContent-Disposition: form-data; name="other"\r\n\r\nx\r\n--b--\r\n',
            "Unknown part 'other'",
        ),
        (
            {"content-type": "multipart/form-data; boundary=b"},
            b'--b\r\nContent-Disposition: form-data; name="name"\r\n\r\n' + b"x" * 5000 + b"\r\n--b--\r\n",
            "longer than 4096 bytes",
        ),
    ],
)
def test_a_body_that_is_no_upload(
    client: TestClient, settings: Settings, headers: dict[str, str], body: bytes, sentence: str
) -> None:
    answer = client.post("/api/v1/matrices", content=body, headers=headers)
    assert answer.status_code == 422
    assert sentence in answer.json()["detail"]
    assert list((settings.home / "uploads").iterdir()) == []


def test_two_files_in_one_upload_are_refused(client: TestClient) -> None:
    files = [("file", ("a", GOOD)), ("file", ("b", GOOD))]
    answer = client.post("/api/v1/matrices", files=files)
    assert (answer.status_code, "occurs twice" in answer.json()["detail"]) == (422, True)


CALL = {"generator": "stencil", "points": 5, "nx": 4, "ny": 3}


def test_generating_a_matrix(client: TestClient, store: Store) -> None:
    answer = client.post("/api/v1/matrices/generate", json=CALL)
    assert answer.status_code == 202
    document = until_settled(client, answer.json()["id"])
    assert answer.headers["location"] == f"/api/v1/matrices/{document['id']}"
    assert (document["state"], document["n_rows"], document["nnz"]) == ("ready", 12, 12 * 5 - 2 * (4 + 3))
    assert document["name"] == "stencil points=5 nx=4 ny=3 nz=1"
    assert document["source"]["params"] == {"points": 5, "nx": 4, "ny": 3, "nz": 1}
    assert store.load(document["id"]).nnz == document["nnz"]


def test_the_same_call_is_the_same_matrix(client: TestClient) -> None:
    first = client.post("/api/v1/matrices/generate", json=CALL)
    until_settled(client, first.json()["id"])
    # The default spelled out, another order, another name: the same matrix.
    again = client.post("/api/v1/matrices/generate", json={"nz": 1, **dict(reversed(CALL.items())), "name": "x"})
    other = client.post("/api/v1/matrices/generate", json=CALL | {"nx": 5})
    assert (again.status_code, again.json()["id"]) == (200, first.json()["id"])
    assert other.json()["id"] != first.json()["id"]


def test_the_former_field_of_the_generator_is_accepted(client: TestClient) -> None:
    former = {"family": "stencil", **{name: value for name, value in CALL.items() if name != "generator"}}
    expected = client.post("/api/v1/matrices/generate/preview", json=CALL).json()
    assert client.post("/api/v1/matrices/generate/preview", json=former).json() == expected
    made = client.post("/api/v1/matrices/generate", json=former)
    document = until_settled(client, made.json()["id"])
    source = {name: document["source"][name] for name in ("kind", "generator", "params")}
    assert source == {"kind": "generated", "generator": "stencil", "params": expected["params"]}
    assert "family" not in document["source"]
    again = client.post("/api/v1/matrices/generate", json=CALL)
    assert (again.status_code, again.json()["id"]) == (200, document["id"])


@pytest.mark.parametrize(
    ("call", "status", "sentence"),
    [
        ({}, 422, "known"),
        ({"generator": "nope"}, 422, "known"),
        ({"generator": 7}, 422, "must be a string"),
        ({"generator": "stencil", "nx": 0}, 422, "nx is '0'"),
        ({"generator": "stencil", "nx": 10**40}, 422, "nx is"),
        ({"generator": "stencil", "nx": "4"}, 422, "nx is"),
        ({"generator": "stencil", "nope": 1}, 422, "no parameter 'nope'"),
        ({"generator": "stencil", "points": 5, "nx": 40_000, "ny": 40_000}, 413, "nonzeros"),
    ],
)
def test_a_wrong_call_is_refused_at_once(
    client: TestClient, database: Database, call: dict[str, Any], status: int, sentence: str
) -> None:
    answer = client.post("/api/v1/matrices/generate", json=call)
    assert answer.status_code == status
    assert sentence in answer.json()["detail"]
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(MatrixRow)) == 0


def test_the_list_over_http(client: TestClient, add_matrix: AddMatrix) -> None:
    for name in ("a", "b", "c"):
        add_matrix(BATTERY["identity"](), name)
    page = client.get("/api/v1/matrices", params={"sort": "name", "limit": 2}).json()
    rest = client.get("/api/v1/matrices", params={"sort": "name", "limit": 2, "cursor": page["next"]}).json()
    assert [item["name"] for item in page["items"] + rest["items"]] == ["a", "b", "c"]
    assert rest["next"] is None


def test_deleting_takes_everything(client: TestClient, store: Store, database: Database) -> None:
    matrix_id = upload(client, GOOD).json()["id"]
    assert client.delete(f"/api/v1/matrices/{matrix_id}").status_code == 204
    assert client.get(f"/api/v1/matrices/{matrix_id}").status_code == 404
    assert client.delete(f"/api/v1/matrices/{matrix_id}").status_code == 404
    assert store.ids() == set()
    assert events_of(database, matrix_id)[-1] == "deleted"
    assert upload(client, GOOD).status_code == 201


def test_deleting_while_it_is_read(
    client: TestClient, store: Store, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    monkeypatch.setattr(matrix_lifecycle, "ANSWER_S", 0.0)
    matrix_id = upload(client, GOOD).json()["id"]
    running = client.app.state.ingestor.running(matrix_id)  # type: ignore[attr-defined]
    assert client.delete(f"/api/v1/matrices/{matrix_id}").status_code == 204
    if running is not None and not running.cancelled():
        running.exception(PATIENCE_S)
    assert store.ids() == set()
    assert client.get(f"/api/v1/matrices/{matrix_id}").status_code == 404
    assert list((settings.home / "uploads").iterdir()) == []


def add_job(database: Database, job_id: str, matrix_ids: list[str], state: str = "succeeded") -> None:
    with database.write() as session:
        session.add(
            JobRow(id=job_id, study="formats", matrix_ids=matrix_ids, device="cpu", state=state, created_at=1.0)
        )
        session.flush()
        for matrix_id in matrix_ids:
            session.add(
                MeasurementRow(
                    job_id=job_id,
                    case_key=f"{matrix_id}|csr/scalar|warm|",
                    matrix_id=matrix_id,
                    device="cpu",
                    kernel="csr/scalar",
                    cache="warm",
                    state="ok",
                    record={},
                    created_at=1.0,
                )
            )


def test_deleting_a_matrix_with_jobs_needs_to_be_meant(
    client: TestClient, database: Database, add_matrix: AddMatrix
) -> None:
    a, b = (add_matrix(BATTERY["identity"](), name) for name in "ab")
    add_job(database, "j1", [a])
    add_job(database, "j2", [a, b])
    refused = client.delete(f"/api/v1/matrices/{a}")
    assert (refused.status_code, "with_results=true" in refused.json()["hint"]) == (409, True)
    assert client.delete(f"/api/v1/matrices/{a}?with_results=true").status_code == 204
    with database.read() as session:
        assert session.scalars(select(JobRow.id)).all() == ["j2"]
        assert session.scalars(select(MeasurementRow.matrix_id)).all() == [b]


def test_a_matrix_in_use_is_never_deleted(client: TestClient, database: Database, add_matrix: AddMatrix) -> None:
    a = add_matrix(BATTERY["identity"](), "a")
    add_job(database, "j1", [a], "running")
    answer = client.delete(f"/api/v1/matrices/{a}?with_results=true")
    assert (answer.status_code, "Cancel them" in answer.json()["detail"]) == (409, True)


def test_a_recorded_matrix_is_read_only(client: TestClient, database: Database) -> None:
    with database.write() as session:
        session.add(MatrixRow(id="r1", name="r", state="recorded", sha256="0" * 64, created_at=0.0))
    assert client.delete("/api/v1/matrices/r1").status_code == 409
