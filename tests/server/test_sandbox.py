"""The process that reads a matrix: its limits, its end, and what it leaves."""

import contextlib
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gpu_engine.errors import (
    MatrixFileError,
    ParameterError,
    SparsightError,
    TooLargeError,
    UnavailableError,
)
from gpu_engine.matrix_io import ReadLimits
from server import sandbox
from server.fork_server import Fork
from server.sandbox import SandboxTask
from server.store import FILES, META
from tests.server.test_matrices import GOOD, PATIENCE_S


def ignore(_: Fork) -> None:
    pass


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def a_task(tmp_path: Path, memory_bytes: int = 4 * 2**30, seconds: float = PATIENCE_S) -> SandboxTask:
    file = tmp_path / "good.mtx"
    file.write_bytes(GOOD)
    return SandboxTask(memory_bytes, seconds, ReadLimits(), path=str(file))


@pytest.mark.parametrize(
    ("signal", "kind", "sentence"),
    [
        (11, MatrixFileError, "crashed"),
        (6, MatrixFileError, "crashed"),
        (9, UnavailableError, "killed from outside"),
        (24, TooLargeError, "exceeded the time limit"),
    ],
)
def test_whatever_ends_the_process_is_the_files_fault(
    tmp_path: Path, folder: Path, signal: int, kind: type[SparsightError], sentence: str
) -> None:
    # A file would be read before the signal comes.
    with pytest.raises(kind, match=sentence):
        sandbox.run(an_endless_task(tmp_path), folder, lambda process: process.send_signal(signal))


def test_a_process_that_the_kernel_killed_for_its_memory_says_so(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "VMSTAT", tmp_path / "vmstat")

    def kill(process: Fork) -> None:
        (tmp_path / "vmstat").write_text("pgfault 12\noom_kill 1\n")
        process.send_signal(9)

    with pytest.raises(TooLargeError, match="memory"):
        sandbox.run(an_endless_task(tmp_path), folder, kill)


def test_a_process_whose_processor_time_is_over_says_so(tmp_path: Path, folder: Path) -> None:
    """Before the kernel kills it, as it does at the hard limit."""
    program = "import resource, server.sandbox as s; s._limit(s.SandboxTask(2**40, 1.5, None)); "
    program += "print(*resource.getrlimit(resource.RLIMIT_CPU)); \nwhile True: pass"
    ended = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=False)
    assert (ended.stdout.split(), ended.returncode) == (["2", "3"], -24) or ended.returncode == -24


def test_a_process_that_takes_too_long_is_ended(tmp_path: Path, folder: Path) -> None:
    seen: list[Fork] = []
    with pytest.raises(TooLargeError, match="SPARSIGHT_INGEST_SECONDS"):
        # A file would be read before its time is over where the machine is busy.
        sandbox.run(replace(an_endless_task(tmp_path), seconds=0.0), folder, seen.append)
    assert seen[0].poll() == -9


def test_a_fork_server_goes_on_after_whatever_its_process_did(tmp_path: Path, folder: Path) -> None:
    """Also after one whose time was over at once; the server forks, and does no task itself."""
    parents: list[int] = []

    def look(process: Fork) -> None:
        parents.append(int(Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[1]))

    endless, good = replace(an_endless_task(tmp_path), seconds=0.0), a_task(tmp_path)
    for task in (endless, good, endless, good):
        with pytest.raises(TooLargeError) if task is endless else contextlib.nullcontext():
            sandbox.run(task, folder, look)
    assert len({*parents}) == 1
    assert parents[0] != os.getpid()
    assert sorted(entry.name for entry in folder.iterdir()) == sorted(FILES)


def test_a_prepared_fork_server_takes_the_first_task(tmp_path: Path, folder: Path) -> None:
    sandbox.servers.close()
    sandbox.servers.prepare()
    (prepared,) = sandbox.servers.idle
    sandbox.servers.warm()
    sandbox.run(a_task(tmp_path), folder, ignore)
    assert sandbox.servers.idle == [prepared]


