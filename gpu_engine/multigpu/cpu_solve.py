"""Steps of CG on one of several simulated devices, each in one thread; see solve.py."""

from collections.abc import Sequence
from typing import Any

from gpu_engine.host.jit import numba
from gpu_engine.multigpu.base import SolveRows

N_PARTIALS = 1
"""Numbers that `advance` leaves for `project`: r·r."""


def advance(rows: SolveRows, sums: Any, before: Any, after: Any) -> None:
    """Update p, s, x, and r."""
    rows.partials[0] = _advance(sums, before, after, rows.p, rows.s, rows.w, rows.x, rows.r)


def targets(arrays: Sequence[Any]) -> Any:
    """Return the arrays."""
    return tuple(arrays)


def project(rows: SolveRows, targets: Any, squares: bool) -> None:
    """Compute r·r and r·w and write them to all targets; squares: also r·r, which `advance` computes otherwise."""
    totals = _dot(rows.r, rows.r) if squares else rows.partials[0], _dot(rows.r, rows.w)
    for target in targets:
        target[:] = totals


@numba.njit(cache=True, nogil=True)
def _advance(sums: Any, before: Any, after: Any, p: Any, s: Any, w: Any, x: Any, r: Any) -> float:
    """Implement advance_cg of solve_steps.cu."""
    gamma, delta = 0.0, 0.0
    for device in range(sums.size // 2):
        gamma += sums[2 * device]
        delta += sums[2 * device + 1]
    first = not before[0] > 0.0
    beta = 0.0 if first else gamma / before[0]
    curvature = delta if first else delta - beta * gamma / before[1]
    broken = before[2] != 0.0 or (gamma != 0.0 and not curvature > 0.0)
    runs = not broken and gamma != 0.0
    alpha = gamma / curvature if runs else 0.0
    square = 0.0
    for row in range(r.size):
        if runs:
            p[row] = r[row] + beta * p[row]
            s[row] = w[row] + beta * s[row]
            x[row] += alpha * p[row]
            r[row] -= alpha * s[row]
        square += r[row] * r[row]
    after[0], after[1], after[2] = (gamma, alpha, 0.0) if runs else (before[0], before[1], 1.0 if broken else 0.0)
    return square


@numba.njit(cache=True, nogil=True)
def _dot(a: Any, b: Any) -> float:
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total
