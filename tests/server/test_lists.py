"""/devices, /studies, /formats, /generators and the health of the service."""

import httpx
import pytest
from anyio import fail_after, to_thread
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import text

from gpu_engine.formats import FORMATS
from gpu_engine.generators import GENERATORS
from gpu_engine.parameters import LIST_MAX
from gpu_engine.records import BandwidthPoint, DeviceInfo, DeviceProfile, as_json
from gpu_engine.standalone import archive
from gpu_engine.studies import STUDIES
from server import devices
from server.db import Database
from tests.conftest import ADDRESS
from tests.loops import finished

CPU = DeviceInfo("cpu", "cpu", "A processor", 2**34, 2**25, details={"cores": "2"})
PROFILE = DeviceProfile(
    "cpu", "A processor", 2**25, (BandwidthPoint(2**30, 1e10, 1.2e10),), "2026-11-20T12:00:00+01:00"
)


def test_devices_are_those_that_workers_offer(client: TestClient, database: Database) -> None:
    assert client.get("/api/v1/devices").json() == {"items": [], "next": None}
    devices.register(database, [CPU])
    (item,) = client.get("/api/v1/devices").json()["items"]
    assert (item["id"], item["backend"], item["memory_bytes"], item["alive"]) == ("cpu", "cpu", 2**34, True)
    assert item["profile"] is None
    with database.write() as session:
        devices.store_profile(session, PROFILE)
    devices.withdraw(database, ["cpu"])
    (item,) = client.get("/api/v1/devices").json()["items"]
    assert (item["alive"], item["seen_at"]) == (False, None)
    assert item["profile"] == as_json(PROFILE) | {"measured_at": "2026-11-20T11:00:00.000Z"}


def test_studies_tell_their_parameters(client: TestClient) -> None:
    items = client.get("/api/v1/studies").json()["items"]
    assert [item["name"] for item in items] == [study.name for study in STUDIES]
    (batched,) = (item for item in items if item["name"] == "batched")
    batches = batched["params"]["properties"]["batches"]
    assert (batches.get("minItems"), batches["maxItems"], batches["items"]) == (
        None,
        LIST_MAX,
        {"type": "integer", "minimum": 1, "maximum": 1_000_000},
    )
    lists = [p for item in items for p in item["params"]["properties"].values() if p["type"] == "array"]
    assert len(lists) > 10
    for parameter in lists:
        assert 1 <= parameter["maxItems"] <= LIST_MAX
        assert parameter.keys() <= {"type", "title", "description", "default", "items", "minItems", "maxItems"}
    rounds = items[0]["params"]["properties"]["rounds"]
    assert (rounds["minimum"], rounds["type"]) == (9, "integer")
    assert rounds["description"]


def test_formats_tell_their_kernels(client: TestClient) -> None:
    items = client.get("/api/v1/formats").json()["items"]
    assert [item["name"] for item in items if not item["is_library"]] == [f.name for f in FORMATS]
    kernels = {kernel["name"]: kernel for item in items for kernel in item["kernels"]}
    assert kernels["csr/vector"]["backends"] == ["cpu", "cuda"]
    assert any(item["is_library"] for item in items)


def test_a_kernel_of_ours_on_a_gpu_is_a_zip(client: TestClient) -> None:
    answer = client.get("/api/v1/formats/split/tile/archive")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/octet-stream")
    assert answer.headers["content-disposition"] == 'attachment; filename="split-tile.zip"'
    assert answer.content == archive("split/tile")
    for name in ("split/none", "cusparse/csr"):
        refused = client.get(f"/api/v1/formats/{name}/archive")
        assert (refused.status_code, refused.json()["code"]) == (404, "not_found")


def test_generators_tell_their_parameters(client: TestClient) -> None:
    items = client.get("/api/v1/generators").json()["items"]
    assert [item["name"] for item in items] == [generator.name for generator in GENERATORS]
    for item in items:
        for parameter in item["params"]["properties"].values():
            assert parameter["description"]
            assert "default" in parameter


def test_healthy_without_anything(client: TestClient) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}


def test_healthy_while_every_thread_waits(app: FastAPI) -> None:
    async def ask() -> int:
        limiter = to_thread.current_default_thread_limiter()
        limiter.total_tokens = 1
        await limiter.acquire_on_behalf_of("somebody")
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ADDRESS) as client:
            with fail_after(3):
                return (await client.get("/healthz")).status_code

    assert finished(ask()) == 200


def test_ready_once_a_worker_lives(client: TestClient, database: Database) -> None:
    waiting = client.get("/readyz")
    assert (waiting.status_code, waiting.headers["retry-after"]) == (503, "5")
    assert "sparsight worker" in waiting.json()["detail"]
    devices.register(database, [CPU])
    assert client.get("/readyz").status_code == 200


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE alembic_version SET version_num = 'x'", "of a newer release"),
        ("DROP TABLE alembic_version", "Run `sparsight migrate`"),
    ],
)
def test_not_ready_with_another_schema(client: TestClient, database: Database, statement: str, said: str) -> None:
    devices.register(database, [CPU])
    with database.write() as session:
        session.execute(text(statement))
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert said in answer.json()["detail"]
