"""Krylov solvers of A·X = B for up to COLUMNS_MAX right-hand sides at once, with one SpMM per iteration.

base       ColumnMethod, ColumnSolution: the contract of COLUMN_METHODS
cg, gmres  the recurrence of a method on a CPU and its kernels
host       the loop around a recurrence on a CPU; device: the same loop as one CUDA graph; workspace: its memory
elements   dot products and updates of blocks [n, k] on a CPU
each       SpMMs and preconditioners that take one vector at a time

Each column has a recurrence of its own, with its own α and β, and all go in lockstep: an SpMM multiplies the direction
vectors of all columns. A column that has converged or broken down stays as it is until the others have.

These are not block Krylov methods, which search one space for all columns: D. P. O'Leary, The block conjugate gradient
algorithm and related methods, Linear Algebra Appl. 29, 1980. Those take fewer iterations, but their k × k systems are
singular as soon as residuals depend on each other: with equal columns, with a column that converges before the others,
and with zeros. They then need a factorization that reveals the rank, per iteration. Here, each column has the
iterations, the ending, and the rounding errors of a solve of its own.
"""

from collections.abc import Callable

from gpu_engine.solvers.base import Method
from gpu_engine.solvers.columns import device, gmres
from gpu_engine.solvers.columns.base import COLUMNS_MAX, ColumnInfo, ColumnMethod, ColumnSolution, ColumnTolerance
from gpu_engine.solvers.columns.cg import CG
from gpu_engine.solvers.columns.each import ColumnPreconditioner, each_column

__all__ = [
    "COLUMNS_MAX",
    "COLUMN_METHODS",
    "SOURCES",
    "ColumnInfo",
    "ColumnMethod",
    "ColumnPreconditioner",
    "ColumnSolution",
    "ColumnTolerance",
    "column_method",
    "each_column",
]

COLUMN_METHODS: dict[str, Callable[[int], ColumnMethod]] = {"cg": lambda _: CG, "gmres": gmres.gmres}
"""Methods for several right-hand sides of a restart, by the name of the function of an operator."""

SOURCES = (device.SOURCE, CG.source, gmres.SOURCE)
"""CUDA sources of these solvers."""


def column_method(method: Method) -> ColumnMethod | None:
    """Return a method for several right-hand sides; None if there is none."""
    make = COLUMN_METHODS.get(method.name)
    return None if make is None else make(method.restart)
