"""A custom kernel that was refused: what the pages say of it."""

from dataclasses import replace

from fastapi.testclient import TestClient

from server.db import Database
from server.models import JobState
from tests.battery import BATTERY
from tests.conftest import AddMatrix
from tests.samples.formats import timed
from tests.web.conftest import add_job, get, words

REASON = "refused: a product takes 114 µs where x changes before each call, and 11.7 µs where it does not (warm)"


def test_a_refusal_stands_with_its_reason_beside_the_times(
    client: TestClient, database: Database, add_matrix: AddMatrix
) -> None:
    add_matrix(BATTERY["band"](), id="m1")
    first = timed("csr/vector", 2e-5)
    own = replace(timed("custom:spmv/memo", 1e-5), state="failed", median_s=None, note=REASON)
    job = add_job(database, "j1", "cpu", JobState.SUCCEEDED, [first, own], ("m1",))
    page = get(client, f"/formats?job={job}")
    assert "custom:spmv/memo" in words(page.text)
    assert REASON in words(page.text)
    assert get(client, f"/jobs/{job}").status_code == 200
