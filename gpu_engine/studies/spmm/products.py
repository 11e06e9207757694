"""Calls of one SpMM on given X and Y, and of k SpMVs on their columns; no call allocates on a GPU."""

from collections.abc import Callable
from typing import Any

from gpu_engine.formats.base import Kernel
from gpu_engine.spmm import Order, SpmmKernel

Call = Callable[[], None]


def spmm(kernel: SpmmKernel, backend: str, order: Order, layout: Any, x: Any, y: Any) -> Call:
    """Return the call of Y := A·X; x, y: float64 [n_cols, k], [n_rows, k] in the order."""
    launch = kernel.bound(backend, layout, y.shape[1], order)
    return lambda: launch(x, y, 1.0, 0.0)


def spmvs(kernel: Kernel, backend: str, layout: Any, x: Any, y: Any) -> Call:
    """Return the call of one SpMV per column; x, y: column major, so that each column is a vector."""
    launch = kernel.bound(backend, layout)
    vectors = [(x[:, j], y[:, j]) for j in range(y.shape[1])]

    def multiply() -> None:
        for vector, product in vectors:
            launch(vector, product)

    return multiply
