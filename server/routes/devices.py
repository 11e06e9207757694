"""/devices: what can be measured on here, and the bandwidth that was measured there."""

from fastapi import APIRouter, Request, Response

from server import devices, documents, recordings
from server.answers import listed
from server.deps import DatabaseDep
from server.openapi import listing

router = APIRouter(tags=["devices"])


@router.get("/devices", responses=listing(documents.Device))
def list_devices(request: Request, database: DatabaseDep) -> Response:
    """Every device that a worker has offered, and those with recorded results; `alive`: a worker offers it now."""
    with database.read() as session:
        items = [
            {
                **row.info,
                "recorded": recordings.is_recorded(row.id),
                "alive": devices.is_alive(session, row),
                "seen_at": row.seen_at,
                "profile": row.profile or None,
            }
            for row in (*devices.list_devices(session), *recordings.list_devices(session))
        ]
    return listed(request, items)
