"""LibrarySystem and Answer: a system as a library solves it, and what a counted solve returns."""

from dataclasses import dataclass
from typing import Any

from gpu_engine.csr_matrix import CsrMatrix


@dataclass(frozen=True, slots=True)
class LibrarySystem:
    """A system and how to solve it.

    matrix          the matrix by rows, on the device of b
    preconditioner  `none` or `jacobi`
    restart         iterations of a cycle of GMRES
    """

    matrix: CsrMatrix
    b: Any
    method: str
    preconditioner: str = "none"
    restart: int = 30
    iterations_max: int = 1000

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.matrix.n_rows


@dataclass(frozen=True, slots=True)
class Answer:
    """A solve of a library.

    x          float64 [n], on the device
    spmvs      SpMVs, including those for residuals
    converged  whether the library says that its own tolerance is met
    """

    x: Any
    iterations: int
    spmvs: int
    converged: bool
