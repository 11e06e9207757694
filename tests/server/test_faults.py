"""Faults of the disk under a server: what its callers see, and that nothing of what was there is lost."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from fastapi.testclient import TestClient
from httpx import Response

from server import matrix_lifecycle
from server.main import create_app
from server.migrate import migrate
from server.settings import Settings
from server.store import Store
from tests.conftest import ADDRESS
from tests.server.test_matrices import GOOD, PATIENCE_S, until_settled, upload

FULL = "/dev/full"
"""A file on a disk without room: it opens, and takes no byte."""

NOBODY = 65534


@pytest.mark.parametrize("path", ["/api/v1/matrices", "/api/v1/matrices/preview", "/matrices"])
@pytest.mark.parametrize("size", [10, 10**6], ids=["small", "large"])
def test_a_disk_that_fills_up_under_an_upload_is_507_and_nothing_is_left(
    client: TestClient, settings: Settings, monkeypatch: pytest.MonkeyPatch, path: str, size: int
) -> None:
    @contextmanager
    def on_a_full_disk(dir: Path, delete: bool) -> Iterator[object]:  # noqa: A002
        (dir / "upload").symlink_to(FULL)
        with open(dir / "upload", "wb") as file:
            yield file

    monkeypatch.setattr("server.upload.tempfile", SimpleNamespace(NamedTemporaryFile=on_a_full_disk))
    answer = client.post(path, files={"file": ("a.mtx", b"%" * size)})
    assert answer.status_code == 507
    assert "disk is full" in answer.text
    assert list((settings.home / "uploads").iterdir()) == []
    assert client.get("/api/v1/matrices").json()["items"] == []


DIAGONAL = b"%%MatrixMarket matrix coordinate pattern general\n20000 20000 20000\n" + b"".join(
    b"%d %d\n" % (row, row) for row in range(1, 20001)
)
"""A matrix whose arrays are larger than what is written at once."""


@pytest.mark.parametrize(("call", "matrix"), [("upload", GOOD), ("upload", DIAGONAL), ("generate", b"")])
def test_a_disk_that_fills_up_under_a_matrix_is_told_and_the_next_try_goes_through(
    client: TestClient,
    settings: Settings,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    matrix: bytes,
) -> None:
    """In the process that reads: its arrays have no room."""
    monkeypatch.setattr(matrix_lifecycle, "ANSWER_S", PATIENCE_S)
    stage = Store.stage

    @contextmanager
    def full(store: Store) -> Iterator[Path]:
        with stage(store) as folder:
            (folder / "values.npy").symlink_to(FULL)
            yield folder

    def ask() -> tuple[int, str]:
        if call == "upload":
            answer = upload(client, matrix)
            return answer.status_code, answer.json().get("code", "")
        stencil = {"generator": "stencil", "points": 5, "nx": 4, "ny": 4}
        answer = client.post("/api/v1/matrices/generate", json=stencil)
        document = until_settled(client, answer.json()["id"])
        error = document["error"] or {"status": 201, "code": ""}
        return error["status"], error["code"]

    with monkeypatch.context() as patch:
        patch.setattr(Store, "stage", full)
        assert ask() == (507, "disk_full")
    assert list((settings.home / "uploads").iterdir()) == []
    assert store.ids() == set()
    assert ask()[0] == 201
    assert len(store.ids()) == 1


@pytest.fixture
def small_disk(migrated: Path) -> Iterator[Settings]:
    """The settings of a home on a disk of 8 MiB."""
    with tempfile.TemporaryDirectory() as folder:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m,mode=700", "none", folder], check=False)
        if mounted.returncode:
            pytest.skip("a disk of its own needs the right to mount")
        try:
            shutil.copy(migrated, Path(folder) / "sparsight.db")
            yield Settings(home=Path(folder), ingest_memory_bytes=4 * 2**30, collection_url="")
        finally:
            subprocess.run(["umount", "-l", folder], check=True)


def test_whatever_fills_the_disk_is_507(small_disk: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Uploads until nothing fits any more, then every call that writes."""
    monkeypatch.setattr(matrix_lifecycle, "ANSWER_S", PATIENCE_S)
    with TestClient(create_app(small_disk), base_url=ADDRESS) as client:
        answers = []
        for number in range(30):
            answers.append(upload(client, DIAGONAL.replace(b"\n", b"\n%% %d\n" % number, 1)))
            if answers[-1].status_code != 201:
                break
        assert {answer.status_code for answer in answers[:-1]} == {201}
        assert (answers[-1].status_code, answers[-1].json()["code"]) == (507, "disk_full")
        with contextlib.suppress(OSError), (small_disk.home / "ballast").open("wb", buffering=0) as ballast:
            while True:
                ballast.write(bytes(512))
        kept = answers[0].json()["id"]
        stencil = {"generator": "stencil", "points": 5, "nx": 4, "ny": 4}
        writes: dict[str, Callable[[], Response]] = {
            "upload": lambda: upload(client, GOOD),
            "preview": lambda: client.post("/api/v1/matrices/preview", files={"file": ("a.mtx", DIAGONAL)}),
            "generate": lambda: client.post("/api/v1/matrices/generate", json=stencil),
            "set": lambda: client.post("/api/v1/sets", json={"matrix_ids": [kept]}),
            "recording": lambda: client.post("/api/v1/recordings", files={"file": ("a.json", b" " * 2**20)}),
        }
        found = {name: write() for name, write in writes.items()}
        assert {name: (a.status_code, a.json()["code"]) for name, a in found.items()} == dict.fromkeys(
            writes, (507, "disk_full")
        )
        assert (
            client.get("/api/v1/matrices").status_code == client.get(f"/api/v1/matrices/{kept}/file").status_code == 200
        )
        (small_disk.home / "ballast").unlink()
        assert upload(client, GOOD).status_code == 201


@pytest.fixture
def shared() -> Iterator[Settings]:
    """The settings of a home into which every user may look."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        home = Path(folder) / "home"
        home.mkdir()
        migrate(f"sqlite:///{home / 'sparsight.db'}")
        yield Settings(home=home)


@contextmanager
def read_only(home: Path) -> Iterator[None]:
    """Nothing in the home can be written by this process."""
    paths = [home, *home.rglob("*")]
    for path in paths:
        path.chmod(0o555)
    if os.geteuid() == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if os.getuid() == 0:
            os.seteuid(0)
        for path in paths:
            path.chmod(0o755)


def test_a_home_that_can_no_longer_be_written_is_read_and_taken_up_again(shared: Settings) -> None:
    stencil = {"generator": "stencil", "points": 5, "nx": 4, "ny": 4}
    writes: dict[str, Callable[[], int]] = {
        "upload": lambda: upload(client, GOOD).status_code,
        "preview": lambda: client.post("/api/v1/matrices/preview", files={"file": ("a.mtx", GOOD)}).status_code,
        "generate": lambda: client.post("/api/v1/matrices/generate", json=stencil).status_code,
    }
    with TestClient(create_app(shared), base_url=ADDRESS) as client:
        with read_only(shared.home):
            found = {name: write() for name, write in writes.items()}
            assert found == dict.fromkeys(writes, 503)
            assert client.get("/healthz").status_code == 200
            assert client.get("/api/v1/matrices").json()["items"] == []
            assert client.get("/matrices").status_code == 200
        assert {name: write() for name, write in writes.items()} == {"upload": 201, "preview": 200, "generate": 202}
