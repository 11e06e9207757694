"""Tokens, stored as hashes, and the sessions of browsers that signed in with one.

A token has 256 random bits, so that SHA-256 is a sufficient hash. A slow hash would add nothing but a delay to each
request.
"""

import hashlib
import re
import secrets
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import delete, exists, select
from sqlalchemy.orm import Session

from gpu_engine.errors import ConflictError, NotFoundError, ParameterError, quote
from server.db import Database, clock
from server.models import AuditRow, SessionRow, TokenRow
from server.roles import LOCAL, Role
from server.timestamps import time_of

PREFIX = "sps_"
"""Prefix of every token, recognized by programs that search files for secrets."""

SECRET_BYTES = 32
SESSION_S = 12 * 3600.0
ADMIN_SESSION_S = 2 * 3600.0

CLOCK_SLACK_S = 60.0
"""Seconds that a clock may be set back, as time synchronization does, without ending browser sessions."""
"""A browser signs in again after this long; that of an admin sooner: every port of the host is sent its cookie."""

BOOTSTRAP = "SPARSIGHT_TOKEN"
"""Name of the token of the settings."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
HOST = "command line"
"""Name in the audit log for commands on the host."""


@dataclass(frozen=True)
class Quotas:
    """Limits of a token, None for unlimited. A day begins at 00:00 UTC."""

    uploads_per_day: int | None = None
    bytes_per_day: int | None = None
    queued_jobs: int | None = None
    gpu_seconds_per_day: int | None = None


def digest(secret: str) -> str:
    """Return the hash of a secret."""
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


def any_token(session: Session) -> bool:
    """Return whether any token was ever created; from then on the service requires one."""
    return bool(session.scalar(select(exists(select(TokenRow.id)))))


def list_tokens(session: Session) -> list[TokenRow]:
    """Return all tokens in the order of their creation."""
    return list(session.scalars(select(TokenRow).order_by(TokenRow.created_at, TokenRow.id)))


def now(session: Session) -> float:
    """Return the time of the database, by which tokens expire."""
    return session.execute(select(clock())).scalar_one()


def token_document(row: TokenRow, at: float) -> dict[str, Any]:
    """Return the document of a token. `state` is `valid`, `expired`, or `revoked` at this time."""
    expired = row.expires_at is not None and at >= row.expires_at
    quotas = {field.name: getattr(row, field.name) for field in fields(Quotas)}
    return {
        "name": row.name,
        "role": row.role,
        "state": "revoked" if row.revoked_at is not None else "expired" if expired else "valid",
        "created_at": time_of(row.created_at),
        "expires_at": None if row.expires_at is None else time_of(row.expires_at),
        **quotas,
    }


def add(database: Database, name: str, role: Role, expires_s: float | None, quotas: Quotas) -> str:
    """Create a token and return it. It cannot be read again.

    expires_s  seconds until it expires, None for never
    Raises ParameterError for an invalid name, and ConflictError for a name that is or was in use.
    """
    if not NAME.fullmatch(name) or name in (BOOTSTRAP, LOCAL.name):
        raise ParameterError(
            f"Invalid token name {quote(name)}. Use 1 to 40 letters, digits, dots, dashes, or underscores."
        )
    secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    with database.write() as session:
        if session.scalar(select(exists(select(TokenRow.id).where(TokenRow.name == name)))):
            raise ConflictError(
                f"The token name {quote(name)} is or was in use, and the audit log contains it. Choose another name."
            )
        at = now(session)
        row = TokenRow(id=secrets.token_hex(8), name=name, hash=digest(secret), role=role, **vars(quotas))
        row.created_at, row.expires_at = at, None if expires_s is None else at + expires_s
        session.add(row)
        _note(session, at, f"token add {name} --role {role}")
    return secret


def revoke(database: Database, name: str) -> None:
    """Revoke a token and end the browser sessions that use it. Raises NotFoundError and ConflictError."""
    with database.write() as session:
        row = session.scalar(select(TokenRow).where(TokenRow.name == name).with_for_update())
        if row is None:
            raise NotFoundError(f"Unknown token {quote(name)}. `sparsight token list` lists all tokens.")
        if row.revoked_at is not None:
            raise ConflictError(f"The token {quote(name)} is already revoked.")
        row.revoked_at = now(session)
        session.execute(delete(SessionRow).where(SessionRow.token_hash == row.hash))
        _note(session, row.revoked_at, f"token revoke {name}")


def _note(session: Session, at: float, action: str) -> None:
    session.add(AuditRow(at=at, who=HOST, action=action, target="", address="", status=200))


def session_s(role: Role) -> float:
    """Return how many seconds a browser stays signed in."""
    return ADMIN_SESSION_S if role is Role.ADMIN else SESSION_S


def open_session(session: Session, token_hash: str, replaced: str, role: Role) -> str:
    """Return a new session id for a browser. Its previous session and all expired ones are deleted."""
    session.execute(delete(SessionRow).where((SessionRow.hash == digest(replaced)) | (SessionRow.expires_at < clock())))
    value = secrets.token_urlsafe(SECRET_BYTES)
    session.add(SessionRow(hash=digest(value), token_hash=token_hash, expires_at=clock() + session_s(role)))
    return value


def close_session(session: Session, value_hash: str) -> None:
    """End a session."""
    session.execute(delete(SessionRow).where(SessionRow.hash == value_hash))


def token_of_session(session: Session, value_hash: str) -> str | None:
    """Return the hash of the token of this session, or None if there is no valid session.

    A session that ends later than any new one was opened before the clock was set back, and is invalid.
    """
    valid = SessionRow.expires_at > clock(), SessionRow.expires_at < clock() + SESSION_S + CLOCK_SLACK_S
    return session.scalar(select(SessionRow.token_hash).where(SessionRow.hash == value_hash, *valid))
