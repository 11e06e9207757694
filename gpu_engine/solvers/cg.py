"""CG: conjugate gradients for symmetric positive definite matrices.

M. R. Hestenes, E. Stiefel, Methods of conjugate gradients for solving linear systems, J. Res. NBS 49, 1952.
"""

from typing import Any

import numpy as np

from gpu_engine.cuda.load import CudaSource
from gpu_engine.solvers import base
from gpu_engine.solvers.base import BreakdownError, Method, Status, Stop, System
from gpu_engine.solvers.preconditioning import APART, KINDS, apply, kind_of, operand
from gpu_engine.solvers.vectors import dot, preconditioned
from gpu_engine.solvers.workspace import Workspace

SOURCE = CudaSource(
    __package__,
    "cg.cu",
    (
        *(f"{kernel}<{kind}>" for kernel in ("cg_begin", "cg_residual", "cg_direction") for kind in KINDS),
        *("cg_curvature", "cg_projection"),
    ),
)


def recurrence(system: System, x: np.ndarray, r: np.ndarray, stop: Stop) -> None:
    """Improve x by CG."""
    z, q = np.empty_like(r), np.empty_like(r)
    z = preconditioned(system, r, z)
    p, gamma, norm = z.copy(), dot(r, z), dot(r, r)
    while not stop(norm):
        if not gamma > 0.0:
            raise BreakdownError(Status.INDEFINITE_PRECONDITIONER)
        system.multiply(p, q)
        curvature = dot(p, q)
        if curvature <= 0.0:
            raise BreakdownError(Status.INDEFINITE)
        alpha = gamma / curvature
        x += alpha * p
        r -= alpha * q
        norm = dot(r, r)
        z = preconditioned(system, r, z)
        before, gamma = gamma, dot(r, z)
        p *= gamma / before
        p += z


class DeviceRecurrence(base.DeviceRecurrence):
    """CG as launches: one SpMV and three kernels per iteration."""

    def __init__(self, system: System, work: Workspace) -> None:
        self._system, self._work, self._kind = system, work, kind_of(system)
        self._p, self._q = work.vector(), work.vector()
        self._z = work.vector() if self._kind == APART else work.r
        self._m = operand(system, self._z, work.r)

    def start(self) -> None:
        """Implement `DeviceRecurrence`."""
        apply(self._system, self._work.r, self._z)
        self._launch(f"cg_begin<{self._kind}>", self._work.r, self._m, self._p, self._work.partials)

    def iterate(self, parity: int) -> None:  # noqa: ARG002 (no vectors change places)
        """Implement `DeviceRecurrence`."""
        work, after = self._work, (self._work.partials, self._work.state)
        self._system.multiply(self._p, self._q)
        self._launch("cg_curvature", self._p, self._q, *after)
        self._launch(f"cg_residual<{self._kind}>", self._q, work.r, self._m, *after)
        if self._kind == APART:
            apply(self._system, work.r, self._z)
            self._launch("cg_projection", work.r, self._z, *after)
        self._launch(f"cg_direction<{self._kind}>", work.r, self._m, self._p, work.x, *after)

    def _launch(self, name: str, *arguments: Any) -> None:
        self._work.over_rows(SOURCE, name, *arguments)


CG = Method(
    name="cg",
    title="CG",
    needs="symmetric positive definite",
    on_host=recurrence,
    on_device=DeviceRecurrence,
    source=SOURCE,
    symmetric=True,
    passes=10,
)
