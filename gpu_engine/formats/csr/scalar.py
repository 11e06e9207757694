"""csr/scalar: one thread per row. Best if rows are short and of similar length; reads values uncoalesced on a GPU."""

from typing import Any

import numpy as np

from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import POINTERS, Kernel, Launch, launch
from gpu_engine.formats.csr.layout import CsrLayout
from gpu_engine.host.jit import numba

SOURCE = CudaSource(__package__, "scalar.cu", tuple(f"csr_scalar<{pointer}>" for pointer in POINTERS))
BLOCK = 128


def _cuda(layout: CsrLayout) -> Launch:
    n_rows = layout.matrix.n_rows
    arguments = np.int32(n_rows), *layout.arrays
    return launch(SOURCE, f"csr_scalar<{layout.pointer}>", -(-n_rows // BLOCK), BLOCK, arguments)


@numba.njit(parallel=True, cache=True)
def _rows(indptr: Any, indices: Any, values: Any, x: Any, y: Any) -> None:
    for row in numba.prange(y.size):
        total = 0.0
        for entry in range(indptr[row], indptr[row + 1]):
            total += values[entry] * x[indices[entry]]
        y[row] = total


def _cpu(layout: CsrLayout, x: Any, y: Any) -> None:
    _rows(*layout.arrays, x, y)


KERNEL = Kernel("scalar", "One thread per row; on a CPU one sum per row.", cpu=_cpu, cuda=_cuda, source=SOURCE)
