"""Routes /matrices: preview, upload, generate, list, read, and delete matrices, and /generators: what
can be generated.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request, Response
from fastapi.openapi.models import Example
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from starlette.concurrency import run_in_threadpool

from gpu_engine.errors import ConflictError, ParameterError, quote
from gpu_engine.former_names import PRESENT, renamed
from gpu_engine.generators import GENERATORS
from gpu_engine.matrix_io.options import ReadOptions
from gpu_engine.records import dumps
from gpu_engine.studies import study
from gpu_engine.studies.results import results_document
from server import catalogue, documents, matrix_lifecycle, predictors, quotas, recorded_results, results, upload
from server.db import Database
from server.deps import DatabaseDep, IngestorDep, StoreDep
from server.ingest import Ingestor
from server.matrix_file import file_name, npz_blocks
from server.models import MatrixRow, MatrixState
from server.openapi import BYTES, etag_response_docs, list_response_docs, problem_docs, response_docs, schema_of_params
from server.paging import LIMIT_DEFAULT, LIMIT_MAX
from server.responses import CSV_TYPE, POLL_AFTER_S, etag_response, list_response, wants_csv
from server.result_documents import Results
from server.roles import ADMIN, SUBMIT, Caller, CallerDep

router = APIRouter(tags=["matrices"])

PARTS = {"file": {"type": "string", "format": "binary"}, "name": {"type": "string"}}
FORM = {
    "type": "object",
    "required": ["file"],
    "properties": PARTS | TypeAdapter(ReadOptions).json_schema()["properties"],
}
UPLOAD_SCHEMA = {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": FORM}}}}

THERE = {
    200: "The matrix already existed.",
    201: "The matrix is ready.",
    202: "The matrix is being read. Request it again later.",
}
ADDED = response_docs(documents.Matrix, 404, 409, 413, 507, success=201, also=THERE)
CALLS: dict[str, Example] = {
    "stencil": {"value": {"generator": "stencil", "points": 27, "nx": 32, "ny": 32, "nz": 32, "name": "cube"}}
}


class ListQuery(BaseModel):
    """Filters, order, and page of the list of matrices."""

    model_config = ConfigDict(extra="forbid")

    q: str = Field(
        "", max_length=catalogue.QUERY_MAX, description="Part of the name, or a prefix of the id or fingerprint."
    )
    sort: str = Field(
        catalogue.SORT_DEFAULT,
        description=f"One of {', '.join(catalogue.SORTS)}; a leading minus sorts in descending order.",
    )
    limit: int = Field(LIMIT_DEFAULT, ge=1, le=LIMIT_MAX)
    cursor: str | None = None
    shape: str = Field("", description=f"One of {', '.join(catalogue.FACETS['shape'])}; empty: any.")
    nnz: str = Field("", description=f"One of {', '.join(catalogue.FACETS['nnz'])}; empty: any.")
    kind: str = Field("", description=f"One of {', '.join(catalogue.FACETS['kind'])}; empty: any.")
    results: str = Field(
        "", description=f"Only matrices with results of this study: {', '.join(catalogue.FACETS['results'])}."
    )
    recorded: bool = Field(False, description="Include reference matrices, which have no values.")


class RecordingsQuery(BaseModel):
    """Study whose reference results are returned."""

    model_config = ConfigDict(extra="forbid")

    study: str = Field("", description="Name of a study; empty: all.")


class DeleteQuery(BaseModel):
    """Option of a deletion: jobs and results of the matrix too."""

    model_config = ConfigDict(extra="forbid")

    with_results: bool = False


@router.post("/matrices", status_code=201, openapi_extra=UPLOAD_SCHEMA, responses=ADDED, dependencies=[SUBMIT])
async def upload_matrix(request: Request, ingestor: IngestorDep, caller: CallerDep) -> Response:
    """Upload a matrix file. The status is 201 if it was read within ten seconds, else 202, and 200 for known bytes."""
    return await run_in_threadpool(answer_added, ingestor.database, *await take_upload(request, ingestor, caller))


@router.post(
    "/matrices/preview",
    openapi_extra=UPLOAD_SCHEMA,
    responses=response_docs(documents.Preview, 413, 507),
    dependencies=[SUBMIT],
)
async def preview_matrix(request: Request, ingestor: IngestorDep, caller: CallerDep) -> Response:
    """Return what a file contains with these options, without storing it."""
    async with receive(request, ingestor, caller) as received:
        return JSONResponse(await asyncio.wrap_future(ingestor.preview(received.path, received.options)))


@router.post("/matrices/generate", status_code=202, responses=ADDED, dependencies=[SUBMIT])
def generate_matrix(
    call: Annotated[dict[str, Any], Body(openapi_examples=CALLS)], ingestor: IngestorDep, caller: CallerDep
) -> Response:
    """Generate a matrix from `generator`, its parameters, and optionally `name`. Equal requests return
    the same matrix.
    """
    generator, name, params = _parts_of_call(call)
    return answer_added(ingestor.database, *take_call(ingestor, caller, generator, params, name))


@router.post(
    "/matrices/generate/preview", responses=response_docs(documents.Prediction, 404, 413), dependencies=[SUBMIT]
)
def preview_generated(call: Annotated[dict[str, Any], Body(openapi_examples=CALLS)], ingestor: IngestorDep) -> Response:
    """Return the expected size of a generated matrix, without generating it."""
    generator, _, params = _parts_of_call(call)
    return JSONResponse(matrix_lifecycle.predict_generated(generator, params, ingestor.settings.nnz_max))


@router.get("/matrices", responses=list_response_docs(documents.Matrix))
def list_matrices(request: Request, query: Annotated[ListQuery, Query()], database: DatabaseDep) -> Response:
    """Return matrices, the newest first unless sorted otherwise."""
    with database.read() as session:
        page, predictor = catalogue.list_matrices(session, **query.model_dump()), predictors.of_service(session)
        return list_response(request, [catalogue.matrix_document(row, predictor) for row in page.items], page.next)


@router.get("/matrices/{matrix_id}", responses=response_docs(documents.Matrix, 404))
def get_matrix(matrix_id: str, database: DatabaseDep) -> Response:
    """Return the matrix."""
    with database.read() as session:
        row = catalogue.get_matrix(session, matrix_id)
        return JSONResponse(catalogue.matrix_document(row, predictors.of_service(session)))


@router.get("/matrices/{matrix_id}/recordings", responses=etag_response_docs(Results, 404, as_csv=True))
def get_recordings(
    matrix_id: str, request: Request, query: Annotated[RecordingsQuery, Query()], database: DatabaseDep
) -> Response:
    """Return the reference results of a matrix with these values, like the results of a job: JSON, or CSV."""
    with database.read() as session:
        row = catalogue.get_matrix(session, matrix_id)
        measured, traced = recorded_results.results_of(session, row.id, query.study and study(query.study).name)
        data = results.study_data(session, measured, traced)
    if wants_csv(request):
        return etag_response(request, results.csv_text(data), CSV_TYPE)
    return etag_response(request, dumps(results_document(data)))


@router.get("/matrices/{matrix_id}/file", response_class=Response, responses=BYTES | problem_docs(404, 409))
def get_matrix_file(matrix_id: str, database: DatabaseDep, store: StoreDep) -> Response:
    """Return the matrix as a .npz file for `scipy.sparse.load_npz`. The status is 409 if its values are not on this
    server.
    """
    with database.read() as session:
        row = catalogue.get_matrix(session, matrix_id)
    if row.state != MatrixState.READY:
        raise ConflictError(f"The values of matrix {row.id} are not on this server ({row.state}).")
    headers = {"Content-Disposition": f'attachment; filename="{file_name(row.name)}.npz"'}
    return StreamingResponse(npz_blocks(store, row.id), media_type="application/octet-stream", headers=headers)


@router.delete("/matrices/{matrix_id}", status_code=204, responses=problem_docs(404, 409), dependencies=[ADMIN])
def delete_matrix(matrix_id: str, query: Annotated[DeleteQuery, Query()], ingestor: IngestorDep) -> None:
    """Delete the matrix. The status is 409 if it has jobs, unless `with_results=true` deletes them too."""
    matrix_lifecycle.delete_matrix(ingestor, matrix_id, query.with_results)


@router.get("/generators", responses=list_response_docs(documents.Generator))
def list_generators(request: Request) -> Response:
    """Return all generators, with the JSON Schema of their parameters."""
    items = [{"name": g.name, "summary": g.summary, "params": schema_of_params(g.Params)} for g in GENERATORS]
    return list_response(request, items)


async def take_upload(request: Request, ingestor: Ingestor, caller: Caller) -> tuple[MatrixRow, bool]:
    """Return the matrix of the file in the body, after at most ten seconds of reading, and whether it is new."""
    async with receive(request, ingestor, caller) as received:
        added = await run_in_threadpool(matrix_lifecycle.add_upload, ingestor, received)
    return await matrix_lifecycle.settle(ingestor, added), added.created


def take_call(
    ingestor: Ingestor, caller: Caller, generator: str, params: Mapping[str, Any], name: str
) -> tuple[MatrixRow, bool]:
    """Return a generated matrix, and whether it is new. It counts as an upload of its expected size."""
    predicted = matrix_lifecycle.predict_generated(generator, params, ingestor.settings.nnz_max)
    quotas.charge_upload(ingestor.database, caller, predicted["bytes"])
    added = matrix_lifecycle.add_generated(ingestor, generator, params, name)
    return added.row, added.created


@asynccontextmanager
async def receive(request: Request, ingestor: Ingestor, caller: Caller) -> AsyncIterator[upload.Upload]:
    """Yield the upload in the body, if the quotas of the caller allow it."""
    # The HTTP parser ensures that a body has its declared length.
    declared = request.headers.get("content-length", "")
    size = int(declared) if declared.isdecimal() else ingestor.settings.upload_bytes
    await run_in_threadpool(quotas.charge_upload, ingestor.database, caller, size)
    async with upload.receive(request, ingestor.uploads) as received:
        yield received


def answer_added(database: Database, row: MatrixRow, created: bool) -> Response:
    """Return 201 or 200 with a matrix that is ready, 202 with one that is being read."""
    with database.read() as session:
        document = catalogue.matrix_document(row, predictors.of_service(session))
    there = row.state != MatrixState.INGESTING
    headers = {"Location": catalogue.matrix_path(row.id)} | ({} if there else {"Retry-After": POLL_AFTER_S})
    return JSONResponse(document, (201 if created else 200) if there else 202, headers)


def _parts_of_call(call: Mapping[str, Any]) -> tuple[str, str, dict[str, Any]]:
    """Return generator, name, and parameters of a request. It accepts the former field name `family` too."""
    params = renamed(call, PRESENT.sources)
    return _take_text(params, "generator"), _take_text(params, "name"), params


def _take_text(call: dict[str, Any], key: str) -> str:
    """Remove a text from the request and return it; raises ParameterError for any other type."""
    value = call.pop(key, "")
    if not isinstance(value, str):
        raise ParameterError(f"{key} must be a string, not {quote(value)}.")
    return value
