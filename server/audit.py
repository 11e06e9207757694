"""Audit log: who changed what, when, from which address, and with which status, as rows and log lines.

It begins with the first token. Without tokens callers have no names.
"""

import logging
from typing import Any

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gpu_engine.errors import quote
from server.db import Database, clock
from server.guard import SAFE_METHODS, client_of
from server.models import AuditRow
from server.paging import LIMIT_DEFAULT, Page, decode_cursor, encode_cursor, invalid_cursor
from server.roles import LOCAL, Caller
from server.timestamps import time_of

log = logging.getLogger(__name__)
# Independent of the level of other loggers: operators who create tokens expect these lines.
log.setLevel(logging.INFO)

TEXT_MAX = 200
ADDRESS_MAX = 60
"""Longest stored address. A proxy may pass on any header of a caller as its address."""


class Audit:
    """Middleware that logs each request that may change something, before its response is sent. Reads
    are not logged.
    """

    def __init__(self, app: ASGIApp, database: Database) -> None:
        self.app = app
        self.database = database

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with a `send` that logs the response."""
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
        fields = {"who": row.who, "action": row.action, "target": row.target, "address": row.address, "status": status}
        log.info("%(who)s: %(action)s %(target)s from %(address)s: %(status)d", fields, extra=fields)
        try:
            with self.database.write() as session:
                row.at = session.execute(select(clock())).scalar_one()
                session.add(row)
        except SQLAlchemyError as error:
            # The request has succeeded, and the line above logs it.
            log.error("cannot write a row of the audit log: %s", error)


def list_audit(
    session: Session, who: str = "", limit: int = LIMIT_DEFAULT, cursor: str | None = None
) -> Page[AuditRow]:
    """Return the rows of the audit log, the newest first. Raises ParameterError for a cursor of another list.

    who  name of a token; empty: all
    """
    query = select(AuditRow).order_by(AuditRow.id.desc()).limit(limit + 1)
    if who:
        query = query.where(AuditRow.who == who)
    if cursor is not None:
        (last,) = decode_cursor(cursor, 1)
        if not isinstance(last, int) or not 0 < last < 2**63:
            raise invalid_cursor()
        query = query.where(AuditRow.id < last)
    rows = list(session.scalars(query))
    return Page(rows[:limit], encode_cursor(rows[limit - 1].id) if len(rows) > limit else None)


def audit_document(row: AuditRow) -> dict[str, Any]:
    """Return a row of the audit log as its REST document."""
    return {
        "at": time_of(row.at),
        "who": row.who or None,
        "action": row.action,
        "target": row.target or None,
        "address": row.address,
        "status": row.status,
    }


def _printable(text: str, most: int = TEXT_MAX) -> str:
    """Return at most `most` characters of the text on one line. A path may contain any character."""
    printable = text if text.isprintable() else quote(text)
    return printable[:most]
