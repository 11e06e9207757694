"""BiELL (bisection ELLPACK): strips of 32 rows, sorted inside the strip and halved again and again into groups.

A warp walks each group with all its lanes, so that a long row is shared by up to 32 of them, and folds their sums. Best
where lengths vary among neighboring rows. Source: Zheng et al., JPDC 74 (2014); PELLR paper, §2.3.3.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import (
    Format,
    Kernel,
    Launch,
    array_module,
    entry_blocks,
    inverse,
    launch,
    pointers,
    row_lengths,
)
from gpu_engine.host.jit import numba

AHEAD, BLOCK = 8, 64
"""Lines of a group in flight, and threads of a block: the fastest on an H200 over even and uneven rows."""

SOURCE = CudaSource(__package__, "biell.cu", (f"biell_warp<{AHEAD}>",))
STRIP = 32
GROUPS = 6
"""Group g holds the first 32 >> g rows of a strip: 32, 16, 8, 4, 2 and 1."""

PADDING = -1


@dataclass(frozen=True, slots=True)
class BiellLayout:
    """Strips of 32 rows, each sorted by length (L₀ ≥ … ≥ L₃₁) and cut into six groups.

    Group g holds columns c₍g−1₎ … c_g of the first 32 >> g rows, with c = L₁₆, L₈, L₄, L₂, L₁, L₀ and c₍−1₎ = 0. It is
    stored column by column and padded to whole lines of 32 entries.

    lines        int32 [6 · strips + 1]: first line of each group, strip by strip, and the end of the last
    columns      int32 [32 · lines], −1 where padded
    values       float64 [32 · lines], 0 where padded
    permutation  int32 [n_rows]: the row at each place of the strips
    """

    n_cols: int
    nnz: int
    indptr_dtype: Any
    lines: Any
    columns: Any
    values: Any
    permutation: Any

    @staticmethod
    def from_csr(matrix: CsrMatrix, permutation: Any) -> "BiellLayout":
        """Scatter each entry to its group; lengths must descend along the permutation inside each strip."""
        xp = array_module(matrix.indices)
        bounds = group_bounds(row_lengths(matrix)[permutation])
        lines = _lines(bounds)
        columns = xp.full(STRIP * int(lines[-1]), PADDING, dtype=xp.int32)
        values = xp.zeros(columns.size, dtype=xp.float64)
        places = inverse(permutation)
        for entries, row, slot in entry_blocks(matrix.indptr):
            target = _target(bounds, lines, places[row], slot)
            columns[target] = matrix.indices[entries]
            values[target] = matrix.values[entries]
        return BiellLayout(matrix.n_cols, matrix.nnz, matrix.indptr.dtype, lines, columns, values, permutation)

    def to_csr(self) -> CsrMatrix:
        """Find the row of each used place and sort the places by row; within a row they ascend already."""
        xp = array_module(self.columns)
        used = xp.flatnonzero(self.columns != PADDING)
        group = xp.searchsorted(self.lines, (used // STRIP).astype(xp.int32), side="right") - 1
        rank = (used - STRIP * self.lines[group].astype(xp.int64)) % (STRIP >> group % GROUPS)
        row = self.permutation[group // GROUPS * STRIP + rank]
        order = used[xp.argsort(row, kind="stable")]
        indptr = pointers(xp.bincount(row, minlength=self.permutation.size), self.indptr_dtype)
        return CsrMatrix(self.permutation.size, self.n_cols, indptr, self.columns[order], self.values[order])

    @property
    def stored_bytes(self) -> int:
        """12 bytes per slot, padded or not, 4 per row, and six pointers per strip."""
        return int(self.lines.nbytes + self.columns.nbytes + self.values.nbytes + self.permutation.nbytes)


def group_bounds(lengths: Any) -> Any:
    """Return c₍−1₎ … c₅ of each strip of rows in storage order: int32 [strips, 7]; rows past the last are empty."""
    xp = array_module(lengths)
    strips = -(-lengths.size // STRIP)
    whole = xp.zeros(strips * STRIP, dtype=xp.int32)
    whole[: lengths.size] = lengths
    bounds = xp.zeros((strips, GROUPS + 1), dtype=xp.int32)
    for group in range(GROUPS):
        bounds[:, group + 1] = whole[(STRIP >> group + 1) :: STRIP]
    return bounds


def _lines(bounds: Any) -> Any:
    """First line of each group: int32 [6 · strips + 1]."""
    heights = STRIP >> array_module(bounds).arange(GROUPS, dtype=np.int32)
    entries = (bounds[:, 1:] - bounds[:, :-1]).astype(np.int64) * heights
    return pointers(-(-entries // STRIP).ravel(), np.int32)


def _target(bounds: Any, lines: Any, place: Any, slot: Any) -> Any:
    """Return where slot s of the row at a place lies: int64."""
    strip = place // STRIP
    group = sum((slot >= bounds[strip, g]).astype(np.int64) for g in range(1, GROUPS))
    column = (slot - bounds[strip, group]).astype(np.int64)
    return STRIP * lines[GROUPS * strip + group].astype(np.int64) + column * (STRIP >> group) + place % STRIP


def _sorted_in_strips(lengths: Any) -> Any:
    """Return the rows of each strip by length, longest first, rows of one length in their order: int32 [n_rows]."""
    xp = array_module(lengths)
    strip = xp.arange(lengths.size, dtype=xp.int64) // STRIP
    longest = int(lengths.max()) if lengths.size else 0
    return xp.argsort(strip * (longest + 1) - lengths, kind="stable").astype(xp.int32)


def bytes_needed(matrix: CsrMatrix, permutation: Any) -> int:
    """Return the bytes of the layout with the rows in this order."""
    lines = _lines(group_bounds(row_lengths(matrix)[permutation]))
    return 12 * STRIP * int(lines[-1]) + int(lines.nbytes + permutation.nbytes)


def _from_csr(matrix: CsrMatrix) -> BiellLayout:
    return BiellLayout.from_csr(matrix, _sorted_in_strips(row_lengths(matrix)))


def _cuda(layout: BiellLayout) -> Launch:
    n_rows = layout.permutation.size
    arguments = np.int32(n_rows), layout.lines, layout.columns, layout.values, layout.permutation
    return launch(SOURCE, f"biell_warp<{AHEAD}>", -(-n_rows // BLOCK), BLOCK, arguments)


@numba.njit(parallel=True, cache=True)
def _strips(lines: Any, columns: Any, values: Any, permutation: Any, x: Any, y: Any) -> None:
    """Line by line through the groups of a strip with 32 sums, which are folded to the rows of the group."""
    n_rows = permutation.size
    for strip in numba.prange(-(-n_rows // STRIP)):
        totals, sums = np.zeros(STRIP), np.empty(STRIP)
        for group in range(GROUPS):
            sums[:] = 0.0
            for line in range(lines[GROUPS * strip + group], lines[GROUPS * strip + group + 1]):
                for lane in range(STRIP):
                    column = columns[STRIP * line + lane]
                    if column >= 0:
                        sums[lane] += values[STRIP * line + lane] * x[column]
            height = STRIP >> group
            for lane in range(STRIP):
                totals[lane % height] += sums[lane]
        for lane in range(min(STRIP, n_rows - STRIP * strip)):
            y[permutation[STRIP * strip + lane]] = totals[lane]


def _cpu(layout: BiellLayout, x: Any, y: Any) -> None:
    _strips(layout.lines, layout.columns, layout.values, layout.permutation, x, y)


KERNEL = Kernel(
    "warp",
    "One warp per strip: all lanes walk each group, then fold their sums; on a CPU 32 sums per strip.",
    cpu=_cpu,
    cuda=_cuda,
    source=SOURCE,
    # Values of padded slots are not loaded.
    moved_bytes=lambda layout: layout.stored_bytes - 8 * (layout.values.size - layout.nnz),
)

FORMAT = Format(
    name="biell",
    title="Bisection ELLPACK",
    summary="Strips of 32 rows, sorted by length inside the strip and cut into groups of 32, 16, 8, 4, 2 and 1 rows.",
    bytes_needed=lambda matrix: bytes_needed(matrix, _sorted_in_strips(row_lengths(matrix))),
    from_csr=_from_csr,
    kernels=(KERNEL,),
)
