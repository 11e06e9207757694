"""/matrices: preview, upload, generate, list, look at, delete. /generators: what can be generated."""

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
from gpu_engine.generators import GENERATORS
from gpu_engine.matrix_io.options import ReadOptions
from gpu_engine.records import dumps
from gpu_engine.studies import study
from gpu_engine.studies.results import results_document
from server import catalogue, documents, intake, predictors, quotas, recorded_results, results, upload
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

THERE = {200: "It was there already.", 201: "It is ready.", 202: "It is being read; ask again for it."}
ADDED = response_docs(documents.Matrix, 404, 409, 413, 507, success=201, also=THERE)
CALLS: dict[str, Example] = {
    "stencil": {"value": {"generator": "stencil", "points": 27, "nx": 32, "ny": 32, "nz": 32, "name": "cube"}}
}


class ListQuery(BaseModel):
    """Which matrices, in which order, how many at a time."""

    model_config = ConfigDict(extra="forbid")

    q: str = Field("", max_length=catalogue.QUERY_MAX, description="Part of the name, or how id or fingerprint begin.")
    sort: str = Field(
        catalogue.SORT_DEFAULT, description=f"{', '.join(catalogue.SORTS)}; a minus before it: descending."
    )
    limit: int = Field(LIMIT_DEFAULT, ge=1, le=LIMIT_MAX)
    cursor: str | None = None
    shape: str = Field("", description=f"One of {', '.join(catalogue.FACETS['shape'])}; empty: any.")
    nnz: str = Field("", description=f"One of {', '.join(catalogue.FACETS['nnz'])}; empty: any.")
    kind: str = Field("", description=f"One of {', '.join(catalogue.FACETS['kind'])}; empty: any.")
    results: str = Field("", description=f"With results of this study: {', '.join(catalogue.FACETS['results'])}.")
    recorded: bool = Field(False, description="Also those that came with recorded results and have no values.")


class RecordingsQuery(BaseModel):
    """Of which study."""

    model_config = ConfigDict(extra="forbid")

    study: str = Field("", description="One study alone; empty: of all.")


class DeleteQuery(BaseModel):
    """Whether jobs and results go with the matrix."""

    model_config = ConfigDict(extra="forbid")

    with_results: bool = False


@router.post("/matrices", status_code=201, openapi_extra=UPLOAD_SCHEMA, responses=ADDED, dependencies=[SUBMIT])
async def upload_matrix(request: Request, ingestor: IngestorDep, caller: CallerDep) -> Response:
    """Takes in a matrix file: 201 when it was read within ten seconds, else 202; the same bytes again: 200."""
    return await run_in_threadpool(answer_added, ingestor.database, *await take_upload(request, ingestor, caller))


@router.post(
    "/matrices/preview",
    openapi_extra=UPLOAD_SCHEMA,
    responses=response_docs(documents.Preview, 413, 507),
    dependencies=[SUBMIT],
)
async def preview_matrix(request: Request, ingestor: IngestorDep, caller: CallerDep) -> Response:
    """What would be read from a file with these options; nothing is kept."""
    async with receive(request, ingestor, caller) as received:
        return JSONResponse(await asyncio.wrap_future(ingestor.preview(received.path, received.options)))


@router.post("/matrices/generate", status_code=202, responses=ADDED, dependencies=[SUBMIT])
def generate_matrix(
    call: Annotated[dict[str, Any], Body(openapi_examples=CALLS)], ingestor: IngestorDep, caller: CallerDep
) -> Response:
    """Generates a matrix: `generator`, its parameters, optionally `name`; the same call again: the same matrix."""
    generator, name = (_take_text(call, key) for key in ("generator", "name"))
    return answer_added(ingestor.database, *take_call(ingestor, caller, generator, call, name))


@router.post(
    "/matrices/generate/preview", responses=response_docs(documents.Prediction, 404, 413), dependencies=[SUBMIT]
)
def preview_generated(call: Annotated[dict[str, Any], Body(openapi_examples=CALLS)], ingestor: IngestorDep) -> Response:
    """How large the matrix of such a call would be; nothing is generated."""
    generator, _ = (_take_text(call, key) for key in ("generator", "name"))
    return JSONResponse(intake.predict_generated(generator, call, ingestor.settings.nnz_max))


@router.get("/matrices", responses=list_response_docs(documents.Matrix))
def list_matrices(request: Request, query: Annotated[ListQuery, Query()], database: DatabaseDep) -> Response:
    """Matrices, the newest first unless sorted otherwise."""
    with database.read() as session:
        page, predictor = catalogue.list_matrices(session, **query.model_dump()), predictors.of_service(session)
        return list_response(request, [catalogue.matrix_document(row, predictor) for row in page.items], page.next)


