"""Vector operations: those of the recurrences on a CPU, and norms of right-hand sides."""

from typing import Any

import numpy as np

from gpu_engine.formats.base import array_module
from gpu_engine.solvers.base import System


def dot(a: np.ndarray, b: np.ndarray) -> float:
    """Return aᵀb; nan and infinity pass without a warning, because the recurrence tests for them."""
    with np.errstate(all="ignore"):
        return float(np.dot(a, b))


def preconditioned(system: System, v: Any, out: Any) -> Any:
    """Return M·v in `out`, or v itself without a preconditioner."""
    if system.precondition is None:
        return v
    system.precondition(v, out)
    return out


def norms(columns: Any) -> np.ndarray:
    """Return the 2-norm of each column of a float64 [n, k], NumPy or CuPy: float64 [k], on the host.

    Squares of numbers above 10¹⁵⁴ overflow, and a bound of the residual that is infinite would accept any x.
    """
    xp = array_module(columns)
    largest = abs(columns).max(axis=0) if columns.size else xp.zeros(columns.shape[1])
    largest = xp.maximum(largest, np.finfo(np.float64).tiny)
    lengths = largest * xp.sqrt(((columns / largest) ** 2).sum(axis=0))
    return np.asarray(lengths if xp is np else lengths.get())
