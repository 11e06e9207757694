"""Rows of a database at any revision, for the tests of migrations."""

from typing import Any

from sqlalchemy import JSON, MetaData, insert, select
from sqlalchemy.orm import Session

from server.db import Database


def tables_of(database: Database) -> MetaData:
    """Return the tables of a database as its revision has them."""
    tables = MetaData()
    tables.reflect(database.engine)
    return tables


def add_row(session: Session, tables: MetaData, name: str, **values: Any) -> None:
    """Insert a row; other columns that must not be null are empty."""
    table = tables.tables[name]
    needed = [column for column in table.columns if not column.nullable and column.name != "id"]
    blank = {column.name: {} if isinstance(column.type, JSON) else column.type.python_type() for column in needed}
    session.execute(insert(table).values({**blank, **values}))


def contents(url: str) -> dict[str, list[dict[str, Any]]]:
    """Return every row of every table but Alembic's own, by table, in the order of the primary keys."""
    database = Database(url)
    tables = tables_of(database)
    with database.read() as session:
        rows = {
            name: [dict(row) for row in session.execute(select(table).order_by(*table.primary_key)).mappings()]
            for name, table in tables.tables.items()
            if name != "alembic_version"
        }
    database.close()
    return rows
