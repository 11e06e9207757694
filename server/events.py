"""Event log behind `GET /events`. Each event is written in the transaction of the change that it reports."""

from typing import Any

from sqlalchemy import event, select, update
from sqlalchemy.orm import Session

from server.db import clock
from server.models import EventCounterRow, EventRow

PENDING = "events"
"""Key under which a session collects the events that its commit will append."""


def emit(session: Session, topic: str, kind: str, data: dict[str, Any]) -> None:
    """Append an event when the caller's transaction commits.

    topic  `job:ID` or `matrix:ID`; kind  `progress`, `measurement`, `trace` or `state`
    The counter row is locked last, so that no transaction that holds it waits for another row. It stays locked until
    the commit, so that ids become visible in ascending order on Postgres too.
    """
    pending = session.info.setdefault(PENDING, [])
    if not pending:
        event.listen(session, "before_commit", _append, once=True)
    pending.append((topic, kind, data))


def _append(session: Session) -> None:
    """Write the events of a session after all its other rows."""
    session.flush()
    pending = session.info.pop(PENDING)
    session.execute(update(EventCounterRow).values(value=EventCounterRow.value + len(pending)))
    last = session.execute(select(EventCounterRow.value)).scalar_one()
    now = session.execute(select(clock())).scalar_one()
    for number, (topic, kind, data) in enumerate(pending, last - len(pending) + 1):
        session.add(EventRow(id=number, topic=topic, kind=kind, data=data, created_at=now))


def newest_id(session: Session) -> int:
    """Return the id of the newest event, 0 before the first. Rows read after it contain all changes up
    to this event.
    """
    return session.scalar(select(EventCounterRow.value)) or 0
