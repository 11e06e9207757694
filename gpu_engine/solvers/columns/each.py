"""Blocks [n, k] for SpMVs and preconditioners that take one vector at a time, and preconditioners of blocks."""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from gpu_engine.formats.base import array_module
from gpu_engine.solvers.base import Apply, Preconditioner


def each_column(apply: Apply, shape: tuple[int, int], xp: Any) -> Apply:
    """Return `(V, out)` for blocks [n, k] from `(v, out)` for vectors: a copy, a call, and a copy per column.

    shape  (rows, columns) of the matrix that `apply` multiplies by
    """
    v, image = xp.empty(shape[1], np.float64), xp.empty(shape[0], np.float64)

    def run(block: Any, out: Any) -> None:
        for column in range(block.shape[1]):
            v[...] = block[:, column]
            apply(v, image)
            out[:, column] = image

    return run


@runtime_checkable
class BlockPreconditioner(Protocol):
    """A preconditioner that multiplies several columns at once."""

    def bind_columns(self, k: int) -> Apply:
        """Return `(V, out)`: out := M·V for float64 [n, k], row major."""
        ...


class ColumnPreconditioner:
    """A preconditioner M of row-major blocks [n, k].

    diagonal  float64 [n] if M is diagonal, so that methods apply it in their own kernels; else None
    in_graph  whether its launches can be captured in a CUDA graph
    """

    def __init__(self, given: Preconditioner, n: int, k: int, xp: Any) -> None:
        self.diagonal, self.in_graph = given.diagonal, given.in_graph
        if self.diagonal is not None:
            self._apply: Apply = self._scale
        elif isinstance(given, BlockPreconditioner):
            self._apply = given.bind_columns(k)
        else:
            self._apply = each_column(given, (n, n), xp)

    def __call__(self, v: Any, out: Any) -> None:
        """Compute out := M·V."""
        self._apply(v, out)

    def _scale(self, v: Any, out: Any) -> None:
        array_module(v).multiply(v, self.diagonal[:, None], out=out)
