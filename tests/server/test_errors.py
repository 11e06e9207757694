import errno
import sqlite3
from http.client import responses

import pytest
from fastapi import FastAPI, HTTPException
from fastapi.testclient import TestClient
from psycopg.errors import DiskFull
from sqlalchemy.exc import DataError, OperationalError

from gpu_engine import errors
from gpu_engine.errors import MatrixFileError, SparsightError
from gpu_engine.text import units
from server.errors import STATUS, TITLES, install_error_handlers, problem, status_of, title_of


def sqlite_error(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError("secret")
    error.sqlite_errorcode = code
    return error


def answer_to(error: Exception) -> tuple[int, str, dict[str, object]]:
    """Status, media type and document that a route gets by raising the error."""
    app = FastAPI()
    install_error_handlers(app)

    @app.get("/")
    def fail() -> None:
        raise error

    answer = TestClient(app, raise_server_exceptions=False).get("/")
    return answer.status_code, answer.headers["content-type"], answer.json()


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (errors.ParameterError("x"), 422, "invalid_parameter"),
        (errors.UnknownDeviceError("x"), 422, "unknown_device"),
        (errors.TooLargeError("x"), 413, "too_large"),
        (errors.NotFoundError("x"), 404, "not_found"),
        (errors.ConflictError("x"), 409, "conflict"),
        (errors.UnavailableError("x"), 503, "unavailable"),
        (errors.DeviceLostError("x"), 500, "device_lost"),
        ("\ud800".encode, 422, "invalid_request"),
        (OverflowError("int too large"), 422, "invalid_request"),
        (DataError("statement", {}, ValueError("NUL")), 422, "invalid_request"),
        (OperationalError("statement", {}, ValueError("locked")), 503, "unavailable"),
        (OSError(errno.ENOSPC, "No space left on device: /home/secret"), 507, "disk_full"),
        (OSError(errno.EDQUOT, "Disk quota exceeded: /home/secret"), 507, "disk_full"),
        (OperationalError("statement", {}, sqlite_error(sqlite3.SQLITE_FULL)), 507, "disk_full"),
        (OperationalError("statement", {}, sqlite_error(sqlite3.SQLITE_BUSY)), 503, "unavailable"),
        (OperationalError("statement", {}, DiskFull("secret")), 507, "disk_full"),
        (errors.DiskFullError(), 507, "disk_full"),
        (OSError(errno.EROFS, "Read-only file system: /home/secret"), 503, "unavailable"),
        (OSError(errno.EIO, "secret"), 500, "internal"),
        (ValueError("the secret path /home/x"), 500, "internal"),
    ],
)
def test_every_error_has_its_status_and_code(error: object, status: int, code: str) -> None:
    if callable(error):
        with pytest.raises(UnicodeEncodeError) as caught:
            error()
        error = caught.value
    assert isinstance(error, Exception)
    found, media_type, document = answer_to(error)
    assert (found, document["status"], document["code"]) == (status, status, code)
    assert media_type == "application/problem+json"
    assert "secret" not in str(document)


def test_no_character_of_an_error_is_left_out_by_a_terminal() -> None:
    text = f"{units.count(500_000_000)} of {units.size(16e9)}, {units.duration(70)}"
    assert errors.TooLargeError(text).message == "500,000,000 of 16.0 GB, 1 min 10 s"
    assert problem(413, "too_large", text)["detail"] == "500,000,000 of 16.0 GB, 1 min 10 s"


def test_a_file_error_names_the_line() -> None:
    assert answer_to(MatrixFileError("Bad entry.", 7))[2] == {
        "type": "about:blank",
        "title": "Unprocessable Content",
        "status": 422,
        "code": "invalid_matrix_file",
        "detail": "Line 7: Bad entry.",
        "line": 7,
    }


def test_every_class_of_the_tree_has_a_status() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, SparsightError)]
    assert {kind.__name__: status_of(kind("x")) for kind in kinds}["TooLargeError"] == 413


@pytest.mark.parametrize(
    ("body", "kind", "sentence"),
    [
        (
            b"{",
            "application/json",
            "The body is not valid JSON: Expecting property name enclosed in double quotes at character 1.",
        ),
        (
            b"study=formats",
            "application/x-www-form-urlencoded",
            "The body is not JSON. Send JSON with `Content-",
        ),
        (b'{"matrix_ids": 7}', "application/json", "study: Field required; matrix_ids: Input should be a valid list"),
    ],
)
def test_a_body_that_cannot_be_read_is_told_why(client: TestClient, body: bytes, kind: str, sentence: str) -> None:
    answer = client.post("/api/v1/jobs", content=body, headers={"content-type": kind})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    assert answer.json()["detail"].startswith(sentence)


@pytest.mark.parametrize("status", [401, 404, 409, 413, 414, 416, 418, 422, 429, 499, 500, 507])
def test_titles_and_codes_do_not_hang_on_the_phrases_of_python(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    before = answer_to(HTTPException(status))[2]
    monkeypatch.setitem(responses, status, "Other words")
    assert answer_to(HTTPException(status))[2] == before
    assert before["title"] == title_of(status)
    assert before["detail"] == "Not found: '/'. See /reference for all API calls."


def test_every_status_of_ours_has_a_title() -> None:
    assert {status for _, status in STATUS} <= TITLES.keys()
