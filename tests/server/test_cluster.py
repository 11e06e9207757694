"""The device `cluster` from the API to the page: two Ray nodes of this machine, one of which is killed on the way."""

import importlib.util
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from fastapi.testclient import TestClient

from gpu_engine.generators import generate
from server.models import TERMINAL
from server.settings import Settings
from tests.conftest import AddMatrix
from tests.server.cluster_worker import HELD, HOLD

ROOT = Path(__file__).parents[2]
NO_RAY = importlib.util.find_spec("ray") is None and os.environ.get("CI") != "true"
pytestmark = [
    pytest.mark.skipif(NO_RAY, reason="Ray is not installed."),
    pytest.mark.full(
        "gpu_engine/multigpu/cluster/*.py",
        "gpu_engine/studies/scaling/__init__.py",
        "server/jobs/*.py",
        "tests/server/*cluster*.py",
        "server/devices.py",
    ),
]

PATIENCE_S = 180.0
"""A state that is not there by then will never be."""

GRID = {"points": 5, "nx": 9, "ny": 8}
LARGER = {"points": 5, "nx": 9, "ny": 16}


def wait_for(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"waited {PATIENCE_S:.0f} s for {what}")
        threading.Event().wait(0.05)


@pytest.fixture
def worker(settings: Settings, tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    environment = {**os.environ, "SPARSIGHT_HOME": str(settings.home)}
    command = [sys.executable, "-m", "tests.server.cluster_worker"]
    with (tmp_path / "worker.log").open("w") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=log, stderr=log, text=True
        )
    family = [psutil.Process(process.pid)]
    try:
        yield process
    finally:
        family += family[0].children(recursive=True)
        with suppress(subprocess.TimeoutExpired):
            # The end of its input is the end of it.
            process.communicate(timeout=30.0)
        for member in family:
            with suppress(psutil.NoSuchProcess):
                member.kill()
        process.wait()
        sys.stdout.write((tmp_path / "worker.log").read_text())


def cluster(client: TestClient) -> dict[str, Any]:
    """The device as the API has it; empty before it is offered."""
    found: list[dict[str, Any]] = client.get("/api/v1/devices").json()["items"]
    return next((device for device in found if device["id"] == "cluster"), {"alive": False})


def test_a_job_on_two_nodes_and_what_is_said_once_one_is_killed(
    client: TestClient, settings: Settings, add_matrix: AddMatrix, worker: "subprocess.Popen[str]"
) -> None:
    """Killed in an iteration of the second matrix of the second job, while its other member waits for it."""
    small, larger = (add_matrix(generate("stencil", size), name=f"grid {size['ny']}") for size in (GRID, LARGER))
    wait_for(lambda: cluster(client)["alive"], "the cluster")
    device = cluster(client)
    assert (device["name"], device["hosts"]) == ("4 × virtual device on 2 hosts", [2, 2])
    assert device["details"]["hosts"] == "a: 2, b: 2"

    def submit(*matrices: str) -> str:
        params = {"workload": ["iterate"], "devices": [1, 2], "overlap": ["on"]}
        body = {"study": "scaling", "matrix_ids": matrices, "params": params, "device": "cluster"}
        answer = client.post("/api/v1/jobs", json=body)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def ended(job_id: str) -> dict[str, Any]:
        wait_for(lambda: job(job_id)["state"] in TERMINAL, f"the end of {job(job_id)}")
        return job(job_id)

    def job(job_id: str) -> dict[str, Any]:
        found: dict[str, Any] = client.get(f"/api/v1/jobs/{job_id}").json()
        return found

    def results(job_id: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = client.get(f"/api/v1/jobs/{job_id}/results").json()["measurements"]
        return found

    first = submit(small)
    assert ended(first)["state"] == "succeeded", job(first)
    assert [(m["device"], m["details"]["devices"], m["state"]) for m in results(first)] == [
        ("cluster", 1, "ok"),
        ("cluster", 2, "ok"),
    ]
    assert results(first)[1]["environment"]["devices"] == "a/virtual:0, b/virtual:0"
    page = client.get("/scaling?device=cluster").text
    assert "grid 8, iterated · CPU (cluster) · warm: 2 cases" in " ".join(re.sub(r"<[^>]*>", " ", page).split())

    (settings.home / HOLD).touch()
    second = submit(small, larger)
    wait_for((settings.home / HELD).exists, f"a product to be held; the job: {job(second)}")
    wait_for(lambda: len(results(second)) == 2, "the measurements of the first matrix")
    print("kill", file=worker.stdin, flush=True)
    failed = ended(second)
    assert (failed["state"], failed["error"]["code"], failed["error"]["hosts"]) == ("failed", "host_lost", ["b"])
    sentence = failed["error"]["detail"]
    assert sentence.startswith(f"Lost while measuring {larger}|pCSR/iterate|warm|devices=2,workload=iterate")
    assert "b/virtual:0 (node " in sentence
    assert {(m["matrix_id"], m["state"]) for m in results(second)} == {(small, "ok")}
    assert len(results(second)) == 2
    events = [e for e in told(settings, second) if e["state"] == "failed"]
    assert [event["error"] for event in events] == [failed["error"]]
    assert "b/virtual:0" in client.get(f"/jobs/{second}").text
    # With one host left there is no cluster, and no other device suffers.
    wait_for(lambda: not cluster(client)["alive"], "the cluster to be withdrawn")
    assert {d["id"]: d["alive"] for d in client.get("/api/v1/devices").json()["items"]}["cpu"]


def told(settings: Settings, job_id: str) -> list[dict[str, Any]]:
    """The states of a job as its events tell them."""
    from sqlalchemy import select

    from server.db import Database
    from server.models import EventRow

    database = Database(settings.resolved_database_url)
    try:
        with database.read() as session:
            rows = session.scalars(select(EventRow).where(EventRow.topic == f"job:{job_id}").order_by(EventRow.id))
            return [row.data for row in rows if "state" in row.data]
    finally:
        database.close()
