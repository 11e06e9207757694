"""Solves A·x = b with the kernel of an operator: the methods `A.cg`, `A.minres`, `A.bicgstab`, `A.gmres`, ….

They are called as SciPy's solvers are, and return (x, info); `info` is a number of SciPy's with a report.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from gpu_engine.errors import ParameterError
from gpu_engine.formats.base import transpose
from gpu_engine.formats.csr.layout import CsrLayout
from gpu_engine.operators import column_solves
from gpu_engine.operators.build import Built, Source, Wish
from gpu_engine.operators.columns import ColumnProduct
from gpu_engine.operators.launched_solve import LaunchedSolve, check_launched
from gpu_engine.operators.matrices import wrap_arrays
from gpu_engine.operators.operands import is_tensor
from gpu_engine.operators.operator_preconditioner import OperatorPreconditioner
from gpu_engine.operators.products import Product
from gpu_engine.operators.vectors import FP64, DeviceVectors, Vectors
from gpu_engine.solvers import chebyshev as chebyshev_iteration
from gpu_engine.solvers import find_method, gmres, host, preconditioners, symmetry
from gpu_engine.solvers.base import CHECK_EVERY, Apply, Info, Method, Preconditioner, System, Tolerance, most_iterations
from gpu_engine.solvers.columns import column_method, each_column
from gpu_engine.solvers.vectors import norms

Callback = Callable[[Any], None]
"""`(x)`, or for several right-hand sides `(norms)`."""

Result = tuple[Any, Any]
"""(x, info), Info or for several right-hand sides ColumnInfo."""


class Solves:
    """Krylov solvers of an operator.

    Parameters of all of them:

    b            float64 [n] or [n, 1], on the device of the matrix; `cg` and `gmres` also take several columns [n, k]
    x0           start vector, of the shape of b; None: 0
    rtol, atol   a solve has converged if ‖b − A·x‖₂ ≤ max(rtol·‖b‖₂, atol); the residual is computed in twice the
                 precision
    maxiter      most iterations (GMRES: cycles); None: 10·n (MINRES: 5·n)
    M            approximate inverse of A: a linear operator, a sparse matrix, or a name of PRECONDITIONERS: `jacobi`
    callback     called with the iterate, which it must copy to keep: after each iteration on a CPU, after each test of
                 convergence on a GPU; with several right-hand sides, with the norms of their residuals, [k] on the host
    check_every  iterations between two tests of convergence on a GPU; x does not depend on it

    Return (x, info): x of the kind of b; info is 0 if the solve converged, the number of iterations if more are needed,
    and negative after a breakdown. `info.solution` has the status, the iterations, and the norms of the residual.
    With several right-hand sides, x has the order of b, and info and its solution have these per column.

    Raise ParameterError for a matrix that is not square or not symmetric where the method needs it, and for vectors
    and tolerances that are not finite.
    """

    shape: tuple[int, int]
    vectors: Vectors
    _source: Source
    _built: Built
    _product: Product
    _transposed: bool
    _solvers: dict[Any, Any]

    def cg(
        self,
        b: Any,
        x0: Any = None,
        *,
        rtol: float = 1e-5,
        atol: float = 0.0,
        maxiter: int | None = None,
        M: Any = None,
        callback: Callback | None = None,
        check_every: int = CHECK_EVERY,
    ) -> Result:
        """Solve A·x = b by conjugate gradients; A is symmetric positive definite (parameters: see `Solves`)."""
        return self._solve(find_method("cg"), b, x0, (rtol, atol, maxiter), M, callback, check_every)

    def minres(
        self,
        b: Any,
        x0: Any = None,
        *,
        rtol: float = 1e-5,
        atol: float = 0.0,
        maxiter: int | None = None,
        M: Any = None,
        callback: Callback | None = None,
        check_every: int = CHECK_EVERY,
    ) -> Result:
        """Solve A·x = b by MINRES; A is symmetric, M positive definite (parameters: see `Solves`)."""
        most = 5 * self.shape[0] if maxiter is None else maxiter
        return self._solve(find_method("minres"), b, x0, (rtol, atol, most), M, callback, check_every)

    def bicgstab(
        self,
        b: Any,
        x0: Any = None,
        *,
        rtol: float = 1e-5,
        atol: float = 0.0,
        maxiter: int | None = None,
        M: Any = None,
        callback: Callback | None = None,
        check_every: int = CHECK_EVERY,
    ) -> Result:
        """Solve A·x = b by BiCGSTAB (parameters: see `Solves`)."""
        return self._solve(find_method("bicgstab"), b, x0, (rtol, atol, maxiter), M, callback, check_every)

    def gmres(
        self,
        b: Any,
        x0: Any = None,
        *,
        rtol: float = 1e-5,
        atol: float = 0.0,
        restart: int = gmres.RESTART,
        maxiter: int | None = None,
        M: Any = None,
        callback: Callback | None = None,
    ) -> Result:
        """Solve A·x = b by GMRES, which restarts after `restart` iterations (parameters: see `Solves`)."""
        if restart < 1:
            raise ParameterError(f"restart is {restart}; expected at least 1.")
        cycles = 10 * self.shape[0] if maxiter is None else maxiter
        limits = rtol, atol, cycles * restart
        return self._solve(gmres.gmres(restart), b, x0, limits, M, callback, CHECK_EVERY)

    def chebyshev(
        self,
        b: Any,
        x0: Any = None,
        *,
        bounds: chebyshev_iteration.Bounds | None = None,
        rtol: float = 1e-5,
        atol: float = 0.0,
        maxiter: int | None = None,
        M: Any = None,
        callback: Callback | None = None,
        check_every: int = CHECK_EVERY,
    ) -> Result:
        """Solve A·x = b by the Chebyshev iteration; A is symmetric positive definite (parameters: see `Solves`).

        bounds  least and largest eigenvalue of M·A; None: estimated by a few iterations of CG
        """
        method = chebyshev_iteration.chebyshev(bounds or self._bounds(M))
        return self._solve(method, b, x0, (rtol, atol, maxiter), M, callback, check_every)

    def launch_solve(
        self,
        b: Any,
        x: Any,
        *,
        method: str = "cg",
        rtol: float = 1e-5,
        atol: float = 0.0,
        maxiter: int | None = None,
        M: Any = None,
        check_every: int = CHECK_EVERY,
    ) -> LaunchedSolve:
        """Launch a solve on the current stream of CuPy without waiting for it, also into a CUDA graph under capture.

        b, x    float64 [n] of CuPy; x is the start vector, and becomes the solution
        method  `cg`, `minres`, `bicgstab`, or `gmres`
        Other parameters: see `Solves`; numbers that are not finite end the solve with that status.

        A capture needs a solver that exists: call this once before, with the same method, M, and check_every.
        Raises ParameterError on a CPU, for other arrays, and for a preconditioner that the host calls.
        """
        chosen = find_method(method)
        check_launched(self.vectors, self.shape[0], b, x)
        with self._source.current(), self._product.lock:
            solver = self._device_solver(chosen, self._system(M, chosen.symmetric), check_every)
            most = 10 * self.shape[0] if maxiter is None else maxiter
            solver.enqueue(b, x, (rtol, atol), most * (gmres.RESTART if chosen.cycles else 1))
        return LaunchedSolve(solver, x)

    def bind_columns(self, k: int) -> Apply:
        """Return `(X, Y)`: Y := A·X for row-major float64 [n_cols, k], without a lock, with buffers of its own."""
        columns = self._column_product()
        if columns is None:
            return each_column(self._built.launch, self.shape, self.vectors.xp)
        launch = columns.bind(k)
        return lambda x, y: launch(x, y, 1.0, 0.0)

    def _column_product(self) -> ColumnProduct | None:
        raise NotImplementedError

    def _bounds(self, preconditioner: Any) -> chebyshev_iteration.Bounds:
        """Return the estimated bounds of the spectrum of M·A, which later solves use again."""
        with self._source.current(), self._product.lock:
            system = self._system(preconditioner, symmetric=True)
            key = "bounds", id(system.precondition)
            if key not in self._solvers:
                self._solvers[key] = chebyshev_iteration.estimate(system, self.vectors.xp)
            bounds: chebyshev_iteration.Bounds = self._solvers[key]
            return bounds

    def _solve(
        self,
        method: Method,
        b: Any,
        x0: Any,
        limits: tuple[float, float, int | None],
        preconditioner: Any,
        callback: Callback | None,
        check_every: int,
    ) -> Result:
        """Solve with a method, on the stream of the library of b."""
        if is_tensor(b):
            from gpu_engine.operators import tensors

            return tensors.solved(
                self, b, lambda array: self._solve(method, array, x0, limits, preconditioner, callback, check_every)
            )
        block = column_method(method)
        if block is not None and column_solves.has_several(self.vectors, b):
            return column_solves.solve(self, block, b, x0, limits, preconditioner, callback, check_every)
        with self._source.current():
            system = self._system(preconditioner, method.symmetric)
            vector, start = self._finite(b, "b"), self._start(x0)
            tolerance = self._tolerance(vector, *limits)
            with self._product.lock:
                if isinstance(self.vectors, DeviceVectors):
                    solver = self._device_solver(method, system, check_every)
                    solution = solver.solve(vector, start, tolerance, callback)
                else:
                    solution = host.solve(method, system, vector, start, tolerance, callback)
        return self.vectors.answer(start.reshape(np.shape(b)), b), Info(solution)

    def _device_solver(self, method: Method, system: System, check_every: int) -> Any:
        """Return a solver with its CUDA graph, which later solves of the same kind use again."""
        from gpu_engine.solvers.device import DeviceSolver

        if check_every < 1:
            raise ParameterError(f"check_every is {check_every}; expected at least 1.")
        key = method.title, check_every, id(system.precondition)
        if key not in self._solvers:
            self._solvers[key] = DeviceSolver(method, system, check_every)
        return self._solvers[key]

    def _system(self, preconditioner: Any, symmetric: bool) -> System:
        n_rows, n_cols = self.shape
        if n_rows != n_cols:
            raise ParameterError(f"The matrix is {n_rows} × {n_cols}; a solver needs a square one.")
        rows = self._by_rows()
        if symmetric and "symmetric" not in self._solvers:
            symmetry.check(rows)
            self._solvers["symmetric"] = True
        bare = System(n_rows, self._built.launch, rows)
        return replace(bare, precondition=self._preconditioner(preconditioner, bare))

    def _by_rows(self) -> Any:
        """Return the matrix of this operator by rows."""
        if "rows" not in self._solvers:
            stored, layout = self._source.wrapped.stored, self._built.layout
            is_by_rows = self._source.wrapped.by_columns == self._transposed
            copied = layout.to_csr() if isinstance(layout, CsrLayout) else None
            self._solvers["rows"] = stored if is_by_rows else copied or transpose(stored)
        return self._solvers["rows"]

    def _preconditioner(self, given: Any, system: System) -> Preconditioner | None:
        """Return M in the form of the solvers; the same object for the same argument."""
        if given is None:
            return None
        key = "M", given if isinstance(given, str) else id(given)
        if key not in self._solvers:
            # The argument is kept, so that its id stays its own.
            self._solvers[key] = self._made_preconditioner(given, system), given
        made: Preconditioner = self._solvers[key][0]
        return made

    def _made_preconditioner(self, given: Any, system: System) -> Preconditioner:
        if isinstance(given, Solves):
            return OperatorPreconditioner(given, system.n)
        if hasattr(given, "tocsr"):
            wrapped = Source(wrap_arrays(given), Wish(choose="predict"))
            kind: Any = type(self)
            return OperatorPreconditioner(kind(wrapped, wrapped.side(transposed=False)), system.n)
        return preconditioners.make(given, system)

    def _start(self, x0: Any) -> Any:
        if x0 is None:
            return self.vectors.xp.zeros(self.shape[0], FP64)
        return self._finite(x0, "x0").copy()

    def _finite(self, given: Any, name: str) -> Any:
        """Return a vector as float64 [n]; raises ParameterError if it is complex or has a number that is not finite."""
        xp = self.vectors.xp
        array = self.vectors.read(given, self.shape[0], False, name)
        if array.dtype.kind == "c":
            raise ParameterError(f"{name} is complex, but the solvers are real. Solve for both parts.")
        vector = xp.ascontiguousarray(array, FP64).reshape(-1)
        if not bool(xp.isfinite(vector).all()):
            raise ParameterError(f"{name} has a number that is not finite; there is no solution.")
        return vector

    def _tolerance(self, b: Any, rtol: float, atol: float, maxiter: int | None) -> Tolerance:
        most = most_iterations(self.shape[0], rtol, atol, maxiter)
        return Tolerance(max(rtol * float(norms(b[:, None])[0]), atol), most)
