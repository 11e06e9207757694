"""BiCGSTAB for nonsymmetric matrices, with the preconditioner on the right, so that its residual stays the true one.

H. A. van der Vorst, Bi-CGSTAB, SIAM J. Sci. Stat. Comput. 13(2), 1992.
"""

from typing import Any

import numpy as np

from gpu_engine.cuda.load import CudaSource
from gpu_engine.solvers import base
from gpu_engine.solvers.base import BreakdownError, Method, Status, Stop, System
from gpu_engine.solvers.preconditioning import KINDS, apply, image, kind_of, operand
from gpu_engine.solvers.vectors import dot, preconditioned
from gpu_engine.solvers.workspace import Workspace

SOURCE = CudaSource(
    __package__,
    "bicgstab.cu",
    (
        *(f"bicgstab_{kernel}<{kind}>" for kernel in ("begin", "half", "direction") for kind in KINDS),
        *("bicgstab_projection", "bicgstab_stabilizer", "bicgstab_update"),
    ),
)

TINY = np.finfo(np.float64).eps ** 2
"""|ρ| below TINY·‖r̂‖·‖r‖ is a breakdown: r is orthogonal to the shadow residual r̂."""


def recurrence(system: System, x: np.ndarray, r: np.ndarray, stop: Stop) -> None:
    """Improve x by BiCGSTAB; the shadow residual r̂ is the first residual."""
    shadow, p = r.copy(), r.copy()
    v, t, z = np.empty_like(r), np.empty_like(r), np.empty_like(r)
    rho = norm = shadow_norm = dot(r, r)
    while not stop(norm):
        if abs(rho) <= TINY * np.sqrt(shadow_norm * norm):
            raise BreakdownError(Status.BREAKDOWN)
        z = preconditioned(system, p, z)
        system.multiply(z, v)
        projection = dot(shadow, v)
        if projection == 0.0:
            raise BreakdownError(Status.BREAKDOWN)
        alpha = rho / projection
        x += alpha * z
        r -= alpha * v
        z = preconditioned(system, r, z)
        system.multiply(z, t)
        square = dot(t, t)
        # t = 0 only where r is 0 already, or A is singular.
        omega = dot(t, r) / square if square > 0.0 else 0.0
        x += omega * z
        r -= omega * t
        norm = dot(r, r)
        before, rho = rho, dot(shadow, r)
        if omega == 0.0:
            if stop(norm):
                return
            raise BreakdownError(Status.BREAKDOWN)
        p -= omega * v
        p *= (rho / before) * (alpha / omega)
        p += r


class DeviceRecurrence(base.DeviceRecurrence):
    """BiCGSTAB as launches: two SpMVs and five kernels per iteration."""

    def __init__(self, system: System, work: Workspace) -> None:
        self._system, self._work, self._kind = system, work, kind_of(system)
        self._shadow, self._p, self._v, self._t = (work.vector() for _ in range(4))
        self._mp, self._mr = image(system, work, self._p), image(system, work, work.r)
        self._m = operand(system, work.r, work.r)

    def start(self) -> None:
        """Implement `DeviceRecurrence`."""
        work = self._work
        self._launch(f"begin<{self._kind}>", work.r, self._m, self._shadow, self._p, self._mp, *self._after)
        apply(self._system, self._p, self._mp)

    def iterate(self, parity: int) -> None:  # noqa: ARG002 (no vectors change places)
        """Implement `DeviceRecurrence`."""
        work, system = self._work, self._system
        system.multiply(self._mp, self._v)
        self._launch("projection", self._shadow, self._v, *self._after)
        self._launch(f"half<{self._kind}>", self._v, work.r, self._m, self._mr, *self._after)
        apply(system, work.r, self._mr)
        system.multiply(self._mr, self._t)
        self._launch("stabilizer", work.r, self._t, *self._after)
        self._launch("update", self._shadow, self._mp, self._mr, self._t, work.r, work.x, *self._after)
        self._launch(f"direction<{self._kind}>", work.r, self._v, self._p, self._m, self._mp, *self._after)
        apply(system, self._p, self._mp)

    @property
    def _after(self) -> tuple[Any, Any]:
        return self._work.partials, self._work.state

    def _launch(self, name: str, *arguments: Any) -> None:
        self._work.over_rows(SOURCE, f"bicgstab_{name}", *arguments)


BICGSTAB = Method(
    name="bicgstab",
    title="BiCGSTAB",
    needs="square",
    on_host=recurrence,
    on_device=DeviceRecurrence,
    source=SOURCE,
    spmvs=2,
    passes=19,
)
