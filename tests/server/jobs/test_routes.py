"""/jobs over HTTP: what is answered, with which status and headers."""

import csv
import io
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from gpu_engine.records import Case, Measurement
from gpu_engine.studies.formats.experiment import ProductDetails
from server.access import Access
from server.errors import install_error_handlers
from server.guard import Guard
from server.jobs import lease as leases
from server.jobs.lease import Lease
from server.models import JobRow, JobState
from server.routes import jobs as routes
from server.session_cookie import SessionCookie
from tests.conftest import ADDRESS
from tests.server.jobs.conftest import Jobs
from web.views.list_rows import SILENT, job_rows

A = "a" * 32
BODY = {"study": "formats", "matrix_ids": [A], "params": {"rounds": 9}, "device": "auto"}


@pytest.fixture
def client(jobs: Jobs) -> Iterator[TestClient]:
    app = FastAPI()
    app.state.settings, app.state.database = jobs.settings, jobs.database
    cookie = SessionCookie("0" * 16)
    app.add_middleware(Guard, settings=jobs.settings, access=Access(jobs.database, ""), cookie=cookie)
    install_error_handlers(app)
    app.include_router(routes.router, prefix="/api/v1")
    with TestClient(app, base_url=ADDRESS) as client:
        yield client


def measure(jobs: Jobs, job_id: str, **fields: Any) -> None:
    case = Case(A, fields.pop("kernel", "csr/vector"), "warm")
    values = {"median_s": 0.25, "samples_s": (0.2, 0.3), **fields}
    measurement = Measurement.of(case, "cpu", ProductDetails, **values)
    assert leases.measured(jobs.database, Lease(job_id, 1), measurement)


@pytest.fixture
def running(client: TestClient, jobs: Jobs) -> str:
    """A job that is running and has one measurement."""
    job_id = str(client.post("/api/v1/jobs", json=BODY).json()["id"])
    assert leases.claim(jobs.database, "me", ["cpu"], 60) is not None
    measure(jobs, job_id)
    return job_id


def test_a_post_is_accepted_with_the_place_to_ask(client: TestClient) -> None:
    answer = client.post("/api/v1/jobs", json=BODY)
    job = answer.json()
    assert answer.status_code == 202
    assert answer.headers["Location"] == f"/api/v1/jobs/{job['id']}"
    assert answer.headers["Retry-After"] == "1"
    assert (job["state"], job["device"], job["params"]["rounds"], job["queue_position"]) == ("queued", "cpu", 9, 1)
    assert client.get(answer.headers["Location"]).json() == job
    assert client.get("/api/v1/jobs", params={"state": "queued", "study": "formats"}).json() == {
        "items": [job],
        "next": None,
    }


def test_the_same_key_answers_the_same_job_and_another_body_is_refused(client: TestClient) -> None:
    headers = {"Idempotency-Key": "k"}
    first = client.post("/api/v1/jobs", json=BODY, headers=headers)
    again = client.post("/api/v1/jobs", json=BODY, headers=headers)
    other = client.post("/api/v1/jobs", json={**BODY, "params": {}}, headers=headers)
    assert (first.status_code, again.status_code, other.status_code) == (202, 202, 422)
    assert again.json()["id"] == first.json()["id"]
    assert other.json()["code"] == "invalid_parameter"
    assert client.post("/api/v1/jobs", json=BODY).json()["id"] != first.json()["id"]


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        ({**BODY, "device": "cuda:0"}, 422, "Unknown device 'cuda:0'. Available devices: auto, cpu."),
        ({**BODY, "study": "nope"}, 422, "There is no study 'nope'"),
        ({**BODY, "params": {"rounds": 1}}, 422, "rounds is '1'; expected a whole number from 9 to 199."),
        ({**BODY, "matrix_ids": ["none"]}, 422, "Unknown matrix 'none'"),
        ({**BODY, "matrix_ids": []}, 422, "matrix_ids"),
        ({**BODY, "priority": 1}, 422, "priority: Extra inputs are not permitted"),
    ],
)
def test_a_wrong_body_is_a_problem_with_a_sentence(
    client: TestClient, body: dict[str, Any], status: int, sentence: str
) -> None:
    answer = client.post("/api/v1/jobs", json=body)
    assert answer.status_code == status
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert sentence in answer.json()["detail"]


@pytest.mark.parametrize("query", ["state=lost", "study=nope", "cursor=x", "limit=0", "limit=501", "order=up"])
def test_a_wrong_query_is_refused(client: TestClient, query: str) -> None:
    assert client.get(f"/api/v1/jobs?{query}").status_code == 422


@pytest.mark.parametrize("job_id", ["none", "%00", "%ff", "a" * 500, "..%2f"])
def test_an_unknown_job_is_not_found(client: TestClient, job_id: str) -> None:
    for path in ("", "/results", "/verdicts"):
        assert client.get(f"/api/v1/jobs/{job_id}{path}").status_code == 404
    for call in ("cancel", "retry"):
        assert client.post(f"/api/v1/jobs/{job_id}/{call}").status_code == 404


