"""Tokens and sessions: how they begin and end, what is kept of them, and how often one may guess."""

import logging
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import ValidationError
from sqlalchemy import select, update

from gpu_engine.errors import ConflictError, LimitError, NotFoundError, ParameterError, UnauthorizedError
from server import access, tokens
from server.db import Database
from server.guard import client_of
from server.main import create_app
from server.models import SessionRow, TokenRow
from server.rate_limit import Rate
from server.roles import Role
from server.session_cookie import PREFIX
from server.settings import Settings
from server.tokens import HOST, Quotas
from sparsight import serve as serving
from sparsight.serve import Server
from tests.conftest import ADDRESS
from tests.loops import finished
from tests.server.conftest import MakeToken

CHOSEN = "correct horse battery staple"
LISTS = "/api/v1/matrices"


@pytest.fixture
def locked(settings: Settings) -> Iterator[TestClient]:
    """A service with a token in its settings."""
    with TestClient(create_app(settings.model_copy(update={"token": CHOSEN})), base_url=ADDRESS) as client:
        yield client


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def sign_in(client: TestClient, token: str, **headers: str) -> tuple[int, str]:
    """Status of the answer, and the session id that it gave."""
    answer = client.post("/sign-in", data={"token": token}, headers=headers, follow_redirects=False)
    found = re.search(rf"{PREFIX}[0-9a-f]{{16}}=([^;]+)", answer.headers.get("set-cookie", ""))
    return answer.status_code, found[1] if found else ""


def cookie_of(client: TestClient, value: str) -> str:
    """The header of a browser with that session id."""
    return f"{client.app.state.cookie.name('http')}={value}"  # type: ignore[attr-defined]


def status(client: TestClient, path: str = LISTS, **headers: str) -> int:
    client.cookies.clear()
    return int(client.get(path, headers=headers).status_code)


def test_without_a_token_everybody_may_do_everything(client: TestClient) -> None:
    assert client.get(LISTS).status_code == 200
    assert client.get("/api/v1/audit").json()["items"] == []
    assert client.get(LISTS, headers=bearer("anything")).status_code == 200


def test_the_first_token_closes_the_door_and_none_opens_it_again(
    client: TestClient, settings: Settings, database: Database, make_token: MakeToken, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "LOOK_S", 0.0)
    assert status(client) == 200
    token = make_token(Role.READ)
    assert (status(client), status(client, **bearer(token))) == (401, 200)
    tokens.revoke(database, Role.READ)
    assert (status(client), status(client, **bearer(token))) == (401, 401)
    with TestClient(create_app(settings), base_url=ADDRESS) as again:
        assert status(again) == 401


