"""`sparsight doctor`: what this machine offers, one line a check, with what to do where something is missing."""

import errno
import importlib.metadata
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Literal

from sqlalchemy import text

import gpu_engine
from gpu_engine.errors import SparsightError
from gpu_engine.host.caches import CACHE_FOLDERS
from gpu_engine.host.device import list_devices
from gpu_engine.records import DeviceInfo
from server.db import WAL_SAFE, Database
from server.migrate import check_current
from server.settings import GIB, Settings
from server.store import Store
from sparsight.checks import Check
from sparsight.privacy_checks import examine_privacy
from sparsight.service_checks import check_worker_folders, examine_service

DISK_LOW_BYTES = 5 * GIB
SHARED_MEMORY_BYTES = GIB // 2
"""Ray's object store takes 256 MB of /dev/shm; below twice that it moves to disk."""

ASK_S = 2.0
"""How long what has the port may take to say what it is."""

PROBE_S = 120
"""Longest time of a probe in a process of its own."""

NVRTC_PROBE = """
import cupy
from cupy.cuda import nvrtc
program = nvrtc.createProgram('extern "C" __global__ void probe(double *y) { y[0] = 1; }', "probe.cu", (), ())
nvrtc.compileProgram(program, ("--gpu-architecture=sm_90",))
print(cupy.__version__, ".".join(map(str, nvrtc.getVersion())))
"""
RAY_PROBE = """
import os, ray
from ray._private import services
for program in (services.GCS_SERVER_EXECUTABLE, services.RAYLET_EXECUTABLE):
    if not os.access(program, os.X_OK):
        raise SystemExit(f"{program} cannot be run")
print(ray.__version__)
"""


def examine(settings: Settings) -> Iterator[Check]:
    """Every check of this machine, in the order in which they matter; a check never raises."""
    devices = list_devices()
    yield _python()
    yield from _folders(settings)
    yield from examine_privacy(settings)
    yield _disk(settings)
    yield _database(settings)
    yield _sqlite(settings)
    yield from examine_service(settings)
    yield check_worker_folders()
    yield _port(settings)
    yield _ray()
    yield _shared_memory()
    yield from _gpu(devices)


def _python() -> Check:
    release = ".".join(str(part) for part in sys.version_info[:3])
    return Check("Python", "ok", f"{release}; Sparsight {gpu_engine.release()}")


def _folders(settings: Settings) -> Iterator[Check]:
    """Whether the folders that processes write can be written, or the parents in which they will be made."""
    tried = set()
    for name, folder, variable in _written(settings):
        try:
            place = _existing(folder)
            if place in tried:
                continue
            tried.add(place)
            with tempfile.TemporaryFile(dir=place):
                yield Check(name, "ok", f"{folder} is writable")
        except OSError as error:
            found = f"{folder} cannot be written: {error.strerror or error}"
            yield Check(name, "fail", found, f"Set {variable} to a folder that you may write.")


def _written(settings: Settings) -> Iterator[tuple[str, Path, str]]:
    """Every folder that a process writes, with the variable that chooses it."""
    yield "Home", settings.home, "SPARSIGHT_HOME"
    store = Store(settings.resolved_store)
    if store.is_local:
        yield "Matrices", Path(store.root), "SPARSIGHT_STORE"
    for variable, name in CACHE_FOLDERS.items():
        if folder := os.environ.get(variable):
            yield f"Cache of {name}", Path(folder), variable
    yield "Temporary", Path(os.environ.get("TMPDIR", "/tmp")), "TMPDIR"


def _disk(settings: Settings) -> Check:
    free = shutil.disk_usage(_existing(settings.home)).free
    found = f"{free / GIB:.1f} GiB free for matrices and results"
    if free < DISK_LOW_BYTES:
        return Check("Disk", "warn", found, "Large matrices need more: set SPARSIGHT_HOME to a larger disk.")
    return Check("Disk", "ok", found)


def _existing(folder: Path) -> Path:
    """The folder, or its nearest parent that exists, as far as this user sees."""
    return next(place for place in (folder, *folder.absolute().parents) if _is_there(place))


def _is_there(path: Path) -> bool:
    """Whether this user sees that it exists."""
    try:
        return path.exists()
    except PermissionError:
        return False


def _database(settings: Settings) -> Check:
    try:
        with closing(Database(settings.resolved_database_url)) as database:
            if _is_missing_file(settings, database):
                return Check("Database", "ok", "none yet; the first start makes it")
            check_current(database)
            with database.usable(), database.read() as session:
                jobs = session.execute(text("SELECT count(*) FROM jobs")).scalar_one()
            return Check("Database", "ok", f"{database.name} with {jobs} jobs")
    except SparsightError as error:
        return _split("Database", "fail", error.message)


def _is_missing_file(settings: Settings, database: Database) -> bool:
    """Whether it is a SQLite file that a start would make, as opening it would."""
    url = database.engine.url
    file = Path(url.database or "")
    made = not settings.database_url or _is_there(file.parent)
    return made and url.get_backend_name() == "sqlite" and not _is_there(file)


def _split(name: str, status: Literal["warn", "fail"], message: str) -> Check:
    """A check from a message whose last sentence says what to do."""
    found, _, advice = message.rpartition(". ")
    return Check(name, status, found, advice)


