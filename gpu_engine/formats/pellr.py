"""PELLR (permuted ELLPACK-R): ELLR after a stable sort of all rows by length, longest first.

The rows of a warp are then of similar length, so few of its lanes wait. Best if lengths vary much and neighbors share
few columns, as the sort pulls them apart. Each row keeps its length, or each warp that of its longest row. In slices
each warp is padded to its own longest row alone: SELL-C-σ with C = 32 and all rows in one window.
Source: PELLR paper, §3; slices: Kreutzer et al., SIAM J. Sci. Comput. 36 (2014).
"""

from dataclasses import dataclass
from functools import partial
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
    longest_first,
    max_row_length,
    pointers,
    row_lengths,
)
from gpu_engine.formats.ell import PADDING, fill_slots, read_slots
from gpu_engine.host.jit import numba
from gpu_engine.matrices.pellr_counts import WARP

AHEAD, BLOCK = 2, 256
"""Slots of a thread in flight, and threads of a block: the fastest on an H200. All lanes of a warp work to the
end, and rows of a block are of similar length.
"""

SOURCE = CudaSource(
    __package__, "pellr.cu", (f"pellr<1, {AHEAD}>", f"pellr<{WARP}, {AHEAD}>", f"pellr_sliced<{AHEAD}>")
)


@dataclass(frozen=True, slots=True)
class PellrLayout:
    """Slot s of row permutation[p] lies at [s, p].

    group        places that share a length: 1, or those of a warp
    columns      int32 [width, n_rows], −1 where padded
    values       float64 [width, n_rows], 0 where padded
    lengths      int32 [⌈n_rows / group⌉], descending, of the longest row of each group: `rl` in the paper
    permutation  int32 [n_rows], `perm` in the paper
    """

    n_cols: int
    nnz: int
    indptr_dtype: Any
    group: int
    columns: Any
    values: Any
    lengths: Any
    permutation: Any

    @staticmethod
    def from_csr(matrix: CsrMatrix, group: int) -> "PellrLayout":
        """Sort the rows and scatter each nonzero to its slot."""
        lengths = row_lengths(matrix)
        permutation = longest_first(lengths)
        columns, values = fill_slots(matrix, max_row_length(matrix), inverse(permutation), PADDING)
        group_lengths = lengths[permutation[::group]]
        shape = matrix.n_cols, matrix.nnz, matrix.indptr.dtype
        return PellrLayout(*shape, group, columns, values, group_lengths, permutation)

    def to_csr(self) -> CsrMatrix:
        """Gather the slots that are not padded."""
        places = inverse(self.permutation)
        lengths = (self.columns != PADDING).sum(axis=0)[places]
        return read_slots(self.columns, self.values, lengths, places, self.n_cols, self.indptr_dtype)

    @property
    def stored_bytes(self) -> int:
        """12 bytes per slot, padded or not, 4 per row, and 4 per length."""
        return int(self.columns.nbytes + self.values.nbytes + self.lengths.nbytes + self.permutation.nbytes)

    @property
    def walked(self) -> int:
        """Slots of all rows up to the length of their group."""
        groups = self.lengths.astype(np.int64)
        absent = groups.size * self.group - self.permutation.size
        return self.group * int(groups.sum()) - absent * int(groups[-1]) if groups.size else 0

    @property
    def walked_bytes(self) -> int:
        """Bytes that a run loads: the slots walked over, lengths, and permutation."""
        return 12 * self.walked + int(self.lengths.nbytes + self.permutation.nbytes)


