"""PELLR (permuted ELLPACK-R): ELLR after a stable sort of all rows by length, longest first.

The rows of a warp are then of like length, so few of its lanes wait. Best where lengths vary much and neighbours share
few columns, as the sort pulls them apart. Source: PELLR paper, §3.
"""

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import Format, Kernel, Product, inverse, longest_first, max_row_length, row_lengths
from gpu_engine.formats.ell import fill_slots, read_slots
from gpu_engine.warps import WARP

SOURCE = CudaSource(__package__, "pellr.cu", ("pellr_thread", "pellr_warp"))
BLOCK = 256
"""Rows of a block are of like length, so a large one costs nothing: fastest on an H200."""
PADDING = 0
"""Lanes of `pellr/warp` gather x for padded slots too: they all read one element, and add 0 times it."""


@dataclass(frozen=True, slots=True)
class PellrLayout:
    """Slot s of row permutation[p] lies at [s, p].

    columns      int32 [width, n_rows], 0 where padded
    values       float64 [width, n_rows], 0 where padded
    lengths      int32 [n_rows], descending: `rl` in the paper; every 32nd is the longest of its warp
    permutation  int32 [n_rows], `perm` in the paper
    """

    n_cols: int
    nnz: int
    indptr_dtype: Any
    columns: Any
    values: Any
    lengths: Any
    permutation: Any

    @staticmethod
    def from_csr(matrix: CsrMatrix) -> "PellrLayout":
        """Sorts the rows and scatters each entry to its slot."""
        lengths = row_lengths(matrix)
        permutation = longest_first(lengths)
        columns, values = fill_slots(matrix, max_row_length(matrix), inverse(permutation), PADDING)
        dtype = matrix.indptr.dtype
        return PellrLayout(matrix.n_cols, matrix.nnz, dtype, columns, values, lengths[permutation], permutation)

    def to_csr(self) -> CsrMatrix:
        """Gathers the slots that each row uses."""
        places = inverse(self.permutation)
        return read_slots(self.columns, self.values, self.lengths[places], places, self.n_cols, self.indptr_dtype)

    @property
    def stored_bytes(self) -> int:
        """12 bytes a slot, padded or not, and 8 a row."""
        return int(self.columns.nbytes + self.values.nbytes + self.lengths.nbytes + self.permutation.nbytes)

    @property
    def walked_by_warps(self) -> int:
        """Slots of all lanes up to the longest row of each warp."""
        longest = self.lengths[::WARP].astype(np.int64)
        rest = WARP * longest.size - self.lengths.size
        return int(WARP * longest.sum()) - rest * int(longest[-1]) if longest.size else 0


def _cuda(name: str) -> Product:
    def product(layout: PellrLayout, x: Any, y: Any) -> None:
        n_rows = layout.lengths.size
        if n_rows:
            arrays = (layout.lengths, layout.columns, layout.values, layout.permutation)
            SOURCE.function(name)((-(-n_rows // BLOCK),), (BLOCK,), (np.int32(n_rows), *arrays, x, y))

    return product


@numba.njit(parallel=True, cache=True)
def _strips(lengths: Any, columns: Any, values: Any, permutation: Any, x: Any, y: Any, strip: int) -> None:
    """Slot by slot over a strip of rows, of which ever fewer are long enough; sums leave through the permutation."""
    n_rows = lengths.size
    for part in numba.prange(-(-n_rows // strip)):
        begin, end = part * strip, min((part + 1) * strip, n_rows)
        totals = np.zeros(end - begin)
        active = end
        for slot in range(lengths[begin]):
            while lengths[active - 1] <= slot:
                active -= 1
            for row in range(begin, active):
                totals[row - begin] += values[slot, row] * x[columns[slot, row]]
        for row in range(begin, end):
            y[permutation[row]] = totals[row - begin]


def _cpu(layout: PellrLayout, x: Any, y: Any) -> None:
    _strips(layout.lengths, layout.columns, layout.values, layout.permutation, x, y, 1024)


FORMAT = Format(
    name="pellr",
    title="Permuted ELLPACK-R",
    summary="ELLPACK-R with all rows sorted by length.",
    bytes_needed=lambda matrix: (12 * max_row_length(matrix) + 8) * matrix.n_rows,
    from_csr=PellrLayout.from_csr,
    kernels=(
        Kernel(
            "thread",
            "One thread a row, as many slots as the row is long; on a CPU slot by slot over strips of rows.",
            cpu=_cpu,
            cuda=_cuda("pellr_thread"),
            source=SOURCE,
            # Padded slots are not loaded.
            moved_bytes=lambda layout: 12 * layout.nnz + int(layout.lengths.nbytes + layout.permutation.nbytes),
        ),
        Kernel(
            "warp",
            "One thread a row, all lanes up to the longest row of the warp.",
            cuda=_cuda("pellr_warp"),
            source=SOURCE,
            # One length a warp; padding is loaded up to it.
            moved_bytes=lambda layout: (
                12 * layout.walked_by_warps + int(layout.lengths[::WARP].nbytes + layout.permutation.nbytes)
            ),
        ),
    ),
)
