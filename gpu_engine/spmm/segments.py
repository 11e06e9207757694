"""csr/segments: a group of lanes per segment of at most SEGMENT nonzeros of a row, for rows of very different length.

Rows of one segment are written at once. The sums of longer ones go to a buffer, and a second kernel adds them up in
the order of the nonzeros, so that every run gives the same bits.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import POINTERS, array_module, pointers, row_lengths
from gpu_engine.formats.csr.layout import CsrLayout
from gpu_engine.spmm.base import SpmmKernel, SpmmLaunch
from gpu_engine.spmm.groups import BLOCK, Groups, groups_for
from gpu_engine.spmm.launches import launch_groups
from gpu_engine.spmm.operands import is_paired, leading

SEGMENT = 128
"""Most nonzeros of a segment."""

SOURCE = CudaSource(
    __package__,
    "segments.cu",
    (*(f"spmm_segments<{vector}, {pointer}>" for vector in (1, 2) for pointer in POINTERS), "join_segments"),
)


@dataclass(frozen=True, slots=True)
class CsrSegments:
    """CSR with rows cut into segments of similar length.

    begins   first nonzero of each segment, and the end of the last: [segments + 1], in the type of the row pointers
    targets  row of a segment, or ~i if its row is cut and it is the i-th such segment: int32 [segments]
    cut      rows that are cut: int32; firsts: the first of their segments, counted as in `targets`: int32 [cut + 1]
    """

    csr: CsrLayout
    begins: Any
    targets: Any
    cut: Any
    firsts: Any

    @staticmethod
    def from_csr(matrix: CsrMatrix) -> "CsrSegments":
        """Cut the rows; the arrays of the matrix are not copied."""
        xp, lengths = array_module(matrix.indices), row_lengths(matrix)
        counts = xp.maximum(-(-lengths // SEGMENT), 1)
        offsets = pointers(counts, np.int64)
        number = xp.arange(int(offsets[-1]), dtype=np.int64)
        row = xp.searchsorted(offsets, number, side="right") - 1
        begins = xp.empty(number.size + 1, dtype=matrix.indptr.dtype)
        begins[:-1] = matrix.indptr[row] + (number - offsets[row]) * lengths[row] // counts[row]
        begins[-1] = matrix.nnz
        cut = xp.flatnonzero(counts > 1).astype(np.int32)
        firsts = pointers(counts[cut], np.int32)
        is_part = counts[row] > 1
        targets = xp.where(is_part, -is_part.cumsum(), row).astype(np.int32)
        return CsrSegments(CsrLayout(matrix), begins, targets, cut, firsts)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_cols)."""
        return self.csr.shape

    @property
    def stored_bytes(self) -> int:
        """Bytes of all arrays."""
        more = self.begins, self.targets, self.cut, self.firsts
        return int(self.csr.stored_bytes + sum(array.nbytes for array in more))

    def to_csr(self) -> CsrMatrix:
        """Return the matrix, whose arrays the layout shares."""
        return self.csr.matrix


def bytes_needed(matrix: CsrMatrix) -> int:
    """Return an upper bound of the bytes of the layout."""
    segments = matrix.n_rows + matrix.nnz // SEGMENT
    return matrix.stored_bytes + (segments + 1) * (int(matrix.indptr.itemsize) + 12)


def _cuda(layout: CsrSegments, k: int) -> SpmmLaunch:
    import cupy

    count, parts = layout.targets.size, int(layout.firsts[-1])
    sums = cupy.empty((parts, k))
    mean = layout.csr.matrix.nnz / max(count, 1)
    arrays = (np.int32(count), layout.begins, layout.targets, *layout.csr.arrays[1:])

    def launch(x: Any, y: Any, alpha: float, beta: float) -> None:
        groups = groups_for(k, mean, is_paired(x, y, sums))
        kernel = f"spmm_segments<{groups.vector}, {layout.csr.pointer}>"
        launch_groups(SOURCE, kernel, groups, count, arrays, (x, y, alpha, beta), (sums,))
        if parts and k:
            _join(layout, sums, y, alpha, beta)

    return launch


def _join(layout: CsrSegments, sums: Any, y: Any, alpha: float, beta: float) -> None:
    """Launch the addition of the sums of the rows that are cut; a lane per element of Y."""
    rows, k = layout.cut.size, y.shape[1]
    lanes = Groups(1, min(1 << max(k - 1, 0).bit_length(), BLOCK), 1)
    scaled = np.float64(alpha), np.float64(beta), y, np.int64(leading(y))
    arrays = np.int32(rows), layout.cut, layout.firsts, sums, np.int32(k), np.int32(lanes.width)
    SOURCE.function("join_segments")(lanes.grid(rows, k), (BLOCK,), (*arrays, *scaled))


KERNEL = SpmmKernel(
    "csr/segments",
    f"A group of lanes per {SEGMENT} nonzeros of a row.",
    CsrSegments.from_csr,
    bytes_needed,
    cuda=_cuda,
    source=SOURCE,
)
