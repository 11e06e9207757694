"""ILU(0) and IC(0): incomplete factors on the pattern of A, computed and applied by sweeps, which have no order.

E. Chow, A. Patel, Fine-grained parallel incomplete LU factorization, SIAM J. Sci. Comput. 37(2), 2015.
H. Anzt, E. Chow, J. Dongarra, Iterative sparse triangular solves for preconditioning, Euro-Par 2015.

A sweep reads the results of the one before only, so that factors have the same bits in every run.
"""

from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import ParameterError
from gpu_engine.formats.base import POINTERS, array_module, row_of_entries
from gpu_engine.host.jit import numba
from gpu_engine.solvers.base import System
from gpu_engine.solvers.symmetry import positions

LANES, BLOCK = (1, 4), 256
"""Threads per row of a triangular sweep: one for short rows."""

SOURCE = CudaSource(
    __package__,
    "incomplete.cu",
    (
        *(f"sweep_factors<{pointer}>" for pointer in POINTERS),
        *(
            f"sweep_solve<{pointer}, {lanes}, {upper}>"
            for pointer in POINTERS
            for lanes in LANES
            for upper in ("false", "true")
        ),
    ),
)

LONG = 12
"""Nonzeros per row from which on a triangular sweep has several threads per row."""

FACTOR_SWEEPS = 8
"""Sweeps over the factors; each costs about as much as some SpMVs."""

SOLVE_SWEEPS, SWEEPS = 4, (1, 32)
"""Sweeps per triangular system unless the caller says otherwise, and the least and the most."""


