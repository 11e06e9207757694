"""Matrices by name, through the API: the index, a fetch and its end, and what is refused."""

import threading
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from server.collection import download as download_module
from server.collection import fetcher as fetcher_module
from server.collection.entries import ID
from server.collection.index import Shelf, parse_statistics, shipped
from server.db import Database
from server.models import MatrixRow
from server.roles import Role
from server.settings import Settings
from server.store import Store
from tests.collection_site import ADDRESS, LIST, MARKET, Site, packed, serve_from
from tests.conftest import ADDRESS as OWN_ADDRESS
from tests.gpu_engine.matrix_files import entry, tar
from tests.server.conftest import MakeToken

ARCHIVE = "/MM/HB/bcsstk16.tar.gz"
LIMIT_S = 120.0

Fetch = Callable[..., dict[str, Any]]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download_module, "RETRY_S", 0.0)


@pytest.fixture
def site(app: FastAPI) -> Site:
    """What the application fetches from."""
    site = Site()
    serve_from(app, site)
    return site


@pytest.fixture
def fetch(app: FastAPI, site: Site, client: TestClient) -> Fetch:
    """`fetch("HB/bcsstk16")`: the matrix once it is ready or failed, and what waited for it is gone."""

    def fetch_(name: str, status: int = 202) -> dict[str, Any]:
        answer = client.post("/api/v1/matrices/fetch", json={"name": name})
        assert answer.status_code == status, answer.text
        address = f"/api/v1/matrices/{answer.json()['id']}"
        end = time.monotonic() + LIMIT_S
        while app.state.ingestor.number and time.monotonic() < end:
            client.get(address)
        document: dict[str, Any] = client.get(address).json()
        return document

    return fetch_


def test_a_matrix_comes_by_its_name_and_says_where_from(fetch: Fetch, site: Site, store: Store) -> None:
    matrix = fetch("HB/bcsstk16")
    assert (matrix["state"], matrix["name"], matrix["nnz"]) == ("ready", "bcsstk16", 3)
    assert store.load(matrix["id"]).to_scipy().toarray().tolist() == [[3.0, -1.5], [-1.5, 0.0]]
    content = site.files[ARCHIVE]
    source = matrix["source"]
    assert source.pop("fetched_at")[:2] == "20"
    assert source == {
        "kind": "collection",
        "name": "HB/bcsstk16",
        "address": ADDRESS + ARCHIVE,
        "sha256": sha256(content).hexdigest(),
        "bytes": len(content),
        "notes": [
            "Read from 'bcsstk16/bcsstk16.mtx' of the archive.",
            "The file has one triangle; the other was mirrored from it.",
        ],
        "duplicates": 0,
    }


def test_what_was_fetched_is_found_and_not_fetched_again(fetch: Fetch, site: Site, settings: Settings) -> None:
    matrix = fetch("HB/bcsstk16")
    assert fetch("HB/bcsstk16", 200)["id"] == matrix["id"]
    assert site.paths == [ARCHIVE]
    assert [path for path in (settings.home / "downloads").rglob("*") if path.is_file()] == []
    assert list((settings.home / "uploads").iterdir()) == []


def test_a_fetch_that_failed_is_begun_again_and_goes_on(fetch: Fetch, site: Site) -> None:
    site.cuts = [100, 0, 0]
    failed = fetch("HB/bcsstk16")
    assert failed["state"] == "failed"
    assert failed["error"]["detail"] == (
        "Cannot reach sparse.tamu.edu from this server: Connection reset by peer; upload the file instead."
    )
    again = fetch("HB/bcsstk16")
    assert (again["state"], again["id"], again["error"]) == ("ready", failed["id"], None)
    assert site.requests[-1].headers["range"] == "bytes=100-"
    assert again["source"]["sha256"] == sha256(site.files[ARCHIVE]).hexdigest()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (tar((entry("../bcsstk16.mtx"), MARKET)), "points outside the archive"),
        (tar((entry("/etc/bcsstk16.mtx"), MARKET)), "points outside the archive"),
        (tar((entry("m/m.mtx", type=b"2", linkname="/etc/passwd"), b"")), "is a link, a device or the like"),
        (tar((entry("m/m.mtx"), MARKET), (entry("n/n.mtx"), MARKET)), "holds two matrices"),
        (tar((entry("m/other.mtx"), MARKET)), "has no member Name/Name.mtx"),
        (b"<!DOCTYPE html><p>Moved", "This is a web page, not a matrix"),
        (packed("bcsstk16")[:-40], "ends too early"),
    ],
)
def test_a_hostile_archive_is_refused_and_nothing_of_it_is_left(
    fetch: Fetch, site: Site, settings: Settings, content: bytes, words: str
) -> None:
    site.files[ARCHIVE] = content
    matrix = fetch("HB/bcsstk16")
    assert matrix["state"] == "failed"
    assert words in matrix["error"]["detail"]
    assert list((settings.home / "uploads").iterdir()) == []
    assert [path for path in (settings.home / "downloads").rglob("*") if path.is_file()] == []


