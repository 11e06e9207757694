"""Fork servers: a process for each task, which has nothing of the server's but what it imported."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.fork_server import GONE, STDERR, ForkServer


@pytest.fixture
def server() -> Iterator[ForkServer]:
    root = str(Path(__file__).parents[2])
    made = ForkServer("tests.server.fork_work", {**os.environ, "PYTHONPATH": root})
    yield made
    made.close()


def test_a_process_reaches_no_pipe_of_its_server(server: ForkServer, tmp_path: Path) -> None:
    """Code that a file has brought in could tell its end with one, or read the tasks of others."""
    fork = server.start(["a task"], tmp_path)
    assert server.wait(fork) == 0
    found = json.loads((tmp_path / "found.json").read_bytes())
    assert found["task"] == ["a task"]
    assert found["warm"] == [server._process.pid], "once, and not for each task"
    assert (found["group"], found["temporary"]) == (fork.pid, str(tmp_path))
    assert not [name for name in found["files"] if name.startswith(("pipe:", "socket:"))]


def test_each_task_has_a_process_of_its_own(server: ForkServer, tmp_path: Path) -> None:
    forks = []
    for _ in range(3):
        forks.append(server.start("", tmp_path))
        server.wait(forks[-1])
    assert len({fork.pid for fork in forks}) == 3


def test_a_task_that_fails_says_why_and_ends_no_server(server: ForkServer, tmp_path: Path) -> None:
    assert server.wait(server.start("fail", tmp_path)) == 1
    assert (tmp_path / STDERR).read_text().endswith("ValueError: it says so\n")
    assert server.wait(server.start("", tmp_path)) == 0


def test_a_process_that_goes_on_is_waited_for_so_long(server: ForkServer, tmp_path: Path) -> None:
    fork = server.start("wait", tmp_path)
    with pytest.raises(TimeoutError):
        server.wait(fork, 0.0)
    fork.send_signal(signal.SIGKILL)
    assert server.wait(fork) == GONE


def test_a_server_that_was_ended_says_so(server: ForkServer, tmp_path: Path) -> None:
    fork = server.start("wait", tmp_path)
    server._process.kill()
    server._process.wait()
    assert server.wait(fork) == GONE
    with pytest.raises(ChildProcessError):
        server.start("", tmp_path)
