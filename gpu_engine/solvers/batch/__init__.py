"""Batches: many small systems solved in one launch, one block per system, with their vectors in shared memory.

Source of the shape: H. Anzt et al., Ginkgo's batched solvers; the flexible batched SpMV paper for batches of matrices
with different patterns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import ParameterError, quote
from gpu_engine.formats.base import POINTERS, array_module, lanes_for, row_of_entries
from gpu_engine.solvers import host
from gpu_engine.solvers.base import Status, System, Tolerance
from gpu_engine.solvers.bicgstab import BICGSTAB
from gpu_engine.solvers.cg import CG
from gpu_engine.solvers.gmres import GMRES, RESTART
from gpu_engine.solvers.preconditioners.jacobi import Diagonal, inverse_diagonal

METHODS = {"cg": ("Cg", CG, 3), "bicgstab": ("Bicgstab", BICGSTAB, 5), "gmres": ("Gmres", GMRES, RESTART + 1)}
"""Methods of batches by name: that in solve.cu, that of one system on a CPU, and its vectors."""

STATIC_BYTES = 12_288
"""Shared memory that a kernel has besides the vectors: 9 KiB for the Hessenberg matrix of GMRES."""

LANES = (1, 4, 16)
BLOCK = 256

SOURCE = CudaSource(
    __package__,
    "solve.cu",
    tuple(
        f"solve_batch<{kernel}, {pointer}, {lanes}, {shared}>"
        for kernel, _, _ in METHODS.values()
        for pointer in POINTERS
        for lanes in LANES
        for shared in ("true", "false")
    ),
)


@dataclass(frozen=True, slots=True)
class BatchSolution:
    """Solutions of a batch, on the device of its matrices.

    x           float64 [rows of all systems], one system after the other; `of(k)` is that of one
    begins      int64 [systems + 1], the first row of each system
    status      int32 [systems], numbers of Status; iterations: int32 [systems]
    residuals   float64 [systems], ‖b − A·x‖₂ in twice the precision
    """

    x: Any
    begins: Any
    status: Any
    iterations: Any
    residuals: Any

    @property
    def converged(self) -> Any:
        """Whether each system was solved within the tolerance: bool [systems]."""
        return self.status == Status.CONVERGED.number

    def of(self, system: int) -> Any:
        """Return the solution of one system: float64 [its rows]."""
        return self.x[int(self.begins[system]) : int(self.begins[system + 1])]


@dataclass(frozen=True, slots=True)
class Systems:
    """Square matrices one after the other; all arrays on one device.

    begins   int64 [systems + 1], the first row of each
    indptr   int32 or int64 [rows + 1], nonzeros before each row of all
    indices  int32 [nonzeros], columns, from 0 in each system
    values   float64 [nonzeros]
    """

    begins: Any
    indptr: Any
    indices: Any
    values: Any

    @staticmethod
    def of(matrices: Sequence[CsrMatrix]) -> "Systems":
        """Return the systems of square matrices; raises ParameterError with the number of one that is not square."""
        for number, matrix in enumerate(matrices):
            if matrix.n_rows != matrix.n_cols:
                raise ParameterError(f"Matrix {number} is {matrix.n_rows} × {matrix.n_cols}; expected a square one.")
        if not matrices:
            raise ParameterError("The batch has no matrix.")
        xp = array_module(matrices[0].values)
        rows = np.cumsum([0, *(matrix.n_rows for matrix in matrices)])
        nonzeros = np.cumsum([0, *(matrix.nnz for matrix in matrices)])
        dtype = np.int64 if nonzeros[-1] >= 2**31 else np.int32
        parts = [matrix.indptr[:-1].astype(dtype) + dtype(n) for matrix, n in zip(matrices, nonzeros[:-1], strict=True)]
        indptr = xp.concatenate([*parts, xp.asarray(nonzeros[-1:], dtype)])
        indices = xp.concatenate([matrix.indices for matrix in matrices])
        return Systems(xp.asarray(rows), indptr, indices, xp.concatenate([matrix.values for matrix in matrices]))

    @staticmethod
    def uniform(pattern: CsrMatrix, values: Any) -> "Systems":
        """Return systems with one pattern and values [systems, nonzeros of the pattern]."""
        if values.ndim != 2 or values.shape[1] != pattern.nnz:
            raise ParameterError(f"values has the shape {values.shape}; expected [systems, {pattern.nnz}].")
        xp, count = array_module(values), values.shape[0]
        dtype = np.int64 if count * pattern.nnz >= 2**31 else np.int32
        first = xp.arange(count, dtype=dtype)[:, None] * dtype(pattern.nnz)
        starts = (xp.asarray(pattern.indptr[:-1]).astype(dtype)[None, :] + first).reshape(-1)
        indptr = xp.concatenate([starts, xp.asarray([count * pattern.nnz], dtype)])
        indices = xp.tile(xp.asarray(pattern.indices), count)
        begins = xp.arange(count + 1, dtype=np.int64) * pattern.n_rows
        return Systems(begins, indptr, indices, xp.ascontiguousarray(values).reshape(-1))

    @property
    def n_rows(self) -> int:
        """Rows of all systems."""
        return int(self.indptr.size) - 1

    def matrix(self, number: int) -> CsrMatrix:
        """Return one system, which shares the arrays."""
        first, last = int(self.begins[number]), int(self.begins[number + 1])
        indptr = self.indptr[first : last + 1]
        entries = slice(int(indptr[0]), int(indptr[-1]))
        return CsrMatrix(last - first, last - first, indptr - indptr[0], self.indices[entries], self.values[entries])


def solve(
    method: str,
    systems: Systems,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: str | None = None,
) -> BatchSolution:
    """Solve all systems; each ends by itself.

    method  `cg` for symmetric positive definite matrices, `bicgstab` or `gmres` (restarted after RESTART iterations)
            for others
    b, x0   float64 [rows of all systems], on the device of the matrices; x0 None: 0
    M       None or `jacobi`
    Other parameters are those of an operator's solvers; maxiter None: ten times the rows of the largest system.
    Raises ParameterError for an unknown method or preconditioner and for vectors of another shape.
    """
    xp = array_module(systems.values)
    if method not in METHODS:
        raise ParameterError(f"The method is {quote(method)}; expected one of {', '.join(METHODS)}.")
    if M not in (None, "jacobi"):
        raise ParameterError(f"M is {quote(M)}; expected None or jacobi.")
    right, x = (_checked(vector, systems, xp) for vector in (b, b * 0.0 if x0 is None else x0))
    most = 10 * int(xp.diff(systems.begins).max()) if maxiter is None else maxiter
    inverse = inverse_diagonal(_as_one(systems, xp)) if M else None
    run = _on_host if xp is np else _on_device
    return run(method, systems, right, x.copy(), inverse, (rtol, atol, most))


def _checked(vector: Any, systems: Systems, xp: Any) -> Any:
    if vector.shape != (systems.n_rows,) or not bool(xp.isfinite(vector).all()):
        raise ParameterError(f"A vector has the shape {vector.shape}; expected finite numbers [{systems.n_rows}].")
    return xp.ascontiguousarray(vector, np.float64)


def _as_one(systems: Systems, xp: Any) -> CsrMatrix:
    """Return the systems as the blocks of one block diagonal matrix."""
    n = systems.n_rows
    rows = row_of_entries(CsrMatrix(n, n, systems.indptr, systems.indices, systems.values))
    begins = systems.begins[xp.searchsorted(systems.begins, xp.arange(n), side="right") - 1]
    return CsrMatrix(n, n, systems.indptr, systems.indices + begins[rows], systems.values)


def _on_host(
    method: str, systems: Systems, b: Any, x: Any, inverse: Any, limits: tuple[float, float, int]
) -> BatchSolution:
    """Solve one system after the other."""
    rtol, atol, most = limits
    solutions = []
    for number in range(systems.begins.size - 1):
        matrix = systems.matrix(number)
        rows = slice(int(systems.begins[number]), int(systems.begins[number + 1]))
        csr = matrix.to_scipy()

        def multiply(v: Any, out: Any, csr: Any = csr) -> None:
            out[...] = csr @ v

        M = None if inverse is None else Diagonal(inverse[rows])
        tolerance = Tolerance(max(rtol * float(np.linalg.norm(b[rows])), atol), most)
        system = System(matrix.n_rows, multiply, matrix, M)
        solutions.append(host.solve(METHODS[method][1], system, b[rows], x[rows], tolerance))
    numbers = (np.array([s.status.number for s in solutions], np.int32), np.array([s.iterations for s in solutions]))
    return BatchSolution(x, systems.begins, *numbers, np.array([s.residual for s in solutions]))


def _on_device(
    method: str, systems: Systems, b: Any, x: Any, inverse: Any, limits: tuple[float, float, int]
) -> BatchSolution:
    """Solve all systems in one launch."""
    import cupy

    kernel, _, vectors = METHODS[method]
    count, largest = int(systems.begins.size) - 1, int(cupy.diff(systems.begins).max())
    needed = 8 * (vectors + 2) * largest
    fits = needed <= cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"] - STATIC_BYTES
    lanes = next(n for n in reversed(LANES) if n <= lanes_for(int(systems.indices.size), systems.n_rows) or n == 1)
    pointer = POINTERS[systems.indptr.itemsize == 8]
    function = SOURCE.function(f"solve_batch<{kernel}, {pointer}, {lanes}, {str(fits).lower()}>")
    room = cupy.empty(0 if fits else systems.n_rows * (vectors + 2))
    iterations, status, residuals = cupy.empty(count, np.int32), cupy.empty(count, np.int32), cupy.empty(count)
    if fits:
        function.max_dynamic_shared_size_bytes = needed
    rtol, atol, most = limits
    numbers = np.float64(rtol), np.float64(atol), np.int32(most)
    pointers = inverse if inverse is not None else np.uint64(0)
    arrays = systems.begins, systems.indptr, systems.indices, systems.values
    outputs = x, room, iterations, status, residuals
    function((count,), (BLOCK,), (*arrays, *numbers, b, pointers, *outputs), shared_mem=needed if fits else 0)
    return BatchSolution(x, systems.begins, status, iterations, residuals)
