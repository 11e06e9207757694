import logging
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from pydantic import ValidationError
from sqlalchemy import make_url

from gpu_engine.errors import InputError
from server import access, guard
from server.guard import HEADERS, OPEN_PATHS, check_access, is_open
from server.main import create_app
from server.roles import every_route
from server.settings import Settings
from sparsight import serve as serving
from tests.conftest import ADDRESS

TOKEN = "correct horse"
CALL = {"generator": "nope"}
GENERATE = "/api/v1/matrices/generate"


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:8000", "localhost:8000", "LOCALHOST", "[::1]:8000", "192.168.1.7", "lab.example:80", "lab.example"],
)
def test_known_names_and_addresses_are_served(settings: Settings, host: str) -> None:
    app = create_app(settings.model_copy(update={"hosts": "other.example, lab.example"}))
    with closing(app.state.database):
        assert TestClient(app, base_url=ADDRESS).get("/healthz", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "evil.example:8000",
        "[::1",
        "",
        "127.0.0.1.nip.io",
        "evil.example@127.0.0.1",
        "127.0.0.1/../",
        "127.0.0.1:port",
        "127.0.0.1\t",
    ],
)
def test_a_name_that_is_not_ours_is_refused(client: TestClient, host: str) -> None:
    answer = client.get("/healthz", headers={"host": host})
    assert (answer.status_code, answer.json()["code"]) == (400, "unknown_host")


def test_two_host_names_are_none(client: TestClient) -> None:
    answer = client.get("/healthz", headers=[("host", "127.0.0.1"), ("host", "127.0.0.1")])
    assert (answer.status_code, answer.json()["code"]) == (400, "unknown_host")


@pytest.mark.parametrize(
    ("headers", "foreign"),
    [
        ({}, False),
        ({"sec-fetch-site": "same-origin"}, False),
        ({"sec-fetch-site": "none"}, False),
        ({"sec-fetch-site": "same-site"}, True),
        ({"sec-fetch-site": "cross-site"}, True),
        ({"sec-fetch-site": "cross-site", "origin": ADDRESS}, True),
        ({"origin": ADDRESS}, False),
        ({"origin": "http://127.0.0.1:9000"}, True),
        ({"origin": "https://evil.example"}, True),
        ({"origin": "null"}, True),
        ({"origin": "http://["}, True),
        ({"sec-fetch-site": "cross-site", "authorization": "Bearer x"}, True),
    ],
)
@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_calls_from_pages_of_other_sites_are_refused(
    client: TestClient, method: str, headers: dict[str, str], foreign: bool
) -> None:
    path = GENERATE if method == "POST" else "/api/v1/matrices/m1"
    answer = client.request(method, path, headers=headers, json=CALL if method == "POST" else None)
    assert (answer.status_code == 403) == foreign
    assert client.get("/healthz", headers=headers).status_code == 200


def test_a_head_that_is_too_long_is_refused_however_it_comes(client: TestClient) -> None:
    for headers, path in (({"cookie": "a" * 65536}, "/healthz"), ({"cookie": "a" * 6000}, f"/healthz?{'a' * 60000}")):
        answer = client.get(path, headers=headers)
        assert (answer.status_code, answer.headers["connection"]) == (431, "close")
        assert answer.json()["code"] == "request_header_fields_too_large"
    many = [(f"x-{number}", "") for number in range(9000)]
    assert client.get("/healthz", headers=many).status_code == 431
    assert client.get("/healthz", headers={"cookie": "a" * 60000}).status_code == 200


def test_a_request_with_two_lengths_is_refused_and_the_connection_closed(client: TestClient) -> None:
    headers = {"content-length": "2", "transfer-encoding": "chunked", "content-type": "application/json"}
    answer = client.post(GENERATE, headers=headers, content=b"{}")
    assert (answer.status_code, answer.headers["connection"]) == (400, "close")


def test_every_answer_carries_the_headers(client: TestClient) -> None:
    for path in ("/healthz", "/nope", "/api/v1/matrices", "/api/v1/matrices?nope=1"):
        answer = client.get(path)
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert client.get("/healthz", headers={"host": "evil.example"}).headers["x-frame-options"] == "DENY"


def calls(app: FastAPI) -> Iterator[tuple[str, str]]:
    """Every (method, path) that the application answers, with a made-up value for each parameter of the path."""
    for route in every_route(app.routes):
        # A mount or a WebSocket has no methods: whoever adds the first one says here how it is guarded.
        for method in route.methods:
            yield method, re.sub(r"\{[^}]*\}", "x", route.path)


