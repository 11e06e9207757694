"""csr/vector: one warp or half a warp per row. Reads rows coalesced; lanes idle if a row is shorter than the group.

The batched paper gives a row 32 lanes (`vector`), the PELLR paper 16 (`vector16`).
"""

from functools import partial
from typing import Any

import numpy as np

from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import POINTERS, Kernel, Launch, launch
from gpu_engine.formats.csr.layout import CsrLayout
from gpu_engine.host.jit import numba

LANES = (16, 32)
SOURCE = CudaSource(
    __package__, "vector.cu", tuple(f"csr_vector<{pointer}, {lanes}>" for pointer in POINTERS for lanes in LANES)
)
BLOCK = 128


def _cuda(lanes: int, layout: CsrLayout) -> Launch:
    n_rows = layout.matrix.n_rows
    arguments = np.int32(n_rows), *layout.arrays
    return launch(SOURCE, f"csr_vector<{layout.pointer}, {lanes}>", -(-n_rows // (BLOCK // lanes)), BLOCK, arguments)


@numba.njit(parallel=True, cache=True)
def _rows(indptr: Any, indices: Any, values: Any, x: Any, y: Any) -> None:
    for row in numba.prange(y.size):
        begin, end = indptr[row], indptr[row + 1]
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
        whole = begin + (end - begin) // 8 * 8
        for entry in range(begin, whole, 8):
            s0 += values[entry] * x[indices[entry]]
            s1 += values[entry + 1] * x[indices[entry + 1]]
            s2 += values[entry + 2] * x[indices[entry + 2]]
            s3 += values[entry + 3] * x[indices[entry + 3]]
            s4 += values[entry + 4] * x[indices[entry + 4]]
            s5 += values[entry + 5] * x[indices[entry + 5]]
            s6 += values[entry + 6] * x[indices[entry + 6]]
            s7 += values[entry + 7] * x[indices[entry + 7]]
        total = ((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7))
        for entry in range(whole, end):
            total += values[entry] * x[indices[entry]]
        y[row] = total


def _cpu(layout: CsrLayout, x: Any, y: Any) -> None:
    _rows(*layout.arrays, x, y)


KERNEL = Kernel(
    "vector",
    "One warp (32 lanes) per row; on a CPU eight partial sums per row.",
    cpu=_cpu,
    cuda=partial(_cuda, 32),
    source=SOURCE,
)
HALF_WARP_KERNEL = Kernel("vector16", "Half a warp (16 lanes) per row.", cuda=partial(_cuda, 16), source=SOURCE)
