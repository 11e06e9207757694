"""Tokens and the audit log on the page of the service, for administrators."""

from sqlalchemy.orm import Session

from gpu_engine.text import units
from server import audit, tokens
from server.tokens import token_document
from web.service_contexts import Access, AuditView, TokenView

ENTRIES_SHOWN = 8


def access(session: Session, is_open: bool) -> Access:
    """Return all tokens and the newest entries of the audit log.

    is_open  no token exists, so that every caller is an administrator
    """
    now = tokens.now(session)
    return Access(
        is_open,
        tuple(
            TokenView(row.name, row.role, token_document(row, now)["state"], _end(row.expires_at))
            for row in tokens.list_tokens(session)
        ),
        tuple(
            AuditView(units.moment(row.at), row.who or "unknown", row.action, row.target, str(row.status))
            for row in audit.list_audit(session, limit=ENTRIES_SHOWN).items
        ),
    )


def _end(expires_at: float | None) -> str:
    return "never" if expires_at is None else units.moment(expires_at)
