"""The process that reads a matrix: its limits, its end, and what it leaves."""

import contextlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from gpu_engine.errors import InputError, MatrixFileError, ParameterError, TooLargeError
from gpu_engine.matrix_io import ReadLimits
from server import sandbox
from server.sandbox import SandboxTask
from tests.server.test_matrices import GOOD, PATIENCE_S


def ignore(_: "subprocess.Popen[str]") -> None:
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
        (9, TooLargeError, "memory"),
        (24, TooLargeError, "took more"),
    ],
)
def test_whatever_ends_the_process_is_the_files_fault(
    tmp_path: Path, folder: Path, signal: int, kind: type[InputError], sentence: str
) -> None:
    with pytest.raises(kind, match=sentence):
        sandbox.run(a_task(tmp_path), folder, lambda process: process.send_signal(signal))


def test_a_process_that_takes_too_long_is_ended(tmp_path: Path, folder: Path) -> None:
    seen: list[subprocess.Popen[str]] = []
    with pytest.raises(TooLargeError, match="SPARSIGHT_INGEST_SECONDS"):
        sandbox.run(a_task(tmp_path, seconds=0.001), folder, seen.append)
    assert seen[0].poll() == -9


def test_no_pipe_of_a_process_stays_open(tmp_path: Path, folder: Path) -> None:
    """Nor that of one whose time is over before its task was written."""
    seen: list[subprocess.Popen[str]] = []
    sandbox.run(a_task(tmp_path), folder, seen.append)
    with pytest.raises(TooLargeError):
        sandbox.run(a_task(tmp_path, seconds=0.0), folder, seen.append)
    for process in seen:
        assert all(pipe is not None and pipe.closed for pipe in (process.stdin, process.stderr))


def test_a_process_without_memory_says_so(tmp_path: Path, folder: Path) -> None:
    task = SandboxTask(600 * 2**20, PATIENCE_S, ReadLimits(), family="stencil", params={"nx": 4000, "ny": 4000})
    with pytest.raises((TooLargeError, ParameterError), match=r"memory|smaller"):
        sandbox.run(task, folder, ignore)


def test_the_process_has_no_secrets(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARSIGHT_TOKEN", "hunter2")
    environment: list[bytes] = []
    sandbox.run(
        a_task(tmp_path),
        folder,
        lambda process: environment.append(Path(f"/proc/{process.pid}/environ").read_bytes()),
    )
    assert environment
    assert b"hunter2" not in environment[0]


def test_the_process_is_limited(tmp_path: Path, folder: Path) -> None:
    """The limits of the child, read from outside until it ends: it sets them one by one, so the last reading counts."""
    limits: dict[str, str] = {}
    watchers: list[threading.Thread] = []

    def look(process: "subprocess.Popen[str]") -> None:
        def watch() -> None:
            with contextlib.suppress(OSError):
                while process.poll() is None:
                    text = Path(f"/proc/{process.pid}/limits").read_text()
                    if "4294967296" in text:
                        limits.update({line[:26].strip(): line[26:].split()[0] for line in text.splitlines()})

        watchers.append(threading.Thread(target=watch))
        watchers[0].start()

    sandbox.run(a_task(tmp_path, memory_bytes=2**32), folder, look)
    watchers[0].join()
    assert limits["Max address space"] == limits["Max file size"] == "4294967296"
    assert limits["Max core file size"] == "0"


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that nobody has buried yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_process_dies_with_the_server(tmp_path: Path, folder: Path) -> None:
    """A server that is killed takes its readers along, also one that has only just begun."""
    # The child has its task, but not yet the tie to its parent.
    code = """if True:
        import dataclasses, json, os, sys
        from pathlib import Path
        from gpu_engine.matrix_io import ReadLimits
        from server import sandbox
        task = sandbox.SandboxTask(2**32, 600.0, ReadLimits(), family="delaunay", params={"n": 2_000_000})
        def started(process):
            print(process.pid, flush=True)
            process.stdin.write(json.dumps(dataclasses.asdict(task)))
            process.stdin.close()
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
    assert list(folder.iterdir()) == []
