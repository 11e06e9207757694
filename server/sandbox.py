"""Sandbox: a short-lived process that reads or generates one matrix, so that a bad file cannot affect the server.

`run` has a fork server (server/fork_server.py) fork a process for a task and waits. The process leaves the files of a
matrix (server/store.py) or `problem.json` in its folder. It has no database, settings, or secrets.
"""

import atexit
import dataclasses
import errno
import json
import logging
import math
import os
import resource
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu_engine.csr_matrix import CsrMatrix, fingerprint
from gpu_engine.errors import (
    DiskFullError,
    InputError,
    MatrixFileError,
    ParameterError,
    SparsightError,
    TooLargeError,
    UnavailableError,
)
from gpu_engine.generators import generate
from gpu_engine.matrices.features import features, row_length_histogram, spy
from gpu_engine.matrix_io import ReadLimits, ReadOptions, ReadResult, read_matrix
from gpu_engine.matrix_io.preview import preview
from server.disk import is_full
from server.fork_server import STDERR, Fork, ForkServer, ForkServers, serve
from server.store import write_matrix

log = logging.getLogger(__name__)

PROBLEM = "problem.json"
PREVIEW = "preview.json"
SPY_SIZE = 256
SECRETS = "SPARSIGHT_"
VMSTAT = Path("/proc/vmstat")
STDERR_LOGGED = 2000
ERRORS: dict[str, type[SparsightError]] = {
    kind.code: kind for kind in (InputError, MatrixFileError, ParameterError, TooLargeError, UnavailableError)
}

DISK_FULL = errno.ENOSPC
"""Exit code of a process that found the disk full, and therefore could not write its error."""


@dataclass(frozen=True)
class SandboxTask:
    """Task of the process: read the file at `path`, or generate a matrix if there is no path.

    preview       write a description of the content instead of the matrix
    memory_bytes  limit of the address space; seconds  limit of wall-clock and CPU time
    """

    memory_bytes: int
    seconds: float
    limits: ReadLimits
    path: str = ""
    options: ReadOptions = dataclasses.field(default_factory=ReadOptions)
    preview: bool = False
    generator: str = ""
    params: dict[str, Any] = dataclasses.field(default_factory=dict)


servers = ForkServers(__name__, lambda: _environment())
atexit.register(servers.close)


def run(task: SandboxTask, folder: Path, started: Callable[[Fork], None]) -> None:
    """Fill the empty folder with the files of the matrix.

    started  is called with the process, so that another thread can kill it

    Raises InputError or a subclass if the file or the parameters are bad, DiskFullError, and UnavailableError if the
    process was killed.
    """
    kills = oom_kills()
    with _forked(task, folder) as (server, process):
        try:
            started(process)
            server.wait(process, task.seconds)
        except TimeoutError:
            raise TooLargeError(_too_long(task)) from None
        finally:
            kill(process)
            code = server.wait(process)
    log_file, problem = folder / STDERR, folder / PROBLEM
    stderr = log_file.read_bytes()[-STDERR_LOGGED:].decode(errors="replace") if log_file.exists() else ""
    log_file.unlink(missing_ok=True)
    if code == 0 and problem.exists():
        raise _restore(json.loads(problem.read_bytes()))
    if code != 0:
        log.warning("the reading process exited with %d: %r", code, stderr)
        raise _explain_exit(code, task, oom_kills() > kills)


@contextmanager
def _forked(task: SandboxTask, folder: Path) -> Iterator[tuple[ForkServer, Fork]]:
    """Yield a process for the task and its fork server, which then waits for another task."""
    try:
        server, process = servers.take(dataclasses.asdict(task), folder)
    except ChildProcessError as error:
        raise UnavailableError("Cannot start a process to read the file. Try again later.") from error
    try:
        yield server, process
    finally:
        servers.idle.append(server)


def kill(process: Fork) -> None:
    """End the process and everything that it started, if it still runs."""
    process.send_signal(signal.SIGKILL)