def test_a_token_is_256_random_bits_and_kept_as_a_hash_alone(
    locked: TestClient, settings: Settings, make_token: MakeToken, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    made = [make_token(Role.ADMIN, f"t{number}") for number in range(3)]
    assert len(set(made)) == 3
    assert all(re.fullmatch(r"sps_[A-Za-z0-9_-]{43}", token) for token in made)
    (code, session) = sign_in(locked, made[0])
    assert (code, status(locked, cookie=cookie_of(locked, session))) == (303, 200)
    answers = [
        locked.post("/api/v1/jobs", content=b"{", headers=bearer(made[0])),
        locked.get("/", headers=bearer(made[1])),
    ]
    kept = b"".join(path.read_bytes() for path in settings.home.rglob("sparsight.db*"))
    said = "".join(record.getMessage() for record in caplog.records if record.name != "httpx")
    said += "".join(answer.text + str(answer.headers) for answer in answers)
    for secret in (*made, session, CHOSEN):
        assert secret.encode() not in kept
        assert secret not in said
    assert tokens.digest(made[0]).encode() in kept
    assert tokens.digest("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.mark.parametrize("name", ["", "a b", "SPARSIGHT_TOKEN", "local", "-a", "a" * 41, "ä", "a\n"])
def test_a_name_is_a_plain_word_that_says_nothing_else(database: Database, name: str) -> None:
    with pytest.raises(ParameterError, match="Invalid token name"):
        tokens.add(database, name, Role.READ, None, Quotas())


def test_a_name_is_given_once(database: Database, make_token: MakeToken) -> None:
    make_token(Role.READ, "ci")
    tokens.revoke(database, "ci")
    with pytest.raises(ConflictError, match="The token name 'ci' is or was in use"):
        make_token(Role.ADMIN, "ci")
    with pytest.raises(ConflictError, match="is already revoked"):
        tokens.revoke(database, "ci")
    with pytest.raises(NotFoundError, match="Unknown token 'nobody'"):
        tokens.revoke(database, "nobody")


def set_expiry(database: Database, from_now_s: float) -> None:
    with database.write() as session:
        session.execute(update(TokenRow).values(expires_at=tokens.now(session) + from_now_s))


def test_a_token_ends_at_its_time(locked: TestClient, database: Database, make_token: MakeToken) -> None:
    token = make_token(Role.READ, expires_s=3600)
    with database.read() as session:
        row = session.scalars(select(TokenRow)).one()
        assert row.expires_at == pytest.approx(row.created_at + 3600)
        assert [tokens.token_document(row, row.created_at + s)["state"] for s in (3599, 3601)] == ["valid", "expired"]
    _, cookie = sign_in(locked, token)
    assert status(locked, **bearer(token)) == status(locked, cookie=cookie_of(locked, cookie)) == 200
    set_expiry(database, 0)
    answer = locked.get(LISTS, headers=bearer(token))
    assert (answer.status_code, answer.json()["detail"]) == (401, "This token has expired. Use another token.")
    assert status(locked, cookie=cookie_of(locked, cookie)) == 401


def test_a_revoked_token_opens_nothing_at_once(locked: TestClient, database: Database, make_token: MakeToken) -> None:
    token, other = make_token(Role.READ), make_token(Role.ADMIN)
    _, cookie = sign_in(locked, token)
    _, kept = sign_in(locked, other)
    tokens.revoke(database, Role.READ)
    answer = locked.get(LISTS, headers=bearer(token))
    assert (answer.status_code, answer.json()["detail"]) == (401, "This token was revoked. Use another token.")
    assert status(locked, cookie=cookie_of(locked, cookie)) == 401
    assert status(locked, **bearer(other)) == status(locked, cookie=cookie_of(locked, kept)) == 200
    with database.read() as session:
        assert len(session.scalars(select(SessionRow)).all()) == 1


def test_a_session_is_new_at_each_sign_in_and_over_at_the_sign_out(locked: TestClient, database: Database) -> None:
    _, first = sign_in(locked, CHOSEN)
    _, second = sign_in(locked, CHOSEN, cookie=cookie_of(locked, first))
    assert first != second
    assert [status(locked, cookie=cookie_of(locked, cookie)) for cookie in (first, second)] == [401, 200]
    answer = locked.post("/sign-out", headers={"cookie": cookie_of(locked, second)}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
    assert cookie_of(locked, '""') in answer.headers["set-cookie"]
    assert status(locked, cookie=cookie_of(locked, second)) == 401
    with database.read() as session:
        assert session.scalars(select(SessionRow)).all() == []


def test_a_session_id_that_somebody_plants_is_never_taken_over(locked: TestClient) -> None:
    _, given = sign_in(locked, CHOSEN, cookie=cookie_of(locked, "planted"))
    assert given != "planted"
    assert status(locked, cookie=cookie_of(locked, "planted")) == 401


@pytest.mark.parametrize(("role", "hours"), [(Role.READ, 12), (Role.SUBMIT, 12), (Role.ADMIN, 2)])
def test_a_session_ends_after_half_a_day_and_that_of_an_admin_sooner(
    locked: TestClient, database: Database, make_token: MakeToken, role: Role, hours: int
) -> None:
    _, cookie = sign_in(locked, make_token(role))
    with database.write() as session:
        row = session.scalars(select(SessionRow)).one()
        assert row.expires_at == pytest.approx(tokens.now(session) + hours * 3600, abs=60)
        # A clock that was put back since then would let it live longer.
        row.expires_at = tokens.now(session) + tokens.SESSION_S + tokens.CLOCK_SLACK_S + 30
    assert status(locked, cookie=cookie_of(locked, cookie)) == 401
    with database.write() as session:
        session.scalars(select(SessionRow)).one().expires_at = tokens.now(session)
    assert status(locked, cookie=cookie_of(locked, cookie)) == 401
    sign_in(locked, CHOSEN)
    with database.read() as session:
        assert len(session.scalars(select(SessionRow)).all()) == 1


def test_another_token_of_the_settings_ends_the_sessions_of_the_one_before(settings: Settings) -> None:
    with TestClient(create_app(settings.model_copy(update={"token": CHOSEN})), base_url=ADDRESS) as client:
        _, cookie = sign_in(client, CHOSEN)
    with TestClient(create_app(settings.model_copy(update={"token": "another"})), base_url=ADDRESS) as client:
        assert status(client, cookie=cookie_of(client, cookie)) == 401


def test_wrong_tokens_are_counted_and_a_made_one_always_opens(locked: TestClient, make_token: MakeToken) -> None:
    token = make_token(Role.READ)
    wrong = [locked.get(LISTS, headers=bearer(f"guess{number}")) for number in range(access.GUESSES_PER_MINUTE + 2)]
    assert [answer.status_code for answer in wrong[:-2]] == [401] * access.GUESSES_PER_MINUTE
    assert wrong[-1].status_code == 429
    assert wrong[-1].json()["code"] == "limit_reached"
    assert 1 <= int(wrong[-1].headers["retry-after"]) <= 60
    # Whoever guesses does not learn that one guess was right.
    assert locked.get(LISTS, headers=bearer(CHOSEN)).status_code == 429
    assert sign_in(locked, CHOSEN)[0] == 429
    assert status(locked, **bearer(token)) == 200


LONG = "0123456789abcdef" * 2


@pytest.mark.parametrize(("token", "code"), [(CHOSEN, 429), ("a" * 64, 429), (LONG[:-1], 429), (LONG, 200)])
def test_a_token_that_nobody_guesses_is_locked_out_by_nobody(settings: Settings, token: str, code: int) -> None:
    app = create_app(settings.model_copy(update={"token": token}))
    with TestClient(app, base_url=ADDRESS) as client:
        for number in range(access.GUESSES_PER_MINUTE + 2):
            client.get(LISTS, headers=bearer(f"guess{number}"))
        assert status(client, **bearer(token)) == code
        assert status(client, **bearer("another")) == 429


def test_guesses_are_counted_whatever_address_they_say_they_come_from(database: Database) -> None:
    known = access.Access(database, CHOSEN)
    for number in range(access.ALL_GUESSES_PER_MINUTE):
        with pytest.raises(UnauthorizedError):
            known.identify("wrong", "", f"7.7.{number // 256}.{number % 256}")
    for secret in ("wrong", CHOSEN):
        with pytest.raises(LimitError):
            known.identify(secret, "", "8.8.8.8")


def application_of(settings: Settings, application: Any) -> Any:
    """An application with the state of ours that answers nothing."""
    application.state = create_app(settings).state
    return application


@pytest.mark.parametrize(
    ("proxy", "peer", "address"),
    [
        ("", "127.0.0.1", "127.0.0.1"),
        ("127.0.0.1", "127.0.0.1", "7.7.7.7"),
        ("127.0.0.1", "10.0.0.1", "10.0.0.1"),
        ("10.0.0.0/8, 127.0.0.1", "10.0.0.1", "7.7.7.7"),
    ],
)
def test_a_proxy_is_believed_where_the_settings_name_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, proxy: str, peer: str, address: str
) -> None:
    seen: list[object] = []

    async def application(scope: Any, *_: object) -> None:
        seen.append((client_of(scope), scope["scheme"]))

    def run(server: Server, sockets: object) -> None:
        server.config.load()
        headers = [(b"x-forwarded-for", b"6.6.6.6, 7.7.7.7"), (b"x-forwarded-proto", b"https")]
        scope = {"type": "http", "scheme": "http", "client": (peer, 1), "headers": headers}
        finished(server.config.loaded_app(scope, None, None))

    monkeypatch.setattr(serving, "create_app", lambda settings: application_of(settings, application))
    monkeypatch.setattr(serving.Server, "run", run)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    before = os.umask(0o022)
    serving.serve(settings.model_copy(update={"proxy": proxy, "port": 0}), False, lambda _: None)
    os.umask(before)
    assert seen == [(address, "https" if address == "7.7.7.7" else "http")]


@pytest.mark.parametrize("proxy", ["*", "proxy.example", "127.0.0.1;10.0.0.1", "10.0.0.1/8"])
@pytest.mark.usefixtures("settings")
def test_a_proxy_is_an_address(proxy: str) -> None:
    with pytest.raises(ValidationError, match="proxy"):
        Settings(proxy=proxy)


def test_a_token_makes_so_many_calls_in_a_minute(settings: Settings, make_token: MakeToken) -> None:
    one, two = make_token(Role.READ, "one"), make_token(Role.READ, "two")
    app = create_app(settings.model_copy(update={"requests_per_minute": 3}))
    with TestClient(app, base_url=ADDRESS) as client:
        answers = [client.get(LISTS, headers=bearer(one)) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 60
        assert status(client, **bearer(two)) == status(client, "/healthz", **bearer(one)) == 200


def test_a_rate_begins_anew_with_the_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 59.5, 59.5, 60.0, 60.0])
    monkeypatch.setattr("server.rate_limit.time.monotonic", lambda: next(clock))
    rate = Rate(1, "Enough.")
    rate.take("a")
    with pytest.raises(LimitError, match="Enough") as caught:
        rate.take("a")
    assert caught.value.retry_after_s == 0.5
    assert rate.is_full("a")
    rate.take("a")
    assert not Rate(0, "").is_full("a")


def test_the_database_that_is_away_leaves_the_token_of_the_settings(locked: TestClient, settings: Settings) -> None:
    with closing(sqlite3.connect(settings.home / "sparsight.db")) as connection:
        connection.execute("DROP TABLE tokens")
    assert status(locked, "/api/v1/studies", **bearer(CHOSEN)) == 200
    answer = locked.get("/api/v1/studies", headers=bearer("another"))
    assert (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) == (503, "unavailable", "5")


def audit(client: TestClient, query: str = "") -> list[dict[str, object]]:
    found: list[dict[str, object]] = client.get(f"/api/v1/audit{query}", headers=bearer(CHOSEN)).json()["items"]
    return [{name: value for name, value in line.items() if name != "at"} for line in found]


def test_who_changed_what_is_on_record(
    locked: TestClient, database: Database, make_token: MakeToken, caplog: pytest.LogCaptureFixture
) -> None:
    token = make_token(Role.SUBMIT, "ci")
    stencil = {"generator": "stencil", "points": 5, "nx": 4, "ny": 4}
    made = locked.post("/api/v1/matrices/generate", json=stencil, headers=bearer(token))
    gone = made.headers["location"]
    assert locked.get(LISTS, headers=bearer(token)).status_code == 200
    assert locked.delete(gone, headers=bearer(token)).status_code == 403
    assert sign_in(locked, token)[0] == 303
    assert sign_in(locked, "wrong")[0] == 401
    tokens.revoke(database, "ci")
    call = {"who": "ci", "target": None, "address": "testclient"}
    host = {"who": HOST, "target": None, "address": "", "status": 200}
    assert audit(locked) == [
        {**host, "action": "token revoke ci"},
        {**call, "who": None, "action": "POST /sign-in", "status": 401},
        {**call, "action": "POST /sign-in", "target": "/", "status": 303},
        {**call, "action": f"DELETE {gone}", "status": 403},
        {**call, "action": "POST /api/v1/matrices/generate", "target": gone, "status": 202},
        {**host, "action": "token add ci --role submit"},
    ]
    assert [line["status"] for line in audit(locked, "?who=ci")] == [303, 403, 202]
    first = locked.get("/api/v1/audit?limit=5", headers=bearer(CHOSEN)).json()
    assert [len(first["items"]), len(audit(locked, f"?cursor={first['next']}"))] == [5, 1]
    lines = [record.getMessage() for record in caplog.records if record.name == "server.audit"]
    assert lines[0] == f"ci: POST /api/v1/matrices/generate {gone} from testclient: 202"
    assert len(lines) == 4


def test_a_line_of_the_audit_log_is_one_line(locked: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    locked.delete("/api/v1/matrices/a%0Ab%1B" + "c" * 400, headers=bearer(CHOSEN))
    (line,) = audit(locked)
    action = str(line["action"])
    assert (action.isprintable(), len(action) <= 200, "\\n" in action) == (True, True, True)
    assert all("\n" not in record.getMessage() for record in caplog.records if record.name == "server.audit")


def test_a_call_is_answered_where_its_line_cannot_be_kept(
    locked: TestClient, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(sqlite3.connect(settings.home / "sparsight.db")) as connection:
        connection.execute("DROP TABLE audit")
    assert locked.delete("/api/v1/matrices/x", headers=bearer(CHOSEN)).status_code == 404
    assert "cannot write a row of the audit log" in caplog.text
    assert "SPARSIGHT_TOKEN: DELETE /api/v1/matrices/x  from testclient: 404" in caplog.text
