"""Command `sparsight doctor`: one check per line, with advice if something is missing."""

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
from sparsight.doctor_check import Check
from sparsight.privacy_checks import examine_privacy
from sparsight.service_checks import check_worker_folders, examine_service

DISK_LOW_BYTES = 5 * GIB
"""Free disk space below which the check warns, in bytes."""

SHARED_MEMORY_BYTES = GIB // 2
"""Free /dev/shm below which the check warns: Ray's object store takes 256 MB of it, or moves to disk."""

PORT_OWNER_TIMEOUT_S = 2.0
"""Seconds within which the program that uses the port must respond."""

PROBE_S = 120
"""Timeout of a probe that runs in a separate process, in seconds."""

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
    """Yield every check of this machine, the most important first; a check never raises."""
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
    """Check that the folders that Sparsight writes, or the parents in which it creates them, are writable."""
    checked = set()
    for name, folder, variable in _writable_folders(settings):
        try:
            existing = _nearest_existing(folder)
            if existing in checked:
                continue
            checked.add(existing)
            with tempfile.TemporaryFile(dir=existing):
                yield Check(name, "ok", f"{folder} is writable")
        except OSError as error:
            state = f"{folder} is not writable: {error.strerror or error}"
            yield Check(name, "fail", state, f"Set {variable} to a writable folder.")


def _writable_folders(settings: Settings) -> Iterator[tuple[str, Path, str]]:
    """Yield (name, folder, variable that sets it) of every folder that Sparsight writes."""
    yield "Data directory", settings.home, "SPARSIGHT_HOME"
    store = Store(settings.resolved_store)
    if store.is_local:
        yield "Matrices", Path(store.root), "SPARSIGHT_STORE"
    for variable, name in CACHE_FOLDERS.items():
        if folder := os.environ.get(variable):
            yield f"Cache of {name}", Path(folder), variable
    yield "Temporary", Path(os.environ.get("TMPDIR", "/tmp")), "TMPDIR"


def _disk(settings: Settings) -> Check:
    free = shutil.disk_usage(_nearest_existing(settings.home)).free
    state = f"{free / GIB:.1f} GiB free for matrices and results"
    if free < DISK_LOW_BYTES:
        return Check("Disk", "warn", state, "Large matrices need more. Set SPARSIGHT_HOME to a larger disk.")
    return Check("Disk", "ok", state)


def _nearest_existing(folder: Path) -> Path:
    """Return the folder or its nearest parent that exists and that this user can see."""
    return next(path for path in (folder, *folder.absolute().parents) if _exists(path))


def _exists(path: Path) -> bool:
    """Return whether the path exists and this user can see it."""
    try:
        return path.exists()
    except PermissionError:
        return False


def _database(settings: Settings) -> Check:
    try:
        with closing(Database(settings.resolved_database_url)) as database:
            if _is_missing_file(settings, database):
                return Check("Database", "ok", "none yet; the first start creates it")
            check_current(database)
            with database.usable(), database.read() as session:
                jobs = session.execute(text("SELECT count(*) FROM jobs")).scalar_one()
            return Check("Database", "ok", f"{database.name} with {jobs} jobs")
    except SparsightError as error:
        return _check_of_message("Database", "fail", error.message)


def _is_missing_file(settings: Settings, database: Database) -> bool:
    """Return whether the database is a SQLite file that does not exist and that a start can create."""
    url = database.engine.url
    file = Path(url.database or "")
    can_be_created = not settings.database_url or _exists(file.parent)
    return can_be_created and url.get_backend_name() == "sqlite" and not _exists(file)


def _check_of_message(name: str, status: Literal["warn", "fail"], message: str) -> Check:
    """Return a check made from an error message whose last sentence is the advice."""
    state, _, advice = message.rpartition(". ")
    return Check(name, status, state, advice)


