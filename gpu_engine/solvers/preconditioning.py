"""How a method applies its preconditioner on a GPU: not at all, in its own kernels, or as launches in between."""

from typing import Any

from gpu_engine.solvers.base import System
from gpu_engine.solvers.workspace import Workspace

NONE, DIAGONAL, APART = "NONE", "DIAGONAL", "APART"
"""Names of `Preconditioner` in cuda/solve.cuh."""

KINDS = (NONE, DIAGONAL, APART)


def kind_of(system: System) -> str:
    """Return how the preconditioner of a system is applied."""
    if system.precondition is None:
        return NONE
    return APART if system.precondition.diagonal is None else DIAGONAL


def operand(system: System, z: Any, none: Any) -> Any:
    """Return the argument `m` of a kernel: the diagonal, z = M·r where M was applied apart, or a vector not read."""
    kind = kind_of(system)
    return none if kind == NONE else z if kind == APART else system.precondition.diagonal  # type: ignore[union-attr]


def image(system: System, work: Workspace, v: Any) -> Any:
    """Return the vector of M·v: v itself without a preconditioner, else a new one."""
    return v if kind_of(system) == NONE else work.vector()


def apply(system: System, v: Any, out: Any) -> None:
    """Launch out := M·v if M is applied apart."""
    if kind_of(system) == APART:
        system.precondition(v, out)  # type: ignore[misc]
