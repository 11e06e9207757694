"""Composition: describes a batch as a few matrices on the host, each used once or many times."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.batched.batch import Batch
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.formats.base import blocks, check_room, pointers
from gpu_engine.verify import Reference

VECTORS = 251
"""Number of different x for copies of a matrix, so that SciPy need not multiply each copy.

A prime, so that a systematic mix-up of copies does not give the right result.
"""


@dataclass(frozen=True, slots=True)
class Composition:
    """A batch before it takes memory: item p is a copy of matrices[order[p]].

    matrices  on the host, distinct or not
    order     int64 [items]
    """

    matrices: tuple[CsrMatrix, ...]
    order: Any

    @staticmethod
    def of(matrices: Sequence[CsrMatrix]) -> "Composition":
        """Return the composition with each matrix once, in the given order."""
        return Composition(tuple(matrices), np.arange(len(matrices)))

    @staticmethod
    def copies(matrix: CsrMatrix, count: int) -> "Composition":
        """Return a uniform batch: `count` copies of one matrix, each in its own memory."""
        return Composition((matrix,), np.zeros(_checked_count(count), np.int64))

    @staticmethod
    def mixed(matrices: Sequence[CsrMatrix], count: int, seed: int = 0) -> "Composition":
        """Return a mixed batch: each matrix equally often (±1), in random order."""
        if not matrices:
            raise ParameterError("A mixed batch needs at least one matrix.")
        order = np.arange(_checked_count(count)) % len(matrices)
        return Composition(tuple(matrices), np.random.default_rng(seed).permutation(order))

    @property
    def count(self) -> int:
        """Number of matrices in the batch."""
        return int(self.order.size)

    @property
    def nnz(self) -> int:
        """Nonzeros of all matrices."""
        return int(self._sizes()[2].sum())

    @property
    def n_rows(self) -> int:
        """Number of elements of y."""
        return int(self._sizes()[0].sum())

    @property
    def n_cols(self) -> int:
        """Number of elements of x."""
        return int(self._sizes()[1].sum())

    @property
    def bytes_needed(self) -> int:
        """Bytes of the batch, computed without building it."""
        rows, _, entries = (int(sizes.sum()) for sizes in self._sizes())
        return 12 * entries + 4 * (rows + self.count) + 3 * 8 * (self.count + 1)

    def batch(self, xp: Any, allowed_bytes: int | None = None) -> Batch:
        """Return the batch in the memory of the device of `xp`, copied there from one copy of each matrix.

        Raise LayoutTooLargeError before any allocation if it needs more than `allowed_bytes`.
        """
        if allowed_bytes is not None:
            check_room(self.bytes_needed, allowed_bytes)
        pools = (
            _joined([m.indptr for m in self.matrices], np.int32, xp),
            _joined([m.indices for m in self.matrices], np.int32, xp),
            _joined([m.values for m in self.matrices], np.float64, xp),
        )
        entries = np.array([m.nnz for m in self.matrices], np.int64)
        lengths = np.array([m.n_rows + 1 for m in self.matrices], np.int64)
        arrays = (
            self._gathered(pool, sizes, xp) for pool, sizes in zip(pools, (lengths, entries, entries), strict=True)
        )
        starts = (xp.asarray(pointers(sizes, np.int64)) for sizes in self._sizes())
        return Batch(*starts, *arrays)

    def reference(self, seed: int = 0, adds: bool = False) -> Reference:
        """Return the results of all matrices by SciPy: x [n_cols], y [n_rows], scale and limit of the batch.

        x is uniform in (−1, 1); every VECTORS-th copy of a matrix has the same x. With `adds` the results are for the y
        of `start`.
        """
        rows, cols, _ = (pointers(size, np.int64) for size in self._sizes())
        rng, x = np.random.default_rng(seed), np.empty(int(cols[-1]))
        y = self.start(seed) if adds else np.zeros(int(rows[-1]))
        scale, limit = np.abs(y), np.zeros(y.size)
        for number, matrix in enumerate(self.matrices):
            items = np.flatnonzero(self.order == number)
            vectors = rng.uniform(-1.0, 1.0, (matrix.n_cols, min(VECTORS, items.size)))
            which, csr = np.arange(items.size) % VECTORS, matrix.to_scipy()
            x[cols[items][:, None] + np.arange(matrix.n_cols)] = vectors.T[which]
            to = rows[items][:, None] + np.arange(matrix.n_rows)
            y[to] += (csr @ vectors).T[which]
            scale[to] += (abs(csr) @ np.abs(vectors)).T[which]
            limit[to] = 2.0 * (np.diff(matrix.indptr) + (2.0 if adds else 1.0))
        return Reference(x, y, scale, limit)

    def start(self, seed: int = 0) -> Any:
        """Return the y before an SpMV with accumulation: float64 [n_rows], uniform in (−1, 1)."""
        return np.random.default_rng([seed, 1]).uniform(-1.0, 1.0, self.n_rows)

    def _sizes(self) -> tuple[Any, Any, Any]:
        """Return (rows, columns, nonzeros) of every matrix: int64 [items] each."""
        shapes = np.array([(m.n_rows, m.n_cols, m.nnz) for m in self.matrices], np.int64).reshape(-1, 3)
        return tuple(shapes[self.order].T)

    def _gathered(self, pool: Any, lengths: Any, xp: Any) -> Any:
        """Return part order[p] of the pool for every item p, end to end; lengths: of the parts in the pool."""
        if len(self.matrices) == 1:
            return xp.tile(pool, self.count)
        begins, sizes = pointers(lengths, np.int64), lengths[self.order]
        out = xp.empty(int(sizes.sum()), dtype=pool.dtype)
        starts = pointers(sizes, np.int64)
        shift, ends = xp.asarray(begins[self.order] - starts[:-1]), xp.asarray(starts[1:])
        for block in blocks(out.size):
            places = xp.arange(block.start, block.stop, dtype=np.int64)
            out[block] = pool[places + shift[xp.searchsorted(ends, places, side="right")]]
        return out


def _checked_count(count: int) -> int:
    if count < 1:
        raise ParameterError(f"The batch size is {count}; it must be at least 1.")
    return count


def _joined(arrays: Sequence[Any], dtype: Any, xp: Any) -> Any:
    """Return the arrays end to end on the device of `xp`."""
    return xp.asarray(np.concatenate([np.empty(0, dtype), *(np.asarray(a, dtype) for a in arrays)]))