def test_no_more_is_fetched_than_such_a_matrix_can_have(
    fetch: Fetch, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetcher_module, "FREE_BYTES", 0)
    monkeypatch.setattr(fetcher_module, "PLACE_BYTES", 1)
    most = shipped().entries["HB/jgl011"]
    assert most.stored == 76
    site.files["/MM/HB/jgl011.tar.gz"] = b"x" * 99
    assert "larger than the limit of 98" in fetch("HB/jgl011")["error"]["detail"]


def test_the_first_name_that_the_wheel_does_not_know_has_the_list_fetched(
    fetch: Fetch, site: Site, client: TestClient, settings: Settings
) -> None:
    assert client.get("/api/v1/collection/index").json() == {
        "is_complete": False,
        "is_on": True,
        "count": len(shipped().entries),
        "address": None,
        "sha256": None,
        "fetched_at": None,
    }
    site.files["/MM/Toy/two.tar.gz"] = packed("two")
    assert fetch("Toy/two")["state"] == "ready"
    index = client.get("/api/v1/collection/index").json()
    assert (index["is_complete"], index["count"]) == (True, len(shipped().entries) + 2)
    assert (index["address"], index["sha256"]) == (f"{ADDRESS}/files/ssstats.csv", sha256(LIST).hexdigest())
    # It is kept, and asked for once.
    client.post("/api/v1/matrices/fetch", json={"name": "Toy/three"})
    assert site.paths.count("/files/ssstats.csv") == 1
    kept = Shelf(settings.home / "collection").index()
    assert kept.origin.sha256 == index["sha256"]
    assert kept.entries["Toy/wide"].kind == "toy graph"
    (settings.home / "collection" / "ssstats.csv").write_bytes(LIST.replace(b"two", b"too"))
    assert Shelf(settings.home / "collection").index() is shipped()


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        (
            "HB/bcstk16",
            404,
            "Unknown matrix 'HB/bcstk16' in the index of the collection. Did you mean HB/bcsstk16",
        ),
        (
            "bcsstk16",
            422,
            "Invalid matrix name 'bcsstk16': expected GROUP/NAME, such as HB/bcsstk16. Did you mean HB/",
        ),
        ("Boeing/bcsstk16", 404, "Did you mean HB/bcsstk16"),
        ("../../etc", 422, "Invalid matrix name"),
        ("HB/..", 422, "Invalid matrix name"),
        ("HB/bcsstk16/../x", 422, "Invalid matrix name"),
        ("http://127.0.0.1/x", 422, "Invalid matrix name"),
        ("HB/bcsstk\n16", 422, "Invalid matrix name"),
        ("x" * 10_000, 422, "Invalid matrix name"),
    ],
)
def test_an_unknown_name_is_refused_with_near_ones(
    site: Site, client: TestClient, name: str, status: int, words: str
) -> None:
    answer = client.post("/api/v1/matrices/fetch", json={"name": name})
    assert answer.status_code == status
    assert words in answer.json()["detail"]
    assert [path for path in site.paths if path.startswith("/MM")] == []
    assert client.get("/api/v1/matrices").json()["items"] == []


