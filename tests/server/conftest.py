"""Databases of either kind, and tokens of a service."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from server import tokens
from server.db import Database
from server.migrate import migrate
from server.roles import Role
from server.tokens import Quotas
from tests.lock_order import watched
from tests.postgres import DATABASES, fresh

MakeToken = Callable[..., str]


@pytest.fixture(autouse=True)
def _in_lock_order(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every transaction of these tests locks rows in the order of LOCK_ORDER, but where one shows the watch itself."""
    with watched() as wrong:
        yield
    if request.node.get_closest_marker("out_of_order") is None:
        assert wrong == []


@pytest.fixture(params=DATABASES)
def either_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database of either kind without a row of anybody's."""
    sqlite = request.param == "sqlite"
    url = f"sqlite:///{tmp_path / 'a.db'}" if sqlite else fresh(request.getfixturevalue("postgres"))
    migrate(url)
    database = Database(url)
    yield database
    database.close()


@pytest.fixture
def make_token(database: Database) -> MakeToken:
    """`make_token(Role.READ, name="ci", expires_s=60, queued_jobs=1) -> token`; named after its role if need be."""

    def make(role: Role, name: str = "", expires_s: float | None = None, **quotas: int) -> str:
        return tokens.add(database, name or role, role, expires_s, Quotas(**quotas))

    return make
