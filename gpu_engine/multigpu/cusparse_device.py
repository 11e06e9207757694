"""GPUs that multiply with cuSPARSE, as in the MSREP paper, for comparison with Sparsight kernels.

CSR uses the algorithm that is the fastest for CSR on nearly every matrix; CSC is the transpose of CSR; COO is converted
to CSR first. Source: MSREP paper, §5.1.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import cupy
import numpy as np

from gpu_engine.competitors import cusparse, cusparse_library
from gpu_engine.competitors.cusparse import CusparseLayout
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.multigpu.base import call_and_wait
from gpu_engine.multigpu.cuda_device import CudaDevice
from gpu_engine.multigpu.partition import Part, Partitioning

ALGORITHM = cusparse.CSR_ALG1


class CusparseDevice(CudaDevice):
    """CudaDevice whose SpMVs run in cuSPARSE."""

    def __init__(self, ordinal: int, node: int = 0, cpus: tuple[int, ...] = ()) -> None:
        """Open the GPU; raise DeviceError if CUDA fails, KernelError if cuSPARSE fails."""
        super().__init__(ordinal, node, cpus)
        handle = call_and_wait(self, cusparse_library.new_handle)
        self.operations = replace(
            self.operations, prepare=partial(_prepare, handle), multiply=partial(_multiply, handle)
        )


def _prepare(handle: Any, partitioning: Partitioning, part: Part, n_cols: int) -> Any:
    """Return a row partition after one SpMV on scratch vectors, which runs the preprocessing; others unchanged."""
    if partitioning.axis != "rows" or not part.minor.size:
        return part
    layout = _layout(handle, partitioning, part, n_cols)
    x, y = (cupy.zeros(size, np.float64) for size in (layout.matrix.n_cols, layout.matrix.n_rows))
    cusparse.multiply(layout, ALGORITHM, x, y, handle=handle)
    return layout


def _multiply(handle: Any, partitioning: Partitioning, part: Any, x: Any, y: Any) -> None:
    """Multiply a partition; one that is not prepared is converted for cuSPARSE first."""
    if isinstance(part, CusparseLayout):
        cusparse.multiply(part, ALGORITHM, x, y, handle=handle)
    elif part.minor.size:
        others = x.size if partitioning.axis == "rows" else y.size
        layout = _layout(handle, partitioning, part, others)
        cusparse.multiply(layout, ALGORITHM, x, y, handle=handle, once=True)
    else:
        y.data.memset_async(0, y.nbytes)


def _layout(handle: Any, partitioning: Partitioning, part: Part, n_others: int) -> CusparseLayout:
    lines, pointers = part.span.stop - part.span.first, part.major
    if not partitioning.compressed:
        pointers = cusparse.pointers(part.major, lines, handle)
    matrix = CsrMatrix(lines, n_others, pointers, part.minor, part.values)
    return cusparse.csr(matrix, transposed=partitioning.axis == "columns")
