"""FormerAddresses: addresses with names of an earlier release."""

from urllib.parse import parse_qsl, urlsplit

import pytest
from fastapi.testclient import TestClient

from gpu_engine.host.device import find_device
from server import devices
from server.db import Database
from server.former_addresses import present_path, present_query
from server.jobs import lease as leases
from server.settings import Settings
from tests.battery import BATTERY
from tests.conftest import AddMatrix


@pytest.mark.parametrize(
    ("former", "path", "query"),
    [
        ("/products?device=cpu&cache=warm", "/reduced_spmv", [("device", "cpu"), ("cache", "warm")]),
        ("/products", "/reduced_spmv", []),
        ("/products.csv?bits=same", "/reduced_spmv.csv", [("reproducible", "true")]),
        ("/formats?bits=same", "/formats", [("reproducible", "true")]),
        ("/formats?kernel=csr/thread%2Bfree", "/formats", [("kernel", "csr/thread+pattern")]),
        ("/jobs?study=products&state=", "/jobs", [("study", "reduced_spmv"), ("state", "")]),
        ("/scaling?exchange=image&cut=entries", "/scaling", [("exchange", "halo"), ("balance", "nonzeros")]),
        ("/matrices?products.first=2", "/matrices", [("reduced_spmv.start_segments", "2")]),
    ],
)
def test_a_page_with_former_names_is_redirected_for_good(
    client: TestClient, former: str, path: str, query: list[tuple[str, str]]
) -> None:
    answer = client.get(former, follow_redirects=False)
    target = urlsplit(answer.headers["location"])
    assert answer.status_code == 308
    assert target.path == path
    assert parse_qsl(target.query, keep_blank_values=True) == query
    assert client.head(former, follow_redirects=False).status_code == 308


@pytest.mark.parametrize(
    "address", ["/", "/formats?kernel=csr/thread&device=cpu", "/reduced_spmv?reproducible=true", "/jobs?tag=products"]
)
def test_a_page_without_former_names_is_untouched(client: TestClient, address: str) -> None:
    assert client.get(address, follow_redirects=False).status_code == 200
    path, _, query = address.partition("?")
    assert (present_path(path), present_query(query)) == (path, None)


def test_present_names_stay_the_same_when_translated_again() -> None:
    path = present_path("/products.json")
    query = present_query("study=products&kernel=csr%2Bfree-cpms2&budget_s=5")
    assert query is not None
    assert (present_path(path), present_query(query)) == (path, None)


def test_a_job_is_stopped_at_the_former_address(
    client: TestClient, database: Database, settings: Settings, add_matrix: AddMatrix
) -> None:

    devices.register(database, [find_device("cpu")])
    body = {"study": "formats", "matrix_ids": [add_matrix(BATTERY["identity"]())], "device": "cpu"}
    job_id = client.post("/api/v1/jobs", json=body).json()["id"]
    refused = [client.post(f"/api/v1/jobs/{job_id}/{name}") for name in ("enough", "stop")]
    assert [answer.status_code for answer in refused] == [409, 409]
    assert refused[0].json() == refused[1].json()
    assert leases.claim(database, "me", ["cpu"], settings.lease_seconds) is not None
    answer = client.post(f"/api/v1/jobs/{job_id}/enough", follow_redirects=False)
    assert (answer.status_code, answer.json()["id"]) == (202, job_id)
    assert leases.owned_jobs(database, "me") == {job_id: True}


def test_a_figure_of_the_former_study_is_answered(client: TestClient) -> None:
    former = client.get("/api/v1/figures/products-gains?study=products", follow_redirects=False)
    present = client.get("/api/v1/figures/reduced_spmv-gains?study=reduced_spmv", follow_redirects=False)
    assert former.status_code == present.status_code
    assert former.content == present.content


def test_a_call_of_the_api_is_passed_on_with_present_values(client: TestClient) -> None:
    former = client.get("/api/v1/jobs?study=products", follow_redirects=False)
    assert (former.status_code, former.json()["items"]) == (200, [])
    assert client.get("/api/v1/jobs?study=reduced_spmv").json() == former.json()
