"""PRECONDITIONERS: approximate inverses by name, and those that a caller brings."""

from collections.abc import Callable
from typing import Any

from gpu_engine.errors import ParameterError, quote
from gpu_engine.formats.base import array_module
from gpu_engine.solvers.base import Preconditioner, System
from gpu_engine.solvers.preconditioners import block_jacobi as blocks
from gpu_engine.solvers.preconditioners import chebyshev as polynomial
from gpu_engine.solvers.preconditioners import incomplete
from gpu_engine.solvers.preconditioners.foreign import Foreign
from gpu_engine.solvers.preconditioners.jacobi import jacobi

PRECONDITIONERS: dict[str, Callable[..., Preconditioner]] = {
    "jacobi": jacobi,
    "block-jacobi": blocks.block_jacobi,
    "chebyshev": polynomial.chebyshev,
    "ic": incomplete.ic,
    "ilu": incomplete.ilu,
}
"""Functions of a system; those that take a number have it after a colon: `block-jacobi:3`, `chebyshev:8`."""

SOURCES = (blocks.SOURCE, polynomial.SOURCE, incomplete.SOURCE)
"""CUDA sources of the preconditioners."""


def make(given: Any, system: System) -> Preconditioner:
    """Return M for a system: by name, or an object that multiplies vectors.

    Raises ParameterError for an unknown name or number, and for an object of another shape.
    """
    if not isinstance(given, str):
        return Foreign(given, system.n, array_module(system.rows.values))
    if not is_name(given):
        names = ", ".join(PRECONDITIONERS)
        raise ParameterError(f"M is {quote(given)}; expected a linear operator, or one of {names}, `block-jacobi:3`.")
    name, _, number = given.partition(":")
    return PRECONDITIONERS[name](system, *([int(number)] if number else []))


def products(name: str) -> int:
    """Return the SpMVs with A in one application of a preconditioner by its name: those of a polynomial."""
    given, _, number = name.partition(":")
    return (int(number) if number else polynomial.DEGREE) - 1 if given == "chebyshev" else 0


def is_name(text: str) -> bool:
    """Return whether a text is a name of PRECONDITIONERS, with a number only if its function takes one."""
    name, colon, number = text.partition(":")
    takes_number = name in PRECONDITIONERS and PRECONDITIONERS[name] is not jacobi
    return name in PRECONDITIONERS and (not colon or (takes_number and number.isdecimal()))
