"""`sparsight serve` as a user starts it: it answers, measures, and leaves nothing behind when it stops."""

import gc
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest
from typer.testing import CliRunner

from gpu_engine.errors import UnavailableError
from gpu_engine.formats import find_kernel, kernel_names
from server import sandbox
from server.settings import Settings
from sparsight import serve as serving
from sparsight.cli import app
from tests.battery import BATTERY
from tests.conftest import AddMatrix
from tools.service import LIMIT_S, MATRIX, Service

CLIENT = Path(__file__).parents[2] / "docs" / "client.md"
CLIENT_SAYS = """
print((same != graph).nnz, again["state"], *sorted(best.index), len(frame), len(verdicts), listed == tried)
print(again["id"] in tried and set(frame["environment.device"]) == {frame["environment.device"][0]})
"""
"""What its examples have found."""


@pytest.fixture
def service(home: Path) -> Iterator[Service]:
    """A service started where the user works: beside a module of their own that must not be taken for ours."""
    (home.parent / "a.mtx").write_text(MATRIX)
    (home.parent / "server.py").write_text("raise SystemExit('the decoy was imported')\n")
    with Service(home.parent) as started:
        yield started


@pytest.fixture
def used_service(add_matrix: AddMatrix, request: pytest.FixtureRequest) -> Service:
    """The service on a home that holds a matrix already, so that no samples are measured first."""
    add_matrix(BATTERY["identity"]())
    started: Service = request.getfixturevalue("service")
    return started


def ends(processes: list[psutil.Process]) -> bool:
    return psutil.wait_procs(processes, timeout=LIMIT_S)[1] == []


@pytest.mark.timeout(1200)
def test_a_file_becomes_a_result_and_nothing_is_left_when_it_stops(used_service: Service) -> None:
    service = used_service
    ended = service.run("formats", "a.mtx", "--device", "cpu", "--wait", "--json")
    assert ended.returncode == 0, ended.stderr + service.log_text()
    measurements = json.loads(ended.stdout)["measurements"]
    expected = {(name, "skipped" if find_kernel(name)[0].symmetric_only else "ok") for name in kernel_names("cpu")}
    assert {(m["kernel"], m["state"]) for m in measurements} == expected
    program = service.notebook("a.mtx")
    assert program.returncode == 0, program.stderr
    assert {"csr/vector", "cold", "warm"} <= set(program.stdout.split())
    assert r"csr\u002fvector" in (service.folder / "formats.html").read_text()
    examples = service.examples(CLIENT, CLIENT_SAYS)
    assert examples.returncode == 0, examples.stderr
    assert examples.stdout.split() == ["0", "succeeded", "grid", "web", "16", "4", "True", "True"]
    family = service.family()
    assert len(family) > 2
    service.process.send_signal(signal.SIGTERM)
    assert service.process.wait(LIMIT_S) == 0, service.log_text()
    assert ends(family)


@pytest.mark.timeout(1200)
def test_a_killed_server_takes_its_worker_with_it(service: Service) -> None:
    await_a_running_job(service.url)
    family = service.family()
    assert len(family) > 2
    service.process.kill()
    service.process.wait()
    assert ends(family)


def await_a_running_job(url: str) -> None:
    """Returns when the event stream tells of a job that runs; on a first start that is the samples' study."""
    headers = {"Last-Event-ID": "0"}
    with httpx.stream("GET", f"{url}/api/v1/events?topics=jobs", headers=headers, timeout=LIMIT_S) as stream:
        assert any(line.startswith("data:") and '"running"' in line for line in stream.iter_lines())


def test_the_process_that_reads_files_starts_before_the_server(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    idle: list[int] = []
    monkeypatch.setenv("SPARSIGHT_HOME", str(home))
    monkeypatch.setattr(sandbox.servers, "prepare", lambda: idle.append(1))
    monkeypatch.setattr(serving, "serve", lambda *_: idle.append(2))
    assert CliRunner().invoke(app, ["serve", "--port", "0"], catch_exceptions=False).exit_code == 0
    assert idle == [1, 2]


def test_background_work_waits_for_the_process_that_reads_files(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    monkeypatch.setattr(sandbox.servers, "warm", lambda: steps.append("warm"))
    thread = serving._in_background(steps.append, "work")
    thread.start()
    thread.join()
    assert steps == ["warm", "work"]


def test_a_port_that_is_taken_is_named_with_a_way_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UnavailableError, match=rf"Cannot listen on 127\.0\.0\.1:{port}: .*--port {port + 1}"):
            serving.listen("127.0.0.1", port)


def test_the_address_of_a_listener_is_a_url() -> None:
    with serving.listen("127.0.0.1", 0) as listener:
        assert serving.address(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_worker_whose_parent_is_gone_does_not_start() -> None:
    command = [sys.executable, "-P", "-m", "sparsight", "worker", "--parent", str(os.getpid() + 1)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 3
    assert "has ended" in ended.stderr


def test_what_was_imported_is_collected_no_more(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    frozen: list[int] = []
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(serving.Server, "run", lambda *_, **__: frozen.append(gc.get_freeze_count()))
    try:
        serving.serve(settings.model_copy(update={"port": 0}), False, lambda _: None)
        assert frozen[0] > len(gc.get_objects())
    finally:
        gc.unfreeze()
