"""csr/rows: a group of lanes per row, for rows of similar length; on a CPU one thread per row."""

from typing import Any

import numpy as np

from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import POINTERS
from gpu_engine.formats.csr.layout import CsrLayout
from gpu_engine.host.jit import numba
from gpu_engine.spmm.base import SpmmKernel, SpmmLaunch
from gpu_engine.spmm.groups import VECTORS, groups_for
from gpu_engine.spmm.launches import launch_groups
from gpu_engine.spmm.operands import vector_of

SOURCE = CudaSource(
    __package__, "rows.cu", tuple(f"spmm_rows<{vector}, {pointer}>" for vector in VECTORS for pointer in POINTERS)
)


def _cuda(layout: CsrLayout, k: int) -> SpmmLaunch:
    matrix = layout.matrix
    mean, arrays = matrix.nnz / max(matrix.n_rows, 1), (np.int32(matrix.n_rows), *layout.arrays)

    def launch(x: Any, y: Any, alpha: float, beta: float) -> None:
        groups = groups_for(k, matrix.n_rows, mean, vector_of(x, y))
        kernel = f"spmm_rows<{groups.vector}, {layout.pointer}>"
        launch_groups(SOURCE, kernel, groups, matrix.n_rows, arrays, (x, y, alpha, beta))

    return launch


@numba.njit(parallel=True, cache=True)
def _rows(indptr: Any, indices: Any, values: Any, x: Any, y: Any, alpha: float, beta: float) -> None:
    k = y.shape[1]
    for row in numba.prange(y.shape[0]):
        if beta == 0.0:
            for j in range(k):
                y[row, j] = 0.0
        elif beta != 1.0:
            for j in range(k):
                y[row, j] *= beta
        if alpha != 0.0:
            for entry in range(indptr[row], indptr[row + 1]):
                value, column = alpha * values[entry], indices[entry]
                for j in range(k):
                    y[row, j] += value * x[column, j]


def _cpu(layout: CsrLayout, x: Any, y: Any, alpha: float, beta: float) -> None:
    _rows(*layout.arrays, x, y, alpha, beta)


KERNEL = SpmmKernel(
    "csr/rows",
    "A group of lanes per row; on a CPU one thread per row.",
    CsrLayout.from_csr,
    lambda matrix: matrix.stored_bytes,
    cpu=_cpu,
    cuda=_cuda,
    source=SOURCE,
)
