"""`sparsight token …` in a home, and `sparsight audit` of a server."""

import json
from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner, Result

from gpu_engine.errors import ConflictError, NotFoundError, ParameterError, SparsightError, UnavailableError
from server.main import create_app
from server.settings import Settings
from sparsight import cli
from sparsight.client import Client
from sparsight.problems import Hints
from sparsight.token_commands import parse_duration, parse_size
from tests.conftest import ADDRESS


@pytest.fixture(autouse=True)
def _home(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARSIGHT_HOME", str(settings.home))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.app, list(arguments))


def test_a_token_is_alone_on_stdout_and_in_no_list() -> None:
    limits = ("--uploads", "9", "--bytes", "20GiB", "--jobs", "3", "--gpu-seconds", "60")
    made = run("token", "add", "ci", "--role", "submit", "--expires", "2d", *limits)
    assert made.exit_code == 0
    assert made.stdout.startswith("sps_")
    assert "it cannot be shown again" in made.stderr
    listed = run("token", "list")
    assert listed.stdout.split()[:5] == ["token", "role", "state", "expires", "quotas"]
    assert "uploads per day 9, bytes per day 21474836480, queued jobs 3, gpu seconds per day 60" in listed.stdout
    (document,) = json.loads(run("token", "list", "--json").stdout)
    assert {name: document[name] for name in ("name", "role", "state", "bytes_per_day")} == {
        "name": "ci",
        "role": "submit",
        "state": "valid",
        "bytes_per_day": 20 * 2**30,
    }
    assert made.stdout.strip() not in listed.stdout + json.dumps(document)
    assert run("token", "revoke", "ci").exit_code == 0
    assert json.loads(run("token", "list", "--json").stdout)[0]["state"] == "revoked"


def test_a_token_reads_for_90_days_unless_told_otherwise() -> None:
    run("token", "add", "a")
    run("token", "add", "b", "--expires", "never", "--role", "admin")
    first, second = json.loads(run("token", "list", "--json").stdout)
    assert (first["role"], second["role"], second["expires_at"]) == ("read", "admin", None)
    assert first["expires_at"][:10] > first["created_at"][:10]


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        (("add", "ci", "--role", "root"), ParameterError, "Available roles: read, submit, admin"),
        (("add", "ci", "--expires", "soon"), ParameterError, "Use hours, days, or weeks"),
        (("add", "ci", "--bytes", "20GB"), ParameterError, "whole KiB, MiB, GiB, or TiB"),
        (("add", "a b"), ParameterError, "Invalid token name"),
        (("revoke", "nobody"), NotFoundError, "`sparsight token list`"),
    ],
)
def test_what_is_wrong_is_a_sentence(arguments: tuple[str, ...], error: type[SparsightError], sentence: str) -> None:
    ended = run("token", *arguments)
    assert isinstance(ended.exception, error)
    assert sentence in ended.exception.message
    assert json.loads(run("token", "list", "--json").stdout) == []


def test_a_name_is_given_once() -> None:
    run("token", "add", "ci")
    assert isinstance(run("token", "add", "ci").exception, ConflictError)


def test_a_home_without_a_database_is_told_so(settings: Settings) -> None:
    (settings.home / "sparsight.db").unlink()
    ended = run("token", "list")
    assert isinstance(ended.exception, UnavailableError)
    assert "sparsight migrate" in ended.exception.message


@pytest.mark.parametrize(("text", "seconds"), [("12h", 43200.0), ("1d", 86400.0), ("4w", 2419200.0), ("never", None)])
def test_how_long_a_token_lasts(text: str, seconds: float | None) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0d", "-1d", "1", "d", "1.5d", "1y", "99999999d", "1d ", "١d"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ParameterError):
        parse_duration(text)


@pytest.mark.parametrize(("text", "size"), [("0", 0), ("1500", 1500), ("1KiB", 1024), ("20 GiB", 20 * 2**30)])
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "1.5GiB", "1GB", "-1", "9" * 19, "1000000TiB", "٢"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ParameterError):
        parse_size(text)


def test_an_admin_reads_who_did_what(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    run("token", "add", "ci", "--role", "submit")
    token = run("token", "add", "boss", "--role", "admin").stdout.strip()
    headers = {"authorization": f"Bearer {token}"}
    app = create_app(settings)
    TestClient(app, base_url=ADDRESS, headers=headers).delete("/api/v1/matrices/x")

    def client(url: str, token: str, hints: Hints, on_outage: Callable[[str], None]) -> Client:
        return Client(url, token, TestClient(app, base_url=ADDRESS, headers=headers), hints)

    monkeypatch.setattr("sparsight.client.Client", client)
    lines = run("audit").stdout.splitlines()
    only = run("audit", "--who", "boss", "--json")
    assert [line.split()[2:5] for line in lines[1:]] == [
        ["boss", "404", "DELETE"],
        ["command", "line", "200"],
        ["command", "line", "200"],
    ]
    assert [(entry["action"], entry["status"]) for entry in json.loads(only.stdout)] == [
        ("DELETE /api/v1/matrices/x", 404)
    ]
    app.state.database.close()