@router.get("/matrices/{matrix_id}", responses=response_docs(documents.Matrix, 404))
def get_matrix(matrix_id: str, database: DatabaseDep) -> Response:
    """The matrix."""
    with database.read() as session:
        row = catalogue.get_matrix(session, matrix_id)
        return JSONResponse(catalogue.matrix_document(row, predictors.of_service(session)))


@router.get("/matrices/{matrix_id}/recordings", responses=etag_response_docs(Results, 404, as_csv=True))
def get_recordings(
    matrix_id: str, request: Request, query: Annotated[RecordingsQuery, Query()], database: DatabaseDep
) -> Response:
    """What was recorded elsewhere of a matrix with these values, as the results of a job: JSON, or CSV."""
    with database.read() as session:
        row = catalogue.get_matrix(session, matrix_id)
        measured, traced = recorded_results.results_of(session, row.id, query.study and study(query.study).name)
        data = results.study_data(session, measured, traced)
    if wants_csv(request):
        return etag_response(request, results.csv_text(data), CSV_TYPE)
    return etag_response(request, dumps(results_document(data)))


@router.get("/matrices/{matrix_id}/file", response_class=Response, responses=BYTES | problem_docs(404, 409))
def get_matrix_file(matrix_id: str, database: DatabaseDep, store: StoreDep) -> Response:
    """The matrix as a .npz file that `scipy.sparse.load_npz` reads; 409 where it has no values here."""
    with database.read() as session:
        row = catalogue.get_matrix(session, matrix_id)
    if row.state != MatrixState.READY:
        raise ConflictError(f"The matrix {row.id} is {row.state} and has no values here to be sent.")
    headers = {"Content-Disposition": f'attachment; filename="{file_name(row.name)}.npz"'}
    return StreamingResponse(npz_blocks(store, row.id), media_type="application/octet-stream", headers=headers)


@router.delete("/matrices/{matrix_id}", status_code=204, responses=problem_docs(404, 409), dependencies=[ADMIN])
def delete_matrix(matrix_id: str, query: Annotated[DeleteQuery, Query()], ingestor: IngestorDep) -> None:
    """Deletes the matrix; 409 while it has jobs, unless `with_results=true` lets them go with it."""
    intake.delete_matrix(ingestor, matrix_id, query.with_results)


@router.get("/generators", responses=list_response_docs(documents.Generator))
def list_generators(request: Request) -> Response:
    """The families of matrices that can be generated, with the JSON Schema of their parameters."""
    items = [{"name": g.name, "summary": g.summary, "params": schema_of_params(g.Params)} for g in GENERATORS]
    return list_response(request, items)


async def take_upload(request: Request, ingestor: Ingestor, caller: Caller) -> tuple[MatrixRow, bool]:
    """The matrix of the file in the body, after up to ten seconds of reading, and whether it is a new one."""
    async with receive(request, ingestor, caller) as received:
        added = await run_in_threadpool(intake.add_upload, ingestor, received)
    return await intake.settle(ingestor, added), added.created


def take_call(
    ingestor: Ingestor, caller: Caller, generator: str, params: Mapping[str, Any], name: str
) -> tuple[MatrixRow, bool]:
    """The matrix of a call of a generator, and whether it is new: an upload of the bytes that are predicted of it."""
    predicted = intake.predict_generated(generator, params, ingestor.settings.nnz_max)
    quotas.charge_upload(ingestor.database, caller, predicted["bytes"])
    added = intake.add_generated(ingestor, generator, params, name)
    return added.row, added.created


@asynccontextmanager
async def receive(request: Request, ingestor: Ingestor, caller: Caller) -> AsyncIterator[upload.Upload]:
    """The upload in the body, once the caller's quotas allow it."""
    # The parser of the connection holds a body to the length that it declares.
    declared = request.headers.get("content-length", "")
    size = int(declared) if declared.isdecimal() else ingestor.settings.upload_bytes
    await run_in_threadpool(quotas.charge_upload, ingestor.database, caller, size)
    async with upload.receive(request, ingestor.uploads) as received:
        yield received


def answer_added(database: Database, row: MatrixRow, created: bool) -> Response:
    """201 or 200 with a matrix that is there, 202 with one that is on its way."""
    with database.read() as session:
        document = catalogue.matrix_document(row, predictors.of_service(session))
    there = row.state != MatrixState.INGESTING
    headers = {"Location": catalogue.matrix_path(row.id)} | ({} if there else {"Retry-After": POLL_AFTER_S})
    return JSONResponse(document, (201 if created else 200) if there else 202, headers)


def _take_text(call: dict[str, Any], key: str) -> str:
    """Removes a text from the call; raises ParameterError for anything else."""
    value = call.pop(key, "")
    if not isinstance(value, str):
        raise ParameterError(f"{key} is {quote(value)}; expected a text.")
    return value
