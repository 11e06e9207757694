"""Vector operations of the recurrences on a CPU."""

from typing import Any

import numpy as np

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
