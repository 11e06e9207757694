"""Access tests of a running service: its listening sockets, its files, its memory, and its environment.

`python -m tools.reach` starts the service with a worker and a token, as a user does. It tries each access from the
account of another user and from another address (a network namespace), for which it needs root. It prints the sockets,
the attempts with their origin, and the answers. Exit status 1 if any attempt was not refused, 3 if it could not try.
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
from tools.reach.access_attempts import LIMIT_S, ask_ray, connect, of_folders, of_processes, of_socket
from tools.reach.listeners import listeners
from tools.reach.other_users import HERE, NOBODY, become_nobody, enter_namespace, isolated, namespace
from tools.service import Service

USER, ADDRESS, PROGRAM = "another user", "another address", "our account"
STUDY = "ray::run_study"
GCS = "gcs_server"
PARAMS = {"rounds": 199, "caches": ["cold", "warm"]}
"""Parameters of a job that runs until all attempts are done."""


@dataclass(frozen=True)
class Attempt:
    """An attempt; `answer` of a refusal is its kind."""

    what: str
    tried: str
    origin: str
    answer: str
    refused: bool


def attempts(service: Service, family: list[psutil.Process], has_namespace: bool) -> Iterator[Attempt]:
    """Yield all attempts."""
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
    """Return the id of a large matrix in a new data directory, which therefore gets no sample matrices."""
    with Service(folder, "--no-worker", token=token) as service, Client(service.url, token) as client:
        return client.wait_matrix(client.generate("stencil", points=5, nx=1000, ny=1000)["id"])["id"]


def study_process(family: list[psutil.Process]) -> psutil.Process | None:
    """Return the process that measures, None without one."""
    for process in family:
        with suppress(psutil.NoSuchProcess):
            if process.name() == STUDY:
                return process
    return None


def try_everything(folder: Path, has_namespace: bool) -> list[Attempt]:
    """Start the service and a job, and make all attempts while it runs."""
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
        raise RuntimeError("The job ended before all attempts were made. Increase the rounds in PARAMS.")
    return tried


def table(tried: list[Attempt], has_namespace: bool) -> str:
    """Return all attempts, and how many were not refused."""
    possible = "a network namespace with a pair of veth" if has_namespace else "NOT POSSIBLE HERE: ip netns is refused"
    lines = [f"Another user: uid {NOBODY}. Another address: {possible}.", ""]
    lines += ["| what | tried | from | answer | |", "| --- | --- | --- | --- | --- |"]
    for entry in tried:
        verdict = "refused" if entry.refused else "OPEN"
        lines.append(f"| {entry.what} | {entry.tried} | {entry.origin} | {entry.answer} | {verdict} |")
    allowed = sum(not entry.refused for entry in tried)
    return "\n".join([*lines, "", f"{len(tried)} attempts, {allowed} not refused", ""])


def main() -> int:
    """Make all attempts and print the table."""
    if os.geteuid() != 0:
        sys.stderr.write("No attempts: changing the user and creating a network namespace need root. Run as root.\n")
        return 3
    with tempfile.TemporaryDirectory(prefix="reach-") as name, namespace() as has_namespace:
        # As for a data directory next to those of others: only its own mode may keep them out.
        Path(name).chmod(0o755)
        tried = try_everything(Path(name), has_namespace)
    sys.stdout.write(table(tried, has_namespace))
    return 1 if any(not entry.refused for entry in tried) else 0 if has_namespace else 3


if __name__ == "__main__":
    sys.exit(main())
