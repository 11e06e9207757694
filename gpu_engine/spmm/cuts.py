"""Cuts: rows cut into segments of at most SEGMENT nonzeros, and the sums of rows of several segments.

The sums of the segments of such a row go to a buffer, and a second kernel adds them up in the order of the nonzeros, so
that every run gives the same bits.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import POINTERS, array_module, pointers, power_of_two, row_lengths
from gpu_engine.spmm.groups import BLOCK, Groups
from gpu_engine.spmm.operands import leading

SEGMENT = 64
"""Most nonzeros of a segment: the fastest of 32, 64, 128 and 256 over four graphs and k = 2 to 128 on an H100."""

JOIN = CudaSource(__package__, "join.cu", ("join_segments",))


@dataclass(frozen=True, slots=True)
class Cuts:
    """Segments of rows, in the order of the nonzeros; those of a row have similar lengths.

    begins   first nonzero of each segment, and the end of the last: [segments + 1], in the type of the row pointers
    targets  row of a segment, or ~i if its row is cut and it is the i-th such segment: int32 [segments]
    rows     rows that are cut: int32; firsts: the first of their segments, counted as in `targets`: int32 [rows + 1]
    parts    segments of rows that are cut
    """

    begins: Any
    targets: Any
    rows: Any
    firsts: Any
    parts: int

    @staticmethod
    def of(matrix: CsrMatrix) -> "Cuts":
        """Return the segments of a matrix, on its device."""
        xp, lengths = array_module(matrix.indices), row_lengths(matrix)
        counts = xp.maximum(-(-lengths // SEGMENT), 1)
        offsets = pointers(counts, np.int64)
        number = xp.arange(int(offsets[-1]), dtype=np.int64)
        row = xp.searchsorted(offsets, number, side="right") - 1
        begins = xp.empty(number.size + 1, dtype=matrix.indptr.dtype)
        begins[:-1] = matrix.indptr[row] + (number - offsets[row]) * lengths[row] // counts[row]
        begins[-1] = matrix.nnz
        rows = xp.flatnonzero(counts > 1).astype(np.int32)
        firsts = pointers(counts[rows], np.int32)
        is_part = counts[row] > 1
        targets = xp.where(is_part, -is_part.cumsum(), row).astype(np.int32)
        return Cuts(begins, targets, rows, firsts, int(firsts[-1]))

    @property
    def count(self) -> int:
        """Number of segments."""
        return int(self.targets.size)

    @property
    def mean(self) -> float:
        """Nonzeros of a segment, on average."""
        return float(self.begins[-1]) / max(self.count, 1)

    @property
    def pointer(self) -> str:
        """C++ type of `begins`."""
        return POINTERS[self.begins.dtype.itemsize == 8]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return int(sum(array.nbytes for array in (self.begins, self.targets, self.rows, self.firsts)))

    def room(self, k: int) -> Any:
        """Return a buffer for the sums of segments of rows that are cut: float64 [parts, k]."""
        return array_module(self.begins).empty((self.parts, k))

    def launch_join(self, sums: Any, y: Any, alpha: float, beta: float) -> None:
        """Launch Y := α·(sum of the segments) + β·Y for the rows that are cut; a lane per element."""
        count, k = int(self.rows.size), y.shape[1]
        if count and k:
            lanes = Groups(1, min(power_of_two(k), BLOCK), 1)
            scaled = np.float64(alpha), np.float64(beta), y, np.int64(leading(y))
            arrays = np.int32(count), self.rows, self.firsts, sums, np.int32(k), np.int32(lanes.width)
            JOIN.function("join_segments")(lanes.grid(count, k), (BLOCK,), (*arrays, *scaled))

    def join(self, sums: Any, y: Any, alpha: float, beta: float) -> None:
        """Compute Y := α·(sum of the segments) + β·Y for the rows that are cut, on the host."""
        for row, first, end in zip(self.rows, self.firsts, self.firsts[1:], strict=False):
            old = beta * y[row] if beta else 0.0
            y[row] = alpha * sums[first:end].sum(axis=0) + old if alpha else old


def cut_bytes(matrix: CsrMatrix) -> int:
    """Return an upper bound of the bytes of the segments of a matrix."""
    segments = matrix.n_rows + matrix.nnz // SEGMENT
    return (segments + 1) * (int(matrix.indptr.itemsize) + 12)
