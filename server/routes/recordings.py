"""/recordings: results that were measured elsewhere, imported as files; and files of what was measured here."""

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
from server.times import time_of

router = APIRouter(tags=["devices"])

FORM = {"type": "object", "required": ["file"], "properties": PARTS}
BODY = {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": FORM}}}}


@router.post(
    "/recordings",
    status_code=201,
    openapi_extra=BODY,
    responses=response_docs(
        documents.Recording, 409, 413, 507, success=201, also={200: "It was there already, or in place of another one."}
    ),
    dependencies=[SUBMIT],
)
async def upload_recording(
    request: Request, database: DatabaseDep, ingestor: IngestorDep, caller: CallerDep
) -> Response:
    """Takes in a recording as of a device `name`; one of the same device and study takes the place of the other.

    JSON of Ginkgo's benchmark `spmv` is one too, of the study `formats`; where it does not say the device, `name` does.
    """
    row, created = await take_recording(request, database, ingestor, caller)
    return JSONResponse(_document(row), 201 if created else 200)


async def take_recording(
    request: Request, database: Database, ingestor: Ingestor, caller: Caller
) -> tuple[RecordingRow, bool]:
    """The recording in the body, once the caller's quotas allow it, and whether it is a new one."""
    async with receive(request, ingestor, caller) as received:
        data = await run_in_threadpool(received.head, recordings.BYTES_MAX + 1)
        return await run_in_threadpool(import_recordings.take, database, data, received.name)


@router.get("/recordings", responses=list_response_docs(documents.Recording))
def list_recordings(request: Request, database: DatabaseDep) -> Response:
    """Every recording, those of the release too, by device and study."""
    with database.read() as session:
        rows = session.scalars(select(RecordingRow).order_by(RecordingRow.id)).all()
    return list_response(request, [_document(row) for row in rows])


@router.delete("/recordings/{device}/{study}", status_code=204, responses=problem_docs(404, 409), dependencies=[ADMIN])
def delete_recording(device: str, study: str, database: DatabaseDep) -> None:
    """Forgets a recording that was imported."""
    import_recordings.delete(database, f"{device}/{study}")


@router.get("/devices/{device_id}/recording", responses=BYTES | problem_docs(404), response_class=Response)
def get_recording(device_id: str, study: str, database: DatabaseDep) -> Response:
    """The newest result of each case of a `study` on a device of this service, as a file for other services."""
    with database.read() as session:
        found = export_recording.of_device(session, study, device_id)
    name = f"{import_recordings.fitting(found.device.name)}-{found.study}{ENDING}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(recordings.dump(found, "The recording"), media_type="application/octet-stream", headers=headers)


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
