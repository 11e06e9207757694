"""Waits and downloads that outlive their server, and files that are there whole or not at all."""

import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from scipy import sparse

from gpu_engine.errors import ConflictError, InputError, NotFoundError, UnauthorizedError, UnavailableError
from gpu_engine.records import DeviceInfo
from server import devices
from server.db import Database
from server.jobs import queue
from server.jobs.queue import JobRequest, submit
from server.models import JobRow
from server.settings import Settings
from sparsight.client import Client
from tests.battery import BATTERY
from tests.conftest import AddMatrix

CPU = DeviceInfo("cpu", "cpu", "A processor", 2**34, 2**25)
LIMIT_S = 120.0


class Server:
    """`sparsight serve` without a worker, on one port however often it is started."""

    def __init__(self, settings: Settings) -> None:
        self._home, self.port = settings.home, 0
        self.url = self.start()

    def start(self) -> str:
        """Starts on a free port, again on that one; returns the address."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SPARSIGHT_")}
        environment |= {"SPARSIGHT_HOME": str(self._home), "SPARSIGHT_COLLECTION_URL": "", "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, "-P", "-m", "sparsight", "serve", "--port", str(self.port), "--no-worker"]
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout
        address = re.search(r"http://127\.0\.0\.1:(\d+)", self.process.stdout.readline())
        if address is None:
            self.kill()
            pytest.fail(f"The server has not started, and ended with {self.process.returncode}.")
        self.port = int(address[1])
        return address[0]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()


@pytest.fixture
def server(settings: Settings, database: Database) -> Iterator[Server]:
    devices.register(database, [CPU])
    started = Server(settings)
    yield started
    started.kill()


@pytest.fixture
def job(database: Database, settings: Settings, add_matrix: AddMatrix) -> JobRow:
    matrix = add_matrix(BATTERY["identity"]())
    devices.register(database, [CPU])
    return submit(database, settings, JobRequest("formats", (matrix,), device="cpu"))[0]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparsight.connection.RETRY_S", 0.05)
    monkeypatch.setattr("sparsight.client.POLL_S", 0.05)


def in_thread(work: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    """The thread of a call, and where its end will be."""
    ended: list[Any] = []

    def run() -> None:
        try:
            ended.append(work())
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, ended


@pytest.mark.usefixtures("quick")
def test_a_wait_goes_on_over_a_killed_and_restarted_server(job: JobRow, server: Server, database: Database) -> None:
    seen, told = threading.Event(), list[str]()
    with Client(server.url, on_outage=told.append) as client:
        waiting, ended = in_thread(lambda: client.wait(job.id, lambda _: seen.set()))
        assert seen.wait(LIMIT_S)
        server.kill()
        waiting.join(2)
        assert ended == []
        server.start()
        queue.cancel(database, job.id)
        waiting.join(LIMIT_S)
    assert [each["state"] for each in ended] == ["cancelled"]
    assert len(told) == 1


def test_run_with_wait_goes_on_over_a_killed_and_restarted_server(
    server: Server, database: Database, add_matrix: AddMatrix
) -> None:
    matrix = add_matrix(BATTERY["identity"]())
    command = [sys.executable, "-m", "sparsight", "run", "formats", matrix, "--device", "cpu", "--wait", "--server"]
    with subprocess.Popen([*command, server.url], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr
        first = run.stderr.readline()
        job_id = re.findall(r"/jobs/(\w+)", first)[0]
        time.sleep(1.0)
        server.kill()
        time.sleep(2.5)
        assert run.poll() is None
        server.start()
        queue.cancel(database, job_id)
        _, rest = run.communicate(timeout=LIMIT_S)
    assert run.returncode == 5, first + rest
    assert "Trying again." in rest


@pytest.mark.usefixtures("quick")
def test_a_wait_for_a_matrix_goes_on_over_a_killed_and_restarted_server(
    server: Server, database: Database, add_matrix: AddMatrix
) -> None:
    matrix = add_matrix(BATTERY["identity"]())
    with Client(server.url) as client:
        assert client.matrix(matrix)["state"] == "ready"
        server.kill()
        waiting, ended = in_thread(lambda: client.wait_matrix(matrix))
        waiting.join(1)
        assert ended == []
        server.start()
        waiting.join(LIMIT_S)
    assert [each["id"] for each in ended] == [matrix]


class Sequel:
    """A server that gives one answer after the other, the last one for ever."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self._answers = list(answers)
        self.asked = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def client_of(answers: Sequel) -> Client:
    return Client("http://test/", http=httpx.Client(base_url="http://test", transport=httpx.MockTransport(answers)))