STRANGERS: dict[str, tuple[dict[str, str], int]] = {
    "no token": ({}, 401),
    "bad token": ({"authorization": "Bearer wrong"}, 401),
    "bad session": ({"cookie": "wrong"}, 401),
    "token as a session": ({"cookie": TOKEN}, 401),
    "foreign Host": ({"authorization": f"Bearer {TOKEN}", "host": "evil.example"}, 400),
    "foreign Origin": ({"cookie": "SESSION", "origin": "https://evil.example"}, 403),
    "cross-site": ({"cookie": "SESSION", "sec-fetch-site": "cross-site"}, 403),
}
CODES = {400: "unknown_host", 401: "unauthorized", 403: "foreign_origin"}


@pytest.mark.parametrize("stranger", STRANGERS)
def test_every_route_refuses_strangers(settings: Settings, stranger: str, monkeypatch: pytest.MonkeyPatch) -> None:
    headers, status = STRANGERS[stranger]
    # Each of these calls is a guess.
    monkeypatch.setattr(access, "GUESSES_PER_MINUTE", 0)
    monkeypatch.setattr(access, "ALL_GUESSES_PER_MINUTE", 0)
    app = create_app(settings.model_copy(update={"token": TOKEN}))
    client = TestClient(app, base_url=ADDRESS)
    if "cookie" in headers:
        name = app.state.cookie.name("http")
        client.post("/sign-in", data={"token": TOKEN}, follow_redirects=False)
        value = client.cookies[name] if headers["cookie"] == "SESSION" else headers["cookie"]
        headers = {**headers, "cookie": f"{name}={value}"}
        client.cookies.clear()
    # A page of another site may make a browser read, but the browser keeps the cookie and the answer from it.
    read = {**headers, "cookie": ""} if status == 403 else headers
    asked = 0
    for method, path in calls(app):
        safe = method in guard.SAFE_METHODS
        if status != 400 and is_open(path) and safe:
            continue
        answer = client.request(method, path, headers=read if safe else headers, follow_redirects=False)
        expected = 401 if safe and status == 403 else status
        assert answer.status_code == expected, (method, path)
        assert method == "HEAD" or answer.json()["code"] == CODES[expected], (method, path)
        asked += 1
    assert asked > 30
    app.state.database.close()


def open_to_all(app: FastAPI) -> set[str]:
    client = TestClient(app, base_url=ADDRESS)
    return {path for method, path in calls(app) if client.request(method, path).status_code != 401}


def ignore(_: str) -> None:
    pass


def leak() -> str:
    return "a route that somebody adds"


OPEN = {"/healthz", "/readyz", "/sign-in", "/static/x/x"}


def test_four_routes_are_open_to_all(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    app = create_app(settings.model_copy(update={"token": TOKEN}))
    assert open_to_all(app) == OPEN
    app.add_api_route("/leak", leak)
    assert open_to_all(app) == OPEN
    monkeypatch.setattr(guard, "OPEN_PATHS", (*OPEN_PATHS, "/leak"))
    assert open_to_all(app) == OPEN | {"/leak"}
    app.state.database.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "LocalHost"])
def test_an_address_of_this_machine_alone_needs_no_token(settings: Settings, host: str) -> None:
    check_access(settings.model_copy(update={"host": host}))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.7", "lab.example", "localhost.evil.example"])
