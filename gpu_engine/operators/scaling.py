"""Computes y := α·s + β·y after an SpMV with α ≠ 1 or β ≠ 0."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gpu_engine.cuda.load import CudaSource

SOURCE = CudaSource(__package__, "scaling.cu", ("scaled_sum",))
BLOCK = 256

Scale = Callable[[float, Any, float, Any], None]
"""Function `(alpha, s, beta, y)`: y := α·s + β·y of float64 vectors; overwrites s. With β = 0, s is y itself."""


def bound(backend: str, size: int) -> Scale:
    """Return the scaled sum of vectors of `size` elements; it launches on the current stream and allocates nothing."""
    return _on_cpu if backend == "cpu" else _on_gpu(size)


def _on_cpu(alpha: float, s: Any, beta: float, y: Any) -> None:
    np.multiply(s, alpha, out=s)
    if beta:
        np.multiply(y, beta, out=y)
        np.add(y, s, out=y)


def _on_gpu(size: int) -> Scale:
    kernel, grid, block = SOURCE.function("scaled_sum"), (-(-size // BLOCK),), (BLOCK,)
    count = np.int64(size)

    def scale(alpha: float, s: Any, beta: float, y: Any) -> None:
        if size:
            kernel(grid, block, (count, np.float64(alpha), s, np.float64(beta), y))

    return scale
