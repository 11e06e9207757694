"""/metrics: what it counts, by value; the dashboard, the alerts and docs/operating.md name what is there."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi import FastAPI
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import select, text, update

from gpu_engine.records import DeviceInfo
from server import devices
from server.db import Database, clock
from server.models import CaseDeathRow, JobRow, MeasurementRow
from tests.battery import BATTERY
from tests.conftest import AddMatrix
from tests.test_docs import section

DOCS = Path(__file__).parents[2] / "docs"
CPU = DeviceInfo("cpu", "cpu", "A processor", 2**34, 2**25)
NAME = re.compile(r"\b(?:sparsight|process)_[a-z_]+\b")

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def look(client: TestClient) -> Samples:
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = text_string_to_metric_families(answer.text)
    return {(s.name, frozenset(s.labels.items())): s.value for family in families for s in family.samples}


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[f"sparsight_{name}", frozenset(labels.items())]


@pytest.fixture
def jobs(database: Database) -> None:
    """A job that ran 40 s, one that has run 10 s, two that wait, the first for 100 s; 3 deaths and a loss."""
    devices.register(database, [CPU])
    with database.write() as session:
        now = session.execute(select(clock())).scalar_one()
        common: dict[str, Any] = {"device": "cpu", "estimate_s": 20.0, "cases_total": 4}
        session.add_all(
            [
                JobRow(id="a", study="formats", state="succeeded", created_at=now - 200, started_at=now - 190,
                       finished_at=now - 150, **common),
                JobRow(id="b", study="batched", state="running", created_at=now - 200, started_at=now - 10,
                       progress=1.0, **common),
                JobRow(id="c", study="formats", state="queued", created_at=now - 100, **common),
                # It was given back to the queue: what it took is forgotten.
                JobRow(id="d", study="formats", state="queued", created_at=now - 50, started_at=now - 40, **common),
            ]
        )  # fmt: skip
        session.flush()
        session.add(CaseDeathRow(job_id="b", case_key="x", deaths=2, losses=1))
        session.add(CaseDeathRow(job_id="b", case_key="y", deaths=1, losses=0))


@pytest.mark.usefixtures("jobs")
def test_queue_devices_and_losses(client: TestClient) -> None:
    found = look(client)
    assert value(found, "jobs", state="succeeded", study="formats") == 1
    assert value(found, "jobs", state="queued", study="formats") == 2
    assert value(found, "jobs", state="running", study="batched") == 1
    assert value(found, "jobs", state="failed", study="pagerank") == 0
    assert value(found, "queue_jobs", device="cpu") == 2
    assert value(found, "queue_oldest_seconds", device="cpu") == pytest.approx(100, abs=60)
    assert value(found, "queue_estimate_seconds", device="cpu") == 15 + 20 + 20
    assert value(found, "device_alive", device="cpu") == 1
    assert value(found, "device_busy", device="cpu") == 1
    assert value(found, "device_seconds", device="cpu", study="formats") == pytest.approx(40, abs=1e-3)
    assert value(found, "device_seconds", device="cpu", study="batched") == pytest.approx(10, abs=60)
    assert (value(found, "case_deaths", study="batched"), value(found, "case_losses", study="batched")) == (3, 1)
    assert value(found, "case_deaths", study="formats") == 0


@pytest.mark.usefixtures("jobs")
def test_jobs_that_ended_within_a_day(client: TestClient, database: Database) -> None:
    assert value(look(client), "jobs_ended_day", state="succeeded") == 1
    with database.write() as session:
        session.execute(update(JobRow).where(JobRow.id == "a").values(finished_at=JobRow.finished_at - 86_400.0))
        session.execute(update(JobRow).where(JobRow.id == "b").values(state="failed", finished_at=clock()))
    found = look(client)
    ended = {state: value(found, "jobs_ended_day", state=state) for state in ("succeeded", "failed", "cancelled")}
    assert ended == {"succeeded": 0, "failed": 1, "cancelled": 0}


@pytest.mark.usefixtures("jobs")
def test_a_clock_that_was_put_back_makes_no_time_negative(client: TestClient, database: Database) -> None:
    with database.write() as session:
        session.execute(update(JobRow).values(created_at=JobRow.created_at + 3600.0))
        session.execute(update(JobRow).where(JobRow.id == "b").values(started_at=JobRow.started_at + 3600.0))
    found = look(client)
    assert value(found, "queue_oldest_seconds", device="cpu") == 0.0
    assert value(found, "device_seconds", device="cpu", study="batched") == 0.0
    assert value(found, "device_seconds", device="cpu", study="formats") == pytest.approx(40, abs=1e-3)


def test_matrices_measurements_and_files(client: TestClient, add_matrix: AddMatrix, database: Database) -> None:
    matrix_id = add_matrix(BATTERY["identity"]())
    with database.write() as session:
        session.add(JobRow(id="a", study="formats", state="succeeded", device="cpu", created_at=0.0))
        session.flush()
        session.add(
            MeasurementRow(
                job_id="a", case_key="k", matrix_id=matrix_id, device="cpu", kernel="k", cache="warm", state="ok",
                record={}, created_at=0.0,
            )
        )  # fmt: skip
    found = look(client)
    assert (value(found, "matrices", state="ready"), value(found, "matrices", state="ingesting")) == (1, 0)
    assert value(found, "measurements") == 1
    assert value(found, "database_bytes") == database.bytes() > 0
    for folder in ("home", "store"):
        assert 0 < value(found, "disk_free_bytes", folder=folder) < value(found, "disk_bytes", folder=folder)
    assert (value(found, "ingests"), value(found, "event_streams"), value(found, "event_streams_max")) == (0, 0, 200)
    assert found["process_resident_memory_bytes", frozenset()] > 0


def test_requests_are_counted_by_route_and_not_by_what_callers_write(client: TestClient) -> None:
    for path in ("/api/v1/jobs/a", "/api/v1/jobs/b", "/jobs/a", "/nowhere/1", "/nowhere/2"):
        client.get(path)
    client.request("ODD", "/api/v1/jobs")
    found = look(client)
    assert value(found, "requests_total", method="GET", route="/api/v1/jobs/{job_id}", status="404") == 2
    assert value(found, "requests_total", method="GET", route="/jobs/{job_id}", status="404") == 1
    assert value(found, "requests_total", method="GET", route="none", status="404") == 2
    assert value(found, "requests_total", method="other", route="/api/v1/jobs", status="405") == 1
    assert value(found, "request_seconds_count", route="/api/v1/jobs/{job_id}") == 2
    assert {dict(labels)["route"] for name, labels in found if name == "sparsight_requests_total"} == {
        "/api/v1/jobs/{job_id}", "/jobs/{job_id}", "none", "/api/v1/jobs",
    }  # fmt: skip


def test_transactions_are_timed(app: FastAPI, client: TestClient) -> None:
    before = look(client)
    with app.state.database.write():
        pass
    after = look(client)
    assert value(after, "database_seconds_count", kind="write") == (
        value(before, "database_seconds_count", kind="write") + 1
    )


def test_a_database_that_is_away_is_a_metric(client: TestClient, database: Database) -> None:
    with database.write() as session:
        session.execute(text("DROP TABLE jobs"))
    found = look(client)
    assert value(found, "database_up") == 0
    assert ("sparsight_measurements", frozenset()) not in found


NO_PANEL = {"sparsight_info"}
"""It has the version as a label, and always the value 1."""


@pytest.mark.usefixtures("jobs")
def test_documents_name_every_metric_and_dashboard_and_alerts_no_other(client: TestClient) -> None:
    client.get("/api/v1/jobs")
    answer = client.get("/metrics").text
    families = [f for f in text_string_to_metric_families(answer) if f.name.startswith("sparsight_")]
    table = re.findall(r"^\| `(sparsight_\w+)`", section("docs/operating.md", "## Metrics"), re.M)
    names = [f"{f.name}_total" if f.type == "counter" else f.name for f in families]
    assert sorted(table) == sorted(names)
    samples = set(NAME.findall(answer))
    alerts = (DOCS / "monitoring" / "alerts.yml").read_text(encoding="utf-8")
    dashboard = (DOCS / "monitoring" / "grafana.json").read_text(encoding="utf-8")
    for queries in (alerts, dashboard):
        assert set(NAME.findall(queries)) - samples == set()


def test_every_series_has_a_panel(client: TestClient) -> None:
    client.get("/api/v1/jobs")
    families = text_string_to_metric_families(client.get("/metrics").text)
    samples = {family.name: {sample.name for sample in family.samples} for family in families}
    ours = {name: known | {name} for name, known in samples.items() if name.startswith("sparsight_")}
    panels = json.loads((DOCS / "monitoring" / "grafana.json").read_bytes())["panels"]
    asked = {name for panel in panels for target in panel["targets"] for name in NAME.findall(target["expr"])}
    assert {name for name, known in ours.items() if not known & asked} == NO_PANEL


def test_every_alert_has_its_row() -> None:
    rules = yaml.safe_load((DOCS / "monitoring" / "alerts.yml").read_text(encoding="utf-8"))
    alerts = [rule["alert"] for group in rules["groups"] for rule in group["rules"]]
    rows = re.findall(r"^\| `(\w+)` \|", section("docs/operating.md", "## Alerts"), re.M)
    assert rows == alerts


def test_panels_have_their_own_ids_and_places() -> None:
    dashboard = json.loads((DOCS / "monitoring" / "grafana.json").read_bytes())
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (panel["gridPos"]["x"] + x, panel["gridPos"]["y"] + y)
        for panel in panels
        for x in range(panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert all(x < 24 for x, _ in cells)