def test_a_server_that_reaches_nobody_says_so(site: Site, client: TestClient) -> None:
    site.cuts = [0] * 10
    for _ in range(2):
        answer = client.post("/api/v1/matrices/fetch", json={"name": "Toy/two"})
        assert (answer.status_code, answer.json()["detail"]) == (
            503,
            "Cannot reach sparse.tamu.edu from this server: Connection reset by peer; upload the file instead.",
        )
    # The second time within a minute nobody is asked.
    assert len(site.paths) == 2


@pytest.mark.parametrize("content", [b"", b"<html>", b"2\ndate\nHB,../x,1,1,1,1,0,0,0,1,1,x\nHB,a,1\n"])
def test_what_is_no_list_is_refused_and_not_kept(
    site: Site, client: TestClient, settings: Settings, content: bytes
) -> None:
    site.files["/files/ssstats.csv"] = content
    answer = client.post("/api/v1/collection/index")
    assert (answer.status_code, "is not the list of the collection" in answer.json()["detail"]) == (503, True)
    assert not (settings.home / "collection").exists()


def test_a_server_whose_operator_switched_it_off_fetches_nothing(client: TestClient) -> None:
    for path, body in (("/matrices/fetch", {"name": "HB/bcsstk16"}), ("/collection/index", None)):
        answer = client.post(f"/api/v1{path}", json=body)
        assert (answer.status_code, answer.json()["detail"]) == (
            409,
            "Downloads by name are switched off on this server; upload the file instead.",
        )
    assert client.get("/api/v1/collection/index").json()["is_on"] is False


def test_rows_of_the_list_are_read_by_position() -> None:
    rows = b"HB,a,3,3,5,1,0,1,1,1,0.5,problem of a kind\nHB,b,3,3,5,1,0,1,0,1,1,7,problem\n"
    rows += b"HB,c,3,4,5,0,0,0,0,1,1,other,8\n"
    a, b, c = parse_statistics(b"9\ndate\n" + rows + b"HB,d,x,3,5,1,0,1,1,1,1,problem\n,,\n")
    assert (a.id, a.rows, a.cols, a.nnz, a.entries, a.kind) == ("HB/a", 3, 3, 5, None, "problem of a kind")
    assert (a.real, a.binary, a.spd, a.symmetric) == (True, False, True, False)
    assert (b.entries, b.kind, b.symmetric, b.spd) == (7, "problem", True, False)
    assert (c.real, c.symmetric, c.stored) == (False, False, 8)


def test_the_index_of_the_wheel_agrees_with_the_recordings() -> None:
    from gpu_engine.recordings.files import RECORDED, read

    matrices = {
        m.source["name"]: m for path in RECORDED.rglob("*.json.gz") for m in read(path).matrices if "name" in m.source
    }
    assert len(matrices) > 30
    for name, matrix in matrices.items():
        found = shipped().entries[name]
        assert (found.rows, found.cols, found.entries) == (matrix.n_rows, matrix.n_cols, matrix.nnz), name
        assert found.nnz == matrix.nnz - matrix.features["explicit_zeros"], name
    assert all(ID.fullmatch(name) for name in shipped().entries)
    assert list(shipped().entries) == sorted(shipped().entries, key=str.lower)


def test_the_collection_is_listed_searched_and_paged(client: TestClient) -> None:
    def ids(**query: Any) -> list[str]:
        answer = client.get("/api/v1/collection", params=query)
        assert answer.status_code == 200, answer.text
        return [item["id"] for item in answer.json()["items"]]

    assert ids(q="bcsstk1") == ["HB/bcsstk16"]
    assert ids(where="spd and nnz > 2e5", sort="-nnz") == ["HB/bcsstk16", "UTEP/Dubcova1", "HB/bcsstk25"]
    assert ids(where="spd and nnz > 2e5", sort="nnz", limit=1) == ["HB/bcsstk25"]
    first = client.get("/api/v1/collection", params={"limit": 40, "sort": "nnz"}).json()
    rest = client.get("/api/v1/collection", params={"limit": 40, "sort": "nnz", "cursor": first["next"]}).json()
    every = [item["id"] for item in first["items"] + rest["items"]]
    assert sorted(every, key=str.lower) == list(shipped().entries)
    assert rest["next"] is None
    assert rest["items"][-1]["nnz"] is None
    for query in ({"where": "nnz("}, {"sort": "size"}, {"cursor": "x"}, {"cursor": first["next"]}):
        assert client.get("/api/v1/collection", params=query).status_code == 422


