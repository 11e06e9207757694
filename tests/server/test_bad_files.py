"""What a person may upload by mistake or on purpose: each gets a sentence, nothing stays, the service goes on."""

import bz2
import gzip
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from server import matrix_lifecycle
from server.db import Database
from server.models import MatrixRow
from server.settings import Settings
from server.store import INCOMING, Store
from tests.conftest import ADDRESS
from tests.gpu_engine import matrix_files as files
from tests.gpu_engine.hostile import BAD as REFUSED
from tests.gpu_engine.hostile import LARGE
from tests.server.test_matrices import GOOD, PATIENCE_S, upload

HEADER = "%%MatrixMarket matrix coordinate real general\n"
HTML = "<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head><body>Not Found</body></html>\n"


def entries(*lines: str, size: str = "3 3 2", banner: str = HEADER) -> bytes:
    return (banner + size + "\n" + "".join(line + "\n" for line in lines)).encode()


SYMMETRIC = HEADER.replace("general", "symmetric")
INTEGER = HEADER.replace("real", "integer")

#: name → (content, or what makes a large one; status; line that must be named or None)
BAD: dict[str, tuple[bytes | Callable[[], bytes], int, int | None]] = {
    "empty": (b"", 422, None),
    "truncated": (entries("1 1 1.0"), 422, None),
    "cut within a line": (entries("1 1 1.0", "2 2")[:-1], 422, 4),
    "cut within gzip": (gzip.compress(GOOD * 1000)[:-20], 422, None),
    "header lies by 10^12": (entries("1 1 1.0", size="3 3 1000000000000"), 422, 2),
    "nnz of 10^8 and one entry": (entries("1 1 1.0", size="3 3 100000000"), 422, 2),
    "rows of 10^12": (entries("1 1 1.0", size="1000000000000 3 1"), 413, None),
    "two billion rows of 69 bytes": (entries("1 1 1.0", size="2000000000 3 1"), 413, None),
    "NUL": (entries("1 1 1.0\0", "2 2 1.0"), 422, 3),
    "comma": (entries("1 1 1,5", "2 2 1.0"), 422, 3),
    "hexadecimal": (entries("1 1 0x1p3", "2 2 1.0"), 422, 3),
    "fraction in an integer file": (entries("1 1 9.7", "2 2 1", banner=INTEGER), 422, 3),
    "NaN": (entries("1 1 nan", "2 2 1.0"), 422, 3),
    "infinity": (entries("1 1 1.0", "2 2 -inf"), 422, 4),
    "overflow": (entries("1 1 1e400", "2 2 1.0"), 422, 3),
    "underflow": (entries("1 1 1e-400", "2 2 1.0"), 422, 3),
    "index 0": (entries("0 1 1.0", "2 2 1.0"), 422, 3),
    "negative index": (entries("1 1 1.0", "-2 2 1.0"), 422, 4),
    "index out of range": (entries("1 1 1.0", "4 2 1.0"), 422, 4),
    "index of 2^64 + 1": (entries("18446744073709551617 1 1.0", "2 2 1.0"), 422, 3),
    "extra columns": (entries("1 1 1.0 7.0 junk", "2 2 1.0"), 422, 3),
    "too many entries": (entries("1 1 1.0", "2 2 1.0", "3 3 1.0"), 422, 5),
    "symmetric, not square": (entries("1 1 1.0", "2 1 1.0", size="3 5 2", banner=SYMMETRIC), 422, 2),
    "symmetric, both triangles": (entries("2 1 1.0", "1 2 1.0", banner=SYMMETRIC), 422, None),
    "complex": (entries("1 1 1.0 0.0", "2 2 1.0 0", banner=HEADER.replace("real", "complex")), 422, 1),
    "HTML": (HTML.encode(), 422, 1),
    "PNG": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40, 422, None),
    "gzip bomb": (LARGE["gzip of 2 GB"], 413, None),
    "gzip in gzip": (gzip.compress(gzip.compress(GOOD)), 422, None),
    "archive with ../": (REFUSED["archive: a name with ../"][0], 422, None),
    "archive with a symbolic link": (REFUSED["archive: a symbolic link"][0], 422, None),
    "archive of 300,000 members": (LARGE["an archive of 300,000 empty members"], 413, None),
    "fault in an archived matrix": (files.suitesparse(content=entries("1 1 1.0", "9 2 1.0")), 422, 4),
    "bzip2 bomb": (lambda: bz2.compress(HEADER.encode() + b"\n" * 2**28), 413, None),
    "npz with a pickle": (REFUSED["npz: a pickle as data"][0], 422, None),
    "npz with a broken indptr": (REFUSED["npz: indptr ends at -1"][0], 422, None),
    "npz bomb": (lambda: files.npz(data=np.zeros(2**25)), 413, None),
    "mat of version 7.3": (REFUSED["mat: version 7.3"][0], 422, None),
    "mat with an unknown type": (REFUSED["mat: values of type 2^16 - 1"][0], 422, None),
    "mat bomb": (lambda: files.packed_mat(files.sparse_element(values=files.element(9, bytes(2**28)))), 413, None),
    "Harwell-Boeing of complex numbers": (REFUSED["Harwell-Boeing: complex"][0], 422, 3),
    "a line of 1 MB": (HEADER.encode() + b"3" * 2**20, 413, None),
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, migrated: Path) -> Iterator[FastAPI]:
    """One application for all files: each leaves it as it was."""
    from server.main import create_app

    home = tmp_path_factory.mktemp("home")
    (home / "sparsight.db").write_bytes(migrated.read_bytes())
    patch = pytest.MonkeyPatch()
    patch.setattr(matrix_lifecycle, "ANSWER_S", PATIENCE_S)
    app = create_app(Settings(home=home, ingest_memory_bytes=4 * 2**30))
    with TestClient(app, base_url=ADDRESS):
        yield app
    patch.undo()


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_gets_a_sentence_and_leaves_nothing(service: FastAPI, name: str) -> None:
    content, status, line = BAD[name]
    client = TestClient(service, base_url=ADDRESS)
    answer = upload(client, content() if callable(content) else content, "bad.mtx")
    problem = answer.json()
    assert (answer.status_code, problem["status"]) == (status, status), problem
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["code"] in ("invalid_matrix_file", "too_large")
    assert problem.get("line") == line if line is not None else True, problem
    assert problem["detail"].endswith((".", "?", "!"))
    assert 20 < len(problem["detail"]) < 600
    assert str(service.state.settings.home) not in answer.text
    assert_nothing_is_left(service)


