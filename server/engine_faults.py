"""Engine faults: workers that cannot run jobs because Ray does not start, and the reasons."""

import hashlib
import platform
from collections.abc import Collection

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from gpu_engine.text import units
from server.db import clock
from server.models import EngineFaultRow
from server.settings import Settings

FAULT_S = 300.0
"""Seconds after its last report when a fault counts as over, because the worker has ended or is being repaired."""


def worker_id(settings: Settings) -> str:
    """Return the id of the worker of this host and data directory, equal after every start."""
    return hashlib.sha256(f"{platform.node()}\n{settings.home.absolute()}".encode()).hexdigest()


def list_faults(session: Session) -> list[EngineFaultRow]:
    """Return the current faults, sorted by host."""
    now = session.execute(select(clock())).scalar_one()
    rows = session.scalars(select(EngineFaultRow).order_by(EngineFaultRow.host, EngineFaultRow.id))
    return [row for row in rows if abs(now - row.seen_at) < FAULT_S]


def by_device(session: Session) -> dict[str, EngineFaultRow]:
    """Return the fault that keeps each device from running jobs, by device id."""
    return {device: row for row in list_faults(session) for device in row.devices}


def describe(row: EngineFaultRow) -> str:
    """Return a description of a fault: its meaning, start, reason, and remedy."""
    tries = f"{row.tries} {'try' if row.tries == 1 else 'tries'} since {units.moment(row.since)} UTC"
    return f"The worker on {row.host} cannot start its engine ({tries}). {row.reason}"


def with_failed_start(session: Session, worker: str, devices: Collection[str], reason: str) -> EngineFaultRow:
    """Return the fault of a worker after one more failed start. Store it with `Session.merge`."""
    now = session.execute(select(clock())).scalar_one()
    before = session.get(EngineFaultRow, worker)
    if before is not None and abs(now - before.seen_at) >= FAULT_S:
        before = None
    return EngineFaultRow(
        id=worker,
        host=platform.node(),
        # A dispatcher that ended before it listed its devices still has those of the last report.
        devices=sorted(devices) or (before.devices if before else []),
        reason=reason,
        tries=before.tries + 1 if before else 1,
        since=before.since if before else now,
        seen_at=now,
    )


def clear(session: Session, worker: str) -> None:
    """Delete the fault of a worker whose engine has started."""
    session.execute(delete(EngineFaultRow).where(EngineFaultRow.id == worker))