def test_a_deleted_matrix_is_fetched_no_further(
    site: Site, client: TestClient, database: Database, settings: Settings
) -> None:
    class Endless(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            while True:
                yield b"x"

    site.answers[ARCHIVE] = [lambda _: httpx.Response(200, headers={"ETag": '"1"'}, stream=Endless())]
    matrix_id = client.post("/api/v1/matrices/fetch", json={"name": "HB/bcsstk16"}).json()["id"]
    while not (settings.home / "downloads" / "HB").exists():
        assert client.get(f"/api/v1/matrices/{matrix_id}").json()["state"] == "ingesting"
    assert client.delete(f"/api/v1/matrices/{matrix_id}").status_code == 204
    end = time.monotonic() + LIMIT_S
    while client.app.state.ingestor.number and time.monotonic() < end:  # type: ignore[attr-defined]
        client.get("/healthz")
    assert client.app.state.ingestor.number == 0  # type: ignore[attr-defined]
    with database.read() as session:
        assert session.get(MatrixRow, matrix_id) is None


def test_a_fetch_that_the_service_ends_fails_and_keeps_its_part(
    app: FastAPI, site: Site, settings: Settings, database: Database
) -> None:
    taken, ended = threading.Event(), threading.Event()

    class Slow(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield b"x" * 1000
            taken.set()
            ended.wait(LIMIT_S)
            yield b"never"

    site.answers[ARCHIVE] = [lambda _: httpx.Response(200, headers={"ETag": '"1"'}, stream=Slow())]
    part = settings.home / "downloads" / "HB" / "bcsstk16.tar.gz.part"
    with TestClient(app, base_url=OWN_ADDRESS) as client:
        matrix_id = client.post("/api/v1/matrices/fetch", json={"name": "HB/bcsstk16"}).json()["id"]
        assert taken.wait(LIMIT_S)
        app.state.fetcher.stop()
        ended.set()
    with database.read() as session:
        row = session.get_one(MatrixRow, matrix_id)
        assert (row.state, row.error["detail"]) == (
            "failed",
            "The download was stopped. Start it again to resume.",
        )
    assert part.stat().st_size == 1000


def test_a_fetch_counts_as_an_upload_and_needs_the_role(
    app: FastAPI, site: Site, make_token: MakeToken, settings: Settings
) -> None:
    def post(token: str, name: str) -> httpx.Response:
        headers = {"authorization": f"Bearer {token}"}
        answer: httpx.Response = client.post("/api/v1/matrices/fetch", json={"name": name}, headers=headers)
        return answer

    reader, submitter = make_token(Role.READ), make_token(Role.SUBMIT, bytes_per_day=300_000)
    with TestClient(app, base_url=OWN_ADDRESS) as client:
        assert post(reader, "HB/bcsstk16").status_code == 403
        # About 1.2 MB, and about 0.3 kB.
        over = post(submitter, "HB/bcsstk16")
        assert (over.status_code, over.json()["code"]) == (429, "limit_reached")
        assert post(submitter, "HB/jgl011").status_code == 202
    assert ARCHIVE not in site.paths


def test_parts_that_nobody_went_on_with_are_removed(
    fetch: Fetch, site: Site, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    old: Path = settings.home / "downloads" / "Toy" / "old.tar.gz.part"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"x")
    fetch("HB/bcsstk16")
    assert old.exists()
    monkeypatch.setattr(fetcher_module, "KEPT_S", -10.0)
    site.files["/MM/HB/jgl011.tar.gz"] = packed("jgl011")
    fetch("HB/jgl011")
    assert not old.exists()


def test_only_so_many_wait(site: Site, client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetcher_module, "WAITING_MOST", 0)
    answer = client.post("/api/v1/matrices/fetch", json={"name": "HB/bcsstk16"})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "60")