@dataclass(frozen=True, slots=True)
class SlicedLayout:
    """Slices of 32 places, each as wide as its longest row. A line is one slot of each place of its slice.

    Slot s of row permutation[p] lies at 32·(lines[p div 32] + s) + p mod 32.

    lines        int32 [slices + 1]: the first line of each slice, and the end of the last; their differences are `rl`
    columns      int32 [32 · lines], −1 where padded
    values       float64 [32 · lines], 0 where padded
    permutation  int32 [n_rows], longest row first
    """

    n_cols: int
    indptr_dtype: Any
    lines: Any
    columns: Any
    values: Any
    permutation: Any

    @staticmethod
    def from_csr(matrix: CsrMatrix) -> "SlicedLayout":
        """Sort the rows and scatter each nonzero to its slot."""
        xp = array_module(matrix.indices)
        permutation = longest_first(row_lengths(matrix))
        lines = _lines(matrix, permutation)
        columns = xp.full(WARP * int(lines[-1]), PADDING, dtype=xp.int32)
        values = xp.zeros(columns.size)
        places = inverse(permutation)
        for entries, row, slot in entry_blocks(matrix.indptr):
            place = places[row]
            target = WARP * (lines[place // WARP] + slot.astype(np.int64)) + place % WARP
            columns[target], values[target] = matrix.indices[entries], matrix.values[entries]
        return SlicedLayout(matrix.n_cols, matrix.indptr.dtype, lines, columns, values, permutation)

    def to_csr(self) -> CsrMatrix:
        """Find the row of each used slot and sort the slots by row; within a row they ascend already."""
        xp = array_module(self.columns)
        used = xp.flatnonzero(self.columns != PADDING)
        piece = xp.searchsorted(self.lines, (used // WARP).astype(xp.int32), side="right") - 1
        row = self.permutation[WARP * piece + used % WARP]
        order = used[xp.argsort(row, kind="stable")]
        indptr = pointers(xp.bincount(row, minlength=self.permutation.size), self.indptr_dtype)
        return CsrMatrix(self.permutation.size, self.n_cols, indptr, self.columns[order], self.values[order])

    @property
    def stored_bytes(self) -> int:
        """12 bytes per slot, padded or not, 4 per row, and 4 per slice."""
        return int(self.lines.nbytes + self.columns.nbytes + self.values.nbytes + self.permutation.nbytes)

    @property
    def walked_bytes(self) -> int:
        """Bytes that a run loads: all except the slots of places past the last row."""
        absent = -self.permutation.size % WARP
        last = int(self.lines[-1] - self.lines[-2]) if absent else 0
        return int(self.stored_bytes - 12 * absent * last)


def _lines(matrix: CsrMatrix, permutation: Any) -> Any:
    """Return the first line of each slice and the end of the last: int32 [slices + 1]."""
    return pointers(row_lengths(matrix)[permutation[::WARP]], np.int32)


def _sliced_bytes(matrix: CsrMatrix) -> int:
    lines = _lines(matrix, longest_first(row_lengths(matrix)))
    return 12 * WARP * int(lines[-1]) + int(lines.nbytes) + 4 * matrix.n_rows


def _launch(name: str, layout: Any, place: Any) -> Launch:
    """Return one thread per row; `place` says where its slots are."""
    n_rows = layout.permutation.size
    arguments = np.int32(n_rows), place, layout.columns, layout.values, layout.permutation
    return launch(SOURCE, name, -(-n_rows // BLOCK), BLOCK, arguments)


def _cuda(layout: PellrLayout) -> Launch:
    return _launch(f"pellr<{layout.group}, {AHEAD}>", layout, layout.lengths)


def _cuda_sliced(layout: SlicedLayout) -> Launch:
    return _launch(f"pellr_sliced<{AHEAD}>", layout, layout.lines)


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


@numba.njit(parallel=True, cache=True)
def _slices(lines: Any, columns: Any, values: Any, permutation: Any, x: Any, y: Any) -> None:
    """Line by line over a slice, whose 32 sums stay in a buffer and leave through the permutation."""
    for number in numba.prange(lines.size - 1):
        sums = np.zeros(WARP)
        for line in range(lines[number], lines[number + 1]):
            for lane in range(WARP):
                column = columns[WARP * line + lane]
                if column >= 0:
                    sums[lane] += values[WARP * line + lane] * x[column]
        first = WARP * number
        for lane in range(min(WARP, permutation.size - first)):
            y[permutation[first + lane]] = sums[lane]


def _cpu_sliced(layout: SlicedLayout, x: Any, y: Any) -> None:
    _slices(layout.lines, layout.columns, layout.values, layout.permutation, x, y)


def _format(title: str, summary: str, group: int, kernel: Kernel) -> Format:
    """Return a length for each `group` of rows."""

    def bytes_needed(matrix: CsrMatrix) -> int:
        return (12 * max_row_length(matrix) + 4) * matrix.n_rows + 4 * -(-matrix.n_rows // group)

    from_csr = partial(PellrLayout.from_csr, group=group)
    return Format("pellr", title, summary, bytes_needed, from_csr, (kernel,))


THREAD = _format(
    "Permuted ELLPACK-R",
    "ELLPACK-R with all rows sorted by length.",
    1,
    Kernel(
        "thread",
        "One thread per row, over the slots of the row; on a CPU slot by slot over strips of rows.",
        cpu=_cpu,
        cuda=_cuda,
        source=SOURCE,
        # Padded slots are not loaded.
        moved_bytes=lambda layout: layout.walked_bytes,
    ),
)
BY_WARP = _format(
    "Permuted ELLPACK-R, one length per warp",
    "ELLPACK-R with all rows sorted by length, and one length per 32 rows: the longest row of the warp.",
    WARP,
    Kernel(
        "warp",
        "One thread per row, all lanes up to the longest row of the warp.",
        cuda=_cuda,
        source=SOURCE,
        # Padding is loaded up to the length of the warp.
        moved_bytes=lambda layout: layout.walked_bytes,
    ),
)
SLICED = Format(
    name="pellr-sliced",
    title="Permuted ELLPACK-R in slices",
    summary="All rows sorted by length, then slices of 32 rows, each padded to its longest.",
    bytes_needed=_sliced_bytes,
    from_csr=SlicedLayout.from_csr,
    kernels=(
        Kernel(
            "warp",
            "One thread per row, all lanes up to the longest row of the warp; on a CPU 32 sums per slice.",
            cpu=_cpu_sliced,
            cuda=_cuda_sliced,
            source=SOURCE,
            moved_bytes=lambda layout: layout.walked_bytes,
        ),
    ),
)
FORMATS = (THREAD, BY_WARP, SLICED)
