"""Matrices of a job: check that they can be measured, and load their features."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from gpu_engine.errors import ConflictError, ParameterError, quote
from gpu_engine.records import MatrixInfo
from server import recorded_results
from server.catalogue import find_matrices
from server.documents import MATRICES_MAX
from server.models import MatrixState


def ready_matrices(session: Session, ids: Sequence[str], lock: bool = False) -> tuple[MatrixInfo, ...]:
    """Return the features of these matrices, in this order. Raises ParameterError or ConflictError.

    lock  keep them from being deleted before the transaction ends
    """
    if not 0 < len(ids) <= MATRICES_MAX or len(set(ids)) < len(ids):
        raise ParameterError(f"A job can have 1 to {MATRICES_MAX} different matrices, not {len(ids)}.")
    rows = find_matrices(session, ids, lock)
    for matrix_id in ids:
        if matrix_id not in rows:
            raise ParameterError(f"Unknown matrix {quote(matrix_id)}.", hint="list_matrices")
        if rows[matrix_id].state == MatrixState.RECORDED:
            raise recorded_results.refusal(rows[matrix_id])
        if rows[matrix_id].state != MatrixState.READY:
            raise ConflictError(
                f"The matrix {matrix_id} is {rows[matrix_id].state}. Only a ready matrix can be measured."
            )
    chosen = [rows[matrix_id] for matrix_id in ids]
    return tuple(MatrixInfo(row.id, row.name, row.n_rows, row.n_cols, row.nnz) for row in chosen)
