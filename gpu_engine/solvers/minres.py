"""MINRES for symmetric matrices, indefinite or singular ones too; the preconditioner must be positive definite.

C. C. Paige, M. A. Saunders, Solution of sparse indefinite systems of linear equations, SIAM J. Numer. Anal. 12, 1975.
H. C. Elman, D. J. Silvester, A. J. Wathen, Finite Elements and Fast Iterative Solvers, 2nd ed., 2014, algorithm 4.1.
"""

from typing import Any

import numpy as np

from gpu_engine.cuda.load import CudaSource
from gpu_engine.solvers import base
from gpu_engine.solvers.base import BreakdownError, Method, Status, Stop, System
from gpu_engine.solvers.preconditioning import APART, KINDS, NONE, apply, kind_of, operand
from gpu_engine.solvers.vectors import dot, preconditioned
from gpu_engine.solvers.workspace import Workspace

SOURCE = CudaSource(
    __package__,
    "minres.cu",
    (
        *(f"minres_{kernel}<{kind}>" for kernel in ("begin", "lanczos") for kind in KINDS),
        *(f"minres_update<{choice}>" for choice in ("false", "true")),
        *("minres_scalars", "minres_alpha", "minres_projection"),
    ),
)


def recurrence(system: System, x: np.ndarray, r: np.ndarray, stop: Stop) -> None:
    """Improve x by MINRES: Lanczos vectors v, their directions w, and Givens rotations (c, s)."""
    v, v_before = r.copy(), np.zeros_like(r)
    w, w_before, q = np.zeros_like(r), np.zeros_like(r), np.empty_like(r)
    z = preconditioned(system, v, np.empty_like(r)).copy()
    beta = _length(dot(z, v))
    beta_before, eta, norm = 1.0, beta, dot(r, r)
    s_before = s = 0.0
    c_before = c = 1.0
    while not stop(norm):
        if beta == 0.0:
            raise BreakdownError(Status.BREAKDOWN)
        system.multiply(z, q)
        alpha = dot(q, z) / beta**2
        v_after = q / beta - (alpha / beta) * v - (beta / beta_before) * v_before
        z_after = preconditioned(system, v_after, np.empty_like(r))
        beta_after = _length(dot(z_after, v_after))
        below = c * alpha - c_before * s * beta
        diagonal = np.hypot(below, beta_after)
        if diagonal == 0.0:
            raise BreakdownError(Status.BREAKDOWN)
        upper, far = s * alpha + c_before * c * beta, s_before * beta
        w_after = (z / beta - far * w_before - upper * w) / diagonal
        c_before, s_before, c, s = c, s, below / diagonal, beta_after / diagonal
        x += (c * eta) * w_after
        # r = s²·r + φ·v: A. Greenbaum, Iterative Methods for Solving Linear Systems, 1997, section 2.5.
        r *= s * s
        if beta_after > 0.0:
            r -= (s * eta * c / beta_after) * v_after
        eta *= -s
        norm = dot(r, r)
        v_before, v, w_before, w = v, v_after, w, w_after
        z, beta_before, beta = z_after.copy(), beta, beta_after


def _length(square: float) -> float:
    """Return √(zᵀv), the norm of v in M; raises BreakdownError if M is not positive definite."""
    if square < 0.0:
        raise BreakdownError(Status.INDEFINITE_PRECONDITIONER)
    return float(np.sqrt(square))


class DeviceRecurrence(base.DeviceRecurrence):
    """MINRES as launches: one SpMV and three kernels per iteration.

    Vectors change places in every iteration: v and v₋, w and w₋, z and z'. parity tells which is which.
    """

    def __init__(self, system: System, work: Workspace) -> None:
        self._system, self._work, self._kind = system, work, kind_of(system)
        self._v, self._w = ((work.vector(), work.vector()) for _ in range(2))
        self._z = self._v if self._kind == NONE else (work.vector(), work.vector())
        self._q = work.vector()

    def start(self) -> None:
        """Implement `DeviceRecurrence`."""
        work, (v, before), (z, _) = self._work, self._v, self._z
        apply(self._system, work.r, z)
        m = operand(self._system, z, work.r)
        self._launch(f"begin<{self._kind}>", work.r, m, v, z, before, *self._w, work.partials)
        work.over_blocks(SOURCE, "minres_scalars", np.int32(work.blocks), work.partials, work.state)

    def iterate(self, parity: int) -> None:
        """Implement `DeviceRecurrence`."""
        work, after = self._work, (self._work.partials, self._work.state)
        v, before = self._v[parity], self._v[1 - parity]
        z, z_after = self._z[parity], self._z[1 - parity]
        w, w_before = self._w[parity], self._w[1 - parity]
        m, odd = operand(self._system, z_after, work.r), np.int32(parity)
        self._system.multiply(z, self._q)
        self._launch("alpha", self._q, z, *after)
        self._launch(f"lanczos<{self._kind}>", odd, self._q, v, before, m, z_after, *after)
        if self._kind == APART:
            apply(self._system, before, z_after)
            self._launch("projection", before, z_after, *after)
        kernel = f"update<{'false' if self._kind == NONE else 'true'}>"
        self._launch(kernel, odd, z, before, w, w_before, work.x, work.r, *after)

    def _launch(self, name: str, *arguments: Any) -> None:
        self._work.over_rows(SOURCE, f"minres_{name}", *arguments)


MINRES = Method(
    name="minres",
    title="MINRES",
    needs="symmetric",
    on_host=recurrence,
    on_device=DeviceRecurrence,
    source=SOURCE,
    symmetric=True,
    period=2,
    passes=14,
)
