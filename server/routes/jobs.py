"""Routes /jobs: queue a study, follow it, stop, cancel, or retry it, and read its results."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from gpu_engine.studies.results import findings_of, results_document
from server import documents, result_documents, results
from server.db import Database
from server.deps import DatabaseDep, SettingsDep
from server.examples import MATRIX_ID
from server.jobs import annotations, queue
from server.jobs.documents import job_document, job_documents
from server.models import JobRow
from server.openapi import etag_response_docs, list_response_docs, response_docs
from server.paging import LIMIT_DEFAULT, LIMIT_MAX
from server.responses import POLL_AFTER_S, etag_matches, list_response, wants_csv
from server.roles import SUBMIT, CallerDep

router = APIRouter(prefix="/jobs", tags=["jobs"])

Handler = TypeVar("Handler", bound=Callable[..., Response])
Key = Annotated[
    str | None,
    Header(alias="Idempotency-Key", description="Repeating a request with the same key and body returns the same job."),
]


class JobBody(BaseModel):
    """Study of some matrices on a device, with parameters that differ from the defaults."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"study": "formats", "matrix_ids": [MATRIX_ID]}]}
    )

    study: str
    matrix_ids: list[str] = Field(min_length=1, max_length=documents.MATRICES_MAX)
    params: dict[str, Any] = {}
    device: str = Field("auto", description="Id of a device (GET /api/v1/devices lists all), or `auto`.")
    tags: list[str] = Field([], max_length=annotations.TAGS_MAX)
    note: str = Field("", max_length=annotations.NOTE_MAX)


class AnnotationsBody(BaseModel):
    """Tags and note of a job; omitted fields stay unchanged."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"tags": ["nightly"]}]})

    tags: list[str] | None = Field(None, max_length=annotations.TAGS_MAX)
    note: str | None = Field(None, max_length=annotations.NOTE_MAX)


class JobsQuery(BaseModel):
    """Filters and page of the list of jobs."""

    model_config = ConfigDict(extra="forbid")

    state: str | None = None
    study: str | None = None
    matrix_id: str | None = None
    tag: str | None = None
    limit: int = Field(LIMIT_DEFAULT, ge=1, le=LIMIT_MAX)
    cursor: str | None = None


def _accepting(path: str, *problems: int) -> Callable[[Handler], Handler]:
    """Return the decorator of a route that needs the role submit and answers 202 with a job."""
    responses = response_docs(documents.Job, *problems, success=202)
    return router.post(path, status_code=202, responses=responses, dependencies=[SUBMIT])


@_accepting("", 409, 413)
def create_job(
    body: JobBody, database: DatabaseDep, settings: SettingsDep, caller: CallerDep, idempotency_key: Key = None
) -> Response:
    """Queue a study. Repeating the request with the same Idempotency-Key returns the same job."""
    fields = body.model_dump() | {"matrix_ids": tuple(body.matrix_ids), "tags": tuple(body.tags)}
    request = queue.JobRequest(**fields)
    job, _ = queue.submit(database, settings, request, idempotency_key, caller=caller)
    return _accepted(database, job)


@router.get("", responses=list_response_docs(documents.Job))
def list_jobs(request: Request, query: Annotated[JobsQuery, Query()], database: DatabaseDep) -> Response:
    """Return the jobs, the newest first."""
    with database.read() as session:
        page = queue.list_jobs(session, **query.model_dump())
        return list_response(request, job_documents(session, page.items), page.next)


@router.get("/{job_id}", responses=response_docs(documents.Job, 404))
def get_job(job_id: str, database: DatabaseDep) -> Response:
    """Return one job: its state, progress, and queue position."""
    with database.read() as session:
        return JSONResponse(job_document(session, queue.get_job(session, job_id)))


@_accepting("/{job_id}/cancel", 404, 409)
def cancel_job(job_id: str, database: DatabaseDep, caller: CallerDep) -> Response:
    """Cancel a queued or running job at once; its results so far stay. Only an admin can cancel a job of
    another token.
    """
    job = queue.cancel(database, job_id, caller)
    return _accepted(database, job)


@_accepting("/{job_id}/stop", 404, 409)
def stop_job(job_id: str, database: DatabaseDep, caller: CallerDep) -> Response:
    """Stop a running job after its current round and keep its results. Only an admin can stop a job of
    another token.
    """
    job = queue.request_stop(database, job_id, caller)
    return _accepted(database, job)


@_accepting("/{job_id}/retry", 404, 409, 413)
def retry_job(
    job_id: str, database: DatabaseDep, settings: SettingsDep, caller: CallerDep, idempotency_key: Key = None
) -> Response:
    """Queue the same request as a new job, after this one has ended."""
    job, _ = queue.retry(database, settings, job_id, idempotency_key, caller=caller)
    return _accepted(database, job)


@router.post("/{job_id}/annotations", responses=response_docs(documents.Job, 404), dependencies=[SUBMIT])
def annotate_job(job_id: str, body: AnnotationsBody, database: DatabaseDep, caller: CallerDep) -> Response:
    """Change the tags or the note of a job. Only an admin can change a job of another token. Measurements stay
    unchanged.
    """
    job = queue.annotate(database, job_id, body.tags, body.note, caller)
    with database.read() as session:
        return JSONResponse(job_document(session, job))


@router.get("/{job_id}/results", responses=etag_response_docs(result_documents.Results, 404, as_csv=True))
def get_results(job_id: str, request: Request, database: DatabaseDep, samples: bool = False) -> Response:
    """Return the results of the job so far: JSON, or CSV for `Accept: text/csv`."""
    as_csv = wants_csv(request)
    with database.read() as session:
        job = queue.get_job(session, job_id)
        headers = _cache_headers(results.version(session, job), as_csv, samples)
        if etag_matches(request, headers["ETag"]):
            return Response(status_code=304, headers=headers)
        records = results.measurements(session, [job.id], samples=samples)
        data = results.study_data(session, records, results.traces(session, [job]))
        if as_csv:
            return Response(results.csv_text(data), media_type="text/csv", headers=headers)
        return JSONResponse(results_document(data, samples), headers=headers)


@router.get("/{job_id}/verdicts", responses=list_response_docs(result_documents.Finding, 404))
def get_verdicts(job_id: str, request: Request, database: DatabaseDep) -> Response:
    """Return the verdicts on the results of the job so far: the fastest kernels of each matrix, and a verdict on each
    case.
    """
    with database.read() as session:
        job = queue.get_job(session, job_id)
        data = results.study_data(session, results.measurements(session, [job.id]))
    return list_response(request, [finding.document() for finding in findings_of(data)])


def _accepted(database: Database, job: JobRow) -> JSONResponse:
    """Return 202 with the job and the address of its status."""
    headers = {"Location": f"/api/v1/jobs/{job.id}", "Retry-After": POLL_AFTER_S}
    with database.read() as session:
        return JSONResponse(job_document(session, job), 202, headers=headers)


def _cache_headers(version: str, as_csv: bool, samples: bool) -> dict[str, str]:
    """Return an ETag that changes with every record and with the requested form."""
    tag = f'"{version}-{"csv" if as_csv else "json"}{"-samples" if samples else ""}"'
    return {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Accept"}
