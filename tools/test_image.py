"""Build the image and test the services of the compose file: a job by REST, a restart, and its stored results.

`python -m tools.test_image` uses Docker if its engine answers, else Podman, which also needs docker-compose.
PYTHON_IMAGE and POSTGRES_IMAGE name other base images. `--check` only tests whether this machine can run images.
"""

import argparse
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sparsight import Client

ROOT = Path(__file__).parents[1]
PROJECT = "sparsight-test"
LABEL = f"label=com.docker.compose.project={PROJECT}"
OURS = ("migrate", "server", "worker")
IMAGE = "docker.io/library/sparsight-test"
IMAGES = {"PYTHON_IMAGE": "docker.io/library/python:3.12-slim", "POSTGRES_IMAGE": "docker.io/library/postgres:18"}
PORT = "18000"
KERNELS = ["csr/scalar", "packed/tile"]
MATRIX = "%%MatrixMarket matrix coordinate real general\n3 4 4\n1 1 1\n1 4 2\n3 2 -3\n3 3 0.5\n"
PATIENCE_S = 300.0
LOOK_S = 2.0


def say(text: str) -> None:
    """Write one line to stderr."""
    sys.stderr.write(f"{text}\n")


class Engine:
    """Docker or Podman with compose; raises LookupError with a sentence if neither can run images."""

    def __init__(self) -> None:
        self.name = next((name for name in ("docker", "podman") if answers(name, "info")), "")
        self.images = {variable: os.environ.get(variable, image) for variable, image in IMAGES.items()}
        if not self.name:
            raise LookupError("neither Docker nor Podman answers here")
        self.compose = ["docker", "compose"] if answers("docker", "compose", "version") else ["docker-compose"]
        if not answers(*self.compose, "version"):
            raise LookupError("docker-compose is missing; install the package docker-compose")
        for image in self.images.values():
            if not answers(self.name, "run", "--rm", "--entrypoint", "true", image):
                raise LookupError(f"{self.name} cannot run {image}")

    def __call__(self, *words: str) -> str:
        """Run a command of the engine and return its output."""
        return run([self.name, *words])

    @contextmanager
    def environment(self, folder: Path) -> Iterator[dict[str, str]]:
        """Yield the variables under which compose reaches the engine; serve the API of Podman meanwhile."""
        given = {**os.environ, **self.images, "PORT": PORT}
        if self.name == "docker":
            yield given
            return
        socket = folder / "podman.sock"
        command = ["podman", "system", "service", "--time=0", f"unix://{socket}"]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as service:
            over = threading.Event()
            # Podman relies on systemd for health checks, which not every machine has.
            checks = threading.Thread(target=self._check_health, args=(over,))
            checks.start()
            try:
                wait_for(socket.exists, "Podman to answer")
                yield given | {"DOCKER_HOST": f"unix://{socket}"}
            finally:
                over.set()
                checks.join()
                service.terminate()

    def _check_health(self, over: threading.Event) -> None:
        while not over.wait(LOOK_S):
            for container in self("ps", "--quiet", "--filter", LABEL).split():
                answers("podman", "healthcheck", "run", container)


def run(command: Sequence[str], env: dict[str, str] | None = None) -> str:
    """Return the output of the command; raise RuntimeError with the output if it fails."""
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=env)
    if ended.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
    return ended.stdout


def answers(*command: str) -> bool:
    """Return whether the command exists and succeeds, which may require fetching an image."""
    if shutil.which(command[0]) is None:
        return False
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=PATIENCE_S).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Return once the condition holds; raise TimeoutError after the limit."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {PATIENCE_S:.0f} s for {what}")
        time.sleep(LOOK_S)


class Stack:
    """The services of docker-compose.yml with their own project name, image, and secrets."""

    def __init__(self, engine: Engine, environment: dict[str, str], folder: Path) -> None:
        self.engine = engine
        self.token = secrets.token_hex(32)
        self._environment = environment
        files = {"token": self.token, "database_password": secrets.token_hex(32)}
        for name, text in files.items():
            (folder / name).write_text(text)
        overrides = {
            "services": {name: {"image": IMAGE} for name in OURS},
            "secrets": {name: {"file": str(folder / name)} for name in files},
        }
        (folder / "own.json").write_text(json.dumps(overrides))
        self._options = ["-p", PROJECT, "-f", str(ROOT / "docker-compose.yml"), "-f", str(folder / "own.json")]

    def compose(self, *words: str) -> str:
        """Run a command of compose on the services."""
        return run([*self.engine.compose, *self._options, *words], env=self._environment)

    def await_health(self) -> None:
        """Return once the database, the server, and the worker are healthy."""
        wait_for(lambda: self._health().count("(healthy)") == 3, "three healthy services")
        say(self._health())

    def _health(self) -> str:
        return self.engine("ps", "--filter", LABEL, "--format", "{{.Names}}: {{.Status}}").strip()


def measure(token: str, folder: Path) -> str:
    """Upload and measure a matrix; return the job; raise RuntimeError if a kernel has no time."""
    file = folder / "a.mtx"
    file.write_text(MATRIX)
    with Client(f"http://127.0.0.1:{PORT}", token) as client:
        matrix = client.wait_matrix(client.upload(file)["id"])
        job = client.submit("formats", [matrix["id"]], {"rounds": 9, "kernels": KERNELS}, device="cpu")
        state = client.wait(job["id"], timeout_s=PATIENCE_S)["state"]
    check(token, job["id"])
    say(f"job {job['id']} {state}")
    return job["id"]


def check(token: str, job: str) -> None:
    """Raise RuntimeError unless every kernel of the job has a time."""
    with Client(f"http://127.0.0.1:{PORT}", token) as client:
        states = {(m["kernel"], m["state"]) for m in client.results(job)["measurements"]}
    if states != {(kernel, "ok") for kernel in KERNELS}:
        raise RuntimeError(f"unexpected results of job {job}: {sorted(states)}")


def build(engine: Engine) -> None:
    """Build the image of this checkout."""
    say(f"building the image with {engine.name}")
    base = f"PYTHON_IMAGE={engine.images['PYTHON_IMAGE']}"
    run([engine.name, "build", "--build-arg", base, "--tag", IMAGE, "."])


def try_out(stack: Stack, folder: Path) -> None:
    """Run a job, restart all services, check the results, and run another job."""
    stack.compose("up", "--detach", "--no-build")
    stack.await_health()
    job = measure(stack.token, folder)
    stack.compose("restart")
    stack.await_health()
    check(stack.token, job)
    measure(stack.token, folder)
    running = stack.engine("ps", "--quiet", "--filter", LABEL).split()
    say(stack.engine("stats", "--no-stream", "--format", "{{.Name}}: {{.MemUsage}}, {{.PIDs}} processes", *running))


def main() -> int:
    """Return the exit status: 0 if all worked, 1 if something failed, 3 if no engine can run images."""
    parser = argparse.ArgumentParser(prog="python -m tools.test_image", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only check whether images can be run")
    only_check = parser.parse_args().check
    try:
        engine = Engine()
    except LookupError as error:
        say(f"The image is not tested: {error}.")
        return 3
    if only_check:
        return 0
    build(engine)
    with tempfile.TemporaryDirectory() as name, engine.environment(Path(name)) as environment:
        stack = Stack(engine, environment, Path(name))
        try:
            try_out(stack, Path(name))
        except Exception:
            say(stack.compose("logs", "--tail", "50"))
            raise
        finally:
            stack.compose("down", "--volumes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
