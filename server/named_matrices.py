"""Identification of metadata-only matrices, of which a file only gives name and size, with known matrices."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from gpu_engine.recordings.files import MatrixRecord, kind_of
from server.matrix_lifecycle import ENDINGS
from server.models import UNREAD, MatrixRow, MatrixState

READ = MatrixRow.state.in_((MatrixState.READY, MatrixState.RECORDED)), MatrixRow.fingerprint.not_like(f"{UNREAD}%")

Sizes = tuple[int, int, int]


def identified(session: Session, matrices: Sequence[MatrixRecord]) -> tuple[MatrixRecord, ...]:
    """Return the matrices with fingerprint and features of the oldest known matrix of the same name and size.

    Without such a matrix, name and size stand for the fingerprint.
    """
    known: dict[tuple[str, Sizes], list[MatrixRow]] = {}
    for row in session.scalars(select(MatrixRow).where(*READ).order_by(MatrixRow.created_at, MatrixRow.id)):
        if name := _called(row.source)[1]:
            known.setdefault((name, _sizes(row)), []).append(row)
    by_fingerprint: dict[str, MatrixRecord] = {}
    for matrix in matrices:
        group, name = _called(matrix.source)
        fitting = (row for row in known.get((name, _sizes(matrix)), ()) if _may_be(group, row))
        equal = next((row for row in fitting if row.fingerprint not in by_fingerprint), None)
        resolved = replace(matrix, fingerprint=equal.fingerprint, features=equal.features) if equal else _unread(matrix)
        by_fingerprint[resolved.fingerprint] = resolved
    return tuple(by_fingerprint.values())


def _unread(matrix: MatrixRecord) -> MatrixRecord:
    digest = hashlib.sha256(f"{matrix.id} {_sizes(matrix)}".encode()).hexdigest()
    return replace(matrix, fingerprint=UNREAD + digest[: 64 - len(UNREAD)])


def _sizes(matrix: Any) -> Sizes:
    return matrix.n_rows, matrix.n_cols, matrix.nnz


def _may_be(group: str, row: MatrixRow) -> bool:
    """Return whether the groups are equal, or one of them is unknown."""
    own_group = _called(row.source)[0]
    return own_group == group or not (own_group and group)


def _called(source: Any) -> tuple[str, str]:
    """Return group and name of a matrix of the SuiteSparse collection, or the name of a file. A generated matrix is
    only a synthetic stand-in.
    """
    if kind_of(source) == "collection":
        group, _, name = str(source["name"]).partition("/")
        return group, name
    return "", ENDINGS.sub("", str(source["filename"])) if kind_of(source) == "upload" else ""
