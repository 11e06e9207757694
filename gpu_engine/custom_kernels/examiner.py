"""Examiner: an x that nobody can know before, and what is wrong with the y that came of it."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import KernelError
from gpu_engine.verify import Reference, check

SEED_BYTES = 32

REMEMBERED = 24
"""So many earlier x are kept of a custom kernel, to say of a wrong y that it is the product of one of them."""


class Examiner:
    """Checks products of one host matrix, each with an x of its own.

    The seed of an x comes from the system's entropy when it is made, and the expected y is computed after the
    custom kernel has answered: neither is anywhere to be found before.

    columns, rows  those that have entries: a change of such an x shows in y, and such a y has to be written
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
        """So many new numbers, uniform in (−1, 1): float64 [count]."""
        return np.random.default_rng(self.seed()).uniform(-1.0, 1.0, count)

    def seed(self) -> int:
        """One that has never been before."""
        return int.from_bytes(os.urandom(SEED_BYTES), "little")

    def new_x(self) -> Any:
        """float64 [n_cols]."""
        return self.numbers(self._n_cols)

    def expected(self, x: Any) -> Reference:
        """The product of an x on the host."""
        return Reference(x, self._csr @ x, self._magnitudes @ np.abs(x), self._limit)

    def examine(self, x: Any, y: Any, when: str, earlier: Sequence[Any] = ()) -> float:
        """The largest error of y [n_rows] on the host, in ε·(|A|·|x|)ᵢ; raises KernelError saying what is wrong.

        when     in words, for the message
        earlier  other x that the same custom kernel has got
        """
        expected = self.expected(x)
        unwritten = np.isnan(y) & ~np.isnan(expected.y)
        if unwritten.any():
            raise KernelError(
                f"refused: {int(unwritten.sum())} of {y.size} rows of y were not written {when}; a product writes all "
                "of them, in place, before it returns or on the current stream"
            )
        try:
            return check(expected, y)
        except KernelError as error:
            if any(_is_right(self.expected(other), y) for other in earlier):
                raise KernelError(f"refused: y was the product of an earlier x {when}") from None
            raise KernelError(f"{error.message.rstrip('.')} ({when}).") from None


def _is_right(expected: Reference, y: Any) -> bool:
    try:
        check(expected, y)
    except KernelError:
        return False
    return True


def host_copy(array: Any) -> Any:
    """A copy on the host."""
    return array.copy() if isinstance(array, np.ndarray) else array.get()
