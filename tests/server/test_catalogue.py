import base64
from collections.abc import Iterator

import numpy as np
import pytest
import scipy.sparse

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import NotFoundError, ParameterError
from server.catalogue import NAME_MAX, SORTS, clean_name, get_matrix, list_matrices
from server.db import Database
from server.migrate import migrate
from server.models import MatrixRow
from server.paging import encode_cursor
from server.settings import Settings
from tests.conftest import AddMatrix
from tests.postgres import DATABASES, fresh


def rows_of(*lengths: int) -> CsrMatrix:
    """A matrix whose row i holds ones in its first lengths[i] columns."""
    dense = np.zeros((len(lengths), max(lengths)))
    for row, length in enumerate(lengths):
        dense[row, :length] = 1.0
    return CsrMatrix.from_scipy(scipy.sparse.csr_array(dense))


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest, settings: Settings) -> Iterator[Database]:
    url = settings.resolved_database_url
    if request.param == "postgres":
        url = fresh(request.getfixturevalue("postgres"))
        migrate(url)
    database = Database(url)
    yield database
    database.close()


@pytest.fixture
def three(add_matrix: AddMatrix) -> tuple[str, str, str]:
    """Oldest to newest; ave 2, 1 and 3, sigma 0, 0 and 2."""
    return (
        add_matrix(rows_of(2, 2), "Beta", "aa1"),
        add_matrix(rows_of(1, 1, 1), "alpha_1", "ab2"),
        add_matrix(rows_of(1, 5), "gamma 100%", "bc3"),
    )


def ids(database: Database, **query: object) -> list[str]:
    with database.read() as session:
        return [row.id for row in list_matrices(session, **query).items]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("created_at", ["aa1", "ab2", "bc3"]),
        ("-created_at", ["bc3", "ab2", "aa1"]),
        ("name", ["ab2", "aa1", "bc3"]),
        ("-name", ["bc3", "aa1", "ab2"]),
        ("n_rows", ["aa1", "bc3", "ab2"]),
        ("-nnz", ["bc3", "aa1", "ab2"]),
        ("ave", ["ab2", "aa1", "bc3"]),
        ("-sigma", ["bc3", "ab2", "aa1"]),
        ("-max", ["bc3", "aa1", "ab2"]),
    ],
)
def test_sorts_by_value_with_ties_by_id(
    database: Database, three: tuple[str, str, str], sort: str, expected: list[str]
) -> None:
    assert ids(database, sort=sort) == expected


@pytest.mark.parametrize("sort", [sign + name for name in SORTS for sign in ("", "-")])
def test_pages_of_one_are_the_whole_list(database: Database, three: tuple[str, str, str], sort: str) -> None:
    seen, cursor = [], None
    for _ in range(3):
        with database.read() as session:
            page = list_matrices(session, sort=sort, limit=1, cursor=cursor)
        seen += [row.id for row in page.items]
        cursor = page.next
    assert cursor is None
    assert seen == ids(database, sort=sort)


def test_a_page_is_right_while_rows_come_and_go(
    database: Database, three: tuple[str, str, str], add_matrix: AddMatrix
) -> None:
    with database.read() as session:
        cursor = list_matrices(session, limit=2).next
    with database.write() as session:
        session.delete(get_matrix(session, "bc3"))
    add_matrix(rows_of(1), "new", "dd4")
    assert ids(database, limit=2, cursor=cursor) == ["aa1"]


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("", ["bc3", "ab2", "aa1"]),
        ("BETA", ["aa1"]),
        ("a", ["bc3", "ab2", "aa1"]),
        ("%", ["bc3"]),
        ("_", ["ab2"]),
        ("  ", ["bc3", "ab2", "aa1"]),
        ("ab", ["ab2"]),
        ("' OR 1=1 --", []),
        ("\0\ud800", ["bc3", "ab2", "aa1"]),
    ],
)
def test_search_takes_the_text_literally(
    database: Database, three: tuple[str, str, str], q: str, expected: list[str]
) -> None:
    assert ids(database, q=q) == expected


def test_search_by_the_beginning_of_the_fingerprint(database: Database, three: tuple[str, str, str]) -> None:
    with database.read() as session:
        fingerprint = get_matrix(session, "ab2").fingerprint
    assert ids(database, q=fingerprint[:20]) == ["ab2"]
    assert ids(database, q=fingerprint[1:20]) == []


def test_recorded_matrices_are_listed_when_they_are_asked_for(database: Database, three: tuple[str, str, str]) -> None:
    with database.write() as session:
        session.add(MatrixRow(id="aa9", name="beta", state="recorded", sha256="f" * 64, created_at=0.0))
    assert ids(database, sort="name") == ["ab2", "aa1", "bc3"]
    assert ids(database, sort="name", recorded=True) == ["ab2", "aa1", "aa9", "bc3"]
    assert ids(database, q="aa") == ["aa1"]
    assert ids(database, q="aa", sort="name", recorded=True) == ["aa1", "aa9"]


def test_matrices_without_features_come_first(database: Database, three: tuple[str, str, str]) -> None:
    with database.write() as session:
        session.add(MatrixRow(id="e5", name="half", state="ingesting", sha256="f" * 64, created_at=0.0))
    assert ids(database, sort="ave")[0] == "e5"
    assert ids(database, sort="-ave")[-1] == "e5"


@pytest.mark.parametrize("sort", ["", "-", "--nnz", "sha256", "name; DROP TABLE matrices"])
def test_an_unknown_sort_names_the_known(database: Database, sort: str) -> None:
    with pytest.raises(ParameterError, match="Use one of created_at, name"):
        ids(database, sort=sort)


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "é",
        "AAAA",
        encode_cursor("-created_at", 1.0),
        encode_cursor("name", "a", "m1"),
        encode_cursor("-created_at", "text", "m1"),
        encode_cursor("-created_at", float("nan"), "m1"),
        encode_cursor("-created_at", float("inf"), "m1"),
        encode_cursor("-created_at", 10**400, "m1"),
        encode_cursor("-created_at", 10**20, "m1"),
        encode_cursor("-created_at", 1.0, "\0"),
        encode_cursor("-created_at", 1.0, 7),
        encode_cursor("-created_at", True, "m1"),
        base64.urlsafe_b64encode(b"[" * 100_000).decode(),
    ],
)
def test_a_foreign_cursor_is_refused(database: Database, cursor: str) -> None:
    with pytest.raises(ParameterError, match="Invalid cursor"):
        ids(database, cursor=cursor)


def test_a_cursor_by_name_is_text_that_a_database_takes(database: Database) -> None:
    for key in (1.0, "a\0", "\ud800"):
        with pytest.raises(ParameterError):
            ids(database, sort="name", cursor=encode_cursor("name", key, "m1"))


@pytest.mark.parametrize("matrix_id", ["", "m1", "\0", "\ud800", "../m1", "x" * 10_000])
def test_a_matrix_that_is_not_there(database: Database, matrix_id: str) -> None:
    with database.read() as session, pytest.raises(NotFoundError, match="Unknown matrix") as caught:
        get_matrix(session, matrix_id)
    assert len(caught.value.message) < 200


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("cnr-2000.mtx.gz", "cnr-2000.mtx.gz"),
        ("  a \t\r\n b  ", "a b"),
        ("a\0b\x1b[31m\u202e", "a b [31m"),
        ("\ud800x", "x"),
        ("x" * 300, "x" * NAME_MAX),
        ("<script>", "<script>"),
    ],
)
def test_names_are_printable_and_short(given: str, stored: str) -> None:
    assert clean_name(given) == stored
