"""LaunchedSolve: a solve that the host does not wait for."""

from typing import Any

from gpu_engine.errors import ParameterError
from gpu_engine.operators.vectors import FP64, DeviceVectors, Vectors
from gpu_engine.solvers.base import Info


class LaunchedSolve:
    """A solve that was launched; later solves of its operator with the same method and M overwrite its report."""

    def __init__(self, solver: Any, x: Any) -> None:
        self._solver, self._x = solver, x

    def info(self) -> Info:
        """Wait for the current stream, and return how the last launch or replay ended."""
        return Info(self._solver.solution(self._x))


def check_launched(vectors: Vectors, n: int, b: Any, x: Any) -> None:
    """Raise ParameterError unless b and x are vectors of CuPy, float64 [n]."""
    if not isinstance(vectors, DeviceVectors):
        raise ParameterError("launch_solve needs a matrix on a GPU. On a CPU, use A.cg and its like.")
    for name, array in (("b", b), ("x", x)):
        if not isinstance(array, vectors.kind) or array.dtype != FP64 or array.shape != (n,):
            raise ParameterError(f"{name} must be a CuPy array, float64 ({n},).")
