"""What keeps a command from starting is said in one sentence, with an exit code, and shows no password."""

import json
import os
import re
import signal
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import server.jobs.worker
import sparsight.serve
from server.migrate import migrate
from sparsight import cli, doctor
from tests.users import needs_root

COMMANDS = (["doctor", "--json"], ["migrate"], ["serve", "--port", "0"], ["worker"])
SECRET = "battery-staple"
NOBODY = 65534

Break = Callable[[Path, bytes], dict[str, str] | None]
"""Breaks something, given an empty home and the bytes of a sound database; what the environment says then."""


def url(url: str) -> Break:
    return lambda *_: {"SPARSIGHT_DATABASE_URL": url}


def content(make: Callable[[bytes], bytes]) -> Break:
    def write(home: Path, sound: bytes) -> None:
        (home / "sparsight.db").write_bytes(make(sound))

    return write


def changed(statement: str) -> Break:
    def write(home: Path, sound: bytes) -> None:
        (home / "sparsight.db").write_bytes(sound)
        with closing(sqlite3.connect(home / "sparsight.db")) as connection, connection:
            connection.execute(statement)

    return write


def replace_home(home: Path, _: bytes) -> None:
    home.rmdir()
    home.write_text("")


def put_below_a_file(home: Path, sound: bytes) -> dict[str, str]:
    replace_home(home, sound)
    return {"SPARSIGHT_HOME": str(home / "home")}


BROKEN: dict[str, tuple[Break, str]] = {
    "the home is a file": (replace_home, "SPARSIGHT_HOME"),
    "the home lies below a file": (put_below_a_file, "SPARSIGHT_HOME"),
    "the URL is none": (url("bogus"), r"postgresql\+psycopg"),
    "the port is none": (url(f"postgresql+psycopg://me:{SECRET}@host:none/db"), r"postgresql\+psycopg"),
    "the kind is unknown": (url(f"none://me:{SECRET}@host/db"), r"postgresql\+psycopg"),
    "the driver is not there": (url(f"mysql://me:{SECRET}@host/db"), r"postgresql\+psycopg"),
    "Postgres is away": (url(f"postgresql+psycopg://me:{SECRET}@127.0.0.1:1/db"), "Start the database server"),
    "the database lies nowhere": (url("sqlite:////nowhere/at/all.db"), "are writable"),
    "the database is a folder": (lambda home, _: (home / "sparsight.db").mkdir(), "this is a file"),
    "the database is garbage": (content(lambda _: b"garbage " * 1000), "Restore a backup"),
    "the database is damaged": (content(lambda sound: sound[:100] + b"\xff" * 99_900), "Restore a backup"),
    "the database is cut": (content(lambda sound: sound[: len(sound) // 2]), "Restore a backup"),
    "the schema is newer": (changed("UPDATE alembic_version SET version_num = 'zzzz'"), "'zzzz' of a newer release"),
    "the tables are foreign": (changed("DROP TABLE alembic_version"), "another program|sparsight migrate"),
}


@pytest.fixture(autouse=True)
def nothing_starts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A command that is not kept from starting fails; what it does to this process is undone."""

    def start(*_: Any, **__: Any) -> None:
        pytest.fail("it started")

    monkeypatch.setattr(sparsight.serve.Server, "run", start)
    monkeypatch.setattr(server.jobs.worker, "supervise", start)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(doctor, "_probe", lambda _: ("1", ""))
    monkeypatch.setattr(doctor, "list_devices", lambda: ())
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home that the environment names, and nothing else."""
    for name in [name for name in os.environ if name.startswith("SPARSIGHT_")]:
        monkeypatch.delenv(name)
    (tmp_path / "home").mkdir(mode=0o700)
    monkeypatch.setenv("SPARSIGHT_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


class Said:
    """How a command ended, and what it said."""

    def __init__(self, command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        monkeypatch.setattr("sys.argv", ["sparsight", *command])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        self.code = ended.value.code
        self.out, self.err = capsys.readouterr()


@contextmanager
def nobody() -> Iterator[None]:
    """This process as another user."""
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


def check(command: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ended = Said(command, monkeypatch, capsys)
    assert SECRET not in ended.out + ended.err
    assert "Traceback" not in ended.out + ended.err
    if command[0] == "doctor":
        assert ended.code == 1
        found = [entry for entry in json.loads(ended.out) if entry["status"] == "fail"]
        assert all(entry["found"] and entry["advice"] for entry in found)
        sentence = " ".join(f"{entry['found']} {entry['advice']}" for entry in found)
    else:
        assert ended.code in (2, 3)
        assert ended.out == ""
        assert ended.err.count("\n") == 1
        sentence = ended.err
    assert re.search(said, sentence), sentence


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_said_in_one_sentence(
    empty: Path,
    migrated: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    command: list[str],
) -> None:
    broken, said = BROKEN[name]
    for variable, value in (broken(empty, migrated.read_bytes()) or {}).items():
        monkeypatch.setenv(variable, value)
    check(command, said, monkeypatch, capsys)


@needs_root
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("mode", [0o700, 0o755])
def test_a_home_of_another_user_is_said_in_one_sentence(
    empty: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: list[str], mode: int
) -> None:
    """In a folder that cannot be entered, and in one that cannot be written."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(mode)
        monkeypatch.setenv("SPARSIGHT_HOME", str(Path(folder) / "home"))
        with nobody():
            check(command, "SPARSIGHT_HOME", monkeypatch, capsys)


@pytest.mark.parametrize("revision", ["", "0001"])
@pytest.mark.parametrize("command", [["doctor", "--json"], ["worker"]], ids=lambda command: command[0])
def test_an_older_schema_asks_for_a_migration(
    empty: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], revision: str, command: list[str]
) -> None:
    database = empty / "sparsight.db"
    migrate(f"sqlite:///{database}", revision) if revision else database.touch()
    check(command, "Run `sparsight migrate`", monkeypatch, capsys)


def test_a_worker_on_an_empty_home_asks_for_a_migration(
    empty: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check(["worker"], "'missing'.*Run `sparsight migrate`", monkeypatch, capsys)
