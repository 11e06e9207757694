"""Backup: write the rows of a database and the matrices of its store to one tar file, and read them back.

`database/TABLE.jsonl` has one row per line, `matrices/ID/…` the files of the store, `manifest.json`, which comes last,
the sha256 of each. SQLite and Postgres give equal rows, so either can be restored into the other.
"""

import hashlib
import json
import os
import re
import sqlite3
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, MetaData, Table, func, select

from gpu_engine import release
from gpu_engine.errors import InputError, quote
from server.db import Database
from server.migrate import check_current, wait_for_ever
from server.models import MatrixState
from server.store import FILES, KEY, Store

KIND = "sparsight.backup"
VERSION = 1
MANIFEST = "manifest.json"
SCHEMA_TABLE = "alembic_version"
ROWS = re.compile(r"database/([a-z_]+)\.jsonl")
ARRAYS = re.compile(rf"matrices/({KEY.pattern})/({'|'.join(map(re.escape, FILES))})")
BATCH = 500
CHUNK = 2**20


@dataclass
class Manifest:
    """Contents of a backup.

    schema   the revision of the database
    rows     number by table; matrices  ids whose files are included
    missing  ids of ready matrices without files: deleted after the rows were read, or before
    sha256   of every member of the file except the manifest
    """

    schema: str
    kind: str = KIND
    version: int = VERSION
    release: str = field(default_factory=release)
    created_at: float = field(default_factory=time.time)
    rows: dict[str, int] = field(default_factory=dict)
    matrices: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    sha256: dict[str, str] = field(default_factory=dict)


def back_up(database: Database, store: Store, path: Path) -> Manifest:
    """Write a complete backup that only its owner can read, or nothing. The service may run meanwhile.

    Raises InputError if the file exists or cannot be written, and UnavailableError if the schema is not that of this
    release.
    """
    if path.exists():
        raise InputError(f"{quote(path)} already exists. Choose another file name.")
    check_current(database)
    try:
        # In the same folder, so that the last step is a rename; only the owner can enter it.
        with tempfile.TemporaryDirectory(prefix=".backup-", dir=path.parent) as folder:
            part = Path(folder) / "part.tar"
            with part.open("xb") as file:
                os.fchmod(file.fileno(), 0o600)
                with tarfile.open(fileobj=file, mode="w") as tar:
                    manifest = _write(tar, database, store, Path(folder))
                file.flush()
                os.fsync(file.fileno())
            part.rename(path)
    except OSError as error:
        raise InputError(f"Cannot write the backup {quote(path)}: {error.strerror or error}.") from error
    return manifest


def _write(tar: tarfile.TarFile, database: Database, store: Store, folder: Path) -> Manifest:
    with _snapshot(database, folder) as connection:
        manifest = Manifest(MigrationContext.configure(connection).get_current_heads()[0])
        metadata = MetaData()
        metadata.reflect(connection)
        for table in metadata.sorted_tables:
            if table.name != SCHEMA_TABLE:
                _write_rows(tar, connection, table, folder, manifest)
        matrices = metadata.tables["matrices"]
        ready = select(matrices.c.id).where(matrices.c.state == MatrixState.READY).order_by(matrices.c.id)
        ids = list(connection.scalars(ready))
    # After the rows: matrices that were added meanwhile are left out, and every row has its matrix.
    for matrix_id in ids:
        try:
            for name in FILES:
                with store.open(matrix_id, name) as source:
                    _add(tar, f"matrices/{matrix_id}/{name}", source, store.size(matrix_id, name), manifest)
            manifest.matrices.append(matrix_id)
        except FileNotFoundError:
            manifest.missing.append(matrix_id)
    text = json.dumps(asdict(manifest)).encode()
    with tempfile.TemporaryFile(dir=folder) as source:
        source.write(text)
        source.seek(0)
        _add(tar, MANIFEST, source, len(text), manifest)
    return manifest


