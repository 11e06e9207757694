"""Access control: identify a caller by its token or by the session of a signed-in browser."""

import secrets
import time

from sqlalchemy import select
from sqlalchemy.orm import Session

from gpu_engine.errors import UnauthorizedError
from server import tokens
from server.db import Database, clock
from server.models import TokenRow
from server.rate_limit import Rate
from server.roles import LOCAL, Caller, Role
from server.tokens import digest

GUESSES_PER_MINUTE = 20
"""Unknown tokens that one address may send per minute. Beyond that, a guessable token of the settings is not tried."""

ALL_GUESSES_PER_MINUTE = 200
"""Unknown tokens that all addresses together may send per minute: a caller may have many addresses, or claim them to a
proxy.
"""

EVERYBODY = "everybody"

UNGUESSABLE_CHARS = 32
UNGUESSABLE_KINDS = 8
"""A token with this many characters, this many of them different, was not chosen by a person. It is always tried."""

LOOK_S = 1.0
"""Seconds after which a service without a token notices the first one."""


class Access:
    """Identifies callers. The token of the settings belongs to an admin, and is the only one that works while the
    database is unavailable.
    """

    def __init__(self, database: Database, token: str) -> None:
        self._database = database
        self._bootstrap = digest(token) if token else ""
        self._is_guessable = len(token) < UNGUESSABLE_CHARS or len(set(token)) < UNGUESSABLE_KINDS
        self._guesses = Rate(GUESSES_PER_MINUTE, "Too many failed sign-ins from this address. Try again in one minute.")
        self._all_guesses = Rate(ALL_GUESSES_PER_MINUTE, "Too many failed sign-ins. Try again in one minute.")
        self._has_tokens = False
        self._looked_at = float("-inf")

    def is_open(self) -> bool:
        """Return whether no token exists, so that every caller has every role."""
        if self._bootstrap or self._has_tokens:
            return False
        if not self.is_known_open():
            with self._database.read() as session:
                self._has_tokens = tokens.any_token(session)
            self._looked_at = time.monotonic()
        return not self._has_tokens

    def is_known_open(self) -> bool:
        """Return whether the last check found no token and is still valid. It reads nothing, so the event loop may call
        it.
        """
        return not (self._bootstrap or self._has_tokens) and time.monotonic() - self._looked_at < LOOK_S

    def identify(self, secret: str, cookie: str, address: str) -> Caller:
        """Return the caller with this token, or with this cookie of a browser. Raises UnauthorizedError
        and LimitError.
        """
        if self.is_open():
            return LOCAL
        with self._database.read() as session:
            if secret:
                return self._by_secret(session, secret, address)
            caller = self._by_session(session, digest(cookie)) if cookie else None
        if caller is None:
            raise UnauthorizedError("Access token required.", hint="send_token")
        return caller

    def holds(self, caller: Caller) -> bool:
        """Return whether the caller would still be admitted."""
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
        """Return a new session id for a browser that sends a token, and its caller. Raises the errors of `identify`."""
        with self._database.read() as session:
            caller = self._by_secret(session, secret, address)
        with self._database.write() as session:
            return tokens.open_session(session, caller.digest, cookie, caller.role), caller

    def sign_out(self, caller: Caller) -> None:
        """End the session of a browser."""
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
        token_hash = tokens.token_of_session(session, value_hash)
        return self._by_digest(session, token_hash, value_hash) if token_hash else None

    def _by_digest(self, session: Session, hashed: str, value_hash: str = "", chosen: bool = True) -> Caller:
        """Return the holder of the token with this hash. `chosen`: whether to try the token of the settings."""
        if chosen and self._bootstrap and secrets.compare_digest(hashed, self._bootstrap):
            return Caller(tokens.BOOTSTRAP, Role.ADMIN, "", hashed, value_hash)
        match = session.execute(select(TokenRow, clock()).where(TokenRow.hash == hashed)).first()
        if match is None or not secrets.compare_digest(match[0].hash, hashed):
            raise UnauthorizedError("Unknown access token.", hint="send_token")
        row, now = match
        if row.revoked_at is not None:
            raise UnauthorizedError("This token was revoked. Use another token.", hint="send_token")
        if row.expires_at is not None and now >= row.expires_at:
            raise UnauthorizedError("This token has expired. Use another token.", hint="send_token")
        return Caller(row.name, Role(row.role), row.id, hashed, value_hash)
