"""No junk makes a 500: the client of these tests raises whatever would become one."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from gpu_engine.text import units
from server.body_limit import BODY_BYTES
from server.main import create_app
from server.settings import Settings
from tests.conftest import ADDRESS

VALUES = [
    "nan",
    "-inf",
    "1e999",
    "9" * 400,
    "-1",
    "0",
    "",
    "%00",
    "%ed%a0%80",
    "%ff",
    "..%2f..",
    "'; --",
    "[]",
    "{}",
    "a" * 5000,
    base64.urlsafe_b64encode(b"[" * 5000).decode(),
]
FIELDS = ("generator", "study", "device", "name")
BODIES = {
    "nothing": b"",
    "not JSON": b"{",
    "NaN": b'{"generator": NaN, "study": NaN, "nx": Infinity}',
    "huge integer": b'{"generator": "stencil", "study": "formats", "nx": ' + b"9" * 4000 + b"}",
    "huger integer": b'{"generator": "stencil", "study": "formats", "nx": ' + b"9" * 100_000 + b"}",
    "huge exponent": b'{"generator": "rmat", "study": "formats", "scale": 1e999}',
    "half a surrogate pair": json.dumps(dict.fromkeys(FIELDS, "\ud800") | {"matrix_ids": ["\ud800"]}).encode(),
    "half a surrogate pair as key": b'{"generator": "stencil", "study": "formats", "\\ud800": 1, "matrix_ids": ["m1"]}',
    "half a surrogate pair in params": b'{"study": "formats", "matrix_ids": ["m1"], "params": {"\\ud800": "\\ud800"}}',
    "NUL": json.dumps(dict.fromkeys(FIELDS, "\0") | {"matrix_ids": ["\0"]}).encode(),
    "deep": b'{"generator": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep params": b'{"study": "formats", "matrix_ids": ["m1"], "params": ' + b'{"a":' * 400 + b"1" + b"}" * 401,
    "list": b"[1, 2]",
    "text": b'"x"',
    "null": b"null",
    "wrong types": b'{"generator": [], "study": {}, "matrix_ids": 7, "params": [], "device": null, "name": 1.5}',
    "bytes": bytes(range(256)),
}
TYPES = [
    "application/json",
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=b",
    "\xff",
    "",
]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, migrated: Any) -> Iterator[TestClient]:
    home = tmp_path_factory.mktemp("home")
    (home / "sparsight.db").write_bytes(migrated.read_bytes())
    with TestClient(create_app(Settings(home=home)), base_url=ADDRESS) as client:
        yield client


def routes(client: TestClient) -> list[tuple[str, str, dict[str, Any]]]:
    """(method, path, operation) of everything that the API documents, event streams aside."""
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    return [
        (method, path, operation)
        for path, methods in paths.items()
        for method, operation in methods.items()
        if not path.endswith("/events")
    ]


def check(answer: Any, *context: object) -> None:
    assert answer.status_code < 500 or answer.status_code == 503, (context, answer.text)
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json", (context, answer.text)
        problem = json.loads(answer.text, parse_constant=lambda name: pytest.fail(f"{context}: {name}"))
        assert problem["status"] == answer.status_code
        assert len(answer.text) < 4000, context


@pytest.mark.parametrize("value", VALUES)
def test_junk_in_paths_and_queries(client: TestClient, value: str) -> None:
    for method, path, operation in routes(client):
        names = [p["name"] for p in operation.get("parameters", []) if p["in"] == "query"] + ["nope"]
        place = path.replace("{", "").replace("}", "") if "{" not in path else path[: path.index("{")] + (value or "x")
        check(client.request(method, place), method, place)
        for name in names:
            check(client.request(method, f"{place}?{name}={value}"), method, place, name)
            check(client.request(method, f"{place}?{name}={value}&{name}={value}"), method, place, name)


@pytest.mark.parametrize("body", BODIES)
def test_junk_in_bodies(client: TestClient, body: str) -> None:
    for method, path, _ in routes(client):
        for kind in TYPES:
            headers = [(b"content-type", kind.encode("latin-1"))] if kind else []
            place = path.replace("{", "").replace("}", "")
            answer = client.request(method, place, content=BODIES[body], headers=headers)
            check(answer, method, path, kind)


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "HEAD", "BREW"])
def test_methods_that_are_not_there(client: TestClient, method: str) -> None:
    for _, path, _ in routes(client):
        answer = client.request(method, path)
        assert answer.status_code < 500 or answer.status_code == 503, (method, path)


def test_a_body_over_the_limit_is_cut_off(client: TestClient) -> None:
    def endless() -> Iterator[bytes]:
        sent = 0
        while sent < 64 * BODY_BYTES:
            yield b" " * 2**16
            sent += 2**16

    answer = client.post("/api/v1/jobs", content=endless(), headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert units.size(BODY_BYTES).replace(units.THIN, " ") in answer.json()["detail"]


@pytest.mark.parametrize("length", [str(BODY_BYTES + 1), "9" * 50])
def test_a_length_over_the_limit_is_refused_before_the_body(client: TestClient, length: str) -> None:
    headers = {"content-type": "application/json", "content-length": length}
    answer = client.post("/api/v1/jobs", content=b"", headers=headers)
    assert (answer.status_code, answer.json()["code"], answer.headers["connection"]) == (413, "too_large", "close")


def test_an_upload_over_the_limit_leaves_nothing(settings: Settings) -> None:
    def upload(sent: int) -> Iterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
        for _ in range(sent):
            yield b"x" * 1000
        yield b"\r\n--b--\r\n"

    headers = {"content-type": "multipart/form-data; boundary=b"}
    with TestClient(create_app(settings.model_copy(update={"upload_bytes": 10_000})), base_url=ADDRESS) as client:
        over = client.post("/api/v1/matrices", content=upload(11), headers=headers)
        within = client.post("/api/v1/matrices", content=upload(5), headers=headers)
    assert (over.status_code, over.json()["code"]) == (413, "too_large")
    assert within.status_code in (422, 202)
    assert list((settings.home / "uploads").iterdir()) == []