@contextmanager
def _snapshot(database: Database, folder: Path) -> Iterator[Connection]:
    """Yield a connection that sees one moment of the database, no matter how long it is read."""
    with ExitStack() as stack:
        if database.engine.dialect.name == "sqlite":
            # Read a copy: a long read of the file itself blocks writers.
            copy = folder / "copy.db"
            with database.engine.connect() as source, closing(sqlite3.connect(copy)) as target:
                driver: Any = source.connection.driver_connection
                driver.backup(target)
            database = stack.enter_context(closing(Database(f"sqlite:///{copy}")))
            yield stack.enter_context(database.engine.connect())
            return
        connection = stack.enter_context(database.engine.connect())
        connection = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        wait_for_ever(connection)
        yield connection


def _write_rows(tar: tarfile.TarFile, connection: Connection, table: Table, folder: Path, manifest: Manifest) -> None:
    """Add a table to the archive, in the order of its primary key."""
    rows = connection.execution_options(yield_per=BATCH).execute(select(table).order_by(*table.primary_key.columns))
    with tempfile.TemporaryFile(dir=folder) as file:
        manifest.rows[table.name] = 0
        for row in rows.mappings():
            file.write(json.dumps(dict(row)).encode() + b"\n")
            manifest.rows[table.name] += 1
        size = file.tell()
        file.seek(0)
        _add(tar, f"database/{table.name}.jsonl", file, size, manifest)


class _Hashing:
    """File that hashes the bytes read from it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.sha256 = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        data = self._file.read(size)
        self.sha256.update(data)
        return data


def _add(tar: tarfile.TarFile, name: str, source: Any, size: int, manifest: Manifest) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = size, 0o600, int(manifest.created_at)
    hashing: Any = _Hashing(source)
    tar.addfile(member, hashing)
    manifest.sha256[name] = hashing.sha256.hexdigest()


@contextmanager
def opened(path: Path) -> Iterator[tuple[tarfile.TarFile, Manifest]]:
    """Yield a backup after verifying the sha256 of every member. Raises InputError for any other file."""
    with ExitStack() as stack:
        try:
            tar = stack.enter_context(tarfile.open(path, "r:"))
            manifest = _verified(tar, path)
        except (tarfile.TarError, EOFError, ValueError, TypeError, KeyError) as error:
            raise InputError(f"{quote(path)} is incomplete: {error}. Use another backup.") from error
        except OSError as error:
            raise InputError(f"Cannot read {quote(path)}: {error.strerror or error}.") from error
        yield tar, manifest


def _verified(tar: tarfile.TarFile, path: Path) -> Manifest:
    digests: dict[str, str] = {}
    manifest: dict[str, Any] = {}
    for member in tar:
        source = tar.extractfile(member) if member.isreg() else None
        if source is None or not (
            member.name == MANIFEST or ROWS.fullmatch(member.name) or ARRAYS.fullmatch(member.name)
        ):
            raise InputError(f"{quote(path)} is not a Sparsight backup: it contains {quote(member.name)}.")
        if member.name == MANIFEST:
            manifest = json.loads(source.read())
        else:
            hashing = _Hashing(source)
            while hashing.read(CHUNK):
                pass
            digests[member.name] = hashing.sha256.hexdigest()
    if manifest.get("kind") != KIND or manifest.get("version") != VERSION:
        raise InputError(f"{quote(path)} is incomplete: its manifest is missing. Use another backup.")
    if digests != manifest["sha256"]:
        wrong = sorted(
            name for name in {*digests, *manifest["sha256"]} if digests.get(name) != manifest["sha256"].get(name)
        )
        raise InputError(
            f"{quote(path)} is damaged: {quote(wrong[0])} was changed after the backup. Use another backup."
        )
    return Manifest(**manifest)


def rows_of(tar: tarfile.TarFile, table: Table) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table, or nothing if the backup does not contain it."""
    name = f"database/{table.name}.jsonl"
    if name in tar.getnames():
        source = tar.extractfile(name)
        for line in source or ():
            yield json.loads(line)


def count(connection: Connection, table: Table, *where: Any) -> int:
    """Return the number of rows."""
    return connection.scalar(select(func.count()).select_from(table).where(*where)) or 0
