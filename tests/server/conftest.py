"""Tokens of a service."""

from collections.abc import Callable

import pytest

from server import tokens
from server.db import Database
from server.roles import Role
from server.tokens import Quotas

MakeToken = Callable[..., str]


@pytest.fixture
def make_token(database: Database) -> MakeToken:
    """`make_token(Role.READ, name="ci", expires_s=60, queued_jobs=1) -> token`; named after its role if need be."""

    def make(role: Role, name: str = "", expires_s: float | None = None, **quotas: int) -> str:
        return tokens.add(database, name or role, role, expires_s, Quotas(**quotas))

    return make
