"""Catalog of matrices: lists, searches, and documents."""

import re
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Float, and_, func, literal, or_, select, true
from sqlalchemy.orm import Session

from gpu_engine.errors import NotFoundError, ParameterError, quote
from gpu_engine.records import as_json
from gpu_engine.studies import STUDIES
from server.models import (
    UNREAD,
    JobRow,
    MatrixRow,
    MatrixState,
    MeasurementRow,
    RecordedResultsRow,
    RecordingRow,
)
from server.paging import LIMIT_DEFAULT, Page, decode_cursor, encode_cursor, invalid_cursor
from server.predictors import Predictor
from server.timestamps import time_of

NAME_MAX = 200
QUERY_MAX = 200
ID = re.compile(r"[A-Za-z0-9_-]{1,32}")


def _feature(name: str) -> ColumnElement[Any]:
    """Return a feature as a number, or −1 if the matrix has none."""
    return func.coalesce(MatrixRow.features[name].as_float(), literal(-1.0, Float))


def _has_results(study: str) -> ColumnElement[bool]:
    """Return whether a study has results of a matrix, measured here or imported as reference results."""
    here = select(MeasurementRow.id).join(JobRow, JobRow.id == MeasurementRow.job_id)
    elsewhere = select(RecordedResultsRow.id).join(RecordingRow, RecordingRow.id == RecordedResultsRow.recording_id)
    return or_(
        here.where(MeasurementRow.matrix_id == MatrixRow.id, JobRow.study == study).exists(),
        elsewhere.where(RecordedResultsRow.fingerprint == MatrixRow.fingerprint, RecordingRow.study == study).exists(),
    )


SORTS: dict[str, ColumnElement[Any]] = {
    "created_at": MatrixRow.created_at.expression,
    "name": func.lower(MatrixRow.name),
    "n_rows": MatrixRow.n_rows.expression,
    "nnz": MatrixRow.nnz.expression,
    "ave": _feature("ave"),
    "sigma": _feature("sigma"),
    "max": _feature("max"),
}
SORT_DEFAULT = "-created_at"
_NNZ, _SQUARE = MatrixRow.nnz, (MatrixRow.n_rows > 0) & (MatrixRow.n_rows == MatrixRow.n_cols)
FACETS: dict[str, dict[str, ColumnElement[bool]]] = {
    "source": {
        "mine": MatrixRow.state != MatrixState.RECORDED,
        "recorded": MatrixRow.state == MatrixState.RECORDED,
        "all": true(),
    },
    "shape": {
        "symmetric": MatrixRow.features["symmetric"].as_boolean(),
        "square": _SQUARE,
        "rectangular": MatrixRow.n_rows != MatrixRow.n_cols,
    },
    "nnz": {
        "under-100k": _NNZ < 100_000,
        "100k-10m": _NNZ.between(100_000, 10_000_000),
        "over-10m": _NNZ > 10_000_000,
    },
    "kind": {kind: MatrixRow.source["kind"].as_string() == kind for kind in ("upload", "generated", "collection")},
    "results": {study.name: _has_results(study.name) for study in STUDIES},
}
"""Filters of the list of matrices: facet → value → SQL condition. `symmetric` requires symmetric values too."""


def list_matrices(
    session: Session,
    q: str = "",
    sort: str = SORT_DEFAULT,
    limit: int = LIMIT_DEFAULT,
    cursor: str | None = None,
    recorded: bool = False,
    ids: Collection[str] | None = None,
    **facets: str,
) -> Page[MatrixRow]:
    """Return matrices whose name contains `q` in any case, or whose id or fingerprint starts with it.

    sort      key of SORTS, with a leading minus for descending order; ties by id
    recorded  include reference matrices, which have no values
    ids       only these matrices
    facets    one value per key of FACETS; empty: any
    Raises ParameterError for an unknown sort or facet, and for a cursor of another list.
    """
    name, descending = sort.removeprefix("-"), sort.startswith("-")
    if name not in SORTS:
        raise ParameterError(
            f"Unknown sort key {quote(sort)}. Use one of {', '.join(SORTS)}, with a leading - for descending order."
        )
    key = SORTS[name]
    query = select(MatrixRow, key).where(*_matching(q), *(_facet(facet, value) for facet, value in facets.items()))
    if ids is not None:
        query = query.where(MatrixRow.id.in_(ids))
    if not recorded:
        query = query.where(MatrixRow.state != MatrixState.RECORDED)
    if cursor is not None:
        query = query.where(_after(key, descending, *_cursor(cursor, sort)))
    order = (key.desc(), MatrixRow.id.desc()) if descending else (key.asc(), MatrixRow.id.asc())
    matches = session.execute(query.order_by(*order).limit(limit + 1)).all()
    rows = [row for row, _ in matches[:limit]]
    more = len(matches) > limit
    return Page(rows, encode_cursor(sort, matches[limit - 1][1], rows[-1].id) if more else None)


