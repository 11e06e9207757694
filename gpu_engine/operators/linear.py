"""Operator: a matrix as an object that multiplies vectors of any library with one kernel."""

import html
import sys
from contextlib import nullcontext
from threading import Lock
from typing import Any, ClassVar

import numpy as np

from gpu_engine.errors import ParameterError, quote
from gpu_engine.formats import find_kernel
from gpu_engine.operators.build import Side, Source, unpacked
from gpu_engine.operators.choice import SHARED, Choice
from gpu_engine.operators.columns import ColumnProduct
from gpu_engine.operators.operands import check_dense, is_tensor, number
from gpu_engine.operators.products import Product
from gpu_engine.operators.solves import Solves
from gpu_engine.operators.transposed_copy import TransposedCopy
from gpu_engine.operators.vectors import COMPLEX, FP64
from gpu_engine.text import units


class Operator(Solves):
    """A matrix A and its SpMV kernel; `A.T` is the transpose, a separate operator.

    It is a LinearOperator of SciPy, or on a GPU of CuPy: their solvers accept it, and `A + B`, `2 * A`, and `A @ B` are
    operators of theirs. SpMVs of one operator must not overlap on two streams of a GPU: kernels store sums of cut
    rows in buffers of the layout. A copy (copy.copy) has its own buffers and shares the arrays of the matrix.

    shape        (n_rows, n_cols); dtype: float64; nnz: nonzeros
    kernel       `format/variant`; reason: why it was chosen
    predicted_s  predicted seconds per SpMV; measured_s: seconds from an auto-tuning run or a job
    nbytes       bytes of the layout and of the buffer for α and β; copied: why the caller's arrays were copied
    second       cost of the transposed copy for an SpMV across the storage order; None if there is no copy
    """

    # NumPy leaves `x @ A` to this class.
    __array_ufunc__ = None

    ndim = 2
    args = ()
    linear: ClassVar[Any]
    """LinearOperator class of the library whose solvers accept this operator."""

    def __init__(
        self,
        source: Source,
        side: Side,
        transposed: bool = False,
        other: "Operator | None" = None,
        choice: Choice | None = None,
    ) -> None:
        rows, columns = source.wrapped.shape
        self.shape = (columns, rows) if transposed else (rows, columns)
        self.dtype, self.nnz = FP64, source.wrapped.stored.nnz
        self.vectors = source.vectors
        self._source, self._transposed = source, transposed
        self._built = source.build(side, choice)
        self._other = self if side.mirrors else other
        self._making = Lock()
        self._solvers = {}
        self._columns: ColumnProduct | None = None
        with source.current():
            self._product = Product(source.vectors, self._built.launch, self.shape[0], self._column_product)

    @property
    def kernel(self) -> str:
        """Name of the kernel, `format/variant`."""
        return self._built.choice.kernel

    @property
    def reason(self) -> str:
        """Reason for the choice of the kernel, in one sentence."""
        return self._built.choice.reason

    @property
    def predicted_s(self) -> float | None:
        """Predicted seconds per SpMV (warm); None without a prediction."""
        return self._built.choice.predicted_s

    @property
    def measured_s(self) -> float | None:
        """Seconds per SpMV (warm) from an auto-tuning run or a job; None if not measured."""
        return self._built.choice.measured_s

    @property
    def second(self) -> TransposedCopy | None:
        """Cost of the transposed copy; None if the operator has none."""
        return self._built.second

    @property
    def nbytes(self) -> int:
        """Bytes of the layout, which may be the caller's arrays, and of the buffer for α and β."""
        return int(self._built.layout.stored_bytes + self._product.room.nbytes)

    @property
    def copied(self) -> str:
        """Reason why arrays of the caller were copied; empty if none were."""
        return self._source.wrapped.copied

    @property
    def device(self) -> str:
        """Device of the matrix and its SpMVs: `cpu`, or `cuda:0` by its number in this process."""
        ordinal = self._source.ordinal
        return "cpu" if ordinal is None else f"cuda:{ordinal}"

    @property
    def T(self) -> Any:  # noqa: N802 (as every library calls it)
        """Transpose, as an operator; its kernel is chosen and its layout built at the first access."""
        if self._other is not None:
            return self._other
        if "torch" not in sys.modules:
            return self._transpose()
        from gpu_engine.operators import tensors

        return tensors.untraced(self._transpose)

    @property
    def H(self) -> Any:  # noqa: N802 (as every library calls it)
        """Adjoint, which is the transpose, because the matrix is real."""
        return self.T

    def transpose(self) -> Any:
        """Return the transpose."""
        return self.T

    def adjoint(self) -> Any:
        """Return the adjoint, which is the transpose, because the matrix is real."""
        return self.T

    def matvec(self, x: Any, out: Any = None, alpha: complex = 1.0, beta: complex = 0.0) -> Any:
        """Compute y := α·A·x + β·y and return y: `out`, or a new vector of the kind of x.

        x    [n_cols] or [n_cols, 1], on the device of the matrix; copied unless it is float64 and contiguous
        out  float64, contiguous, of the shape of the result, on the same device; must not overlap x
        α    0: x is not read; β: 0: the values in `out` are not read

        The result and `out` are float64, or complex128 if x, α, or β is complex, which takes two real SpMVs.
        Launches on the caller's current stream and does not wait; on a GPU it allocates nothing if `out` is given
        and x is contiguous float64. Raises ParameterError for other vectors, and for β without `out`, before it writes.
        """
        if type(alpha) is float and type(beta) is float and (out is not None or beta == 0.0):
            y = self.vectors.target(x, self.shape[1], out, self.shape[0])
            if y is not None:
                self._product.run_plain(x, y, alpha, beta)
                return y
        return self._multiply(x, out, alpha, beta, has_columns=False)

    def rmatvec(self, x: Any) -> Any:
        """Return Aᴴ·x, which is Aᵀ·x, for x [n_rows] or [n_rows, 1]."""
        return self.T.matvec(x)

    def matmat(self, X: Any, out: Any = None, alpha: complex = 1.0, beta: complex = 0.0) -> Any:
        """Compute Y := α·A·X + β·Y by one SpMM and return Y: `out`, or a new row-major matrix of the kind of X.

        X    [n_cols, k]; row-major float64 is read where it is, even if its rows are further apart than k
        out  row or column major; otherwise as in `matvec`

        Column j has not the same bits as A·x. Across the storage order without a transposed copy, each column takes an
        SpMV. On a GPU the first call for a number of columns allocates.
        """
        return self._multiply(X, out, alpha, beta, has_columns=True)

    def rmatmat(self, X: Any, out: Any = None, alpha: complex = 1.0, beta: complex = 0.0) -> Any:
        """Compute Y := α·Aᴴ·X + β·Y, where Aᴴ is Aᵀ, for X [n_rows, k]; see `matmat`."""
        return self.T.matmat(X, out, alpha, beta)

    def dot(self, x: Any) -> Any:
        """Return A·x for vectors and matrices; for operators and numbers a lazy operator of the library."""
        if isinstance(x, self.linear) or np.isscalar(x):
            return self.linear.dot(self, x)
        return self._multiply(x, None, 1.0, 0.0, has_columns=True)

    def __matmul__(self, x: Any) -> Any:
        y = self.vectors.target(x, self.shape[1], None, self.shape[0])
        if y is not None:
            self._product.run_plain(x, y, 1.0, 0.0)
            return y
        if np.isscalar(x):
            raise ParameterError(f"A @ {quote(x)} is not defined for a number; scale the operator with `*`.")
        if isinstance(x, self.linear):
            return self.linear.dot(self, x)
        return self._multiply(x, None, 1.0, 0.0, has_columns=True)

    def __rmatmul__(self, x: Any) -> Any:
        if np.isscalar(x):
            raise ParameterError(f"{quote(x)} @ A is not defined for a number; scale the operator with `*`.")
        if isinstance(x, self.linear):
            return x.dot(self)
        check_dense(x)
        if getattr(x, "ndim", 1) < 2 and not isinstance(x, list | tuple):
            return self.T.matvec(x)
        matrix = x if hasattr(x, "ndim") else np.asarray(x)
        return self.T.dot(matrix.T).T

    def __rmul__(self, x: Any) -> Any:
        return self.linear.__rmul__(self, x) if np.isscalar(x) else self.__rmatmul__(x)

    def aslinearoperator(self) -> Any:
        """Return this operator, a LinearOperator of scipy.sparse.linalg or, on a GPU, cupyx.scipy.sparse.linalg."""
        return self

    def run(self, x: Any, out: Any, alpha: complex, beta: complex, has_columns: bool) -> Any:
        """Compute y := α·A·x + β·y on the current device and stream; x and `out` must not require gradients."""
        vectors, (n_rows, n_cols) = self.vectors, self.shape
        source = vectors.read(x, n_cols, has_columns)
        shape = source.shape if n_rows == n_cols else (n_rows, *source.shape[1:])
        is_complex = source.dtype.kind == "c" or isinstance(alpha, complex) or isinstance(beta, complex)
        if out is None:
            if beta:
                raise ParameterError("beta requires out=.")
            y = vectors.empty(shape, COMPLEX if is_complex else FP64)
        else:
            y = vectors.written(out, shape, is_complex)
            if vectors.overlap(source, y):
                raise ParameterError(
                    "x and out share memory, but the SpMV reads x while it writes out. Use another out."
                )
        self._product.run(source, y, alpha, beta)
        return vectors.answer(y, x) if out is None else out

    def column_kernel(self, k: int) -> str | None:
        """Return the name of the kernel for k columns, `format/variant`; None if each column takes an SpMV."""
        with self._source.current(), self._product.lock:
            columns = self._column_product()
            return None if columns is None else columns.kernel(k)

    def _column_product(self) -> ColumnProduct | None:
        """Return the SpMM, made at the first call; None if only the arrays of the transpose may be used."""
        if self._columns is None and self.kernel != SHARED:
            self._columns = ColumnProduct(self.vectors, self._by_rows())
        return self._columns

    def _multiply(self, x: Any, out: Any, alpha: Any, beta: Any, has_columns: bool) -> Any:
        alpha, beta = number(alpha, "alpha"), number(beta, "beta")
        if is_tensor(x):
            from gpu_engine.operators import tensors

            return tensors.multiply(self, x, out, alpha, beta, has_columns)
        check_dense(x)
        with self.vectors.guard() or nullcontext():
            return self.run(x, out, alpha, beta, has_columns)

    # Methods that combined operators of SciPy and CuPy call.
    def _matvec(self, x: Any) -> Any:
        return self.matvec(x)

    def _rmatvec(self, x: Any) -> Any:
        return self.rmatvec(x)

    def _matmat(self, X: Any) -> Any:
        return self.matmat(X)

    def _rmatmat(self, X: Any) -> Any:
        return self.rmatmat(X)

    def _adjoint(self) -> Any:
        return self.T

    def _transpose(self) -> Any:
        with self._making:
            if self._other is None:
                side = self._source.side(not self._transposed)
                self._other = self if side.mirrors else type(self)(self._source, side, not self._transposed, self)
        return self._other

    def __copy__(self) -> "Operator":
        return self._with(self._source)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Operator":
        with self._source.current():
            return self._with(self._source.duplicate(memo))

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (type(self), self._source.packed(), self._transposed, self._built.choice)

    def _with(self, source: Source) -> "Operator":
        """Return an operator of the same kernel for another source."""
        return type(self)(source, source.side(self._transposed), self._transposed, choice=self._built.choice)

    def _rows(self) -> list[tuple[str, str]]:
        """Return the description of the operator as (label, text)."""
        summary = find_kernel(self.kernel)[1].summary
        times = {"predicted": self.predicted_s, "measured": self.measured_s}
        memory = units.size(self.nbytes) + (f"; the arrays were copied: {self.copied}" if self.copied else "")
        return [
            ("kernel", f"{self.kernel}: {summary}"),
            ("reason", self.reason),
            *((word, f"{units.seconds(time_s)} per SpMV") for word, time_s in times.items() if time_s is not None),
            ("bytes", memory),
            *([("transposed copy", str(self.second))] if self.second else []),
        ]

    def _title(self) -> str:
        rows, columns = (units.count(extent) for extent in self.shape)
        return f"{rows} × {columns}, {units.count(self.nnz)} nonzeros, {self.dtype}, on {self.device}"

    def __repr__(self) -> str:
        lines = [f"  {word:15} {text}" for word, text in self._rows()]
        return "\n".join([f"Operator {self._title()}", *lines])

    def _repr_html_(self) -> str:
        cells = (f"<tr><th>{html.escape(w)}</th><td>{html.escape(text)}</td></tr>" for w, text in self._rows())
        return f"<table><caption>Operator {html.escape(self._title())}</caption>{''.join(cells)}</table>"


def restored(kind: type[Operator], packed: tuple[Any, ...], transposed: bool, choice: Choice) -> Operator:
    """Return a pickled operator, on the GPU of its number or on the host; its kernel is not chosen again."""
    source = unpacked(packed)
    return kind(source, source.side(transposed), transposed, choice=choice)
