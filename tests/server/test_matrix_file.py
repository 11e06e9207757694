"""A matrix as one file, from the service to SciPy."""

import io

import numpy as np
import pytest
from fastapi.testclient import TestClient
from scipy import sparse

from server import matrix_file
from server.db import Database
from server.models import MatrixRow, MatrixState
from server.store import Store
from tests.battery import BATTERY
from tests.conftest import AddMatrix


@pytest.mark.parametrize("name", ["power_law", "all_rows_empty", "one_dense_row"])
@pytest.mark.parametrize("block", [211, 2**20])
def test_scipy_reads_the_file(
    client: TestClient, add_matrix: AddMatrix, monkeypatch: pytest.MonkeyPatch, name: str, block: int
) -> None:
    monkeypatch.setattr(matrix_file, "BLOCK", block)
    matrix = BATTERY[name]()
    answer = client.get(f"/api/v1/matrices/{add_matrix(matrix, 'a b/é')}/file")
    assert answer.headers["content-disposition"] == 'attachment; filename="a-b.npz"'
    read, expected = sparse.load_npz(io.BytesIO(answer.content)), matrix.to_scipy()
    assert (read.format, read.shape) == ("csr", expected.shape)
    for part in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(read, part), getattr(expected, part))


def test_what_has_no_values_is_no_file(client: TestClient, database: Database, add_matrix: AddMatrix) -> None:
    matrix_id = add_matrix(BATTERY["identity"]())
    with database.write() as session:
        row = session.get(MatrixRow, matrix_id)
        assert row
        row.state = MatrixState.RECORDED
    assert client.get(f"/api/v1/matrices/{matrix_id}/file").json()["code"] == "conflict"
    assert client.get("/api/v1/matrices/none/file").json()["code"] == "not_found"


def test_a_matrix_that_is_deleted_on_the_way_is_sent_to_its_end(
    store: Store, add_matrix: AddMatrix, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix_file, "BLOCK", 7)
    matrix = BATTERY["power_law"]()
    matrix_id = add_matrix(matrix)
    blocks = matrix_file.npz_blocks(store, matrix_id)
    sent = next(blocks)
    store.delete(matrix_id)
    read = sparse.load_npz(io.BytesIO(sent + b"".join(blocks)))
    assert np.array_equal(read.toarray(), matrix.to_scipy().toarray())


def test_a_matrix_that_is_deleted_before_is_not_begun(
    client: TestClient, store: Store, add_matrix: AddMatrix, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever of it is gone by then."""
    matrix_id = add_matrix(BATTERY["power_law"]())
    for name in ("values.npy", "meta.json"):
        store.fs.rm(f"{store.root}/{matrix_id}/{name}")
        answer = client.get(f"/api/v1/matrices/{matrix_id}/file")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert [record for record in caplog.records if record.exc_info] == []
