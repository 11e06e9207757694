"""ELLR (ELLPACK-R): ELL with the length of each row, so that no thread walks the padding of its own row.

Best if neighboring rows have similar lengths. Source: Vázquez et al., CMMSE 2009; PELLR paper, §2.3.2.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import Format, Kernel, Launch, launch, max_row_length, row_lengths
from gpu_engine.formats.ell import PADDING, fill_slots, read_slots
from gpu_engine.host.jit import numba

AHEAD, BLOCK = 4, 64
"""Slots of a thread in flight, and threads of a block: the fastest on an H200. Lanes of a warp end at unlike
rows, so that few of them are at work, and a block waits for its longest row.
"""

SOURCE = CudaSource(__package__, "ellr.cu", (f"ellr_thread<{AHEAD}>",))


@dataclass(frozen=True, slots=True)
class EllrLayout:
    """Slot s of row r lies at [s, r]; a row has entries in its first lengths[r] slots.

    columns  int32 [width, n_rows], −1 where padded
    values   float64 [width, n_rows], 0 where padded
    lengths  int32 [n_rows], `rl` in the paper
    """

    n_cols: int
    nnz: int
    indptr_dtype: Any
    columns: Any
    values: Any
    lengths: Any

    @staticmethod
    def from_csr(matrix: CsrMatrix) -> "EllrLayout":
        """Scatter each entry to its slot."""
        columns, values = fill_slots(matrix, max_row_length(matrix), None, PADDING)
        return EllrLayout(matrix.n_cols, matrix.nnz, matrix.indptr.dtype, columns, values, row_lengths(matrix))

    def to_csr(self) -> CsrMatrix:
        """Gather the slots that each row uses."""
        return read_slots(self.columns, self.values, self.lengths, None, self.n_cols, self.indptr_dtype)

    @property
    def stored_bytes(self) -> int:
        """12 bytes per slot, padded or not, and 4 per row."""
        return int(self.columns.nbytes + self.values.nbytes + self.lengths.nbytes)


def _cuda(layout: EllrLayout) -> Launch:
    n_rows = layout.lengths.size
    arguments = np.int32(n_rows), layout.lengths, layout.columns, layout.values
    return launch(SOURCE, f"ellr_thread<{AHEAD}>", -(-n_rows // BLOCK), BLOCK, arguments)


@numba.njit(parallel=True, cache=True)
def _strips(lengths: Any, columns: Any, values: Any, x: Any, y: Any, strip: int) -> None:
    """Slot by slot over a strip of rows, up to the longest of the strip; shorter rows drop out at their length."""
    n_rows = lengths.size
    for part in numba.prange(-(-n_rows // strip)):
        begin, end = part * strip, min((part + 1) * strip, n_rows)
        longest = 0
        for row in range(begin, end):
            y[row] = 0.0
            longest = max(longest, lengths[row])
        for slot in range(longest):
            for row in range(begin, end):
                if slot < lengths[row]:
                    y[row] += values[slot, row] * x[columns[slot, row]]


def _cpu(layout: EllrLayout, x: Any, y: Any) -> None:
    _strips(layout.lengths, layout.columns, layout.values, x, y, 1024)


FORMAT = Format(
    name="ellr",
    title="ELLPACK-R",
    summary="ELLPACK with the length of each row.",
    bytes_needed=lambda matrix: (12 * max_row_length(matrix) + 4) * matrix.n_rows,
    from_csr=EllrLayout.from_csr,
    kernels=(
        Kernel(
            "thread",
            "One thread per row, over the slots of the row; on a CPU slot by slot over strips of rows.",
            cpu=_cpu,
            cuda=_cuda,
            source=SOURCE,
            # Padded slots are not loaded.
            moved_bytes=lambda layout: 12 * layout.nnz + int(layout.lengths.nbytes),
        ),
    ),
)
