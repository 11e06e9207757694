"""What of a running service others reach: every socket that it listens on, its files, memory and environment.

`python -m tools.reach` starts the service with a worker and a token, as a user does, and tries each from another user's
account and from another address (a network namespace); it needs root for both. It prints what listens, what was tried
from where and what the answer was, and ends with 1 where anything but a refusal came, with 3 where it could not try.
"""

import os
import secrets
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
import psutil

from sparsight import Client
from tests.server.jobs.conftest import wait_for
from tools.reach.attempts import LIMIT_S, ask_ray, connect, of_folders, of_processes, of_socket
from tools.reach.listeners import listeners
from tools.reach.others import HERE, NOBODY, become_nobody, enter_namespace, isolated, namespace
from tools.service import Service

USER, ADDRESS, PROGRAM = "another user", "another address", "our account"
STUDY = "ray::run_study"
GCS = "gcs_server"
PARAMS = {"rounds": 199, "caches": ["cold", "warm"]}
"""Of a job that runs for as long as everything is tried."""


@dataclass(frozen=True)
class Attempt:
    """What was tried; `answer` of a refusal says of what kind it was."""

    what: str
    tried: str
    origin: str
    answer: str
    refused: bool


def attempts(service: Service, family: list[psutil.Process], has_namespace: bool) -> Iterator[Attempt]:
    """Everything that is tried."""
    api = int(service.url.rpartition(":")[2])
    for listener in listeners(family):
        what = f"{listener.kind} {listener.place} ({listener.process})"
        for tried, attempt in of_socket(listener, api):
            refused, answer = isolated(become_nobody, attempt)
            yield Attempt(what, tried, USER, answer, refused)
        if has_namespace and listener.kind == "tcp":
            refused, answer = isolated(enter_namespace, partial(connect, socket.AF_INET, (HERE, listener.port)))
            yield Attempt(what, f"connect to {HERE}:{listener.port}", ADDRESS, answer, refused)
        elif has_namespace and listener.kind == "unix" and listener.place.startswith("@"):
            place = "\0" + listener.place[1:]
            refused, answer = isolated(enter_namespace, partial(connect, socket.AF_UNIX, place))
            yield Attempt(what, "connect", ADDRESS, answer, refused)
        if listener.kind == "tcp" and GCS in listener.process:
            refused, answer = isolated(lambda: None, partial(ask_ray, listener.port, secrets.token_hex(32)))
            yield Attempt(what, "a client of Ray, a wrong token", PROGRAM, answer, refused)
        if listener.kind == "udp":
            local = listener.place.startswith(("127.", "::1"))
            yield Attempt(what, "address", ADDRESS, "bound to this machine" if local else "bound to all", local)
    home = service.folder / "home"
    for what, tried, attempt in (*of_folders(home, family), *of_processes(family)):
        refused, answer = isolated(become_nobody, attempt)
        yield Attempt(what, tried, USER, answer, refused)


def fill(folder: Path, token: str) -> str:
    """The id of a matrix of some size in a new home, in which no samples are measured then."""
    with Service(folder, "--no-worker", token=token) as service, Client(service.url, token) as client:
        return client.wait_matrix(client.generate("stencil", points=5, nx=1000, ny=1000)["id"])["id"]


def study_process(family: list[psutil.Process]) -> psutil.Process | None:
    """The process that measures, None while there is none."""
    for process in family:
        with suppress(psutil.NoSuchProcess):
            if process.name() == STUDY:
                return process
    return None


def try_everything(folder: Path, has_namespace: bool) -> list[Attempt]:
    """Starts the service and a job, and tries everything while it runs."""
    token = secrets.token_hex()
    matrix_id = fill(folder, token)
    with Service(folder, token=token) as service:
        wait_for(lambda: httpx.get(f"{service.url}/readyz", timeout=LIMIT_S).status_code == 200, "the worker")
        with Client(service.url, token) as client:
            client.submit("formats", [matrix_id], PARAMS, "cpu")
            wait_for(lambda: study_process(service.family()), "the process that measures")
            family = service.family()
            tried = list(attempts(service, family, has_namespace))
            measuring = study_process(family)
    if measuring is None:
        raise RuntimeError("The job ended before everything was tried: give it more rounds.")
    return tried


def table(tried: list[Attempt], has_namespace: bool) -> str:
    """All attempts, and how many were not refused."""
    possible = "a network namespace with a pair of veth" if has_namespace else "NOT POSSIBLE HERE: ip netns is refused"
    lines = [f"Another user: uid {NOBODY}. Another address: {possible}.", ""]
    lines += ["| what | tried | from | answer | |", "| --- | --- | --- | --- | --- |"]
    for entry in tried:
        verdict = "refused" if entry.refused else "OPEN"
        lines.append(f"| {entry.what} | {entry.tried} | {entry.origin} | {entry.answer} | {verdict} |")
    found = sum(not entry.refused for entry in tried)
    return "\n".join([*lines, "", f"{len(tried)} attempts, {found} not refused", ""])


def main() -> int:
    """Tries everything, prints the table."""
    if os.geteuid() != 0:
        sys.stderr.write("Nothing was tried: only root becomes another user and makes a network namespace.\n")
        return 3
    with tempfile.TemporaryDirectory(prefix="reach-") as name, namespace() as has_namespace:
        # As a home stands beside others': what keeps them out has to be its own mode.
        Path(name).chmod(0o755)
        tried = try_everything(Path(name), has_namespace)
    sys.stdout.write(table(tried, has_namespace))
    return 1 if any(not entry.refused for entry in tried) else 0 if has_namespace else 3


if __name__ == "__main__":
    sys.exit(main())