RUNNING = httpx.Response(200, json={"state": "running"})
OVER = httpx.Response(200, json={"state": "succeeded"})
PASSING: dict[str, httpx.Response | Exception] = {
    "refused": httpx.ConnectError("Connection refused"),
    "cut": httpx.ReadError("Connection reset by peer"),
    "cut short": httpx.RemoteProtocolError("peer closed connection without sending complete message body"),
    "slow": httpx.ReadTimeout("timed out"),
    "starting": httpx.Response(503, json={"code": "unavailable", "detail": "The database does not answer now."}),
    "proxy": httpx.Response(502, text="<html>Bad Gateway</html>"),
    "proxy in JSON": httpx.Response(504, json={"message": "upstream"}),
    "many calls": httpx.Response(429, json={"code": "limit_reached", "detail": "Too many calls in this minute."}),
}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("passing", PASSING)
def test_a_wait_takes_no_lack_of_an_answer_for_one(passing: str) -> None:
    answers = Sequel(RUNNING, PASSING[passing], PASSING[passing], OVER)
    assert client_of(answers).wait("j")["state"] == "succeeded"
    assert answers.asked == 4


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [(404, "not_found", NotFoundError), (401, "unauthorized", UnauthorizedError), (409, "conflict", ConflictError)],
)
def test_a_definite_answer_ends_a_wait(status: int, code: str, kind: type[Exception]) -> None:
    answers = Sequel(RUNNING, httpx.Response(status, json={"code": code, "detail": "No."}))
    with pytest.raises(kind):
        client_of(answers).wait("j")
    assert answers.asked == 2


@pytest.mark.usefixtures("quick")
def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = httpx.ConnectError("Connection refused")
    with pytest.raises(UnavailableError):
        client_of(Sequel(refused)).wait("j")
    with pytest.raises(TimeoutError, match=r"No response within 0\.2 s. Job j keeps running"):
        client_of(Sequel(RUNNING, refused)).wait("j", timeout_s=0.2)
    monkeypatch.setattr("sparsight.client.OUTAGE_S", 0.1)
    with pytest.raises(UnavailableError, match="Connection refused"):
        client_of(Sequel(RUNNING, refused)).wait("j")


@contextmanager
def cutting(content: bytes, cuts: int) -> Iterator[str]:
    """The address of a server that breaks its first answers off in the middle of their body."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            for number in range(cuts + 1):
                with suppress(OSError):
                    talk, _ = listener.accept()
                    with talk:
                        talk.recv(65536)
                        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n"
                        talk.sendall(head.encode() + (content if number == cuts else content[: len(content) // 2]))

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("call", ["download", "record"])
def test_a_download_that_is_cut_is_begun_again(tmp_path: Path, call: str) -> None:
    content, target = os.urandom(200_000), tmp_path / "a.npz"
    target.write_bytes(b"before")
    with cutting(content, cuts=2) as url, Client(url) as client:
        saved = client.download("m", target) if call == "download" else client.record("cpu", "formats", target)
    assert (saved, target.read_bytes(), os.listdir(tmp_path)) == (target, content, ["a.npz"])


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("before", [b"", b"before"])
def test_a_download_that_stays_cut_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bytes
) -> None:
    monkeypatch.setattr("sparsight.connection.OUTAGE_S", 0.0)
    target = tmp_path / "a.npz"
    if before:
        target.write_bytes(before)
    with cutting(os.urandom(200_000), cuts=9) as url, Client(url) as client, pytest.raises(UnavailableError):
        client.download("m", target)
    assert os.listdir(tmp_path) == (["a.npz"] if before else [])
    assert not before or target.read_bytes() == before


@pytest.mark.usefixtures("quick")
def test_a_download_goes_on_over_a_killed_and_restarted_server(
    server: Server, add_matrix: AddMatrix, tmp_path: Path
) -> None:
    matrix = add_matrix(BATTERY["identity"]())
    with Client(server.url) as client:
        client.matrix(matrix)
        server.kill()
        saving, ended = in_thread(lambda: client.download(matrix, tmp_path / "a.npz"))
        saving.join(1)
        assert (ended, list(tmp_path.glob("a.npz"))) == ([], [])
        server.start()
        saving.join(LIMIT_S)
    assert sparse.load_npz(ended[0]).nnz == BATTERY["identity"]().nnz


def test_a_target_that_cannot_be_written_is_bad_input(tmp_path: Path) -> None:
    client = client_of(Sequel(httpx.Response(200, content=b"x")))
    with pytest.raises(InputError, match="Cannot write"):
        client.download("m", tmp_path / "none" / "a.npz")
