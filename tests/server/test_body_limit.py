"""The limits of uploads, of what they unpack to and of the queue, as a caller meets them."""

import gzip
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from gpu_engine.studies import STUDIES
from server import devices
from server.db import Database
from server.main import create_app
from server.settings import Settings
from tests.battery import BATTERY
from tests.conftest import ADDRESS, AddMatrix
from tests.server.jobs.fake_study import CPU

HEAD = b"%%MatrixMarket matrix coordinate real general\n"
LIMITS = {"upload_bytes": 5_000, "decompressed_bytes": 20_000, "nnz_max": 4, "queue_limit": 2}


@pytest.fixture
def client(settings: Settings) -> Iterator[TestClient]:
    with TestClient(create_app(settings.model_copy(update=LIMITS)), base_url=ADDRESS) as client:
        yield client


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("long.mtx", HEAD + b"% x\n" * 2_000, "exceeds the limit of 5.00 kB"),
        ("bomb.mtx.gz", gzip.compress(HEAD + b"% x\n" * 10_000), "20.0 kB"),
        ("full.mtx", HEAD + b"5 5 5\n" + b"".join(b"%d 1 1\n" % i for i in range(1, 6)), "at most 4"),
    ],
    ids=["upload", "decompressed", "nonzeros"],
)
def test_a_file_over_a_limit_is_413_and_leaves_nothing(
    client: TestClient, settings: Settings, name: str, content: bytes, says: str
) -> None:
    answer = client.post("/api/v1/matrices", files={"file": (name, content)})
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert says in answer.json()["detail"]
    assert list((settings.home / "uploads").iterdir()) == []


def test_a_full_queue_takes_no_job(client: TestClient, database: Database, add_matrix: AddMatrix) -> None:
    devices.register(database, [CPU])
    order = {"study": STUDIES[0].name, "matrix_ids": [add_matrix(BATTERY["identity"]())], "device": "cpu"}
    answers = [client.post("/api/v1/jobs", json=order) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [202, 202, 503]
    assert answers[2].json()["detail"] == "The queue is full (2 jobs). Try again later, or raise SPARSIGHT_QUEUE_LIMIT."
