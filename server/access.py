"""Access: who a caller is, by the token that it sends or the session of a browser that signed in."""

import secrets
import time

from sqlalchemy import select
from sqlalchemy.orm import Session

from gpu_engine.errors import UnauthorizedError
from server import tokens
from server.db import Database, clock
from server.models import TokenRow
from server.rates import Rate
from server.roles import LOCAL, Caller, Role
from server.tokens import digest

GUESSES_PER_MINUTE = 20
"""Wrong tokens that one address may send; after that a short token of the settings is not tried for it."""

ALL_GUESSES_PER_MINUTE = 200
"""The same of all addresses: a caller may have many, or say so to a proxy."""

EVERYBODY = "everybody"

UNGUESSABLE_CHARS = 32
UNGUESSABLE_KINDS = 8
"""A token of so many characters, so many of them different, was not chosen by a person: it is tried for everybody."""

LOOK_S = 1.0
"""How soon a service without a token notices the first one."""


class Access:
    """Knows callers; the token of the settings is an admin's, and the only one where the database does not answer."""

    def __init__(self, database: Database, token: str) -> None:
        self._database = database
        self._bootstrap = digest(token) if token else ""
        self._is_guessable = len(token) < UNGUESSABLE_CHARS or len(set(token)) < UNGUESSABLE_KINDS
        self._guesses = Rate(GUESSES_PER_MINUTE, "Too many wrong tokens came from this address. Wait a minute.")
        self._all_guesses = Rate(ALL_GUESSES_PER_MINUTE, "Too many wrong tokens came. Wait a minute.")
        self._has_tokens = False
        self._looked_at = float("-inf")

    def is_open(self) -> bool:
        """Whether there is no token at all, so that everybody may do everything."""
        if self._bootstrap or self._has_tokens:
            return False
        if not self.is_known_open():
            with self._database.read() as session:
                self._has_tokens = tokens.any_token(session)
            self._looked_at = time.monotonic()
        return not self._has_tokens

    def is_known_open(self) -> bool:
        """Whether the last look found no token, and still holds; nothing is read: the event loop may ask."""
        return not (self._bootstrap or self._has_tokens) and time.monotonic() - self._looked_at < LOOK_S

    def identify(self, secret: str, cookie: str, address: str) -> Caller:
        """The caller behind a token, or else behind a browser's cookie; raises UnauthorizedError, LimitError."""
        if self.is_open():
            return LOCAL
        with self._database.read() as session:
            if secret:
                return self._by_secret(session, secret, address)
            caller = self._by_session(session, digest(cookie)) if cookie else None
        if caller is None:
            raise UnauthorizedError("This service asks for a token.", hint="send_token")
        return caller

    def holds(self, caller: Caller) -> bool:
        """Whether who was let in would be let in now."""
        if caller == LOCAL:
            return self.is_open()
        try:
            with self._database.read() as session:
                if caller.session:
                    return self._by_session(session, caller.session) is not None
                return self._by_digest(session, caller.digest) is not None
        except UnauthorizedError:
            return False

    def sign_in(self, secret: str, cookie: str, address: str) -> tuple[str, Caller]:
        """A new session id for a browser that brings a token, whatever id it had; raises as `identify`."""
        with self._database.read() as session:
            caller = self._by_secret(session, secret, address)
        with self._database.write() as session:
            return tokens.open_session(session, caller.digest, cookie, caller.role), caller

    def sign_out(self, caller: Caller) -> None:
        """Ends the session of a browser."""
        with self._database.write() as session:
            tokens.close_session(session, caller.session)

    def _by_secret(self, session: Session, secret: str, address: str) -> Caller:
        tried = not self._is_guessable or not (self._guesses.is_full(address) or self._all_guesses.is_full(EVERYBODY))
        try:
            return self._by_digest(session, digest(secret), chosen=tried)
        except UnauthorizedError:
            self._guesses.take(address)
            self._all_guesses.take(EVERYBODY)
            raise

    def _by_session(self, session: Session, value_hash: str) -> Caller | None:
        found = tokens.token_of_session(session, value_hash)
        return self._by_digest(session, found, value_hash) if found else None

    def _by_digest(self, session: Session, hashed: str, value_hash: str = "", chosen: bool = True) -> Caller:
        """The holder of the token with this hash; chosen: whether the token of the settings is tried."""
        if chosen and self._bootstrap and secrets.compare_digest(hashed, self._bootstrap):
            return Caller(tokens.BOOTSTRAP, Role.ADMIN, "", hashed, value_hash)
        found = session.execute(select(TokenRow, clock()).where(TokenRow.hash == hashed)).first()
        if found is None or not secrets.compare_digest(found[0].hash, hashed):
            raise UnauthorizedError("This is not a token of this service.", hint="send_token")
        row, now = found
        if row.revoked_at is not None:
            raise UnauthorizedError("This token is revoked.", hint="send_token")
        if row.expires_at is not None and now >= row.expires_at:
            raise UnauthorizedError("This token has expired.", hint="send_token")
        return Caller(row.name, Role(row.role), row.id, hashed, value_hash)
