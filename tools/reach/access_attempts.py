"""Access attempts: each raises OSError if it is refused, and otherwise returns the answer."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psutil

from tools.reach.listeners import Listener

LIMIT_S = 20.0
CALLS = (
    "NodeInfoGcsService/GetAllNodeInfo",
    "InternalKVGcsService/InternalKVKeys",
    "JobInfoGcsService/GetAllJobInfo",
    "NodeManagerService/GetNodeStats",
    "NodeManagerService/GetSystemConfig",
    "ObjectManagerService/Pull",
    "CoreWorkerService/GetCoreWorkerStats",
    "CoreWorkerService/PushTask",
    "RuntimeEnvService/GetOrCreateRuntimeEnv",
)
"""A call of each service of Ray that only reads, or does nothing with an empty message."""

SECRETS = {"no token": [], "a wrong token": ["--header", "authorization: Bearer wrong"]}
REFUSED_STATUS = {"7": "permission denied", "12": "no such call", "16": "unauthenticated"}


RAY_LIMIT_S = 60.0
RAY_REFUSES = re.compile(r"[^\n]*(?:InvalidAuthToken|AuthenticationError|Unauthenticated)[^\n]*")
ASK_RAY = "import sys; from ray._raylet import GcsClient; print(GcsClient(sys.argv[1]).get_all_node_info(timeout=20))"
"""First request of `ray.init`, which itself asks the address of this host and never gives up."""


def connect(family: int, place: Any) -> str:
    """Connect to a socket; raise OSError if nobody answers."""
    with socket.socket(family, socket.SOCK_STREAM) as caller:
        caller.settimeout(LIMIT_S)
        caller.connect(place)
    return "connected"


def get(url: str, token: str) -> str:
    """Call the API; raise OSError if it is refused."""
    answer = httpx.get(url, headers={"authorization": f"Bearer {token}"} if token else {}, timeout=LIMIT_S)
    if answer.status_code == 401:
        raise OSError("401 unauthorized")
    return f"{answer.status_code} {answer.text[:60]}"


def call_grpc(port: int, call: str, secret: list[str]) -> str:
    """Call Ray without the right token; raise OSError if it is refused."""
    url = f"http://127.0.0.1:{port}/ray.rpc.{call}"
    headers = ["--header", "content-type: application/grpc", "--header", "te: trailers", *secret]
    command = ["curl", "--silent", "--verbose", "--max-time", "5", "--http2-prior-knowledge", *headers]
    ended = subprocess.run([*command, "--data-binary", "@-", url], input=bytes(5), capture_output=True, check=False)
    output = ended.stderr.decode(errors="replace")
    status = re.search(r"< grpc-status: (\d+)", output)
    if status and status[1] in REFUSED_STATUS:
        raise OSError(REFUSED_STATUS[status[1]])
    http = re.search(r"< HTTP/\S+ (40[0-9])", output)
    if http:
        raise OSError(f"HTTP {http[1]}")
    if status is None and ended.stdout == b"" and ended.returncode:
        raise OSError(f"no answer (curl: {ended.returncode})")
    return f"grpc-status {status[1]}" if status else f"{ended.stdout[:60]!r}"


def ask_ray(port: int, token: str) -> str:
    """Run a client of Ray under our own account with a token; raise OSError if it is refused."""
    environment = {**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}
    command = [sys.executable, "-P", "-c", ASK_RAY, f"127.0.0.1:{port}"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=RAY_LIMIT_S, check=False)
    if ended.returncode and (refusal := RAY_REFUSES.search(ended.stdout + ended.stderr)):
        raise OSError(refusal[0].strip()[:80])
    return (ended.stdout + ended.stderr)[-200:]


def read(path: Path) -> str:
    """Read a file or list a folder; raise OSError if it is refused."""
    if path.is_dir():
        return f"{len(list(path.iterdir()))} entries"
    with path.open("rb") as file:
        return f"{len(file.read(64))} bytes"


def write(path: Path) -> str:
    """Write a module into a folder; raise OSError if it is refused."""
    (path / "numba.py").write_text("raise SystemExit('not yours')\n")
    (path / "numba.py").unlink()
    return "written"


def import_folders(family: list[psutil.Process]) -> set[Path]:
    """Return the working directories of the processes, and the folders for imports."""
    folders = {Path(entry) for entry in sys.path if Path(entry).is_dir()}
    for process in family:
        folders.add(Path(process.cwd()))
        folders |= {
            Path(entry) for entry in process.environ().get("PYTHONPATH", "").split(":") if entry.startswith("/")
        }
    return {path for path in folders if path != Path("/")}


def signal(pid: int) -> str:
    """Return `delivered` if a signal could be sent; none is sent."""
    os.kill(pid, 0)
    return "delivered"


def of_processes(family: list[psutil.Process]) -> Iterator[tuple[str, str, Callable[[], str]]]:
    """Yield (what, tried, attempt) for the /proc files of each process."""
    for process in family:
        name = f"{process.pid} {process.name()}"
        for file in ("environ", "mem", "maps", "fd", "cwd"):
            path = Path(f"/proc/{process.pid}/{file}")
            yield name, f"read /proc/PID/{file}", partial(read, path)
        yield name, "signal", partial(signal, process.pid)


def of_folders(home: Path, family: list[psutil.Process]) -> Iterator[tuple[str, str, Callable[[], str]]]:
    """Yield (what, tried, attempt) for the data directory, worker folders, shared memory, and imported folders."""
    workers = {Path(process.cwd()) for process in family if Path(process.cwd()).name.startswith("sparsight-")}
    paths = [home, home / "sparsight.db", home / "matrices", home / "numba", *sorted(workers)]
    paths += [
        folder / name for folder in sorted(workers) for name in ("ray", "ray/session_latest", "ray/session_latest/logs")
    ]
    shared = {Path(entry.path) for process in family for entry in process.memory_maps() if "/dev/shm/" in entry.path}
    for path in [*paths, *(path for path in sorted(shared) if path.exists())]:
        yield str(path), "read", partial(read, path)
    for path in sorted({home, *workers, *import_folders(family)}):
        yield str(path), "put a module there", partial(write, path)


def of_socket(listener: Listener, api: int) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield (tried, attempt) for a socket, from this machine."""
    if listener.kind == "unix":
        place = f"\0{listener.place[1:]}" if listener.place.startswith("@") else listener.place
        yield "connect", lambda: connect(socket.AF_UNIX, place)
    elif listener.kind == "tcp" and listener.port == api:
        for route in ("/", "/api/v1/matrices", "/api/v1/jobs", "/metrics", "/api/v1/openapi.json"):
            for name, token in (("no token", ""), ("a wrong token", "wrong")):
                url = f"http://127.0.0.1:{api}{route}"
                yield f"GET {route}, {name}", partial(get, url, token)
    elif listener.kind == "tcp":
        for call in CALLS:
            for name, secret in SECRETS.items():
                yield f"{call}, {name}", partial(call_grpc, listener.port, call, secret)
