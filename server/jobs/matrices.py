"""The matrices of a job: which can be measured, and what studies know of them."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from gpu_engine.errors import ConflictError, ParameterError, quote
from gpu_engine.records import MatrixInfo
from server import recorded_results
from server.catalogue import find_matrices
from server.documents import MATRICES_MAX
from server.models import MatrixState


def ready_matrices(session: Session, ids: Sequence[str], lock: bool = False) -> tuple[MatrixInfo, ...]:
    """Return what studies know of these matrices, in this order; raises ParameterError or ConflictError.

    lock  whether none of them may be deleted before the transaction ends
    """
    if not 0 < len(ids) <= MATRICES_MAX or len(set(ids)) < len(ids):
        raise ParameterError(f"A job takes 1 to {MATRICES_MAX} different matrices; {len(ids)} ids were given.")
    rows = find_matrices(session, ids, lock)
    for matrix_id in ids:
        if matrix_id not in rows:
            raise ParameterError(f"There is no matrix {quote(matrix_id)}.", hint="list_matrices")
        if rows[matrix_id].state == MatrixState.RECORDED:
            raise recorded_results.refusal(rows[matrix_id])
        if rows[matrix_id].state != MatrixState.READY:
            raise ConflictError(f"The matrix {matrix_id} is {rows[matrix_id].state}; only a ready one can be measured.")
    chosen = [rows[matrix_id] for matrix_id in ids]
    return tuple(MatrixInfo(row.id, row.name, row.n_rows, row.n_cols, row.nnz) for row in chosen)
