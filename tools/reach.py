"""What of a running service others reach: every socket that it listens on, its files, memory and environment.

`python -m tools.reach` starts the service with a worker and a token, as a user does, and tries each from another user's
account and from another address (a network namespace); it needs root for both. It prints what listens, what was tried
from where and what the answer was, and ends with 1 where anything but a refusal came, with 3 where it could not try.
"""

import ctypes
import json
import os
import re
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psutil

from sparsight import Client
from tests.server.jobs.conftest import wait_for
from tools.service import MATRIX, Service

NOBODY = 65534
HERE, THERE = "10.203.113.1", "10.203.113.2"
NAMESPACE = "sparsight-reach"
LINK = "ssreach"
CLONE_NEWNET = 0x40000000
LIMIT_S = 20.0
USER, ADDRESS = "another user", "another address"
OPEN_ROUTES = ("/healthz", "/readyz", "/sign-in")
LISTENS = 0x10000
"""Of the flags in /proc/net/unix: __SO_ACCEPTCON."""

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
"""Of Ray: one that only looks, or does nothing with an empty message, of each of its services."""

SECRETS = {"no token": [], "a wrong token": ["--header", "authorization: Bearer wrong"]}
REFUSED_STATUS = {"7": "permission denied", "12": "no such call", "16": "unauthenticated"}


@dataclass(frozen=True)
class Listener:
    """A socket that a process of the service listens on; kind is tcp, udp or unix."""

    kind: str
    place: str
    process: str

    @property
    def port(self) -> int:
        """Of tcp and udp."""
        return int(self.place.rpartition(":")[2])


@dataclass(frozen=True)
class Attempt:
    """What was tried; `answer` of a refusal says of what kind it was."""

    what: str
    tried: str
    origin: str
    answer: str
    refused: bool


def listeners(family: list[psutil.Process]) -> list[Listener]:
    """Every socket on which these processes listen, or take datagrams."""
    owners = {process.pid: f"{process.pid} {process.name()}" for process in family}
    found = [
        Listener(
            "tcp" if entry.type == socket.SOCK_STREAM else "udp",
            f"{entry.laddr.ip}:{entry.laddr.port}",
            owners[entry.pid],
        )
        for entry in psutil.net_connections("inet")
        if entry.pid in owners
        and entry.laddr
        and (entry.status == psutil.CONN_LISTEN or (entry.type == socket.SOCK_DGRAM and not entry.raddr))
    ]
    rows = (line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:])
    places = {row[6]: row[7] for row in rows if len(row) > 7 and int(row[3], 16) & LISTENS}
    for pid, owner in owners.items():
        for link in Path(f"/proc/{pid}/fd").iterdir():
            held = re.fullmatch(r"socket:\[(\d+)\]", _target(link))
            if held and held[1] in places:
                found.append(Listener("unix", places[held[1]], owner))
    return sorted(set(found), key=lambda entry: (entry.kind, entry.place))


def _target(link: Path) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""


def isolated(become: Callable[[], None], attempt: Callable[[], str]) -> tuple[bool, str]:
    """Runs the attempt in a child that has become somebody else: whether it was refused, and the answer.

    An attempt raises OSError where it is refused and returns what it got; nothing is executed anew, since another user
    may not even read our Python.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        answer: tuple[bool, str] = (False, "the attempt broke off")
        try:
            become()
            answer = (False, attempt())
        except OSError as error:
            answer = (True, str(error.strerror or error))
        except BaseException as error:
            answer = (False, f"the attempt broke off: {error!r}")
        os.write(writer, json.dumps(answer).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    refused, text = json.loads(said) if said else (False, "the attempt broke off")
    return bool(refused), str(text)


def become_nobody() -> None:
    """Another user's account, with no group of ours."""
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def enter_namespace() -> None:
    """Another address."""
    with open(f"/run/netns/{NAMESPACE}") as place:
        if ctypes.CDLL(None, use_errno=True).setns(place.fileno(), CLONE_NEWNET):
            raise RuntimeError(os.strerror(ctypes.get_errno()))


