"""`/service`: the answer, tiles as in /metrics, why jobs wait or fail, and what only administrators see."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import delete, update

from gpu_engine.text.units import percent
from server import access, devices, engine_faults, tokens
from server.db import Database
from server.metric_values import Histogram, MetricValues, combined, histograms, values_of
from server.models import DeviceRow, JobRow, JobState
from server.roles import Role
from server.settings import Settings
from server.tokens import Quotas
from tests.web.conftest import CPU, PROFILE, Lab, add_job, get, words
from web.views import service as views
from web.views.service_server import locations
from web.views.service_tiles import bound_text

TILES = ("queue", "running", "failed", "requests", "streams", "disk-home")
DATA = re.compile(r'id="tile-([\w-]+)">.*?<data value="([^"]*)" title="(\w+)"', re.S)


def service(client: TestClient, **headers: str) -> Any:
    answer = client.get("/service", headers={"Accept": "text/html", **headers})
    assert answer.status_code == 200
    return answer


def metrics(client: TestClient) -> MetricValues:
    return values_of(text_string_to_metric_families(client.get("/metrics").text))


def test_every_tile_is_a_series_of_the_metrics(client: TestClient, lab: Lab) -> None:
    client.get("/healthz")
    shown = {name: (float(value), series) for name, value, series in DATA.findall(service(client).text)}
    found = metrics(client)
    assert tuple(shown) == TILES
    for name, labels in (("queue", {}), ("running", {}), ("failed", {"state": "failed"}), ("streams", {})):
        value, series = shown[name]
        assert value == found.total(series, **labels)
    assert (shown["queue"][0], shown["running"][0], shown["failed"][0]) == (1, 1, 1)
    assert shown["disk-home"][0] == pytest.approx(found.total("sparsight_disk_free_bytes", folder="home"), rel=0.01)
    share = 1 - found.total("sparsight_disk_free_bytes", folder="home") / found.total(
        "sparsight_disk_bytes", folder="home"
    )
    (disk,) = (tile for tile in service(client).context["tiles"] if tile.id == "disk-home")
    assert disk.meter == pytest.approx(share, rel=0.01)
    assert disk.note.startswith(percent(disk.meter))
    times = combined(histograms(found, "sparsight_request_seconds", "route").values())
    assert shown["requests"][0] in times.bounds_s


def test_a_service_that_is_well_says_so_in_one_sentence(client: TestClient, lab: Lab) -> None:
    with lab.database.write() as session:
        session.execute(delete(JobRow).where(JobRow.id == lab.failed))
    page = service(client)
    assert (page.context["state"], page.context["concerns"], page.context["idle"]) == ("measured", (), "")
    assert len(page.context["sentence"].split()) <= 25
    assert page.text.count("<h1") == 1
    assert "data-concern" not in page.text


def test_a_failure_needs_attention_and_stands_with_its_reason(client: TestClient, lab: Lab) -> None:
    for number in range(4):
        add_job(
            lab.database, f"j{20 + number}", "cpu", JobState.FAILED, [], (lab.matrix,), {"detail": "Out of memory."}
        )
    page = service(client)
    assert (page.context["state"], [each.id for each in page.context["concerns"]]) == ("busy", ["failed"])
    assert page.context["sentence"] == page.context["concerns"][0].text
    first, second = page.context["failures"]
    assert (first.reason, len(first.jobs), first.more) == ("Out of memory.", 3, 1)
    assert (second.reason, [link.href for link in second.jobs]) == ("The device failed.", [f"/jobs/{lab.failed}"])


def test_nothing_runs_without_a_worker_and_the_page_says_why(client: TestClient, lab: Lab, home: Path) -> None:
    with lab.database.write() as session:
        session.execute(update(DeviceRow).values(seen_at=0.0))
        session.execute(delete(JobRow).where(JobRow.id.in_((lab.running, lab.failed))))
    page = service(client)
    assert (page.context["state"], page.context["concerns"][0].id) == ("failed", "no-worker")
    assert (page.context["idle"], page.context["sentence"]) == ("", page.context["concerns"][0].text)
    (queued,) = (job for job in page.context["jobs"] if job.row.id == lab.queued)
    assert "no worker offers it" in queued.note
    assert all(device.note for device in page.context["devices"])
    assert f"<code>SPARSIGHT_HOME={home} sparsight worker</code>" in page.text


def test_an_engine_that_does_not_start_is_the_first_sentence(client: TestClient, lab: Lab) -> None:
    with lab.database.write() as session:
        session.merge(engine_faults.with_failed_start(session, "w", ["cpu", "cuda:0"], "Ray is broken."))
    page = service(client)
    assert (page.context["state"], page.context["concerns"][0].id) == ("failed", "engine")
    assert "Ray is broken." in words(page.text)
    assert {device.row.state for device in page.context["devices"]} == {"faulty"}


def test_an_empty_queue_is_a_reason_too(client: TestClient, database: Database) -> None:
    devices.register(database, [CPU])
    page = service(client)
    assert page.context["idle"]
    assert (page.context["jobs"], page.context["failures"]) == ((), ())


def test_running_jobs_come_first_then_the_queue_then_those_that_ended(client: TestClient, lab: Lab) -> None:
    jobs = service(client).context["jobs"]
    assert [job.row.id for job in jobs] == [lab.running, lab.queued, lab.failed, lab.on_gpu, lab.succeeded]
    notes = {job.row.id: job.note for job in jobs}
    assert notes[lab.failed] == "The device failed."
    assert (notes[lab.succeeded], jobs[1].ran) == ("", "–")


def test_devices_have_their_use_and_their_bandwidth(
    client: TestClient, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "_up_s", lambda *_: 1200.0)
    page = service(client)
    by_id = {device.row.id: device for device in page.context["devices"]}
    assert by_id["cpu"].row.chart.version == PROFILE.measured_at
    assert by_id["cuda:0"].row.chart is None
    # A minute of twenty.
    assert float(by_id["cuda:0"].busy.split("\u202f")[0]) == pytest.approx(100 * 60 / 1200, abs=0.05)
    assert page.context["period"] == "20\u202fmin 0\u202fs"
    assert client.get("/devices", follow_redirects=False).headers["location"] == "/service#devices"


def test_a_worker_without_heartbeats_is_between_well_and_lost(client: TestClient, lab: Lab) -> None:
    with lab.database.write() as session:
        session.execute(update(DeviceRow).where(DeviceRow.id == "cpu").values(seen_at=DeviceRow.seen_at - 30.0))
        session.execute(delete(JobRow).where(JobRow.id == lab.failed))
    page = service(client)
    assert (page.context["state"], [each.id for each in page.context["concerns"]]) == ("busy", ["quiet"])
    states = {device.row.id: (device.row.state, bool(device.note)) for device in page.context["devices"]}
    assert states["cpu"] == ("quiet", True)
    assert states["cuda:0"] == ("alive", False)


def test_tokens_and_the_audit_log_are_for_administrators_alone(
    client: TestClient, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "LOOK_S", 0.0)
    page = service(client)
    assert page.context["access"].is_open
    database = lab.database.engine.url.database
    assert database
    assert database in dict(page.context["locations"]).values()
    assert database in page.text
    secrets = {role: tokens.add(lab.database, f"of-{role}", role, None, Quotas()) for role in Role}
    for role in (Role.READ, Role.SUBMIT):
        page = service(client, Authorization=f"Bearer {secrets[role]}")
        assert (page.context["access"], page.context["locations"]) == (None, ())
        assert database not in page.text
        assert not any(f"of-{each}" in page.text.replace(f"token of-{role}", "") for each in Role)
    page = service(client, Authorization=f"Bearer {secrets[Role.ADMIN]}")
    assert [token.name for token in page.context["access"].tokens] == [f"of-{role}" for role in Role]
    assert [entry.action for entry in page.context["access"].audit] == [
        f"token add of-{role} --role {role}" for role in reversed(Role)
    ]
    assert not any(secret in page.text for secret in secrets.values())


def test_locations_hold_no_password(settings: Settings) -> None:
    url = "postgresql+psycopg://me:secret@db.example/sparsight"
    remote = settings.model_copy(update={"database_url": url, "store": "s3://key:secret@store.example/matrices"})
    texts = [text for _, text in locations(remote)]
    assert texts[0] == str(settings.home)
    assert "db.example" in texts[1]
    assert texts[2] == "s3://store.example/matrices"
    assert not any("secret" in text for text in texts)
    assert str(os.getpid()) in texts[3] or texts[3].startswith("/")


def test_bounds_of_times() -> None:
    times = Histogram((0.005, 30.0, float("inf")), (1, 1, 1))
    assert [bound_text(bound, times) for bound in (None, 0.005, 30.0, float("inf"))] == [
        "–", "≤\u202f5\u202fms", "≤\u202f30\u202fs", ">\u202f30\u202fs",
    ]  # fmt: skip


def test_the_page_needs_no_plotly_and_follows_by_itself(client: TestClient, lab: Lab) -> None:
    page = get(client, "/service").text
    assert 'data-topics="jobs"' in page
    assert re.search(r'data-live data-refresh-s="\d+"', page)
