"""JSON of Ginkgo's benchmark in the database: which known matrices it is of, and what of it is left."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from gpu_engine.errors import InputError, ParameterError
from gpu_engine.recordings import files as recordings
from gpu_engine.recordings.files import collected, generated, uploaded
from server import import_recordings
from server.db import Database
from server.models import UNREAD, EventRow, MatrixRow, MatrixState, RecordedResultsRow, RecordingRow
from tests.samples.ginkgo import NNZ, ROWS, file_of, newer, older, result
from tests.samples.recording import GRID
from tests.server.test_recordings import ALL, send

KNOWN = "f" * 64


def know(database: Database, source: dict[str, Any], fingerprint: str = KNOWN, nnz: int = NNZ) -> None:
    """A ready matrix from there."""
    sizes = {"n_rows": ROWS, "n_cols": ROWS, "nnz": nnz}
    said = {"name": "mine", "source": source, "features": {**sizes, "bandwidth": 7}, **sizes}
    keys = {"id": fingerprint[:8], "sha256": fingerprint, "fingerprint": fingerprint, "created_at": 1.0}
    with database.write() as session:
        session.add(MatrixRow(state=MatrixState.READY, **keys, **said))


def fingerprints(database: Database) -> list[str]:
    """What was recorded is of."""
    with database.read() as session:
        return list(session.scalars(select(RecordedResultsRow.fingerprint).order_by(RecordedResultsRow.id)))


def count(database: Database, table: Any) -> int:
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def test_a_matrix_that_nobody_has_read_is_recorded_without_a_fingerprint(either_database: Database) -> None:
    import_recordings.take(either_database, file_of(older()), "a100")
    import_recordings.take(either_database, file_of(older()), "v100")
    one, other = fingerprints(either_database)
    assert one == other
    assert (one.startswith(UNREAD), len(one)) == (True, 64)
    with either_database.read() as session:
        (row,) = session.scalars(select(MatrixRow)).all()
    assert (row.id, row.name, row.state) == (f"recorded-{one.removeprefix(UNREAD)[:16]}", "bcsstk99", "recorded")
    assert row.features["sigma"] == 5.0
    assert row.created_at > 0


@pytest.mark.parametrize("source", [collected("HB/bcsstk99"), uploaded("bcsstk99.mtx.gz")])
def test_a_matrix_is_the_known_one_of_its_name_and_sizes(either_database: Database, source: dict[str, Any]) -> None:
    know(either_database, source)
    import_recordings.take(either_database, file_of(older()), "a100")
    assert fingerprints(either_database) == [KNOWN]
    with either_database.read() as session:
        (recorded,) = session.scalars(select(MatrixRow).where(MatrixRow.state == MatrixState.RECORDED)).all()
    # It is the known one: what is known of that is known of it.
    assert (recorded.fingerprint, recorded.features["bandwidth"]) == (KNOWN, 7)


@pytest.mark.parametrize(
    ("source", "nnz"),
    [
        (collected("HB/bcsstk99"), NNZ + 1),
        (collected("Other/bcsstk99"), NNZ),
        (collected("HB/bcsstk98"), NNZ),
        (uploaded("mine.mtx"), NNZ),
        (generated("stencil", GRID), NNZ),
    ],
)
def test_a_matrix_of_another_name_or_size_and_a_generated_one_is_not(
    either_database: Database, source: dict[str, Any], nnz: int
) -> None:
    know(either_database, source, nnz=nnz)
    import_recordings.take(either_database, file_of(older()), "a100")
    assert fingerprints(either_database)[0].startswith(UNREAD)


def test_two_matrices_of_a_file_are_never_one_of_the_known(either_database: Database) -> None:
    know(either_database, collected("HB/bcsstk99"))
    import_recordings.take(
        either_database, file_of(older(), {**newer("bcsstk99.mtx"), "spmv": older()["spmv"]}), "a100"
    )
    one, other = fingerprints(either_database)
    assert (one, other.startswith(UNREAD)) == (KNOWN, True)


def test_the_same_file_finds_matrices_that_have_come_since(either_database: Database) -> None:
    assert import_recordings.take(either_database, file_of(older()), "a100")[1] is True
    events = count(either_database, EventRow)
    assert import_recordings.take(either_database, file_of(older()), "a100")[1] is False
    assert count(either_database, EventRow) == events
    know(either_database, collected("HB/bcsstk99"))
    assert import_recordings.take(either_database, file_of(older()), "a100")[1] is False
    assert fingerprints(either_database) == [KNOWN]
    import_recordings.delete(either_database, "a100/formats")
    assert (count(either_database, MatrixRow), count(either_database, RecordedResultsRow)) == (1, 0)


def test_a_device_that_nobody_names_is_called_as_the_file_says(either_database: Database) -> None:
    with pytest.raises(ParameterError, match="Give the device a name"):
        import_recordings.take(either_database, file_of(older()), "")
    said = {"dataset": {"system": "V100_SXM2", "executor": "cuda"}}
    assert import_recordings.take(either_database, file_of(older() | said), "")[0].id == "v100-sxm2/formats"
    named, _ = import_recordings.take(either_database, file_of(older() | said), "node7")
    assert (named.id, named.info["name"]) == ("node7/formats", "V100_SXM2 (recorded)")


def test_what_is_imported_is_a_device_that_says_what_it_does_not_know(client: TestClient) -> None:
    answer = send(client, file_of(older()), name="a100")
    said = {"id": "a100/formats", "device": "recorded:a100", "name": "a100 (recorded)", "study": "formats"}
    unknown = {"measured_at": None, "times": "assumed to be nanoseconds"}
    assert (answer.status_code, answer.json()) == (201, {**said, "imported": True, **unknown})
    assert send(client, file_of(older()), name="a100").status_code == 200
    (device,) = client.get("/api/v1/devices").json()["items"]
    assert (device["memory_bytes"], device["cache_bytes"], device["profile"]) == (None, None, None)
    (matrix,) = client.get("/api/v1/matrices", params={"recorded": "true"}).json()["items"]
    assert (matrix["name"], matrix["fingerprint"], matrix["nnz"]) == ("bcsstk99", None, NNZ)
    found = client.get(f"/api/v1/matrices/{matrix['id']}/recordings").json()
    assert {m["kernel"]: m["median_s"] for m in found["measurements"]}["ginkgo/csr"] == pytest.approx(20e-6)
    assert client.delete(f"{ALL}/a100/formats").status_code == 204
    assert client.get("/api/v1/devices").json()["items"] == []
    assert client.get(f"/api/v1/matrices/{matrix['id']}").status_code == 404


@pytest.mark.parametrize(
    ("data", "status", "words"),
    [
        (file_of(newer(), older()), 422, "The file has times in two units"),
        (file_of(newer(csr=result(-1.0))), 422, "The file, item 0, spmv.csr is completed, but its time is -1.0"),
        (file_of(newer(), {**newer("b.mtx"), "rows": 0}), 422, "The file, item 1: rows is '0'"),
        (file_of(newer(csr=result(float("nan")))), 422, "The file is not JSON: NaN is not a JSON number"),
        (file_of(newer()).replace(b"2e-05", b"1e999"), 422, "The file is not JSON: 1e999 is too large"),
        (file_of({**newer(), "rows": 2**63}), 422, "is too large"),
        (file_of(newer("a\0b.mtx")), 422, "The file is not JSON: a string contains the character U+0000"),
        (b"[" * 10**6, 422, "The file is not JSON"),
        (file_of(newer())[:-3], 422, "The file is not JSON"),
        (b"[" + b" " * recordings.BYTES_MAX, 413, "has 2000001 bytes"),
    ],
)
def test_a_file_is_taken_whole_or_not_at_all(
    client: TestClient, database: Database, data: bytes, status: int, words: str
) -> None:
    answer = send(client, data, name="a100")
    assert answer.status_code == status, answer.text
    assert words in answer.json()["detail"]
    assert [count(database, table) for table in (RecordingRow, RecordedResultsRow, MatrixRow)] == [0, 0, 0]


def test_a_file_that_is_refused_leaves_what_an_earlier_one_has_brought(either_database: Database) -> None:
    import_recordings.take(either_database, file_of(older()), "a100")
    with pytest.raises(InputError):
        import_recordings.take(either_database, file_of(older(), newer()), "a100")
    assert len(fingerprints(either_database)) == 1
