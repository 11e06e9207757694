"""The audit log: who changed what, when, from where, and what the answer was, as rows and as lines of the log.

It begins with the first token: where everybody may do everything, nobody is anybody.
"""

import logging
from typing import Any

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gpu_engine.errors import ParameterError, quote
from server.db import Database, clock
from server.guard import SAFE_METHODS, client_of
from server.models import AuditRow
from server.paging import LIMIT_DEFAULT, Page, decode_cursor, encode_cursor
from server.roles import LOCAL, Caller
from server.times import time_of

log = logging.getLogger(__name__)
# Whatever the level of other loggers: these lines are asked for by whoever makes tokens.
log.setLevel(logging.INFO)

TEXT_MAX = 200
ADDRESS_MAX = 60
"""A proxy may pass on as an address whatever a caller has written into its header."""


class Audit:
    """Middleware: notes each call that may change something before its answer leaves; reads are not noted."""

    def __init__(self, app: ASGIApp, database: Database) -> None:
        self.app = app
        self.database = database

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on with a noting `send`."""
        if scope["type"] != "http" or scope["method"] in SAFE_METHODS:
            await self.app(scope, receive, send)
            return

        async def noting(message: Message) -> None:
            caller: Caller | None = scope["state"].get("caller")
            if message["type"] == "http.response.start" and caller != LOCAL:
                target = Headers(raw=message["headers"]).get("location", "")
                await run_in_threadpool(self._note, scope, caller, target, message["status"])
            await send(message)

        await self.app(scope, receive, noting)

    def _note(self, scope: Scope, caller: Caller | None, target: str, status: int) -> None:
        row = AuditRow(
            who=caller.name if caller else "",
            action=_printable(f"{scope['method']} {scope['path']}"),
            target=_printable(target),
            address=_printable(client_of(scope), ADDRESS_MAX),
            status=status,
        )
        said = {"who": row.who, "action": row.action, "target": row.target, "address": row.address, "status": status}
        log.info("%(who)s: %(action)s %(target)s from %(address)s: %(status)d", said, extra=said)
        try:
            with self.database.write() as session:
                row.at = session.execute(select(clock())).scalar_one()
                session.add(row)
        except SQLAlchemyError as error:
            # The call is done: its caller is told so, and the line above says it.
            log.error("the audit log does not take a row: %s", error)


def list_audit(
    session: Session, who: str = "", limit: int = LIMIT_DEFAULT, cursor: str | None = None
) -> Page[AuditRow]:
    """What was done, the newest first; raises ParameterError for a cursor that is not of this list.

    who  the name of a token; empty: of all
    """
    query = select(AuditRow).order_by(AuditRow.id.desc()).limit(limit + 1)
    if who:
        query = query.where(AuditRow.who == who)
    if cursor is not None:
        (last,) = decode_cursor(cursor, 1)
        if not isinstance(last, int) or not 0 < last < 2**63:
            raise ParameterError("The cursor is not one that this list gave; start again without it.")
        query = query.where(AuditRow.id < last)
    rows = list(session.scalars(query))
    return Page(rows[:limit], encode_cursor(rows[limit - 1].id) if len(rows) > limit else None)


def audit_document(row: AuditRow) -> dict[str, Any]:
    """One line of the audit log in its REST form."""
    return {
        "at": time_of(row.at),
        "who": row.who or None,
        "action": row.action,
        "target": row.target or None,
        "address": row.address,
        "status": row.status,
    }


def _printable(text: str, most: int = TEXT_MAX) -> str:
    """Return at most so many characters of the text, on one line: a path may hold anything."""
    shown = text if text.isprintable() else quote(text)
    return shown[:most]
