"""CSRI, load-balanced CSR: CSR with the first row of each warp, so that every warp gets equally many nonzeros.

Best if row lengths vary much. It is a separate format because the array costs bytes and conversion time that the other
kernels of CSR do without. Source: batched SpMV paper, §3.5; Flegar and Quintana-Ortí, Euro-Par 2017.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import CLEAR, POINTERS, Format, Kernel, Launch, array_module, launch
from gpu_engine.host.jit import numba

SOURCE = CudaSource(__package__, "csri.cu", (*(f"csri_warp<{pointer}>" for pointer in POINTERS), CLEAR))
BLOCK = 128
ENTRIES = 512
"""Most entries of a warp: fewer atomics per nonzero with more, fewer warps in flight."""


@dataclass(frozen=True, slots=True)
class CsriLayout:
    """CSR cut into T parts; part k has entries [k · nnz / T, (k + 1) · nnz / T).

    first_rows  int32 [T], the row of each part's first entry: upper_bound(indptr, k · nnz / T) − 1
    """

    matrix: CsrMatrix
    first_rows: Any

    @staticmethod
    def from_csr(matrix: CsrMatrix) -> "CsriLayout":
        """Find the first row of each part; share the arrays of the matrix."""
        xp = array_module(matrix.indices)
        parts = _parts(matrix)
        begins = xp.arange(parts, dtype=xp.int64) * matrix.nnz // max(parts, 1)
        rows = xp.searchsorted(matrix.indptr, begins.astype(matrix.indptr.dtype), side="right") - 1
        return CsriLayout(matrix, rows.astype(xp.int32))

    def to_csr(self) -> CsrMatrix:
        """Return the matrix that was cut."""
        return self.matrix

    @property
    def stored_bytes(self) -> int:
        """CSR, and 4 bytes per part."""
        return self.matrix.stored_bytes + int(self.first_rows.nbytes)

    @property
    def arrays(self) -> tuple[Any, Any, Any, Any]:
        """(first_rows, indptr, indices, values), in the order of the kernels' arguments."""
        return self.first_rows, self.matrix.indptr, self.matrix.indices, self.matrix.values


def _parts(matrix: CsrMatrix) -> int:
    return -(-matrix.nnz // ENTRIES)


def _cuda(layout: CsriLayout) -> Launch:
    parts, matrix = layout.first_rows.size, layout.matrix
    name = f"csri_warp<{POINTERS[matrix.indptr.dtype.itemsize == 8]}>"
    arguments = np.int64(matrix.nnz), np.int32(parts), np.int32(matrix.n_rows), *layout.arrays
    return launch(SOURCE, name, -(-parts // (BLOCK // 32)), BLOCK, arguments, clears=matrix.n_rows)


@numba.njit(parallel=True, cache=True)
def _parts_of_threads(
    first_rows: Any, indptr: Any, indices: Any, values: Any, x: Any, y: Any, threads: int, first_sums: Any
) -> None:
    """Equal parts a thread; its first row may be the last of the thread before it: its sum waits in `first_sums`."""
    parts, nnz = first_rows.size, values.size
    for row in numba.prange(y.size):
        y[row] = 0.0
    for thread in numba.prange(threads):
        part = parts * thread // threads
        entry, end = nnz * part // parts, nnz * (parts * (thread + 1) // threads) // parts
        first_sums[thread] = 0.0
        row = first_rows[part] if entry < end else 0
        shared = True
        while entry < end:
            stop = min(indptr[row + 1], end)
            total = 0.0
            while entry < stop:
                total += values[entry] * x[indices[entry]]
                entry += 1
            if shared:
                first_sums[thread] = total
            else:
                y[row] = total
            shared = False
            row += 1
    for thread in range(threads):
        part = parts * thread // threads
        if part < parts * (thread + 1) // threads:
            y[first_rows[part]] += first_sums[thread]


def _cpu(layout: CsriLayout, x: Any, y: Any) -> None:
    if not layout.first_rows.size:
        y.fill(0.0)
        return
    threads = numba.get_num_threads()
    _parts_of_threads(*layout.arrays, x, y, threads, np.empty(threads))


FORMAT = Format(
    name="csri",
    title="Load-balanced CSR",
    summary="CSR and the first row of each warp; every warp has equally many nonzeros.",
    bytes_needed=lambda matrix: matrix.stored_bytes + 4 * _parts(matrix),
    from_csr=CsriLayout.from_csr,
    kernels=(
        Kernel(
            "warp",
            "Equal nonzeros per warp, atomics at row ends; on a CPU equal nonzeros per thread.",
            cpu=_cpu,
            cuda=_cuda,
            source=SOURCE,
        ),
    ),
)