def test_a_fork_server_that_was_ended_is_replaced(tmp_path: Path, folder: Path) -> None:
    sandbox.run(a_task(tmp_path), folder, ignore)
    for server in sandbox.servers.idle:
        server._process.kill()
        server._process.wait()
    sandbox.run(a_task(tmp_path), folder, ignore)
    assert (folder / META).exists()


def test_a_process_without_memory_says_so(tmp_path: Path, folder: Path) -> None:
    task = SandboxTask(600 * 2**20, PATIENCE_S, ReadLimits(), generator="stencil", params={"nx": 4000, "ny": 4000})
    with pytest.raises((TooLargeError, ParameterError), match=r"memory|smaller"):
        sandbox.run(task, folder, ignore)


def an_endless_task(tmp_path: Path, **limits: int) -> SandboxTask:
    """Its file is a pipe that nobody writes into: the process stays as long as it is looked at."""
    endless = tmp_path / "endless.mtx"
    os.mkfifo(endless)
    return replace(a_task(tmp_path, **limits), path=str(endless))


def test_the_process_has_no_secrets(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARSIGHT_TOKEN", "hunter2")
    environment: list[bytes] = []

    def look(process: Fork) -> None:
        environment.append(Path(f"/proc/{process.pid}/environ").read_bytes())
        sandbox.kill(process)

    with pytest.raises(UnavailableError, match="killed from outside"):
        sandbox.run(an_endless_task(tmp_path), folder, look)
    assert environment[0]
    assert b"hunter2" not in environment[0]


def test_the_process_is_limited(tmp_path: Path, folder: Path) -> None:
    """The limits of the child, read from outside: it sets them one by one, the one of its time last."""
    found: list[dict[str, str]] = []

    def look(process: Fork) -> None:
        limits = {"Max cpu time": "unlimited"}
        while limits["Max cpu time"] == "unlimited":
            lines = Path(f"/proc/{process.pid}/limits").read_text().splitlines()
            limits = {line[:26].strip(): line[26:].split()[0] for line in lines}
        found.append(limits)
        sandbox.kill(process)

    with pytest.raises(UnavailableError, match="killed from outside"):
        sandbox.run(an_endless_task(tmp_path, memory_bytes=2**32), folder, look)
    assert found[0]["Max address space"] == found[0]["Max file size"] == "4294967296"
    assert found[0]["Max core file size"] == "0"


def test_whoever_looks_at_a_process_and_fails_leaves_its_server_ready(tmp_path: Path, folder: Path) -> None:
    def fail(_: Fork) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        sandbox.run(an_endless_task(tmp_path), folder, fail)
    (tmp_path / "next").mkdir()
    sandbox.run(a_task(tmp_path), tmp_path / "next", ignore)
    assert (tmp_path / "next" / META).exists()


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that nobody has buried yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_process_dies_with_the_server(tmp_path: Path, folder: Path) -> None:
    """A server that is killed takes its readers along, also one that has only just begun."""
    code = """if True:
        import os, sys
        from pathlib import Path
        from gpu_engine.matrix_io import ReadLimits
        from server import sandbox
        task = sandbox.SandboxTask(2**32, 600.0, ReadLimits(), generator="delaunay", params={"n": 2_000_000})
        def started(process):
            print(process.pid, flush=True)
            os.kill(os.getpid(), 9)
        sandbox.run(task, Path(sys.argv[1]), started)
    """
    kept = {"NUMBA_CACHE_DIR": os.environ["NUMBA_CACHE_DIR"], "PATH": ""}
    environment = {"PYTHONPATH": str(Path(sandbox.__file__).parent.parent), **kept}
    command = [sys.executable, "-c", code, str(folder)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == -9
    deadline = time.monotonic() + PATIENCE_S
    while is_alive(int(done.stdout)):
        assert time.monotonic() < deadline
        threading.Event().wait(0.02)
    assert not (folder / META).exists()


def test_the_warm_up_makes_no_file_with_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is killed in it leaves nothing."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    seen: list[tuple[int, list[Path]]] = []
    monkeypatch.setattr(sandbox, "describe", lambda matrix: seen.append((matrix.nnz, list(tmp_path.iterdir()))))
    sandbox.warm_up()
    assert seen == [(1, [])]
