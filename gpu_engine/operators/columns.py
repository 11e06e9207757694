"""ColumnProduct: Y := α·A·X + β·Y for X of several columns, of any order and dtype."""

from typing import Any

from gpu_engine import spmm
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.operators.vectors import FP64, Vectors
from gpu_engine.spmm import order
from gpu_engine.spmm.operands import is_row_major

BOUND_MAX = 4
"""Numbers of columns whose launches are kept, each with a buffer for rows that are cut."""


class ColumnProduct:
    """SpMM with the matrix of an operator; one thread at a time calls it, because it has buffers.

    Row-major float64 matrices are read and written where they are, others by way of row-major copies.
    """

    def __init__(self, vectors: Vectors, matrix: CsrMatrix) -> None:
        self._xp, self._backend = vectors.xp, vectors.backend
        self._layouts = spmm.Layouts(matrix, self._backend)
        self._bound: dict[int, spmm.SpmmLaunch] = {}

    def kernel(self, k: int) -> str:
        """Return the name of the kernel for k columns, `format/variant`."""
        return self._layouts.kernel(k).name

    def run(self, x: Any, y: Any, alpha: float, beta: float) -> None:
        """Compute Y := α·A·X + β·Y for real X [n_cols, k] and float64 Y [n_rows, k] of one device."""
        launch = self._launch(y.shape[1])
        product = y if is_row_major(y) else self._xp.empty(y.shape, FP64)
        # With α = 0 no kernel reads X, whatever its dtype and order.
        rows = order.row_major(x) if alpha != 0.0 else product
        if product is y:
            launch(rows, y, alpha, beta)
        else:
            launch(rows, product, alpha, 0.0)
            order.to_columns(product, y, beta)

    def bind(self, k: int) -> spmm.SpmmLaunch:
        """Return the SpMM for row-major float64 matrices of k columns, with a buffer of its own for cut rows."""
        return self._layouts.bound(k)

    def _launch(self, k: int) -> spmm.SpmmLaunch:
        if k not in self._bound:
            if len(self._bound) == BOUND_MAX:
                del self._bound[next(iter(self._bound))]
            self._bound[k] = self.bind(k)
        return self._bound[k]
