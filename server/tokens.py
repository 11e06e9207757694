"""Tokens: made once, shown once, kept as a hash; and the sessions of browsers that signed in with one.

A token is 256 random bits, so SHA-256 keeps it: nobody can try enough of them for a slow hash to matter, and a slow one
would cost that time at every call.
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
from server.times import time_of

PREFIX = "sps_"
"""How every token begins, so that programs which look for secrets in files find one."""

SECRET_BYTES = 32
SESSION_S = 12 * 3600.0
ADMIN_SESSION_S = 2 * 3600.0

CLOCK_SLACK_S = 60.0
"""So far a clock may be put back, as hosts that follow a time server do, without ending the sessions of browsers."""
"""A browser signs in again after this long; that of an admin sooner: every port of the host is sent its cookie."""

BOOTSTRAP = "SPARSIGHT_TOKEN"
"""What the token of the settings is called."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
HOST = "command line"
"""Who has done what was done on the host, in the audit log."""


@dataclass(frozen=True)
class Quotas:
    """What a token allows at most, None for any number; a day begins at 00:00 UTC."""

    uploads_per_day: int | None = None
    bytes_per_day: int | None = None
    queued_jobs: int | None = None
    gpu_seconds_per_day: int | None = None


def digest(secret: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


def any_token(session: Session) -> bool:
    """Whether a token was ever made: from then on the service asks for one."""
    return bool(session.scalar(select(exists(select(TokenRow.id)))))


def list_tokens(session: Session) -> list[TokenRow]:
    """Every token, in the order in which they were made."""
    return list(session.scalars(select(TokenRow).order_by(TokenRow.created_at, TokenRow.id)))


def now(session: Session) -> float:
    """The time by which tokens end."""
    return session.execute(select(clock())).scalar_one()


def token_document(row: TokenRow, at: float) -> dict[str, Any]:
    """All that can be said of a token; `state` is `valid`, `expired` or `revoked` at that time."""
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
    """Makes a token and returns it; nobody can read it again.

    expires_s  seconds for which it is valid, None for ever
    Raises ParameterError for a name that is none, ConflictError for one that a token has or had.
    """
    if not NAME.fullmatch(name) or name in (BOOTSTRAP, LOCAL.name):
        raise ParameterError(
            f"{quote(name)} is no name of a token; expected up to 40 letters, digits, dots, dashes and underscores."
        )
    secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    with database.write() as session:
        if session.scalar(select(exists(select(TokenRow.id).where(TokenRow.name == name)))):
            raise ConflictError(f"There is or was a token {quote(name)}; the audit log names it. Take another name.")
        at = now(session)
        row = TokenRow(id=secrets.token_hex(8), name=name, hash=digest(secret), role=role, **vars(quotas))
        row.created_at, row.expires_at = at, None if expires_s is None else at + expires_s
        session.add(row)
        _note(session, at, f"token add {name} --role {role}")
    return secret


def revoke(database: Database, name: str) -> None:
    """Ends a token and the sessions of browsers that signed in with it; raises NotFoundError, ConflictError."""
    with database.write() as session:
        row = session.scalar(select(TokenRow).where(TokenRow.name == name).with_for_update())
        if row is None:
            raise NotFoundError(f"There is no token {quote(name)}; `sparsight token list` lists them.")
        if row.revoked_at is not None:
            raise ConflictError(f"The token {quote(name)} is revoked already.")
        row.revoked_at = now(session)
        session.execute(delete(SessionRow).where(SessionRow.token_hash == row.hash))
        _note(session, row.revoked_at, f"token revoke {name}")


def _note(session: Session, at: float, action: str) -> None:
    session.add(AuditRow(at=at, who=HOST, action=action, target="", address="", status=200))


def session_s(role: Role) -> float:
    """Return how many seconds a browser stays signed in."""
    return ADMIN_SESSION_S if role is Role.ADMIN else SESSION_S


def open_session(session: Session, token_hash: str, replaced: str, role: Role) -> str:
    """A new session id for a browser; the one that it had before, and any that is over, are gone."""
    session.execute(delete(SessionRow).where((SessionRow.hash == digest(replaced)) | (SessionRow.expires_at < clock())))
    value = secrets.token_urlsafe(SECRET_BYTES)
    session.add(SessionRow(hash=digest(value), token_hash=token_hash, expires_at=clock() + session_s(role)))
    return value


def close_session(session: Session, value_hash: str) -> None:
    """Ends a session."""
    session.execute(delete(SessionRow).where(SessionRow.hash == value_hash))


def token_of_session(session: Session, value_hash: str) -> str | None:
    """The hash of the token that the browser of this session signed in with; None: there is no such session now.

    One that ends later than any that begins now was begun before the clock was put back, and is over.
    """
    valid = SessionRow.expires_at > clock(), SessionRow.expires_at < clock() + SESSION_S + CLOCK_SLACK_S
    return session.scalar(select(SessionRow.token_hash).where(SessionRow.hash == value_hash, *valid))