@contextmanager
def namespace() -> Iterator[bool]:
    """A network namespace that reaches this one by a pair of veth; False where this machine allows none."""
    commands = (
        f"ip netns add {NAMESPACE}",
        f"ip link add {LINK}0 type veth peer name {LINK}1",
        f"ip link set {LINK}1 netns {NAMESPACE}",
        f"ip addr add {HERE}/30 dev {LINK}0",
        f"ip link set {LINK}0 up",
        f"ip -n {NAMESPACE} addr add {THERE}/30 dev {LINK}1",
        f"ip -n {NAMESPACE} link set {LINK}1 up",
    )
    try:
        yield all(subprocess.run(words.split(), capture_output=True, check=False).returncode == 0 for words in commands)
    finally:
        subprocess.run(["ip", "netns", "del", NAMESPACE], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", f"{LINK}0"], capture_output=True, check=False)


def connect(family: int, place: Any) -> str:
    """Raises OSError where nobody answers."""
    with socket.socket(family, socket.SOCK_STREAM) as caller:
        caller.settimeout(LIMIT_S)
        caller.connect(place)
    return "connected"


def get(url: str, token: str) -> str:
    """A call of the API; raises OSError where it is refused."""
    answer = httpx.get(url, headers={"authorization": f"Bearer {token}"} if token else {}, timeout=LIMIT_S)
    if answer.status_code == 401:
        raise OSError("401 unauthorized")
    return f"{answer.status_code} {answer.text[:60]}"


def call_grpc(port: int, call: str, secret: list[str]) -> str:
    """A call of Ray without the right token; raises OSError where it is refused."""
    url = f"http://127.0.0.1:{port}/ray.rpc.{call}"
    headers = ["--header", "content-type: application/grpc", "--header", "te: trailers", *secret]
    command = ["curl", "--silent", "--verbose", "--max-time", "5", "--http2-prior-knowledge", *headers]
    ended = subprocess.run([*command, "--data-binary", "@-", url], input=bytes(5), capture_output=True, check=False)
    said = ended.stderr.decode(errors="replace")
    status = re.search(r"< grpc-status: (\d+)", said)
    if status and status[1] in REFUSED_STATUS:
        raise OSError(REFUSED_STATUS[status[1]])
    http = re.search(r"< HTTP/\S+ (40[0-9])", said)
    if http:
        raise OSError(f"HTTP {http[1]}")
    if status is None and ended.stdout == b"" and ended.returncode:
        raise OSError(f"no answer (curl: {ended.returncode})")
    return f"grpc-status {status[1]}" if status else f"{ended.stdout[:60]!r}"


def read(path: Path) -> str:
    """Reads or lists; raises OSError where it may not."""
    if path.is_dir():
        return f"{len(list(path.iterdir()))} entries"
    with path.open("rb") as file:
        return f"{len(file.read(64))} bytes"


def write(path: Path) -> str:
    """Puts a module into a folder; raises OSError where it may not."""
    (path / "numba.py").write_text("raise SystemExit('not yours')\n")
    (path / "numba.py").unlink()
    return "written"


def import_folders(family: list[psutil.Process]) -> set[Path]:
    """Where the processes stand, and where they and we import from."""
    found = {Path(entry) for entry in sys.path if Path(entry).is_dir()}
    for process in family:
        found.add(Path(process.cwd()))
        found |= {Path(entry) for entry in process.environ().get("PYTHONPATH", "").split(":") if entry.startswith("/")}
    return {path for path in found if path != Path("/")}


def signal(pid: int) -> str:
    """Whether a signal would be delivered; none is."""
    os.kill(pid, 0)
    return "delivered"


def of_processes(family: list[psutil.Process]) -> Iterator[tuple[str, str, Callable[[], str]]]:
    """(what, tried, attempt) of what the kernel shows of each process."""
    for process in family:
        name = f"{process.pid} {process.name()}"
        for file in ("environ", "mem", "maps", "fd", "cwd"):
            path = Path(f"/proc/{process.pid}/{file}")
            yield name, f"read /proc/PID/{file}", partial(read, path)
        yield name, "signal", partial(signal, process.pid)


def of_folders(home: Path, family: list[psutil.Process]) -> Iterator[tuple[str, str, Callable[[], str]]]:
    """(what, tried, attempt) of the home, the folders of workers, shared memory and what is imported."""
    workers = {Path(process.cwd()) for process in family if Path(process.cwd()).name.startswith("sparsight-")}
    places = [home, home / "sparsight.db", home / "matrices", home / "numba", *sorted(workers)]
    places += [
        folder / name for folder in sorted(workers) for name in ("ray", "ray/session_latest", "ray/session_latest/logs")
    ]
    shared = {Path(entry.path) for process in family for entry in process.memory_maps() if "/dev/shm/" in entry.path}
    for path in [*places, *(path for path in sorted(shared) if path.exists())]:
        yield str(path), "read", partial(read, path)
    for path in sorted({home, *workers, *import_folders(family)}):
        yield str(path), "put a module there", partial(write, path)


def of_socket(listener: Listener, api: int) -> Iterator[tuple[str, Callable[[], str]]]:
    """(tried, attempt) of a socket, from this machine."""
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
        elif listener.kind == "udp":
            local = listener.place.startswith(("127.", "::1"))
            yield Attempt(what, "address", ADDRESS, "bound to this machine" if local else "bound to all", local)
    home = service.folder / "home"
    for what, tried, attempt in (*of_folders(home, family), *of_processes(family)):
        refused, answer = isolated(become_nobody, attempt)
        yield Attempt(what, tried, USER, answer, refused)


def main() -> int:
    """Starts the service, tries everything, prints the table."""
    if os.geteuid() != 0:
        sys.stderr.write("Nothing was tried: only root becomes another user and makes a network namespace.\n")
        return 3
    with tempfile.TemporaryDirectory(prefix="reach-") as name, namespace() as has_namespace:
        folder = Path(name)
        # As a home stands beside others': what keeps them out has to be its own mode.
        folder.chmod(0o755)
        token = secrets.token_hex()
        service = Service(folder, token=token)
        try:
            wait_for(lambda: httpx.get(f"{service.url}/readyz").status_code == 200, "the worker")
            (folder / "a.mtx").write_text(MATRIX)
            with Client(service.url, token) as client:
                client.wait_matrix(client.upload(folder / "a.mtx")["id"])
            # A device is offered before Ray is up.
            wait_for(lambda: any("plasma_store" in entry.place for entry in listeners(service.family())), "Ray")
            family = service.family()
            tried = list(attempts(service, family, has_namespace))
        finally:
            service.close()
    possible = "a network namespace with a pair of veth" if has_namespace else "NOT POSSIBLE HERE: ip netns is refused"
    sys.stdout.write(
        f"Another user: uid {NOBODY}. Another address: {possible}.\n\n| what | tried | from | answer | |\n"
    )
    sys.stdout.write("| --- | --- | --- | --- | --- |\n")
    for entry in tried:
        verdict = "refused" if entry.refused else "OPEN"
        sys.stdout.write(f"| {entry.what} | {entry.tried} | {entry.origin} | {entry.answer} | {verdict} |\n")
    found = [entry for entry in tried if not entry.refused]
    sys.stdout.write(f"\n{len(tried)} attempts, {len(found)} not refused\n")
    return 1 if found else 0 if has_namespace else 3


if __name__ == "__main__":
    sys.exit(main())
