"""Product: y := α·A·x + β·y with one kernel, for real or complex vectors of any stride, and for several columns."""

from collections.abc import Callable
from threading import RLock
from typing import Any

from gpu_engine.formats.base import Launch
from gpu_engine.operators import scaling
from gpu_engine.operators.columns import ColumnProduct
from gpu_engine.operators.vectors import COMPLEX, FP64, Vectors


class Product:
    """A kernel bound to a layout of A, with a buffer for α, β, strides, and imaginary parts.

    room  float64 [n_rows]; one thread at a time multiplies and holds `lock`, because buffer and layout serve one SpMV
    """

    def __init__(
        self, vectors: Vectors, launch: Launch, n_rows: int, columns: Callable[[], ColumnProduct | None]
    ) -> None:
        """Bind the launch of an SpMV; columns: its SpMM, or None if each column takes an SpMV."""
        self.room = vectors.empty(n_rows)
        self._xp, self._launch, self._columns = vectors.xp, launch, columns
        self._scale = scaling.bound(vectors.backend, n_rows)
        self.lock = RLock()

    def run(self, x: Any, y: Any, alpha: complex, beta: complex) -> None:
        """Compute y := α·A·x + β·y for arrays [n] or [n, k] of one device; y is complex if x, α, or β is.

        Contiguous float64 vectors are read and written where they are; others by way of copies.
        """
        if x.ndim == 1:
            self._vector(x, y, alpha, beta)
        elif x.shape[1] < 2 or not self._several(x, y, alpha, beta):
            for column in range(x.shape[1]):
                self._vector(x[:, column], y[:, column], alpha, beta)

    def _several(self, x: Any, y: Any, alpha: complex, beta: complex) -> bool:
        """Compute Y := α·A·X + β·Y by one SpMM if there is one; return whether."""
        if isinstance(alpha, complex) or isinstance(beta, complex):
            return False
        if y.dtype != FP64:
            if x.dtype.kind != "c" or not y.flags.c_contiguous:
                return False
            # Real and imaginary parts are columns of their own.
            x, y = self._xp.ascontiguousarray(x, COMPLEX).view(FP64), y.view(FP64)
        with self.lock:
            columns = self._columns()
            if columns is None:
                return False
            columns.run(x, y, alpha, beta)
        return True

    def run_plain(self, x: Any, y: Any, alpha: float, beta: float) -> None:
        """Compute y := α·A·x + β·y for contiguous float64 vectors; α = 0 does not read x, β = 0 does not read y."""
        with self.lock:
            if alpha == 0.0:
                if beta == 0.0:
                    y.fill(0.0)
                elif beta != 1.0:
                    self._scale(beta, y, 0.0, y)
            elif beta:
                self._launch(x, self.room)
                self._scale(alpha, self.room, beta, y)
            else:
                self._launch(x, y)
                if alpha != 1.0:
                    self._scale(alpha, y, 0.0, y)

    def _vector(self, x: Any, y: Any, alpha: Any, beta: Any) -> None:
        if y.dtype != FP64:
            self._complex(x, y, alpha, beta)
            return
        is_plain = (x.dtype == FP64 and x.flags.c_contiguous) or not alpha
        source = x if is_plain else self._xp.ascontiguousarray(x, FP64)
        if y.flags.c_contiguous:
            self.run_plain(source, y, alpha, beta)
            return
        target = y.copy() if beta else self._xp.empty(y.shape, FP64)
        self.run_plain(source, target, alpha, beta)
        y[...] = target

    def _complex(self, x: Any, y: Any, alpha: Any, beta: Any) -> None:
        """Compute two real SpMVs; a complex α or β combines their sum with y."""
        if isinstance(alpha, complex) or isinstance(beta, complex):
            product = self._xp.zeros(y.shape, y.dtype)
            if alpha:
                self._complex(x, product, 1.0, 0.0)
            y[...] = alpha * product + beta * y if beta else alpha * product
            return
        self._vector(x.real, y.real, alpha, beta)
        is_complex = x.dtype.kind == "c"
        self._vector(x.imag if is_complex else x, y.imag, alpha if is_complex else 0.0, beta)
