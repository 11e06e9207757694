"""/healthz, /readyz, /metrics: for whoever runs the service."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse
from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from gpu_engine.errors import UnavailableError
from server import devices
from server.deps import DatabaseDep
from server.documents import Health
from server.migrate import check_current
from server.models import JobRow, JobState, MatrixRow, MatrixState, MeasurementRow
from server.openapi import problem_docs, response_docs

router = APIRouter(tags=["health"])

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@router.get("/healthz", responses=response_docs(Health))
async def check_health() -> Health:
    """The server answers."""
    # In the event loop: the threads may all be waiting for a database.
    return {"status": "ok"}


@router.get("/readyz", responses=response_docs(Health, 503))
def check_readiness(database: DatabaseDep) -> Health:
    """The database is migrated and a worker offers a device; 503 with the reason otherwise."""
    check_current(database)
    with database.read() as session:
        if not any(devices.is_alive(session, row) for row in devices.list_devices(session)):
            raise UnavailableError("No worker offers a device now. Start one with `sparsight worker`.")
    return {"status": "ok"}


@router.get("/metrics", response_class=PlainTextResponse, responses=problem_docs(401, 503))
def get_metrics(database: DatabaseDep) -> Response:
    """Counts of matrices, jobs, measurements and devices in the text format of Prometheus."""
    with database.read() as session:
        return PlainTextResponse("\n".join([*_metrics(session), ""]), media_type=METRICS_TYPE)


def _metrics(session: Session) -> Iterator[str]:
    yield from _by_state(session, "matrices", "Matrices by state.", MatrixRow.state, MatrixState)
    yield from _by_state(session, "jobs", "Jobs by state.", JobRow.state, JobState)
    yield from _gauge("measurements", "Measurements that are stored.")
    yield f"sparsight_measurements {session.scalar(select(func.count()).select_from(MeasurementRow))}"
    yield from _gauge("device_alive", "1 while a worker offers the device.")
    for row in devices.list_devices(session):
        yield f'sparsight_device_alive{{device="{row.id}"}} {int(devices.is_alive(session, row))}'


def _by_state(
    session: Session, name: str, help_text: str, column: ColumnElement[Any] | Any, states: type[StrEnum]
) -> Iterator[str]:
    """A gauge with a line for every state, also those that nothing is in."""
    found = session.execute(select(column, func.count()).group_by(column)).all()
    counts: dict[str, int] = {state: count for state, count in found}  # noqa: C416 (a Row is no pair to mypy)
    yield from _gauge(name, help_text)
    for state in states:
        yield f'sparsight_{name}{{state="{state}"}} {counts.get(state, 0)}'


def _gauge(name: str, help_text: str) -> tuple[str, str]:
    return f"# HELP sparsight_{name} {help_text}", f"# TYPE sparsight_{name} gauge"
