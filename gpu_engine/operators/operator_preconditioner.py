"""OperatorPreconditioner: an operator as the preconditioner M of a solver."""

from typing import Any

from gpu_engine.errors import ParameterError
from gpu_engine.solvers.base import Apply


class OperatorPreconditioner:
    """An operator as a preconditioner: a sparse approximate inverse."""

    diagonal, in_graph = None, True

    def __init__(self, operator: Any, n: int) -> None:
        if operator.shape != (n, n):
            rows, columns = operator.shape
            raise ParameterError(f"M is {rows} × {columns}; expected {n} × {n}.")
        self._operator = operator

    def __call__(self, v: Any, out: Any) -> None:
        """Compute out := M·v."""
        self._operator.matvec(v, out=out)

    def bind_columns(self, k: int) -> Apply:
        """Implement `BlockPreconditioner`."""
        apply: Apply = self._operator.bind_columns(k)
        return apply