def _facet(name: str, value: str) -> ColumnElement[bool]:
    """Return the condition that a matrix has this value of a facet."""
    if value and value not in FACETS[name]:
        raise ParameterError(f"Invalid {name} {quote(value)}. Use one of {', '.join(FACETS[name])}.")
    return FACETS[name][value] if value else true()


def _matching(q: str) -> list[ColumnElement[bool]]:
    text = clean_name(q)[:QUERY_MAX]
    if not text:
        return []
    starts = (column.startswith(text, autoescape=True) for column in (MatrixRow.id, MatrixRow.fingerprint))
    return [or_(MatrixRow.name.icontains(text, autoescape=True), *starts)]


def _cursor(cursor: str, sort: str) -> tuple[str | float, str]:
    """Return the sort key and the id in a cursor of a list with this order."""
    order, key, last = decode_cursor(cursor, 3)
    # The comparison is false for NaN, infinity, and numbers that no database can store.
    number = isinstance(key, int | float) and abs(key) < 2**63
    fits = isinstance(key, str) and key.isprintable() if sort.removeprefix("-") == "name" else number
    if order != sort or not fits or not isinstance(last, str) or not ID.fullmatch(last):
        raise invalid_cursor()
    return key, last


def _after(key: ColumnElement[Any], descending: bool, value: Any, last: str) -> ColumnElement[bool]:
    """Return the condition that a row follows (value, last) in this order."""
    if descending:
        return or_(key < value, and_(key == value, MatrixRow.id < last))
    return or_(key > value, and_(key == value, MatrixRow.id > last))


def get_matrix(session: Session, matrix_id: str, lock: bool = False) -> MatrixRow:
    """Return the matrix, with its row locked for a change if `lock` is set. Raises NotFoundError."""
    row = session.get(MatrixRow, matrix_id, with_for_update=lock) if ID.fullmatch(matrix_id) else None
    if row is None:
        raise NotFoundError(f"Unknown matrix {quote(matrix_id)}.", hint="list_matrices")
    return row


def find_matrices(session: Session, ids: Collection[str], lock: bool = False) -> dict[str, MatrixRow]:
    """Return the existing matrices of these ids, by id.

    lock  keep them from being deleted before the transaction ends
    """
    possible = [matrix_id for matrix_id in ids if ID.fullmatch(matrix_id)]
    query = select(MatrixRow).where(MatrixRow.id.in_(possible)).order_by(MatrixRow.id)
    rows = session.scalars(query.with_for_update(read=True) if lock else query)
    return {row.id: row for row in rows}


def ready_twins(session: Session, row: MatrixRow) -> list[MatrixRow]:
    """Return the matrices with values that equal this one, the oldest first."""
    equal = select(MatrixRow).where(MatrixRow.fingerprint == row.fingerprint, MatrixRow.state == MatrixState.READY)
    return list(session.scalars(equal.order_by(MatrixRow.created_at, MatrixRow.id)))


def with_values(session: Session, ids: Sequence[str]) -> dict[str, MatrixRow]:
    """Return for each id the matrix with values: itself, or the oldest equal one."""
    rows = {row.id: row for row in session.scalars(select(MatrixRow).where(MatrixRow.id.in_(ids)))}
    equal = select(MatrixRow).where(
        MatrixRow.fingerprint.in_([row.fingerprint for row in rows.values()]), MatrixRow.state == MatrixState.READY
    )
    newest_first = session.scalars(equal.order_by(MatrixRow.created_at.desc(), MatrixRow.id.desc()))
    oldest = {row.fingerprint: row for row in newest_first}
    here = {i: rows[i] if rows[i].state == MatrixState.READY else oldest.get(rows[i].fingerprint) for i in ids}
    return {matrix_id: row for matrix_id, row in here.items() if row}


def matrix_document(row: MatrixRow, predictor: Predictor) -> dict[str, Any]:
    """Return the REST document of the matrix; `error` is the problem document of a failed one, else None."""
    close = predictor.near_best(row.features)
    return {
        "id": row.id,
        "name": row.name,
        "state": row.state,
        "sha256": row.sha256,
        "fingerprint": None if row.fingerprint.startswith(UNREAD) else row.fingerprint or None,
        "n_rows": row.n_rows,
        "n_cols": row.n_cols,
        "nnz": row.nnz,
        "features": row.features,
        "advice": [as_json(advice) for advice in predictor.advise(row.features)],
        "advice_gpu": predictor.gpu.short_name if close else None,
        "near_best": list(close),
        "confidence": ("high" if predictor.is_sure(row.features) else "low") if close else None,
        "source": row.source,
        "error": row.error or None,
        "created_at": time_of(row.created_at),
        "links": {"self": matrix_path(row.id), "events": f"/api/v1/events?topics=matrix:{row.id}"},
    }


def matrix_path(matrix_id: str) -> str:
    """Return the path of the matrix in the API."""
    return f"/api/v1/matrices/{matrix_id}"


def clean_name(text: str) -> str:
    """Return a name as it is stored and displayed: printable, single spaces, at most NAME_MAX characters. It is never
    part of a path.
    """
    printable = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(printable.split())[:NAME_MAX]