def _environment() -> dict[str, str]:
    """Return the environment without secrets, with one thread for each library."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(SECRETS)}
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    packages = str(Path(__file__).resolve().parent.parent)
    return {**inherited, **threads, "PYTHONPATH": packages}


def oom_kills() -> int:
    """Return how many processes the kernel has killed because memory ran out; 0 if unknown."""
    try:
        lines = VMSTAT.read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def _explain_exit(code: int, task: SandboxTask, out_of_memory: bool) -> SparsightError:
    """Return the error for an exit without `problem.json`.

    out_of_memory  whether the kernel killed a process meanwhile because memory ran out
    """
    if code == DISK_FULL:
        return DiskFullError()
    if code == -signal.SIGXCPU:
        return TooLargeError(_too_long(task))
    if code == -signal.SIGKILL and out_of_memory:
        return TooLargeError(_too_much_memory(task))
    if code == -signal.SIGKILL:
        return UnavailableError(f"{_work(task)} was killed from outside (signal 9). Try again.")
    how = f"crashed (signal {-code})" if code < 0 else "failed"
    if task.path:
        return MatrixFileError(f"The reader {how} on this file. The file may be truncated or invalid.")
    return ParameterError(f"The generator {how} with these parameters. Try a smaller matrix.")


def _restore(problem: dict[str, Any]) -> SparsightError:
    """Return the error that the process wrote to `problem.json`."""
    error = ERRORS.get(problem["code"], InputError)(str(problem["message"]))
    error.hint = problem["hint"]
    if isinstance(error, MatrixFileError):
        error.line = problem["line"]
    return error


def _too_long(task: SandboxTask) -> str:
    return (
        f"{_work(task)} exceeded the time limit of {task.seconds:g} s. Try a smaller matrix, or "
        "raise SPARSIGHT_INGEST_SECONDS."
    )


def _too_much_memory(task: SandboxTask) -> str:
    return (
        f"{_work(task)} exceeded the memory limit of {task.memory_bytes / 2**30:.3g} GiB. Try a "
        "smaller matrix, or raise SPARSIGHT_INGEST_MEMORY_BYTES."
    )


def _work(task: SandboxTask) -> str:
    return "Reading the file" if task.path else "Generating the matrix"


def warm_up() -> None:
    """Read a small matrix, so that code compiled by Numba is loaded once and not for each file."""
    # An unnamed file: a killed process leaves nothing behind.
    with tempfile.TemporaryFile() as file:
        file.write(b"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1.5\n")
        file.flush()
        describe(read_matrix(Path(f"/proc/self/fd/{file.fileno()}"), ReadLimits(), ReadOptions()).matrix)


def work(document: dict[str, Any]) -> int:
    """Limit this process, run the task in the current folder, and write errors to `problem.json`.

    Returns the exit code.
    """
    limits, options = ReadLimits(**document["limits"]), ReadOptions(**document["options"])
    task = SandboxTask(**{**document, "limits": limits, "options": options})
    _limit(task)
    try:
        try:
            _produce(task, Path.cwd())
        except (InputError, UnavailableError) as error:
            _write_down(error.code, error.message, getattr(error, "line", None), error.hint)
        except MemoryError:
            _write_down(TooLargeError.code, _too_much_memory(task))
    except OSError as error:
        if is_full(error):
            return DISK_FULL
        log.exception("disk")
        _write_down(UnavailableError.code, f"Cannot store the matrix: {error.strerror or error}. Try again later.")
    return 0


def _limit(task: SandboxTask) -> None:
    for limit, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_AS, task.memory_bytes),
        # Each array of a matrix fits in the memory limit.
        (resource.RLIMIT_FSIZE, task.memory_bytes),
        (resource.RLIMIT_CPU, math.ceil(task.seconds)),
    ):
        _, hard = resource.getrlimit(limit)
        # At the hard time limit the kernel kills without a reason; one second before, the process can report it.
        spare = 1 if limit == resource.RLIMIT_CPU else 0
        highest = most + spare if hard == resource.RLIM_INFINITY else min(most + spare, hard)
        resource.setrlimit(limit, (min(most, highest), highest))


def _produce(task: SandboxTask, folder: Path) -> None:
    """Read or generate the matrix, and write its files or its description."""
    if task.preview:
        document = preview(Path(task.path), task.limits, task.options)
        (folder / PREVIEW).write_text(json.dumps(document, allow_nan=False), encoding="utf-8")
        return
    generated = task.generator and ReadResult(generate(task.generator, task.params, task.limits.nnz_max))
    result = generated or read_matrix(Path(task.path), task.limits, task.options)
    notes = {"notes": list(result.notes), "duplicates": result.duplicates}
    write_matrix(folder, result.matrix, describe(result.matrix) | notes)


def describe(matrix: CsrMatrix) -> dict[str, Any]:
    """Return everything that pages show of a matrix as plain JSON values, so that pages never read its arrays."""
    return {
        "fingerprint": fingerprint(matrix),
        "features": _plain(features(matrix)),
        "row_lengths": _plain(row_length_histogram(matrix)),
        "spy": spy(matrix, SPY_SIZE).tolist(),
    }


def _plain(value: Any) -> Any:
    """Return the value in JSON form; non-finite numbers become null."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(name): _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write_down(code: str, message: str, line: int | None = None, hint: str | None = None) -> None:
    document = {"code": code, "message": message, "line": line, "hint": hint}
    Path(PROBLEM).write_text(json.dumps(document), encoding="utf-8")


if __name__ == "__main__":
    serve(work, warm_up)