class Incomplete:
    """M ≈ (L·U)⁻¹; L has ones on its diagonal.

    factors  float64 [nnz], L below the diagonal of A's pattern and U from it on
    """

    diagonal, in_graph = None, True

    def __init__(self, rows: CsrMatrix, diagonal: Any, factors: Any, sweeps: int) -> None:
        self._rows, self._diagonal, self.factors, self._sweeps = rows, diagonal, factors, sweeps
        xp = array_module(rows.values)
        self._y, self._z, self._w = (xp.empty(rows.n_rows, np.float64) for _ in range(3))

    def __call__(self, v: Any, out: Any) -> None:
        """Compute out := M·v."""
        lower = self._solve(v, self._y, self._z, "false")
        other = self._z if lower is self._y else self._y
        solved = self._solve(lower, self._w, other, "true")
        out[...] = solved

    def _solve(self, v: Any, first: Any, second: Any, upper: str) -> Any:
        """Return the solution of a triangular system after all sweeps, in one of the two vectors; v stays as it is."""
        y, after = first, second
        if upper == "false":
            y[...] = v
        else:
            array_module(v).divide(v, self.factors[self._diagonal], out=y)
        for _ in range(self._sweeps):
            self._sweep(v, y, after, upper)
            y, after = after, y
        return y

    def _sweep(self, v: Any, y: Any, out: Any, upper: str) -> None:
        rows, arrays = self._rows, (self._diagonal, self.factors, v, y, out)
        if isinstance(v, np.ndarray):
            _sweep_on_host(rows.indptr, rows.indices, *arrays, upper == "true")
            return
        lanes = LANES[rows.nnz > LONG * rows.n_rows]
        kernel = f"sweep_solve<{_pointer(rows)}, {lanes}, {upper}>"
        arguments = np.int32(rows.n_rows), rows.indptr, rows.indices, *arrays
        SOURCE.function(kernel)((-(-rows.n_rows * lanes // BLOCK),), (BLOCK,), arguments)


def ilu(system: System, sweeps: int = SOLVE_SWEEPS) -> Incomplete:
    """Return ILU(0); raises ParameterError for a diagonal that lacks a nonzero, and for another number of sweeps."""
    diagonal = _diagonal_entries(system.rows)
    return Incomplete(system.rows, diagonal, _factors(system.rows, diagonal), _checked(sweeps))


def ic(system: System, sweeps: int = SOLVE_SWEEPS) -> Incomplete:
    """Return IC(0) as L·D·Lᵀ, which is symmetric with any number of sweeps.

    Raises ParameterError as `ilu` does, and if D is not positive: the matrix may have no such factors.
    """
    xp, rows = array_module(system.rows.values), system.rows
    diagonal = _diagonal_entries(rows)
    factors = _factors(rows, diagonal)
    d = factors[diagonal]
    is_bad = ~(d > 0.0)
    if bool(is_bad.any()):
        raise ParameterError(
            f"The incomplete factors break down at row {int(xp.argmax(is_bad))}: a pivot is not positive. "
            "Use jacobi or chebyshev, or add to the diagonal."
        )
    row = row_of_entries(rows)
    mirror = xp.minimum(positions(rows, rows.indices, row), rows.nnz - 1)
    factors = xp.where(rows.indices > row, factors[mirror] * d[row], factors)
    return Incomplete(rows, diagonal, factors, _checked(sweeps))


def _checked(sweeps: int) -> int:
    least, most = SWEEPS
    if not least <= sweeps <= most:
        raise ParameterError(f"The triangular systems have {sweeps} sweeps; expected {least} to {most}.")
    return sweeps


def _diagonal_entries(rows: CsrMatrix) -> Any:
    """Return the position of each diagonal nonzero: as indptr, [n]; raises ParameterError if one is missing or 0."""
    xp = array_module(rows.values)
    every = xp.arange(rows.n_rows, dtype=np.int32)
    place = positions(rows, every, every)
    inside = xp.minimum(place, max(rows.nnz - 1, 0))
    is_missing = (place >= rows.indptr[1:]) | (rows.indices[inside] != every) | (rows.values[inside] == 0.0)
    if bool(is_missing.any()):
        row = int(xp.argmax(is_missing))
        raise ParameterError(f"The diagonal of row {row} is 0, so there are no incomplete factors.")
    return place.astype(rows.indptr.dtype)


def _factors(rows: CsrMatrix, diagonal: Any) -> Any:
    """Return the factors after FACTOR_SWEEPS sweeps from L = strictly lower A / diagonal, U = upper A."""
    xp, row = array_module(rows.values), row_of_entries(rows)
    scale = xp.where(rows.indices < row, rows.values[diagonal][rows.indices], 1.0)
    before, after = rows.values / scale, xp.empty_like(rows.values)
    for _ in range(FACTOR_SWEEPS):
        arrays = rows.indptr, rows.indices, row, diagonal, rows.values, before, after
        if xp is np:
            _factors_on_host(*arrays)
        else:
            kernel = f"sweep_factors<{_pointer(rows)}>"
            SOURCE.function(kernel)((-(-rows.nnz // BLOCK),), (BLOCK,), (np.int64(rows.nnz), *arrays))
        before, after = after, before
    return before


def _pointer(rows: CsrMatrix) -> str:
    return POINTERS[rows.indptr.itemsize == 8]


@numba.njit(parallel=True, cache=True)
def _factors_on_host(
    indptr: Any, indices: Any, row_of: Any, diagonal: Any, values: Any, before: Any, after: Any
) -> None:
    """Implement sweep_factors of incomplete.cu."""
    for entry in numba.prange(values.size):
        row, column, rest = row_of[entry], indices[entry], values[entry]
        for left in range(indptr[row], indptr[row + 1]):
            k = indices[left]
            if k >= row or k >= column:
                break
            for above in range(diagonal[k], indptr[k + 1]):
                if indices[above] >= column:
                    if indices[above] == column:
                        rest -= before[left] * before[above]
                    break
        after[entry] = rest / before[diagonal[column]] if column < row else rest


@numba.njit(parallel=True, cache=True)
def _sweep_on_host(
    indptr: Any, indices: Any, diagonal: Any, factors: Any, v: Any, y: Any, out: Any, upper: bool
) -> None:
    """Implement sweep_solve of incomplete.cu."""
    for row in numba.prange(v.size):
        middle, total = diagonal[row], 0.0
        first, last = (middle + 1, indptr[row + 1]) if upper else (indptr[row], middle)
        for entry in range(first, last):
            total += factors[entry] * y[indices[entry]]
        out[row] = (v[row] - total) / factors[middle] if upper else v[row] - total