def test_any_other_address_needs_a_token(settings: Settings, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "listen", lambda host, _: pytest.fail(f"it listens on {host}"))
    exposed = settings.model_copy(update={"host": host, "home": settings.home / "new"})
    with pytest.raises(InputError, match="Set SPARSIGHT_TOKEN or SPARSIGHT_TOKEN_FILE, or bind to 127"):
        serving.serve(exposed, False, ignore)
    assert not exposed.home.exists()
    with pytest.raises(InputError, match="The token has only 13 characters, and others could guess it"):
        check_access(exposed.model_copy(update={"token": TOKEN}))
    check_access(exposed.model_copy(update={"token": TOKEN + " staple"}))


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file as an editor leaves it, with a new line at the end."""
    file = tmp_path / "secret"
    file.write_text("p@ss/w:rd 1\n")
    return file


@pytest.mark.usefixtures("settings")
def test_secrets_come_from_files(secret: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARSIGHT_TOKEN_FILE", str(secret))
    monkeypatch.setenv("SPARSIGHT_DATABASE_PASSWORD_FILE", str(secret))
    monkeypatch.setenv("SPARSIGHT_DATABASE_URL", "postgresql+psycopg://me@db/data")
    settings = Settings()
    assert settings.token == "p@ss/w:rd 1"
    url = make_url(settings.resolved_database_url)
    assert (url.username, url.password, url.host, url.database) == ("me", "p@ss/w:rd 1", "db", "data")
    assert "p@ss" not in repr(settings)
    assert "p%40ss" not in repr(settings)


@pytest.mark.usefixtures("settings")
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"token_file": "FILE", "token": "hunter2"}, "set only one of them"),
        ({"token_file": "/nowhere/token"}, "cannot read the file /nowhere/token: No such file"),
        ({"token_file": "EMPTY"}, "is empty"),
        ({"token_file": "BINARY"}, "is not text"),
        ({"database_password_file": "FILE"}, "is set without SPARSIGHT_DATABASE_URL"),
        ({"database_password_file": "FILE", "database_url": "hunter2"}, "not a valid SQLAlchemy URL"),
    ],
)
def test_a_secret_that_cannot_be_had_is_an_error_that_does_not_tell_it(
    secret: Path, options: dict[str, str], sentence: str
) -> None:
    (secret.parent / "empty").write_text(" \n")
    (secret.parent / "binary").write_bytes(b"\xff\xfe")
    files = {"FILE": str(secret), "EMPTY": str(secret.parent / "empty"), "BINARY": str(secret.parent / "binary")}
    with pytest.raises(ValidationError, match=sentence) as caught:
        Settings(**{name: files.get(value, value) for name, value in options.items()})  # type: ignore[arg-type]
    assert "hunter2" not in str(caught.value)
    assert "p@ss" not in str(caught.value)


@pytest.fixture
def locked(settings: Settings) -> Iterator[TestClient]:
    with TestClient(create_app(settings.model_copy(update={"token": TOKEN})), base_url=ADDRESS) as client:
        yield client


def test_with_a_token_every_route_asks_for_it(locked: TestClient) -> None:
    paths = locked.get("/api/v1/openapi.json", headers={"authorization": f"Bearer {TOKEN}"}).json()["paths"]
    asked = 0
    for path, methods in paths.items():
        for method in methods:
            answer = locked.request(method, path.replace("{", "").replace("}", ""))
            assert (answer.status_code == 401) == (not is_open(path)), (method, path)
            asked += answer.status_code == 401
    assert asked > 10
    assert locked.get("/").status_code == locked.get("/nope").status_code == 401


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ("", False),
        ("Bearer", False),
        ("Bearer ", False),
        ("Bearer wrong", True),
        ("Basic abc", False),
        ("Bearer \xe9", True),
        (TOKEN, False),
        (f"Basic {TOKEN}", False),
    ],
)
def test_a_wrong_token_is_refused(locked: TestClient, value: str, wrong: bool) -> None:
    answer = locked.get("/api/v1/matrices", headers=[(b"authorization", value.encode("latin-1"))])
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert answer.json()["detail"].startswith("Unknown access token" if wrong else "Access token required.")


def test_a_missing_token_is_asked_for(locked: TestClient) -> None:
    problem = locked.get("/api/v1/matrices").json()
    assert (problem["detail"], problem["hint_code"]) == ("Access token required.", "send_token")


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_a_program_sends_the_token(locked: TestClient, scheme: str) -> None:
    headers = {"authorization": f"{scheme} {TOKEN}", "sec-fetch-site": "cross-site"}
    assert locked.get("/api/v1/matrices", headers=headers).status_code == 200
    assert locked.post(GENERATE, json=CALL, headers=headers).status_code == 422


def test_neither_logs_nor_answers_tell_the_token(locked: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    known = {"authorization": f"Bearer {TOKEN}"}
    answers = [
        locked.get("/api/v1/matrices", headers={"authorization": "Bearer wrong"}),
        locked.get("/api/v1/matrices/nope", headers=known),
        locked.post(GENERATE, json=CALL, headers=known),
        locked.post(GENERATE, content=b"{", headers=known),
        locked.get("/nope", headers={**known, "host": "evil.example"}),
        locked.get("/jobs/nope", headers=known),
    ]
    assert [answer.status_code for answer in answers] == [401, 404, 422, 422, 400, 404]
    assert [answer for answer in answers if TOKEN in answer.text + str(answer.headers)] == []
    assert TOKEN not in "".join(record.getMessage() for record in caplog.records if record.name != "httpx")
