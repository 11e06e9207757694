"""Operator: a matrix as an object that multiplies, by one kernel, vectors of any library in their own kind."""

import html
from importlib import import_module
from typing import Any

import numpy as np

from gpu_engine.errors import ParameterError
from gpu_engine.findings import units
from gpu_engine.formats import find_kernel
from gpu_engine.operators import scaling
from gpu_engine.operators.build import Side, Source
from gpu_engine.operators.second_layout import SecondLayout


class Operator:
    """A matrix A and the kernel that multiplies by it; `A.T` is the transpose, as an operator of its own.

    Products of one operator are not to overlap: kernels keep sums of cut rows in room that belongs to the layout.

    shape        (n_rows, n_cols); dtype  float64; nnz  stored entries
    kernel       `format/variant`; reason  why this one
    predicted_s  seconds of a product as the advisor predicts them; measured_s  as a trial or a job found
    nbytes       bytes of the layout and of the room for α and β; copied  why the caller's arrays had to be copied
    second       of a product across the stored order: what the layout that it wants costs; None where it wants none
    """

    # NumPy leaves `x @ A` to this class.
    __array_ufunc__ = None

    def __init__(self, source: Source, side: Side, transposed: bool = False, other: "Operator | None" = None) -> None:
        built = source.build(side)
        rows, columns = source.adopted.shape
        self.shape = (columns, rows) if transposed else (rows, columns)
        self.dtype, self.nnz = np.dtype(np.float64), source.adopted.stored.nnz
        self._source, self._transposed, self._built = source, transposed, built
        self._other = self if side.mirrors else other
        self._vectors, self._launch = source.vectors, built.launch
        self._room = source.vectors.empty(self.shape[0])
        self._scale = scaling.bound(source.vectors.backend, self.shape[0])

    @property
    def kernel(self) -> str:
        """The kernel that multiplies, as `format/variant`."""
        return self._built.choice.kernel

    @property
    def reason(self) -> str:
        """Why it is this kernel, in one sentence."""
        return self._built.choice.reason

    @property
    def predicted_s(self) -> float | None:
        """Seconds of a product as the advisor predicts them, warm; None where it does not."""
        return self._built.choice.predicted_s

    @property
    def measured_s(self) -> float | None:
        """Seconds of a product as a trial or a job measured them, warm; None where none did."""
        return self._built.choice.measured_s

    @property
    def second(self) -> SecondLayout | None:
        """What the layout costs beside the arrays of the matrix; None where it is not a second one."""
        return self._built.second

    @property
    def nbytes(self) -> int:
        """Bytes of the layout, which may be the caller's arrays, and of the room for α and β."""
        return int(self._built.layout.stored_bytes + self._room.nbytes)

    @property
    def copied(self) -> str:
        """Why arrays of the caller had to be copied; empty where none were."""
        return self._source.adopted.copied

    @property
    def device(self) -> str:
        """Where the matrix lies and products run: `cpu`, or `cuda:0` by its number in this process."""
        ordinal = getattr(self._vectors, "ordinal", None)
        return "cpu" if ordinal is None else f"cuda:{ordinal}"

    @property
    def T(self) -> "Operator":  # noqa: N802 (as every library calls it)
        """The transpose; its kernel is chosen, and its layout made, when it is first asked for."""
        if self._other is None:
            side = self._source.side(not self._transposed)
            self._other = self if side.mirrors else Operator(self._source, side, not self._transposed, self)
        return self._other

    def matvec(self, x: Any, out: Any = None, alpha: float = 1.0, beta: float = 0.0) -> Any:
        """y := α·A·x + β·y, where y is `out`, or a new vector of the kind of x; returned as it was given.

        x    float64 [n_cols], contiguous, where the matrix lies; out  float64 [n_rows] there, not in the memory of x
        Launches on the caller's current stream and does not wait; on a GPU it allocates nothing where `out` is given.
        With β = 0 what `out` held does not matter. Raises ParameterError for other vectors, and for β without `out`.
        """
        stream = self._vectors.stream(x)
        if stream is None:
            return self._multiply(x, out, alpha, beta)
        with stream:
            return self._multiply(x, out, alpha, beta)

    def rmatvec(self, y: Any) -> Any:
        """Aᵀ·y, as solvers ask for it."""
        return self.T.matvec(y)

    def __matmul__(self, x: Any) -> Any:
        return self.matvec(x)

    def __rmatmul__(self, y: Any) -> Any:
        return self.T.matvec(y)

    def aslinearoperator(self) -> Any:
        """The LinearOperator of scipy.sparse.linalg, on a GPU that of cupyx.scipy.sparse.linalg."""
        package = "scipy" if self._vectors.backend == "cpu" else "cupyx.scipy"
        linalg = import_module(f"{package}.sparse.linalg")
        return linalg.LinearOperator(self.shape, matvec=self._column, rmatvec=self.T._column, dtype=self.dtype)

    def _column(self, x: Any) -> Any:
        """The product of what solvers pass: [n] or [n, 1], maybe strided, maybe of integers."""
        return self.matvec(x.reshape(-1).astype(self.dtype, order="C", copy=False))

    def _multiply(self, x: Any, out: Any, alpha: float, beta: float) -> Any:
        vectors, (n_rows, n_cols) = self._vectors, self.shape
        own = vectors.read(x, n_cols)
        if out is None:
            if beta:
                raise ParameterError("beta adds to what `out` holds; give out=, or leave beta out.")
            y = vectors.empty(n_rows)
        else:
            y = vectors.written(out, n_rows)
            if vectors.overlap(own, y):
                raise ParameterError("x and out share memory, and a product reads x while it writes; take another out.")
        if beta:
            self._launch(own, self._room)
            self._scale(alpha, self._room, beta, y)
        else:
            self._launch(own, y)
            if alpha != 1.0:
                self._scale(alpha, y, 0.0, y)
        return vectors.answer(y, x) if out is None else out

    def _rows(self) -> list[tuple[str, str]]:
        """What there is to say, as (word, text)."""
        summary = find_kernel(self.kernel)[1].summary
        times = {"predicted": self.predicted_s, "measured": self.measured_s}
        held = units.size(self.nbytes) + (f"; the arrays were copied: {self.copied}" if self.copied else "")
        return [
            ("kernel", f"{self.kernel}: {summary}"),
            ("reason", self.reason),
            *((word, f"{units.seconds(time_s)} a product") for word, time_s in times.items() if time_s is not None),
            ("bytes", held),
            *([("second layout", str(self.second))] if self.second else []),
        ]

    def _title(self) -> str:
        rows, columns = (units.count(extent) for extent in self.shape)
        return f"{rows} × {columns}, {units.count(self.nnz)} nonzeros, {self.dtype}, on {self.device}"

    def __repr__(self) -> str:
        lines = [f"  {word:13} {text}" for word, text in self._rows()]
        return "\n".join([f"Operator {self._title()}", *lines])

    def _repr_html_(self) -> str:
        cells = (f"<tr><th>{html.escape(w)}</th><td>{html.escape(text)}</td></tr>" for w, text in self._rows())
        return f"<table><caption>Operator {html.escape(self._title())}</caption>{''.join(cells)}</table>"
