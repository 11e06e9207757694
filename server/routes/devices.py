"""Route /devices: devices that run jobs, and their measured bandwidth."""

from typing import Any

from fastapi import APIRouter, Request, Response

from server import devices, documents, engine_faults, recorded_results
from server.deps import DatabaseDep
from server.models import DeviceRow
from server.openapi import list_response_docs
from server.responses import list_response
from server.timestamps import time_of

router = APIRouter(tags=["devices"])


@router.get("/devices", responses=list_response_docs(documents.Device))
def list_devices(request: Request, database: DatabaseDep) -> Response:
    """Return every device that a worker has offered, and devices with reference results. `alive`: a worker offers it
    now.
    """
    with database.read() as session:
        rows = (*devices.list_devices(session), *recorded_results.list_devices(session))
        alive = devices.alive(session, rows)
        faults = {device: engine_faults.describe(row) for device, row in engine_faults.by_device(session).items()}
    items = [_document(row, row.id in alive, faults.get(row.id)) for row in rows]
    return list_response(request, items)


def _document(row: DeviceRow, alive: bool, fault: str | None) -> dict[str, Any]:
    profile = row.profile and {**row.profile, "measured_at": time_of(row.profile["measured_at"])}
    return {
        **row.info,
        **{name: row.info[name] or None for name in ("memory_bytes", "cache_bytes")},
        "hosts": row.info.get("hosts", []),
        "recorded": recorded_results.is_recorded(row.id),
        "alive": alive,
        "fault": fault,
        "seen_at": time_of(row.seen_at) if row.seen_at else None,
        "profile": profile or None,
    }