def assert_nothing_is_left(app: FastAPI) -> None:
    database: Database = app.state.database
    store: Store = app.state.store
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(MatrixRow)) == 0
    assert store.ids() == set()
    assert list((Path(store.root) / INCOMING).iterdir()) == []
    assert list(app.state.ingestor.uploads.iterdir()) == []


GOOD_DENSE = [[2.0, 0.0], [0.0, 4.0], [1.0, 0.0]]
READ_RIGHT = {
    "no newline at the end": GOOD[:-1],
    "a space and no newline at the end": GOOD[:-1] + b" ",
    "a tab and no newline at the end": GOOD[:-1] + b"\t",
    "CRLF": GOOD.replace(b"\n", b"\r\n"),
    "gzip": gzip.compress(GOOD),
    "bzip2": bz2.compress(GOOD),
    "archive": files.suitesparse(content=GOOD),
    "npz": files.saved(scipy.sparse.save_npz, scipy.sparse.csc_array(GOOD_DENSE)),
    "mat": files.saved(scipy.io.savemat, {"A": scipy.sparse.csc_array(GOOD_DENSE)}, do_compression=True),
    "Harwell-Boeing": files.written_harwell_boeing(GOOD_DENSE),
}


@pytest.mark.parametrize("name", READ_RIGHT)
def test_after_all_that_a_good_file_is_read(service: FastAPI, name: str) -> None:
    client = TestClient(service, base_url=ADDRESS)
    document = upload(client, READ_RIGHT[name]).json()
    dense = service.state.store.load(document["id"]).to_scipy().toarray().tolist()
    assert client.delete(f"/api/v1/matrices/{document['id']}").status_code == 204
    assert dense == GOOD_DENSE


def test_a_fortran_exponent_is_read_right_or_refused(service: FastAPI) -> None:
    client = TestClient(service, base_url=ADDRESS)
    answer = upload(client, GOOD.replace(b"4.0", b"1.5D+02"))
    if answer.status_code == 201:
        document = answer.json()
        assert service.state.store.load(document["id"]).values.tolist() == [2.0, 150.0, 1.0]
        client.delete(f"/api/v1/matrices/{document['id']}")
    else:
        assert (answer.status_code, answer.json()["line"]) == (422, 4)
    assert_nothing_is_left(service)
