"""Another user of the host cannot become the service: nothing of a worker lies where others write or read."""

import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from server.settings import Settings
from tests.server.jobs.conftest import Jobs, Worker
from tests.users import needs_root

NOBODY = 65534
DECOY = "numba.py"


@pytest.fixture
def kind() -> str:
    return "sqlite"


@pytest.fixture
def folder(folder: Path) -> Path:
    """A folder of temporary files as /tmp is one: open to everybody, who cannot replace what is another's there."""
    folder.chmod(0o1777)
    return folder


@pytest.fixture
def settings(folder: Path) -> Settings:
    (folder / "home").mkdir(mode=0o700)
    return Settings(home=folder / "home", lease_seconds=60)


def can_be_written_by_others(path: Path) -> bool:
    """Whether another user could put something there, or replace it or a folder that it lies in."""
    open_to_all = stat.S_IWGRP | stat.S_IWOTH
    if path.exists() and path.stat().st_mode & open_to_all:
        return True
    parents = [parent.stat().st_mode for parent in path.parents if parent.exists()]
    return any(mode & open_to_all and not mode & stat.S_ISVTX for mode in parents)


def as_nobody(attempt: Callable[[], list[str]]) -> list[str]:
    """What a function returns in a process of another user."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.write(writable, json.dumps(attempt()).encode())
        finally:
            os._exit(0)
    os.close(writable)
    with os.fdopen(readable) as said:
        found: list[str] = json.load(said)
    os.waitpid(child, 0)
    return found


def below(folder: Path) -> list[Path]:
    """Everything in the folder, as its owner sees it."""
    return [Path(where) / name for where, folders, files in os.walk(folder) for name in (*folders, *files)]


def break_in(places: list[Path]) -> Iterator[str]:
    """Everything that can be done with these files, folders and sockets."""
    for place in places:
        for deed in (put_a_decoy, read, replace, connect):
            try:
                deed(place)
            except OSError:
                continue
            yield f"{deed.__name__} {place}"


def put_a_decoy(place: Path) -> None:
    (place / DECOY).write_text("raise SystemExit('not ours')")


def read(place: Path) -> None:
    place.read_bytes()


def replace(place: Path) -> None:
    place.rename(place.with_name("mine"))


def connect(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(place))


@needs_root
def test_another_user_finds_no_way_into_a_worker(jobs: Jobs, worker: Worker, folder: Path) -> None:
    hold = jobs.hold(0)
    seen = jobs.folder / "surroundings"
    seen.touch()
    job = jobs.submit(n_cases=1)
    jobs.wait_begun(0)
    surroundings = json.loads(seen.read_text())
    found = [Path(entry) for entry in surroundings["path"]]
    assert [place for place in found if can_be_written_by_others(place)] == []
    assert not can_be_written_by_others(Path(surroundings["folder"]))
    assert surroundings["umask"] == 0o077

    places = below(folder)
    assert {"sockets", "logs", "sparsight.db", "dispatcher.lock"} <= {place.name for place in places}
    assert any(stat.S_ISSOCK(place.lstat().st_mode) for place in places)
    assert as_nobody(lambda: list(break_in(places))) == []
    hold.unlink()
    jobs.wait(job, "succeeded")


ASK_RAY = """
import sys
from ray._raylet import GcsClient
try:
    print(GcsClient(address=sys.argv[1]).get_all_node_info(timeout=20))
except Exception as error:
    print(type(error).__name__)
"""
"""What a program that knows the port of Ray's control service is told."""


def ask_ray(port: int, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")} | variables
    command = [sys.executable, "-P", "-c", ASK_RAY, f"127.0.0.1:{port}"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def test_what_a_worker_listens_on_is_this_hosts_alone_and_asks_for_a_token_that_nobody_reads(
    jobs: Jobs, worker: Worker, folder: Path
) -> None:
    jobs.hold(0)
    jobs.submit(n_cases=1)
    jobs.wait_begun(0)
    family = worker.family().values()
    listening = [
        (process.name(), connection.laddr)
        for process in family
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert {address.ip.removeprefix("::ffff:") for _, address in listening} == {"127.0.0.1"}
    (port,) = {address.port for name, address in listening if name == "gcs_server"}
    (secret,) = {found for process in family if (found := process.environ().get("RAY_AUTH_TOKEN"))}
    assert ask_ray(port) == "AuthenticationError"
    assert ask_ray(port, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN="0" * len(secret)) == "AuthenticationError"
    assert [process.name() for process in family if secret in " ".join(process.cmdline())] == []
    assert secret not in worker.said()
    logs = [place for place in below(folder) if place.is_file() and "logs" in place.parts]
    assert logs
    assert [place for place in logs if secret.encode() in place.read_bytes()] == []
