"""In which order transactions lock the rows of tables, as the statements that they send say."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event

from server.models import LOCK_ORDER

RANK = {name: rank for rank, name in enumerate(LOCK_ORDER)}
TABLE = re.compile(r"(?:INSERT INTO|UPDATE|DELETE FROM|SELECT\b.*?\bFROM) (\w+)", re.S)
"""A statement, and the first table that it names."""

ALONE = re.compile("migrat|restore")
ROOT = Path(__file__).parents[1]
SERVER = str(ROOT / "server")
TESTS = str(ROOT / "tests")
COMMITS = tuple(str(ROOT / "server" / name) for name in ("db.py", "events.py"))
"""They send what another module has changed."""


def is_of_the_service() -> bool:
    """Whether a module of the service sends the statement in progress, and no test that fills tables."""
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith((SERVER, TESTS)) and file not in COMMITS:
            # A migration has the database for itself, and so has a restore.
            return file.startswith(SERVER) and not ALONE.search(file.removeprefix(SERVER))
        frame = frame.f_back  # type: ignore[assignment]
    return False


@contextmanager
def watched() -> Iterator[list[str]]:
    """What the service locked out of order in the block, `jobs after events`."""
    wrong: list[str] = []
    key = object()

    def look(connection: Any, _cursor: Any, sql: str, _parameters: Any, context: Any, _many: bool) -> None:
        held, found = connection.info.setdefault(key, []), TABLE.match(sql)
        if found is None or not is_of_the_service():
            return
        # SQLite writes down no lock of a row that is read.
        statement = getattr(getattr(context, "compiled", None), "statement", None)
        locks = not sql.startswith("SELECT") or getattr(statement, "_for_update_arg", None) is not None
        table = found[1]
        # Where a table is locked already, its transaction has had its turn there.
        if locks and table in RANK and table not in held:
            wrong.extend(f"{table} after {last}" for last in held[-1:] if RANK[table] < RANK[last])
            held.append(table)
            held.sort(key=RANK.__getitem__)

    def forget(connection: Any) -> None:
        connection.info.pop(key, None)

    listeners = (("before_cursor_execute", look), ("begin", forget), ("commit", forget), ("rollback", forget))
    for name, listener in listeners:
        event.listen(Engine, name, listener)
    try:
        yield wrong
    finally:
        for name, listener in listeners:
            event.remove(Engine, name, listener)
