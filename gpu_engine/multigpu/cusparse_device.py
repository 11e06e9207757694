"""GPUs whose products are cuSPARSE's, in the ways of the MSREP paper, to be measured beside ours.

CSR is multiplied as it is, with the algorithm that is the fastest of those for CSR on nearly every matrix; CSC as the
transpose of CSR; COO is converted to CSR first. Source: MSREP paper, §5.1.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import cupy
import numpy as np

from gpu_engine.competitors import cusparse, cusparse_library
from gpu_engine.competitors.cusparse import CusparseLayout
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.multigpu.base import returned
from gpu_engine.multigpu.cuda_device import CudaDevice
from gpu_engine.multigpu.partition import Part, Partitioning

ALGORITHM = cusparse.CSR_ALG1


class CusparseDevice(CudaDevice):
    """A CudaDevice but for its products."""

    def __init__(self, ordinal: int, node: int = 0, cpus: tuple[int, ...] = ()) -> None:
        """Raises DeviceError where CUDA refuses, KernelError where cuSPARSE does."""
        super().__init__(ordinal, node, cpus)
        handle = returned(self, cusparse_library.new_handle)
        self.operations = replace(
            self.operations, prepare=partial(_prepare, handle), multiply=partial(_multiply, handle)
        )


def _prepare(handle: Any, partitioning: Partitioning, part: Part, n_cols: int) -> Any:
    """Does a first product, of vectors that nobody reads, with a part of rows; another one is left as it is."""
    if partitioning.axis != "rows" or not part.minor.size:
        return part
    layout = _layout(handle, partitioning, part, n_cols)
    x, y = (cupy.zeros(size, np.float64) for size in (layout.matrix.n_cols, layout.matrix.n_rows))
    cusparse.multiply(layout, ALGORITHM, x, y, handle=handle)
    return layout


def _multiply(handle: Any, partitioning: Partitioning, part: Any, x: Any, y: Any) -> None:
    """The product; of a part as it came what cuSPARSE needs is made first."""
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