def test_cancel_and_retry_are_accepted_and_refused_by_state(client: TestClient, jobs: Jobs, running: str) -> None:
    assert client.post(f"/api/v1/jobs/{running}/retry").status_code == 409
    cancelled = client.post(f"/api/v1/jobs/{running}/cancel")
    assert (cancelled.status_code, cancelled.json()["state"]) == (202, "cancelled")
    again = client.post(f"/api/v1/jobs/{running}/retry")
    assert (again.status_code, again.json()["retry_of"], again.json()["state"]) == (202, running, "queued")
    assert again.headers["Location"] == f"/api/v1/jobs/{again.json()['id']}"


def test_a_failed_job_says_why(client: TestClient, jobs: Jobs, running: str) -> None:
    leases.finish(jobs.database, Lease(running, 1), JobState.FAILED, 1.0, {"code": "kernel_failed", "detail": "Why."})
    job = client.get(f"/api/v1/jobs/{running}").json()
    assert (job["state"], job["error"]) == ("failed", {"code": "kernel_failed", "detail": "Why."})
    assert client.post(f"/api/v1/jobs/{running}/cancel").status_code == 409


def test_results_fill_in_while_the_job_runs_and_their_tag_changes_with_them(
    client: TestClient, jobs: Jobs, running: str
) -> None:
    path = f"/api/v1/jobs/{running}/results"
    first = client.get(path)
    document = first.json()
    assert [m["median_s"] for m in document["measurements"]] == [0.25]
    assert document["summary"]["ok"] == 1
    assert document["schema"] == "sparsight.records/2"
    assert "samples_s" not in document["measurements"][0]
    assert client.get(path, params={"samples": True}).json()["measurements"][0]["samples_s"] == [0.2, 0.3]

    tag = {"If-None-Match": first.headers["ETag"]}
    unchanged = client.get(path, headers=tag)
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    assert client.get(path, headers={**tag, "Accept": "text/csv"}).status_code == 200
    measure(jobs, running, kernel="csr/scalar")
    assert client.get(path, headers=tag).status_code == 200
    assert client.get(path).headers["ETag"] != first.headers["ETag"]


def test_verdicts_fill_in_while_the_job_runs(client: TestClient, jobs: Jobs, running: str) -> None:
    path = f"/api/v1/jobs/{running}/verdicts"
    spread = {"ci_low_s": 0.24, "ci_high_s": 0.26, "min_s": 0.24, "q3_s": 0.26, "samples_s": (), "aa_gap": 0.0}
    measure(
        jobs, running, kernel="csr/smart", median_s=0.1, **{**spread, "ci_low_s": 0.09, "ci_high_s": 0.11, "q3_s": 0.11}
    )
    measure(jobs, running, kernel="csr/scalar", **spread)
    measure(jobs, running, kernel="ell/thread", median_s=None, state="skipped", note="needs 41 GB")
    answer = client.get(path).json()
    (finding,) = answer["items"]
    assert (finding["study"], finding["matrix_id"], finding["device"], finding["cache"]) == (
        "formats",
        A,
        "cpu",
        "warm",
    )
    # The first measurement has two rounds and no interval: it may be as fast as any.
    assert (finding["fastest"], finding["decided"], finding["baseline"]) == (["csr/smart"], False, "csr/smart")
    assert [(v["kernel"], v["verdict"], v["leads"]) for v in finding["verdicts"]] == [
        ("csr/smart", "baseline", True),
        ("csr/scalar", "slower", False),
        ("csr/vector", "inconclusive", False),
        ("ell/thread", "skipped", False),
    ]
    assert finding == client.get(f"/api/v1/jobs/{running}/results").json()["verdicts"][0]
    empty = client.post("/api/v1/jobs", json=BODY).json()["id"]
    assert client.get(f"/api/v1/jobs/{empty}/verdicts").json()["items"] == []


def test_csv_has_a_row_per_case_and_no_formula(client: TestClient, jobs: Jobs, running: str) -> None:
    measure(jobs, running, kernel="csr/scalar", note='=cmd|"/c calc"!A1', median_s=None, gflops=-1.5)
    answer = client.get(f"/api/v1/jobs/{running}/results", headers={"Accept": "text/csv"})
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["kernel"] for row in rows] == ["csr/vector", "csr/scalar"]
    assert (rows[0]["median_s"], rows[0]["note"]) == ("0.25", "")
    assert (rows[1]["median_s"], rows[1]["gflops"]) == ("", "-1.5")
    assert rows[1]["note"] == "'" + '=cmd|"/c calc"!A1'


def test_a_job_whose_worker_is_silent_beyond_its_lease_says_so(client: TestClient, jobs: Jobs, running: str) -> None:
    job = f"/api/v1/jobs/{running}"
    assert client.get(job).json()["lease_expired"] is False
    with jobs.database.write() as session:
        session.get_one(JobRow, running).lease_until = 1.0
        (line,) = job_rows(session, [session.get_one(JobRow, running)])
    found = client.get(job).json()
    assert (found["state"], found["lease_expired"], line.note) == ("running", True, SILENT)
    assert client.get("/api/v1/jobs").json()["items"][0]["lease_expired"] is True
    client.post(f"{job}/cancel")
    assert client.get(job).json()["lease_expired"] is False
