"""Routes /recordings: import of reference results, and export of results of this server."""

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from sqlalchemy import select
from starlette.concurrency import run_in_threadpool

from gpu_engine.recordings import files as recordings
from gpu_engine.recordings import ginkgo
from gpu_engine.recordings.files import ENDING
from server import documents, export_recording, import_recordings
from server.db import Database
from server.deps import DatabaseDep, IngestorDep
from server.ingest import Ingestor
from server.models import RecordingRow
from server.openapi import BYTES, list_response_docs, problem_docs, response_docs
from server.responses import list_response
from server.roles import ADMIN, SUBMIT, Caller, CallerDep
from server.routes.matrices import PARTS, receive
from server.timestamps import time_of

router = APIRouter(tags=["devices"])

FORM = {"type": "object", "required": ["file"], "properties": PARTS}
BODY = {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": FORM}}}}


@router.post(
    "/recordings",
    status_code=201,
    openapi_extra=BODY,
    responses=response_docs(
        documents.Recording, 409, 413, 507, success=201, also={200: "They already existed, or replaced earlier ones."}
    ),
    dependencies=[SUBMIT],
)
async def upload_recording(
    request: Request, database: DatabaseDep, ingestor: IngestorDep, caller: CallerDep
) -> Response:
    """Import reference results for a device `name`. They replace earlier ones of the same device and study.

    JSON of Ginkgo's benchmark `spmv` is accepted too, for the study `formats`. `name` is required if the file does not
    name the device.
    """
    row, created = await take_recording(request, database, ingestor, caller)
    return JSONResponse(_document(row), 201 if created else 200)


async def take_recording(
    request: Request, database: Database, ingestor: Ingestor, caller: Caller
) -> tuple[RecordingRow, bool]:
    """Return the reference results in the body, if the quotas of the caller allow it, and whether they are new."""
    async with receive(request, ingestor, caller) as received:
        data = await run_in_threadpool(received.head, recordings.BYTES_MAX + 1)
        return await run_in_threadpool(import_recordings.take, database, data, received.name)


@router.get("/recordings", responses=list_response_docs(documents.Recording))
def list_recordings(request: Request, database: DatabaseDep) -> Response:
    """Return all reference results, including those of the release, by device and study."""
    with database.read() as session:
        rows = session.scalars(select(RecordingRow).order_by(RecordingRow.id)).all()
    return list_response(request, [_document(row) for row in rows])


@router.delete("/recordings/{device}/{study}", status_code=204, responses=problem_docs(404, 409), dependencies=[ADMIN])
def delete_recording(device: str, study: str, database: DatabaseDep) -> None:
    """Delete imported reference results."""
    import_recordings.delete(database, f"{device}/{study}")


@router.get("/devices/{device_id}/recording", responses=BYTES | problem_docs(404), response_class=Response)
def get_recording(device_id: str, study: str, database: DatabaseDep) -> Response:
    """Export the newest result of each case of a `study` on a device of this server, as a file for other servers."""
    with database.read() as session:
        recording = export_recording.of_device(session, study, device_id)
    name = f"{import_recordings.fitting(recording.device.name)}-{recording.study}{ENDING}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(recordings.dump(recording, "The recording"), media_type="application/octet-stream", headers=headers)


def _document(row: RecordingRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "device": row.device,
        "name": row.info["name"],
        "study": row.study,
        "imported": row.imported,
        "measured_at": time_of(row.created_at) if row.created_at else None,
        "times": row.info["details"].get(ginkgo.TIMES),
    }