def _sqlite(settings: Settings) -> Check:
    if not settings.resolved_database_url.startswith("sqlite"):
        return Check("SQLite", "ok", f"{sqlite3.sqlite_version}, not used")
    if sqlite3.sqlite_version_info >= WAL_SAFE:
        return Check("SQLite", "ok", f"{sqlite3.sqlite_version}, journal mode WAL")
    safe = ".".join(map(str, WAL_SAFE))
    state = f"{sqlite3.sqlite_version}, journal mode DELETE (WAL needs {safe}): safe, but readers wait for writers"
    return Check("SQLite", "ok", f"{state}; nothing to do")


def _port(settings: Settings) -> Check:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    address = f"{settings.host}:{settings.port}"
    try:
        with socket.create_server((settings.host, settings.port), family=family):
            return Check("Port", "ok", f"{address} is free")
    except OSError as error:
        if error.errno == errno.EADDRINUSE and _is_sparsight(settings):
            return Check("Port", "ok", f"{address}: a Sparsight server is running")
        reason = "used by another program" if error.errno == errno.EADDRINUSE else error.strerror or error
        advice = "Set SPARSIGHT_PORT to a free port, or SPARSIGHT_HOST to another address."
        return Check("Port", "warn", f"{address}: {reason}", advice)


def _is_sparsight(settings: Settings) -> bool:
    """Return whether the program at the port responds to /healthz as Sparsight does."""
    import httpx

    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)
    url = f"http://{f'[{host}]' if ':' in host else host}:{settings.port}/healthz"
    try:
        answer: object = httpx.get(url, timeout=PORT_OWNER_TIMEOUT_S, trust_env=False).json()
    except (httpx.HTTPError, ValueError):
        return False
    return answer == {"status": "ok"}


def _ray() -> Check:
    version, reason = _probe(RAY_PROBE)
    if reason:
        return Check("Ray", "fail", f"cannot be used: {reason}", "Studies need Ray. Reinstall Sparsight.")
    return Check("Ray", "ok", version)


def _shared_memory() -> Check:
    folder = Path("/dev/shm")
    free = shutil.disk_usage(folder).free if folder.exists() else 0
    state = f"{free / GIB:.1f} GiB free in {folder}"
    if free < SHARED_MEMORY_BYTES:
        advice = "Ray falls back to disk. Start a container with `--shm-size=1g`."
        return Check("Shared memory", "warn", state, advice)
    return Check("Shared memory", "ok", state)


def _gpu(devices: tuple[DeviceInfo, ...]) -> Iterator[Check]:
    """Check driver, CUDA, CuPy, and NVRTC; yield one warning if there is no GPU."""
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
        return "A driver seems to be installed. Check CUDA_VISIBLE_DEVICES and `nvidia-smi`."
    return "To measure on a GPU, install the NVIDIA driver and restart."


def _cupy(driver_major: int) -> Iterator[Check]:
    extra = "cuda13" if driver_major >= 13 else "cuda12"
    install = f"Install it with `.venv/bin/pip install -e '.[{extra}]'` in the checkout."
    wheels = _cupy_wheels()
    if not wheels:
        yield Check("CuPy", "fail", "not installed; the GPU cannot be used", install)
        return
    if len(wheels) > 1:
        state = f"installed {len(wheels)} times: {', '.join(wheels)}"
        yield Check("CuPy", "fail", state, "Uninstall all but one.")
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
        yield Check("NVRTC", "fail", f"{nvrtc} belongs to a newer CUDA than the driver supports", install)


def _cupy_wheels() -> list[str]:
    """Return the names of the installed distributions of CuPy; more than one is an error."""
    names = {str(distribution.name).lower() for distribution in importlib.metadata.distributions()}
    return sorted(name for name in names if name == "cupy" or name.startswith("cupy-cuda"))


def _probe(program: str) -> tuple[str, str]:
    """Return (output, "") of a Python program, or ("", last line of its error).

    It runs in a separate process, so that a crash does not end the doctor.
    """
    try:
        outcome = subprocess.run(
            [sys.executable, "-P", "-c", program], capture_output=True, text=True, timeout=PROBE_S, check=False
        )
    except subprocess.TimeoutExpired:
        return "", f"no response within {PROBE_S} s"
    if outcome.returncode:
        return "", (outcome.stderr.strip().splitlines() or [f"exit code {outcome.returncode}"])[-1]
    return outcome.stdout.strip(), ""
