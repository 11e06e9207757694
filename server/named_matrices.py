"""Matrices that a file names and sizes without their values: which of the known ones they are."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from gpu_engine.recordings.files import MatrixRecord, kind_of
from server.intake import ENDINGS
from server.models import UNREAD, MatrixRow, MatrixState

READ = MatrixRow.state.in_((MatrixState.READY, MatrixState.RECORDED)), MatrixRow.fingerprint.not_like(f"{UNREAD}%")

Sizes = tuple[int, int, int]


def identified(session: Session, matrices: Sequence[MatrixRecord]) -> tuple[MatrixRecord, ...]:
    """The matrices with the fingerprints and features of known ones of their name and sizes, oldest ones first.

    Where there is none, name and sizes stand for the fingerprint.
    """
    known: dict[tuple[str, Sizes], list[MatrixRow]] = {}
    for row in session.scalars(select(MatrixRow).where(*READ).order_by(MatrixRow.created_at, MatrixRow.id)):
        if name := _called(row.source)[1]:
            known.setdefault((name, _sizes(row)), []).append(row)
    found: dict[str, MatrixRecord] = {}
    for matrix in matrices:
        group, name = _called(matrix.source)
        fitting = (row for row in known.get((name, _sizes(matrix)), ()) if _may_be(group, row))
        equal = next((row for row in fitting if row.fingerprint not in found), None)
        own = replace(matrix, fingerprint=equal.fingerprint, features=equal.features) if equal else _unread(matrix)
        found[own.fingerprint] = own
    return tuple(found.values())


def _unread(matrix: MatrixRecord) -> MatrixRecord:
    said = hashlib.sha256(f"{matrix.id} {_sizes(matrix)}".encode()).hexdigest()
    return replace(matrix, fingerprint=UNREAD + said[: 64 - len(UNREAD)])


def _sizes(matrix: Any) -> Sizes:
    return matrix.n_rows, matrix.n_cols, matrix.nnz


def _may_be(group: str, row: MatrixRow) -> bool:
    """Whether the groups are the same, as far as both have one."""
    own = _called(row.source)[0]
    return own == group or not (own and group)


def _called(source: Any) -> tuple[str, str]:
    """Group and name of a matrix of the collection; of a file its name. What is generated here only stands for one."""
    if kind_of(source) == "collection":
        group, _, name = str(source["name"]).partition("/")
        return group, name
    return "", ENDINGS.sub("", str(source["filename"])) if kind_of(source) == "upload" else ""
