"""Foreign: a preconditioner of another library, such as one cycle of its multigrid."""

from typing import Any

from gpu_engine.errors import ParameterError
from gpu_engine.solvers.base import Apply
from gpu_engine.solvers.columns.each import each_column


class Foreign:
    """M of a caller: an object with `matvec`, `matmat`, or `@`, such as a LinearOperator.

    The host calls it in every iteration, because it may synchronize or copy.
    """

    diagonal, in_graph = None, False

    def __init__(self, matrix: Any, n: int, xp: Any) -> None:
        if tuple(getattr(matrix, "shape", ())) != (n, n):
            shape = getattr(matrix, "shape", None)
            raise ParameterError(f"M is a {type(matrix).__name__} of shape {shape}; expected a matrix {n} × {n}.")
        self._multiply = matrix.matvec if hasattr(matrix, "matvec") else matrix.__matmul__
        self._matrix, self._n, self._xp = matrix, n, xp

    def __call__(self, v: Any, out: Any) -> None:
        """Compute out := M·v; raises ParameterError if M returns another shape."""
        image = self._xp.asarray(self._multiply(v))
        if image.size != self._n:
            raise ParameterError(f"M returned {image.shape}; expected [{self._n}].")
        out[...] = image.reshape(-1)

    def bind_columns(self, k: int) -> Apply:
        """Implement `BlockPreconditioner`; `matvec` alone takes one column at a time."""
        if hasattr(self._matrix, "matvec") and not hasattr(self._matrix, "matmat"):
            return each_column(self, (self._n, self._n), self._xp)
        multiply = self._matrix.matmat if hasattr(self._matrix, "matmat") else self._matrix.__matmul__

        def apply(v: Any, out: Any) -> None:
            image = self._xp.asarray(multiply(v))
            if image.shape != (self._n, k):
                raise ParameterError(f"M returned {image.shape}; expected [{self._n}, {k}].")
            out[...] = image

        return apply
