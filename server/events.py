"""The event log behind `GET /events`: written in the transaction of the change that it tells."""

from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from server.db import clock
from server.models import EventCounterRow, EventRow


def emit(session: Session, topic: str, kind: str, data: dict[str, Any]) -> int:
    """Appends an event inside the caller's transaction and returns its id.

    topic  `job:ID` or `matrix:ID`; kind  `progress`, `measurement`, `trace` or `state`.
    The counter's row lock is held until commit, so ids become visible in ascending order on Postgres too.
    """
    session.execute(update(EventCounterRow).values(value=EventCounterRow.value + 1))
    number = session.execute(select(EventCounterRow.value)).scalar_one()
    now = session.execute(select(clock())).scalar_one()
    session.add(EventRow(id=number, topic=topic, kind=kind, data=data, created_at=now))
    session.flush()
    return number


def newest_id(session: Session) -> int:
    """Id of the newest event, 0 before the first; what is read after it holds all that it and those before it tell."""
    return session.scalar(select(EventCounterRow.value)) or 0
