"""Custom kernels that change what they only get to read, look where they should not, or do not come back."""

import gc
import sys
from typing import Any

import numpy as np

from gpu_engine.custom_kernels import CustomKernel
from gpu_engine.verify import Reference


def csr(matrix: Any) -> Any:
    return matrix.to_scipy()


def after(change: Any) -> CustomKernel:
    def multiply(state: Any, x: Any, y: Any) -> None:
        y[:] = state @ x
        change(state, x, y)

    return CustomKernel(csr, multiply)


def at_once(change: Any) -> CustomKernel:
    def prepare(matrix: Any) -> Any:
        change(matrix)
        return csr(matrix)

    return CustomKernel(prepare, lambda state, x, y: np.copyto(y, state @ x))


def zeroed(array: Any) -> None:
    array[...] = 0


def keeping(what: str) -> CustomKernel:
    kept: list[Any] = []

    def multiply(state: Any, x: Any, y: Any) -> None:
        y[:] = state @ x
        kept.append((x if what == "x" else y).copy())

    return CustomKernel(csr, multiply)


def looking() -> CustomKernel:
    """Copies an expected y that lies about in memory."""

    def multiply(state: Any, x: Any, y: Any) -> None:
        found = [o for o in gc.get_objects() if isinstance(o, Reference) and o.y.shape == y.shape]
        y[:] = found[-1].y

    return CustomKernel(csr, multiply)


def raising(error: BaseException) -> CustomKernel:
    def multiply(state: Any, x: Any, y: Any) -> None:
        raise error

    return CustomKernel(csr, multiply)


def raising_later(calls: int) -> CustomKernel:
    left = [calls]

    def multiply(state: Any, x: Any, y: Any) -> None:
        y[:] = state @ x
        left[0] -= 1
        if not left[0]:
            raise ValueError("enough")

    return CustomKernel(csr, multiply)


X_ZEROED = after(lambda state, x, y: zeroed(x))
X_OF_ONE = after(lambda state, x, y: x.__setitem__(5, x[5] + 1.0))
X_SORTED = after(lambda state, x, y: x.sort())
MATRIX_ZEROED = after(lambda state, x, y: zeroed(state.data))
MATRIX_ZEROED_AT_ONCE = at_once(lambda matrix: zeroed(matrix.values))
MATRIX_REORDERED = at_once(lambda matrix: np.sort(matrix.indices).take(range(matrix.nnz), out=matrix.indices))
KEEPS_X = keeping("x")
KEEPS_Y = keeping("y")
LOOKS = looking()
RAISES = raising(RuntimeError("no"))
EXITS = raising(SystemExit(0))
LEAVES = after(lambda state, x, y: sys.exit("done"))
RAISES_LATER = raising_later(50)
