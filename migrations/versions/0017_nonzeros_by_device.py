"""Measurements of scaling have `nonzeros_by_device`. Revision 0016 renames it too, in databases of earlier releases."""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

from gpu_engine.former_names import PRESENT

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

BATCH = 500


def upgrade() -> None:
    _rewrite("measurements", "record", PRESENT.measurement)
    _rewrite("recorded_results", "measurements", lambda records: [PRESENT.measurement(record) for record in records])


def downgrade() -> None:
    """Nothing: 0016 has the present name, and renames it back."""


def _rewrite(name: str, column: str, change: Any) -> None:
    """Write the column of a table anew, as far as it changes."""
    table = sa.table(name, sa.column("id"), sa.column(column, sa.JSON()))
    for number, value in _rows(table, column):
        if (changed := change(value)) != value:
            op.get_bind().execute(sa.update(table).where(table.c.id == number).values({column: changed}))


def _rows(table: sa.TableClause, column: str) -> Iterator[tuple[int, Any]]:
    """(id, value) of each row with the former name, a few at a time: all of them may not fit the memory."""
    former = sa.cast(table.c[column], sa.Text()).contains("entries_by_device")
    query = sa.select(table.c.id, table.c[column]).where(former).order_by(table.c.id).limit(BATCH)
    last = -1
    while rows := op.get_bind().execute(query.where(table.c.id > last)).all():
        yield from ((row[0], row[1]) for row in rows)
        last = rows[-1][0]
