"""Operator: a matrix as an object that multiplies, by one kernel, vectors of any library in their own kind."""

import html
import sys
from contextlib import nullcontext
from threading import Lock
from typing import Any, ClassVar

import numpy as np

from gpu_engine.errors import ParameterError, quote
from gpu_engine.formats import find_kernel
from gpu_engine.operators.build import Side, Source, unpacked
from gpu_engine.operators.choice import Choice
from gpu_engine.operators.operands import check_dense, is_tensor, number
from gpu_engine.operators.products import Product
from gpu_engine.operators.transposed_copy import TransposedCopy
from gpu_engine.operators.vectors import COMPLEX, FP64
from gpu_engine.text import units


class Operator:
    """A matrix A and the kernel that multiplies by it; `A.T` is the transpose, as an operator of its own.

    It is a LinearOperator of SciPy, on a GPU of CuPy: their solvers take it, and `A + B`, `2 * A` and `A @ B` are
    operators of theirs. Products of one operator are not to overlap on two streams of a GPU: kernels keep sums of cut
    rows in room that belongs to the layout. A copy (copy.copy) has room of its own and shares the arrays of the matrix.

    shape        (n_rows, n_cols); dtype  float64; nnz  stored entries
    kernel       `format/variant`; reason  why this one
    predicted_s  seconds of a product as the advisor predicts them; measured_s  as a trial or a job found
    nbytes       bytes of the layout and of the room for α and β; copied  why the caller's arrays had to be copied
    second       of a product across the stored order: what the layout that it wants costs; None where it wants none
    """

    # NumPy leaves `x @ A` to this class.
    __array_ufunc__ = None

    ndim = 2
    args = ()
    linear: ClassVar[Any]
    """The LinearOperator of the library whose solvers take it."""

    def __init__(
        self,
        source: Source,
        side: Side,
        transposed: bool = False,
        other: "Operator | None" = None,
        choice: Choice | None = None,
    ) -> None:
        rows, columns = source.adopted.shape
        self.shape = (columns, rows) if transposed else (rows, columns)
        self.dtype, self.nnz = FP64, source.adopted.stored.nnz
        self.vectors = source.vectors
        self._source, self._transposed = source, transposed
        self._built = source.build(side, choice)
        self._other = self if side.mirrors else other
        self._making = Lock()
        with source.current():
            self._product = Product(source.vectors, self._built.launch, self.shape[0])

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
    def second(self) -> TransposedCopy | None:
        """What the layout costs beside the arrays of the matrix; None where it is not a second one."""
        return self._built.second

    @property
    def nbytes(self) -> int:
        """Bytes of the layout, which may be the caller's arrays, and of the room for α and β."""
        return int(self._built.layout.stored_bytes + self._product.room.nbytes)

    @property
    def copied(self) -> str:
        """Why arrays of the caller had to be copied; empty where none were."""
        return self._source.adopted.copied

    @property
    def device(self) -> str:
        """Where the matrix lies and products run: `cpu`, or `cuda:0` by its number in this process."""
        ordinal = self._source.ordinal
        return "cpu" if ordinal is None else f"cuda:{ordinal}"

    @property
    def T(self) -> Any:  # noqa: N802 (as every library calls it)
        """The transpose; its kernel is chosen, and its layout made, when it is first asked for."""
        if self._other is not None:
            return self._other
        if "torch" not in sys.modules:
            return self._transpose()
        from gpu_engine.operators import tensors

        return tensors.untraced(self._transpose)

    @property
    def H(self) -> Any:  # noqa: N802 (as every library calls it)
        """The adjoint: the transpose, for the matrix is real."""
        return self.T

    def transpose(self) -> Any:
        """Return the transpose."""
        return self.T

    def adjoint(self) -> Any:
        """Return the adjoint: the transpose, for the matrix is real."""
        return self.T

    def matvec(self, x: Any, out: Any = None, alpha: complex = 1.0, beta: complex = 0.0) -> Any:
        """y := α·A·x + β·y, where y is `out`, or a new vector of the kind of x; returned as it was given.

        x    [n_cols] or [n_cols, 1], where the matrix lies; float64 and contiguous, or it is copied
        out  float64, contiguous, of the shape of the product, there too, not in the memory of x
        α    with 0 x is not read; β  with 0 what `out` held does not matter

        The product is float64, or complex128 where x, α or β is complex, and `out` then too: two products of reals.
        Launches on the caller's current stream and does not wait; on a GPU it allocates nothing where `out` is given
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

    def matmat(self, X: Any) -> Any:
        """Return A·X for X [n_cols, k], column by column: [n_rows, k] of the kind of X."""
        return self._multiply(X, None, 1.0, 0.0, has_columns=True)

    def rmatmat(self, X: Any) -> Any:
        """Return Aᴴ·X, which is Aᵀ·X, for X [n_rows, k]."""
        return self.T.matmat(X)

    def dot(self, x: Any) -> Any:
        """Return A·x of vectors and matrices; of operators and numbers an operator that multiplies when it is used."""
        if isinstance(x, self.linear) or np.isscalar(x):
            return self.linear.dot(self, x)
        return self._multiply(x, None, 1.0, 0.0, has_columns=True)

    def __matmul__(self, x: Any) -> Any:
        y = self.vectors.target(x, self.shape[1], None, self.shape[0])
        if y is not None:
            self._product.run_plain(x, y, 1.0, 0.0)
            return y
        if np.isscalar(x):
            raise ParameterError(f"A @ {quote(x)}: a number scales an operator by `*`.")
        if isinstance(x, self.linear):
            return self.linear.dot(self, x)
        return self._multiply(x, None, 1.0, 0.0, has_columns=True)

    def __rmatmul__(self, x: Any) -> Any:
        if np.isscalar(x):
            raise ParameterError(f"{quote(x)} @ A: a number scales an operator by `*`.")
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
        """Return itself: it is a LinearOperator of scipy.sparse.linalg, on a GPU of cupyx.scipy.sparse.linalg."""
        return self

    def run(self, x: Any, out: Any, alpha: complex, beta: complex, has_columns: bool) -> Any:
        """y := α·A·x + β·y on the current device and stream; x and `out` are no tensors that have gradients."""
        vectors, (n_rows, n_cols) = self.vectors, self.shape
        source = vectors.read(x, n_cols, has_columns)
        shape = source.shape if n_rows == n_cols else (n_rows, *source.shape[1:])
        is_complex = source.dtype.kind == "c" or isinstance(alpha, complex) or isinstance(beta, complex)
        if out is None:
            if beta:
                raise ParameterError("beta adds to what `out` holds; give out=, or leave beta out.")
            y = vectors.empty(shape, COMPLEX if is_complex else FP64)
        else:
            y = vectors.written(out, shape, is_complex)
            if vectors.overlap(source, y):
                raise ParameterError("x and out share memory, and a product reads x while it writes; take another out.")
        self._product.run(source, y, alpha, beta)
        return vectors.answer(y, x) if out is None else out

    def _multiply(self, x: Any, out: Any, alpha: Any, beta: Any, has_columns: bool) -> Any:
        alpha, beta = number(alpha, "alpha"), number(beta, "beta")
        if is_tensor(x):
            from gpu_engine.operators import tensors

            return tensors.multiply(self, x, out, alpha, beta, has_columns)
        check_dense(x)
        with self.vectors.guard() or nullcontext():
            return self.run(x, out, alpha, beta, has_columns)

    # What operators of SciPy and CuPy that are made of others ask those for.
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
        """An operator of the same kernel for another source."""
        return type(self)(source, source.side(self._transposed), self._transposed, choice=self._built.choice)

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


def restored(kind: type[Operator], packed: tuple[Any, ...], transposed: bool, choice: Choice) -> Operator:
    """Return an operator that was pickled, on the GPU of its number, or on the host; its kernel is not chosen again."""
    source = unpacked(packed)
    return kind(source, source.side(transposed), transposed, choice=choice)
