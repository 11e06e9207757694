"""LIBRARY_SOLVERS: complete solves by SciPy, CuPy, and NVIDIA Warp, called as their users call them.

A library decides by its own norm when a solve ends. `tightest` gives it a smaller tolerance until the true residual
meets the bound of the study.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import numpy as np
import scipy
import scipy.sparse

from gpu_engine.competitors import warp_solvers
from gpu_engine.competitors.library_calls import cupyx_matrix
from gpu_engine.competitors.solver_calls import Answer, LibrarySystem
from gpu_engine.errors import KernelError, ParameterError, SparsightError
from gpu_engine.solvers.preconditioners.jacobi import inverse_diagonal

PRECONDITIONERS = ("none", "jacobi")
"""Preconditioners that all libraries have."""

TRIES, MARGIN = 8, 1.1
"""Tolerances to try, and the factor by which each is tighter than the residual of the one before asks for."""

PROGRESS = 0.99
"""Factor by which a tighter tolerance must reduce the residual; otherwise the search ends."""

LEAST = 1e-16
"""Smallest tolerance that a library is given."""


class BoundSolver(Protocol):
    """A solver of a library with its matrix, its preconditioner, and b."""

    def solve(self, tolerance: float) -> Any:
        """Solve with a relative tolerance, and return x on the device."""
        ...

    def count(self, tolerance: float) -> Answer:
        """Solve once more, and count iterations and SpMVs."""
        ...


@dataclass(frozen=True, slots=True)
class LibrarySolver:
    """The solvers of a library.

    bind      creates the matrix of the library from device arrays; raises ParameterError without the library or method
    versions  library name → version, of an installed library
    """

    name: str
    summary: str
    backend: str
    bind: Callable[[LibrarySystem], BoundSolver]
    versions: Callable[[], Mapping[str, str]]

    @property
    def library(self) -> str:
        """Name of the library in kernel names: `scipy`."""
        return self.name.partition("/")[0]


@dataclass(slots=True)
class _Counter:
    """A matrix that counts its SpMVs, and a callback that counts iterations."""

    matrix: Any
    spmvs: int = 0
    iterations: int = 0

    def multiply(self, x: Any) -> Any:
        self.spmvs += 1
        return self.matrix @ x

    def count(self, _: Any) -> None:
        self.iterations += 1


class _Functions:
    """Functions of `scipy.sparse.linalg`, or of the module of CuPy with the same names."""

    def __init__(self, system: LibrarySystem, module: str, matrix: Any, jacobi: Any) -> None:
        self._linalg, self._system, self._matrix, self._jacobi = import_module(module), system, matrix, jacobi
        self._is_scipy = module.startswith("scipy")
        if not hasattr(self._linalg, system.method):
            raise ParameterError(f"{module} has no {system.method}. Choose another method.")

    def solve(self, tolerance: float) -> Any:
        """Implement `BoundSolver`."""
        x, _ = self._call(self._matrix, tolerance)
        return x

    def count(self, tolerance: float) -> Answer:
        """Implement `BoundSolver`."""
        counter, system = _Counter(self._matrix), self._system
        shape, dtype = (system.n, system.n), np.dtype(np.float64)
        counting = self._linalg.LinearOperator(shape, matvec=counter.multiply, dtype=dtype)
        more: dict[str, Any] = {"callback": counter.count}
        if system.method == "gmres":
            more["callback_type"] = "pr_norm"
        x, info = self._call(counting, tolerance, **more)
        iterations = counter.iterations
        if system.method == "gmres" and not self._is_scipy:
            # The callback is called once per cycle, which has one more SpMV than iterations.
            restart = min(system.restart, system.n)
            iterations = counter.spmvs // (restart + 1) * restart
        return Answer(x, iterations, counter.spmvs, info == 0)

    def _call(self, matrix: Any, tolerance: float, **more: Any) -> tuple[Any, int]:
        system = self._system
        options: dict[str, Any] = {"rtol": tolerance, "atol": 0.0, "maxiter": system.iterations_max, "M": self._jacobi}
        if system.method == "minres":
            del options["atol"]
            if not self._is_scipy:
                options["tol"] = options.pop("rtol")
        if system.method == "gmres":
            options["restart"] = min(system.restart, system.n)
            if self._is_scipy:
                # SciPy counts cycles.
                options["maxiter"] = -(-system.iterations_max // options["restart"])
        x, info = getattr(self._linalg, system.method)(matrix, system.b, **options, **more)
        return x, int(info)


def _scipy(system: LibrarySystem) -> BoundSolver:
    import_module("scipy.sparse.linalg")
    inverse = _inverse_diagonal(system)
    jacobi = None if inverse is None else scipy.sparse.diags_array(inverse, format="csr")
    return _Functions(system, "scipy.sparse.linalg", system.matrix.to_scipy(), jacobi)


def _cupy(system: LibrarySystem) -> BoundSolver:
    inverse = _inverse_diagonal(system)
    sparse = import_module("cupyx.scipy.sparse")
    jacobi = None if inverse is None else sparse.diags(inverse, format="csr")
    return _Functions(system, "cupyx.scipy.sparse.linalg", cupyx_matrix(system.matrix), jacobi)


def _inverse_diagonal(system: LibrarySystem) -> Any:
    """Return 1 / diagonal for Jacobi, else None; raises ParameterError if a diagonal element is 0."""
    return None if system.preconditioner == "none" else inverse_diagonal(system.matrix)


LIBRARY_SOLVERS: tuple[LibrarySolver, ...] = (
    LibrarySolver(
        "scipy/solver",
        "scipy.sparse.linalg with its own CSR matrix",
        "cpu",
        _scipy,
        lambda: {"SciPy": scipy.__version__},
    ),
    LibrarySolver(
        "cupy/solver",
        "cupyx.scipy.sparse.linalg with its own CSR matrix",
        "cuda",
        _cupy,
        lambda: {"CuPy": str(import_module("cupy").__version__)},
    ),
    *(
        LibrarySolver(f"warp/{mode}", summary, "cuda", warp_solvers.binding(mode), warp_solvers.versions)
        for mode, summary in warp_solvers.MODES.items()
    ),
)
"""Solvers of libraries, installed or not."""

LIBRARIES = frozenset(solver.library for solver in LIBRARY_SOLVERS)
"""Names of the libraries, which are the formats of their records."""


def solver_names(backend: str) -> tuple[str, ...]:
    """Return the names of the library solvers on a back end."""
    return tuple(solver.name for solver in LIBRARY_SOLVERS if solver.backend == backend)


def find_solver(name: str) -> LibrarySolver | None:
    """Return the library solver of a name; None if it is a kernel of Sparsight."""
    return next((solver for solver in LIBRARY_SOLVERS if solver.name == name), None)


@contextmanager
def library_call(name: str) -> Iterator[None]:
    """Convert errors of a library in the block to ParameterError, which skips the case; errors of the device stay."""
    try:
        yield
    except (SparsightError, MemoryError):
        raise
    except Exception as error:
        if type(error).__module__.startswith(("cupy_backends", "cupy.cuda")):
            raise
        raise ParameterError(f"{name} cannot solve this system: {type(error).__name__}: {error}") from error


def tightest(solve: Callable[[float], Any], norm_of: Callable[[Any], float], rtol: float, bound: float) -> float:
    """Return the tolerance with which a library meets the bound, at most rtol.

    solve    tolerance → x; norm_of: x → ‖b − A·x‖₂
    Raises KernelError if no tolerance leads to a residual below the bound.
    """
    tolerance, norm = rtol, float("inf")
    for _ in range(TRIES):
        before, norm = norm, norm_of(solve(tolerance))
        if norm <= bound:
            return tolerance
        # A solve that ends at its most iterations gains nothing from a tighter tolerance.
        if tolerance <= LEAST or not norm < PROGRESS * before:
            break
        tolerance = max(tolerance / (MARGIN * max(norm / bound, MARGIN)), LEAST)
    raise KernelError(f"The library did not converge: ‖b − A·x‖ is {norm:.3g}, above {bound:.3g}, for all tolerances.")
