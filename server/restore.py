"""Restore of a backup into an empty database and store, followed by a migration to this release."""

import shutil
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, MetaData, Table, func, insert, select, update

from gpu_engine.errors import ConflictError, InputError
from server.backup import BATCH, SCHEMA_TABLE, Manifest, count, opened, rows_of
from server.db import Database
from server.migrate import check_known, downgrade, migrate, wait_for_ever
from server.models import MatrixState
from server.private_folders import take
from server.settings import Settings
from server.store import FILES, Store

LOCKS = {"dispatcher.lock": "worker", "ingest.lock": "server"}
"""Files in a data directory that a running process has locked."""


def restore(settings: Settings, path: Path) -> Manifest:
    """Fill the database and the store of these settings from a backup.

    Raises InputError for an incomplete backup, and ConflictError if the target is not empty or in use, or a newer
    release wrote the backup. An interrupted restore can be repeated: rows are written last, in one transaction.
    """
    url, store = settings.resolved_database_url, Store(settings.resolved_store)
    with opened(path) as (tar, manifest), _alone(settings.home), closing(Database(url)) as database:
        check_known((manifest.schema,))
        with database.usable():
            known = _refuse_used(database, store, manifest)
        if known:
            downgrade(url, "base")
        migrate(url, manifest.schema)
        for matrix_id in manifest.matrices:
            _restore_matrix(tar, store, matrix_id)
        with database.usable(), database.engine.connect() as connection:
            connection = connection.execution_options(sparsight_write=True)
            with connection.begin():
                _restore_rows(tar, connection)
        migrate(url, check_workers=False)
        return manifest


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Keep servers and workers from starting in this data directory. Raises ConflictError if one is running."""
    with ExitStack() as stack:
        for name, process in LOCKS.items():
            lock = stack.enter_context((home / name).open("ab"))
            if not take(lock):
                raise ConflictError(f"A {process} is using the data directory {home}. Stop it, then restore.")
        yield


def _refuse_used(database: Database, store: Store, manifest: Manifest) -> bool:
    """Return whether the database has a schema. Raises ConflictError if the database or the store contains data."""
    contents = {}
    with database.engine.connect() as connection:
        known = bool(MigrationContext.configure(connection).get_current_heads())
        if known:
            metadata = MetaData()
            metadata.reflect(connection, only=["jobs", "matrices"])
            jobs, matrices = metadata.tables["jobs"], metadata.tables["matrices"]
            contents["jobs"] = count(connection, jobs)
            contents["matrices"] = count(connection, matrices, matrices.c.state != MatrixState.RECORDED)
    contents["matrices in the store"] = len(store.ids() - set(manifest.matrices))
    if any(contents.values()):
        rows = ", ".join(f"{number} {what}" for what, number in contents.items() if number)
        raise ConflictError(
            f"The target is not empty ({rows}). Restore into an empty data directory: change "
            "SPARSIGHT_HOME, and SPARSIGHT_DATABASE_URL and SPARSIGHT_STORE if they are set."
        )
    return known


def _restore_matrix(tar: tarfile.TarFile, store: Store, matrix_id: str) -> None:
    try:
        with store.stage() as folder:
            for name in FILES:
                source = tar.extractfile(f"matrices/{matrix_id}/{name}")
                if source is not None:
                    with (folder / name).open("xb") as target:
                        shutil.copyfileobj(source, target)
            # Left by an interrupted restore.
            store.delete(matrix_id)
            store.commit(matrix_id, folder)
    except OSError as error:
        raise InputError(f"Cannot write to the store {store.root}: {error.strerror or error}.") from error


def _restore_rows(tar: tarfile.TarFile, connection: Connection) -> None:
    if connection.dialect.name != "sqlite":
        wait_for_ever(connection)
    metadata = MetaData()
    metadata.reflect(connection)
    tables = [table for table in metadata.sorted_tables if table.name != SCHEMA_TABLE]
    for table in reversed(tables):
        # Inserted by a migration.
        connection.execute(table.delete())
    for table in tables:
        _insert(connection, table, rows_of(tar, table))
        if connection.dialect.name == "postgresql":
            _advance_sequence(connection, table)


def _insert(connection: Connection, table: Table, rows: Iterator[dict[str, Any]]) -> None:
    """Insert the rows; set references within the table after all rows exist."""
    parents = [key.parent for key in table.foreign_keys if key.column.table is table]
    later = []
    while batch := list(islice(rows, BATCH)):
        for row in batch:
            referring = {column: row[column.name] for column in parents if row[column.name] is not None}
            if referring:
                later.append(([column == row[column.name] for column in table.primary_key.columns], referring))
                row.update({column.name: None for column in referring})
        connection.execute(insert(table), batch)
    for key, values in later:
        connection.execute(update(table).where(*key).values(values))


def _advance_sequence(connection: Connection, table: Table) -> None:
    """Set the Postgres sequence to continue after the existing rows."""
    for column in table.primary_key.columns:
        sequence = connection.scalar(select(func.pg_get_serial_sequence(table.name, column.name)))
        last = connection.scalar(select(func.max(column))) if sequence else None
        if last is not None:
            connection.execute(select(func.setval(sequence, last)))
