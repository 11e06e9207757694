"""HYB: the first K entries of each row in ELL, the rest in COO. Best if a few rows are much longer than the others.

K is the largest width that at least a third of the rows fill (`hyb`), or the mean row length (`hyb-mean`).
Source: Bell and Garland, NVR-2008-004; PELLR paper, §2.3.4.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.formats import coo, ell
from gpu_engine.formats.base import Format, Kernel, Launch, array_module, entry_blocks, pointers, row_lengths
from gpu_engine.formats.coo import CooLayout
from gpu_engine.formats.ell import EllLayout


@dataclass(frozen=True, slots=True)
class HybLayout:
    """Two layouts of one shape whose sum is the matrix.

    ell_part  the first `width` entries of each row; its columns and values are [width, n_rows]
    coo_part  the entries past them
    """

    ell_part: EllLayout
    coo_part: CooLayout

    @staticmethod
    def from_csr(matrix: CsrMatrix, width: int) -> "HybLayout":
        """Cut each row after `width` entries."""
        lengths = row_lengths(matrix)
        first = _first_entries(matrix.indptr, width)
        within = _part(matrix, lengths.clip(max=width), first)
        past = _part(matrix, (lengths - width).clip(min=0), ~first)
        columns, values = ell.fill_slots(within, width, None, ell.PADDING)
        layout = EllLayout(matrix.n_cols, within.nnz, matrix.indptr.dtype, columns, values)
        return HybLayout(layout, CooLayout.from_csr(past))

    def to_csr(self) -> CsrMatrix:
        """Join the two parts of each row."""
        within, past = self.ell_part.to_csr(), self.coo_part.to_csr()
        xp = array_module(within.indices)
        indptr = pointers(row_lengths(within) + row_lengths(past), within.indptr.dtype)
        first = _first_entries(indptr, self.ell_part.columns.shape[0])
        indices, values = xp.empty(first.size, dtype=xp.int32), xp.empty(first.size, dtype=xp.float64)
        for part, mask in ((within, first), (past, ~first)):
            indices[mask] = part.indices
            values[mask] = part.values
        return CsrMatrix(within.n_rows, within.n_cols, indptr, indices, values)

    @property
    def stored_bytes(self) -> int:
        """12 bytes per slot of the ELL part, padded or not, and 16 per entry of the COO part."""
        return self.ell_part.stored_bytes + self.coo_part.stored_bytes


def _first_entries(indptr: Any, width: int) -> Any:
    """Return which entries of a CSR matrix are among the first `width` of their row: bool [nnz]."""
    first = array_module(indptr).empty(int(indptr[-1]), dtype=bool)
    for entries, _, slot in entry_blocks(indptr):
        first[entries] = slot < width
    return first


def _part(matrix: CsrMatrix, lengths: Any, chosen: Any) -> CsrMatrix:
    """Return the chosen entries of a matrix, `lengths` of them in each row."""
    indptr = pointers(lengths, matrix.indptr.dtype)
    return CsrMatrix(matrix.n_rows, matrix.n_cols, indptr, matrix.indices[chosen], matrix.values[chosen])


def third_rule(matrix: CsrMatrix) -> int:
    """Return the largest K such that at least a third of the rows have K entries or more."""
    lengths = row_lengths(matrix)
    lengths.sort()
    return int(lengths[matrix.n_rows - -(-matrix.n_rows // 3)]) if matrix.n_rows else 0


def mean_rule(matrix: CsrMatrix) -> int:
    """Return the mean row length, rounded half up, and at least 1."""
    return max(1, (2 * matrix.nnz + matrix.n_rows) // (2 * matrix.n_rows)) if matrix.n_rows else 1


def _cuda(layout: HybLayout) -> Launch:
    first, rest = ell.cuda_product(layout.ell_part), coo.cuda_product(layout.coo_part, adds=True)

    def call(x: Any, y: Any) -> None:
        first(x, y)
        rest(x, y)

    return call


def _cpu(layout: HybLayout, x: Any, y: Any) -> None:
    ell.cpu_product(layout.ell_part, x, y)
    coo.cpu_add(layout.coo_part, x, y)


KERNEL = Kernel(
    "segmented",
    "Runs `ell/thread` on the ELL part, then adds the COO part with `coo/segmented`.",
    cpu=_cpu,
    cuda=_cuda,
    parts=(ell.KERNEL, coo.KERNEL),
    moved_bytes=lambda layout: ell.moved_bytes(layout.ell_part) + layout.coo_part.stored_bytes,
)


def _from_csr(rule: Callable[[CsrMatrix], int], matrix: CsrMatrix) -> HybLayout:
    return HybLayout.from_csr(matrix, rule(matrix))


def _format(name: str, title: str, summary: str, rule: Callable[[CsrMatrix], int]) -> Format:
    def bytes_needed(matrix: CsrMatrix) -> int:
        width = rule(matrix)
        past = int((row_lengths(matrix) - width).clip(min=0).sum(dtype=np.int64))
        return 12 * width * matrix.n_rows + 16 * past

    return Format(name, title, summary, bytes_needed, partial(_from_csr, rule), kernels=(KERNEL,))


FORMAT = _format(
    "hyb",
    "Hybrid, third of rows",
    "ELLPACK of the width that a third of the rows fill; the rest as coordinates.",
    third_rule,
)
MEAN_FORMAT = _format(
    "hyb-mean", "Hybrid, mean row", "ELLPACK of the width of the mean row; the rest as coordinates.", mean_rule
)
