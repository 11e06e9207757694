"""Examiner: creates an unpredictable x for each call, and verifies the resulting y."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import KernelError
from gpu_engine.verify import Reference, check

SEED_BYTES = 32

REMEMBERED = 24
"""Number of earlier x that are stored, to detect a wrong y that was computed from one of them."""


class Examiner:
    """Verification of SpMVs with one host matrix, each with its own x.

    The seed of each x comes from the entropy of the system, and the expected y is computed after the custom kernel has
    returned, so that a custom kernel cannot know either in advance.

    columns, rows  indices of columns and rows with nonzeros: a change of such an x changes y, and such a y must be
                   written
    """

    def __init__(self, matrix: CsrMatrix) -> None:
        self._csr = matrix.to_scipy()
        self._magnitudes = abs(self._csr)
        lengths = np.diff(matrix.indptr)
        self._limit = 2.0 * (lengths.astype(np.float64) + 1.0)
        self.columns = np.unique(matrix.indices)
        self.rows = np.flatnonzero(lengths)
        self._n_cols = matrix.n_cols

    def numbers(self, count: int) -> Any:
        """Return new random numbers, uniform in (−1, 1): float64 [count]."""
        return np.random.default_rng(self.seed()).uniform(-1.0, 1.0, count)

    def seed(self) -> int:
        """Return a new random seed."""
        return int.from_bytes(os.urandom(SEED_BYTES), "little")

    def new_x(self) -> Any:
        """Return a new random x: float64 [n_cols]."""
        return self.numbers(self._n_cols)

    def expected(self, x: Any) -> Reference:
        """Return the expected result for an x, computed on the host."""
        return Reference(x, self._csr @ x, self._magnitudes @ np.abs(x), self._limit)

    def examine(self, x: Any, y: Any, when: str, earlier: Sequence[Any] = ()) -> float:
        """Return the largest error of y [n_rows], in ε·(|A|·|x|)ᵢ; raise KernelError with the reason if y is wrong.

        when     phrase for the message, such as `in round 3`
        earlier  x of earlier calls of the same custom kernel
        """
        expected = self.expected(x)
        unwritten = np.isnan(y) & ~np.isnan(expected.y)
        if unwritten.any():
            raise KernelError(
                f"rejected: {int(unwritten.sum())} of {y.size} rows of y were not written {when}; a kernel must write "
                "all of them, in place, before it returns or on the current stream"
            )
        try:
            return check(expected, y)
        except KernelError as error:
            if any(_is_right(self.expected(other), y) for other in earlier):
                raise KernelError(f"rejected: y was the result for an earlier x {when}") from None
            raise KernelError(f"{error.message.rstrip('.')} ({when}).") from None


def _is_right(expected: Reference, y: Any) -> bool:
    try:
        check(expected, y)
    except KernelError:
        return False
    return True


def host_copy(array: Any) -> Any:
    """Return a copy of an array on the host."""
    return array.copy() if isinstance(array, np.ndarray) else array.get()