def _sqlite(settings: Settings) -> Check:
    if not settings.resolved_database_url.startswith("sqlite"):
        return Check("SQLite", "ok", f"{sqlite3.sqlite_version}, not used")
    if sqlite3.sqlite_version_info >= WAL_SAFE:
        return Check("SQLite", "ok", f"{sqlite3.sqlite_version}, journal mode WAL")
    safe = ".".join(map(str, WAL_SAFE))
    found = f"{sqlite3.sqlite_version}, journal mode DELETE, as before {safe}: safe, and readers wait for writers"
    return Check("SQLite", "ok", f"{found}; nothing to do")


def _port(settings: Settings) -> Check:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    place = f"{settings.host}:{settings.port}"
    try:
        with socket.create_server((settings.host, settings.port), family=family):
            return Check("Port", "ok", f"{place} is free")
    except OSError as error:
        if error.errno == errno.EADDRINUSE and _is_ours(settings):
            return Check("Port", "ok", f"{place}: Sparsight itself answers there")
        taken = "another program has it" if error.errno == errno.EADDRINUSE else error.strerror or error
        return Check("Port", "warn", f"{place}: {taken}", "Set SPARSIGHT_PORT to a free one, or SPARSIGHT_HOST.")


def _is_ours(settings: Settings) -> bool:
    """Whether what listens there answers /healthz as Sparsight does."""
    import httpx

    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)
    url = f"http://{f'[{host}]' if ':' in host else host}:{settings.port}/healthz"
    try:
        answer: object = httpx.get(url, timeout=ASK_S, trust_env=False).json()
    except (httpx.HTTPError, ValueError):
        return False
    return answer == {"status": "ok"}


def _ray() -> Check:
    version, reason = _probe(RAY_PROBE)
    if reason:
        return Check("Ray", "fail", f"cannot be used: {reason}", "Install Sparsight again; studies need Ray.")
    return Check("Ray", "ok", version)


def _shared_memory() -> Check:
    folder = Path("/dev/shm")
    free = shutil.disk_usage(folder).free if folder.exists() else 0
    found = f"{free / GIB:.1f} GiB free in {folder}"
    if free < SHARED_MEMORY_BYTES:
        return Check("Shared memory", "warn", found, "Ray falls back to disk; give a container `--shm-size=1g`.")
    return Check("Shared memory", "ok", found)


def _gpu(devices: tuple[DeviceInfo, ...]) -> Iterator[Check]:
    """Driver, CUDA, CuPy and NVRTC; without a GPU one line that says so."""
    gpus = [device for device in devices if device.backend == "cuda"]
    if not gpus:
        yield Check("NVIDIA driver", "warn", "no GPU found; studies run on the CPU", _driver_advice())
        return
    details = gpus[0].details
    yield Check("NVIDIA driver", "ok", f"{details['driver']}, {len(gpus)} × {gpus[0].name}")
    yield Check("CUDA", "ok", f"{details['CUDA of the driver']}; compute capability {details['compute capability']}")
    yield from _cupy(int(details["CUDA of the driver"].partition(".")[0]))


def _driver_advice() -> str:
    if Path("/dev/nvidiactl").exists() or os.environ.get("CUDA_VISIBLE_DEVICES") is not None:
        return "A driver seems to be there: look at CUDA_VISIBLE_DEVICES and at `nvidia-smi`."
    return "To measure on a GPU, install its driver and start again."


def _cupy(driver_major: int) -> Iterator[Check]:
    extra = "cuda13" if driver_major >= 13 else "cuda12"
    install = f"Install it with `.venv/bin/pip install -e '.[{extra}]'` in the checkout."
    wheels = _cupy_wheels()
    if not wheels:
        yield Check("CuPy", "fail", "is missing, so the GPU cannot be used", install)
        return
    if len(wheels) > 1:
        yield Check("CuPy", "fail", f"is there {len(wheels)} times: {', '.join(wheels)}", "Uninstall all but one.")
        return
    versions, reason = _probe(NVRTC_PROBE)
    if reason:
        yield Check("CuPy", "fail", f"{wheels[0]} cannot compile a kernel: {reason}", install)
        return
    version, nvrtc = versions.split()
    fits = int(nvrtc.partition(".")[0]) <= driver_major
    yield Check("CuPy", "ok", f"{wheels[0]} {version}")
    if fits:
        yield Check("NVRTC", "ok", f"{nvrtc} compiles")
    else:
        yield Check("NVRTC", "fail", f"{nvrtc} is of a newer CUDA than the driver", install)


def _cupy_wheels() -> list[str]:
    """The installed distributions of CuPy; there may be one."""
    names = {str(found.name).lower() for found in importlib.metadata.distributions()}
    return sorted(name for name in names if name == "cupy" or name.startswith("cupy-cuda"))


def _probe(program: str) -> tuple[str, str]:
    """(what a Python program prints, ""), or ("", the last line of its error): a crash in it stays there."""
    try:
        ended = subprocess.run(
            [sys.executable, "-P", "-c", program], capture_output=True, text=True, timeout=PROBE_S, check=False
        )
    except subprocess.TimeoutExpired:
        return "", f"no answer in {PROBE_S} s"
    if ended.returncode:
        return "", (ended.stderr.strip().splitlines() or [f"it ended with {ended.returncode}"])[-1]
    return ended.stdout.strip(), ""
