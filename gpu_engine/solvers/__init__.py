"""Krylov solvers of A·x = b that run whole on one device.

base      Method, System, Solution: the contract of METHODS
residual  b − A·x in twice the precision, which decides whether a solve has converged
host      the loop around a method on a CPU; device, device_loop: the same loop as one CUDA graph
cg, minres, bicgstab, gmres, chebyshev    one method each: its recurrence on a CPU and its kernels
columns/                                  several right-hand sides at once
preconditioners/                          what M does, where a method can compute it in its own kernels
"""

from gpu_engine.errors import ParameterError, quote
from gpu_engine.solvers import batch, chebyshev, columns, outer, preconditioners
from gpu_engine.solvers.base import Method, Solution, Status
from gpu_engine.solvers.bicgstab import BICGSTAB
from gpu_engine.solvers.cg import CG
from gpu_engine.solvers.gmres import GMRES
from gpu_engine.solvers.minres import MINRES

__all__ = ["METHODS", "SOURCES", "Method", "Solution", "Status", "find_method"]

METHODS: tuple[Method, ...] = (CG, MINRES, BICGSTAB, GMRES)
"""Methods without parameters that a caller must know; `chebyshev` needs the bounds of the spectrum."""

SOURCES = (
    *(outer.SOURCE, batch.SOURCE, chebyshev.SOURCE),
    *(method.source for method in METHODS),
    *preconditioners.SOURCES,
    *columns.SOURCES,
)
"""CUDA sources of all solvers."""


def find_method(name: str) -> Method:
    """Return the method of this name; raises ParameterError that lists the known ones."""
    known = {method.name: method for method in METHODS}
    if name not in known:
        raise ParameterError(f"The method is {quote(name)}; expected one of {', '.join(known)}.")
    return known[name]
