"""Saved selections of matrices. The short id is a hash of the matrix ids, so that equal selections have equal ids."""

import hashlib
import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from gpu_engine.errors import NotFoundError, ParameterError, quote
from gpu_engine.records import dumps
from server.catalogue import clean_name, find_matrices
from server.db import Database
from server.documents import MATRICES_MAX
from server.models import MatrixRow, MatrixSetRow
from server.timestamps import time_of

ID_DIGITS = 12
SETS_MAX = 1000
"""Maximum number of saved sets."""


def save(database: Database, matrix_ids: Sequence[str], name: str = "") -> tuple[MatrixSetRow, bool]:
    """Return the set of these matrices, and whether it is new. An existing set gets the name, if one is given.

    Raises NotFoundError for an unknown matrix, and ParameterError for no matrices, too many matrices, or too many sets.
    """
    ids = sorted(set(matrix_ids))
    if not 1 <= len(ids) <= MATRICES_MAX:
        raise ParameterError(f"A set has 1 to {MATRICES_MAX} matrices, not {len(ids)}.")
    digest = hashlib.sha256(dumps(ids).encode()).hexdigest()[:ID_DIGITS]
    try:
        with database.write() as session:
            there = find_matrices(session, ids, lock=True)
            known = session.get(MatrixSetRow, digest, with_for_update=True)
            if known is not None:
                known.name = clean_name(name) or known.name
                return known, False
            for matrix_id in ids:
                if matrix_id not in there:
                    raise NotFoundError(f"Unknown matrix {quote(matrix_id)}.", hint="list_matrices")
            if (session.scalar(select(func.count(MatrixSetRow.id))) or 0) >= SETS_MAX:
                raise ParameterError(f"Limit of {SETS_MAX} saved sets reached. Delete one first.")
            called = clean_name(name) or f"{len(ids)} matrices"
            row = MatrixSetRow(id=digest, name=called, matrix_ids=ids, created_at=time.time())
            session.add(row)
        return row, True
    except IntegrityError:
        # Another request has saved it meanwhile.
        with database.read() as session:
            return get_set(session, digest), False


def get_set(session: Session, set_id: str, lock: bool = False) -> MatrixSetRow:
    """Return the set, with its row locked for a change if `lock` is set. Raises NotFoundError."""
    is_id = len(set_id) == ID_DIGITS and set_id.isalnum()
    row = session.get(MatrixSetRow, set_id, with_for_update=lock) if is_id else None
    if row is None:
        raise NotFoundError(f"Unknown set {quote(set_id)}. GET /api/v1/sets lists all sets.")
    return row


def list_sets(session: Session) -> list[MatrixSetRow]:
    """Return all sets, the newest first."""
    return list(session.scalars(select(MatrixSetRow).order_by(MatrixSetRow.created_at.desc(), MatrixSetRow.id)))


def members(session: Session, row: MatrixSetRow) -> tuple[str, ...]:
    """Return the existing matrices of a set. Raises NotFoundError if none is left."""
    there = set(session.scalars(select(MatrixRow.id).where(MatrixRow.id.in_(row.matrix_ids))))
    if not there:
        raise NotFoundError(f"All matrices of the set {quote(row.name)} have been deleted.")
    return tuple(matrix_id for matrix_id in row.matrix_ids if matrix_id in there)


def delete_set(database: Database, set_id: str) -> None:
    """Delete a set but not its matrices."""
    with database.write() as session:
        session.delete(get_set(session, set_id, lock=True))


def set_document(row: MatrixSetRow) -> dict[str, Any]:
    """Return the REST document of the set."""
    return {
        "id": row.id,
        "name": row.name,
        "matrix_ids": row.matrix_ids,
        "created_at": time_of(row.created_at),
        "links": {"self": set_path(row.id)},
    }


def set_path(set_id: str) -> str:
    """Return the path of the set in the API."""
    return f"/api/v1/sets/{set_id}"
