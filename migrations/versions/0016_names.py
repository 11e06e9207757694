"""Fields, kernels, axes, settings and studies have the names of their field; gpu_engine/former_names.py lists them."""

from collections.abc import Callable, Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

from gpu_engine.former_names import FORMER, PRESENT, Renames

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

BATCH = 500


def upgrade() -> None:
    with op.batch_alter_table("jobs") as batch:
        batch.alter_column("enough", new_column_name="stop_requested", existing_type=sa.Boolean())
    _rename(PRESENT)


def downgrade() -> None:
    _rename(FORMER)
    with op.batch_alter_table("jobs") as batch:
        batch.alter_column("stop_requested", new_column_name="enough", existing_type=sa.Boolean())


def _rename(names: Renames) -> None:
    known = {*names.parameters.values()}
    _rewrite("jobs", study=names.study, current_case=names.key, params=lambda given: names.settings(given, known))
    # A running job says anew every second how far its rounds are.
    op.execute(sa.update(_table("jobs", "interim")).values(interim=[]))
    _rewrite("case_deaths", case_key=names.key)
    _rewrite("matrices", source=names.source)
    _rewrite("measurements", case_key=names.key, kernel=names.kernel, record=names.measurement)
    _rewrite("traces", case_key=names.key, record=names.trace)
    _rewrite("events", data=lambda data: _event(names, data))
    _rewrite("recordings", study=names.study)
    _rewrite(
        "recorded_results",
        measurements=lambda records: [names.measurement(record) for record in records],
        traces=lambda traces: [names.trace(trace) for trace in traces],
    )


def _event(names: Renames, data: dict[str, Any]) -> dict[str, Any]:
    return data | ({"measurement": names.measurement(data["measurement"])} if "measurement" in data else {})


JSON_COLUMNS = {"params", "source", "record", "data", "measurements", "traces", "interim"}


def _table(name: str, *columns: str) -> sa.TableClause:
    typed = (sa.column(column, sa.JSON() if column in JSON_COLUMNS else sa.Text()) for column in columns)
    return sa.table(name, sa.column("id"), *typed)


def _rewrite(name: str, **changes: Callable[[Any], Any]) -> None:
    """Write the columns of a table anew, as far as they change."""
    table, connection = _table(name, *changes), op.get_bind()
    for number, *values in _rows(table, tuple(changes)):
        found = dict(zip(changes, values, strict=True))
        changed = {column: changes[column](value) for column, value in found.items() if value}
        if different := {column: value for column, value in changed.items() if value != found[column]}:
            connection.execute(sa.update(table).where(table.c.id == number).values(different))


def _rows(table: sa.TableClause, columns: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """(id, values of the columns) of each row, a few at a time: all of them may not fit the memory."""
    query = sa.select(table.c.id, *(table.c[column] for column in columns)).order_by(table.c.id).limit(BATCH)
    last: Any = None
    while rows := op.get_bind().execute(query if last is None else query.where(table.c.id > last)).all():
        yield from (tuple(row) for row in rows)
        last = rows[-1][0]
