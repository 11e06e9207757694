"""csr/smart: part of a warp per row, as wide as the mean row is long. Best if rows are of similar length.

Source: batched SpMV paper, §3.4. The CUDA kernel is csr/vector's, with the lanes chosen for the matrix.
"""

from typing import Any

import numpy as np

from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import POINTERS, Kernel, Launch, lanes_for, launch
from gpu_engine.formats.csr.layout import CsrLayout
from gpu_engine.host.jit import numba

LANES = (1, 2, 4, 8, 16, 32)
SOURCE = CudaSource(
    __package__, "vector.cu", tuple(f"csr_vector<{pointer}, {lanes}>" for pointer in POINTERS for lanes in LANES)
)
BLOCK = 128


def _cuda(layout: CsrLayout) -> Launch:
    n_rows = layout.matrix.n_rows
    lanes = lanes_for(layout.matrix.nnz, n_rows)
    arguments = np.int32(n_rows), *layout.arrays
    return launch(SOURCE, f"csr_vector<{layout.pointer}, {lanes}>", -(-n_rows // (BLOCK // lanes)), BLOCK, arguments)


@numba.njit(parallel=True, cache=True)
def _one_sum(indptr: Any, indices: Any, values: Any, x: Any, y: Any) -> None:
    for row in numba.prange(y.size):
        total = 0.0
        for entry in range(indptr[row], indptr[row + 1]):
            total += values[entry] * x[indices[entry]]
        y[row] = total


@numba.njit(parallel=True, cache=True)
def _two_sums(indptr: Any, indices: Any, values: Any, x: Any, y: Any) -> None:
    for row in numba.prange(y.size):
        begin, end = indptr[row], indptr[row + 1]
        s0 = s1 = 0.0
        whole = begin + (end - begin) // 2 * 2
        for entry in range(begin, whole, 2):
            s0 += values[entry] * x[indices[entry]]
            s1 += values[entry + 1] * x[indices[entry + 1]]
        if whole < end:
            s0 += values[whole] * x[indices[whole]]
        y[row] = s0 + s1


@numba.njit(parallel=True, cache=True)
def _four_sums(indptr: Any, indices: Any, values: Any, x: Any, y: Any) -> None:
    for row in numba.prange(y.size):
        begin, end = indptr[row], indptr[row + 1]
        s0 = s1 = s2 = s3 = 0.0
        whole = begin + (end - begin) // 4 * 4
        for entry in range(begin, whole, 4):
            s0 += values[entry] * x[indices[entry]]
            s1 += values[entry + 1] * x[indices[entry + 1]]
            s2 += values[entry + 2] * x[indices[entry + 2]]
            s3 += values[entry + 3] * x[indices[entry + 3]]
        total = (s0 + s2) + (s1 + s3)
        for entry in range(whole, end):
            total += values[entry] * x[indices[entry]]
        y[row] = total


def _cpu(layout: CsrLayout, x: Any, y: Any) -> None:
    lanes = lanes_for(layout.matrix.nnz, layout.matrix.n_rows)
    sums = {1: _one_sum, 2: _two_sums}.get(lanes, _four_sums)
    sums(*layout.arrays, x, y)


KERNEL = Kernel(
    "smart",
    "1, 2, 4, … or 32 lanes per row, by the mean row length; on a CPU one, two, or four partial sums.",
    cpu=_cpu,
    cuda=_cuda,
    source=SOURCE,
)
