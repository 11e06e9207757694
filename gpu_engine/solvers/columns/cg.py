"""CG for several right-hand sides in lockstep: the recurrence of gpu_engine/solvers/cg.py per column."""

from typing import Any

import numpy as np

from gpu_engine.cuda.load import CudaSource
from gpu_engine.solvers import base
from gpu_engine.solvers.base import Status, System
from gpu_engine.solvers.columns.base import ColumnMethod, ColumnProgress
from gpu_engine.solvers.columns.elements import add_scaled, dots, scale_and_add
from gpu_engine.solvers.columns.workspace import ColumnWorkspace
from gpu_engine.solvers.preconditioning import APART, KINDS, apply, kind_of, operand
from gpu_engine.solvers.vectors import preconditioned

SOURCE = CudaSource(
    __package__,
    "cg.cu",
    (
        *(f"column_cg_{kernel}<{kind}>" for kernel in ("begin", "residual", "direction") for kind in KINDS),
        *(f"column_cg_{kernel}" for kernel in ("start", "curvature", "alpha", "projection", "beta")),
    ),
)


def recurrence(system: System, x: np.ndarray, r: np.ndarray, progress: ColumnProgress) -> None:
    """Improve the active columns of x by CG."""
    z, q = np.empty_like(r), np.empty_like(r)
    z = preconditioned(system, r, z)
    p, gamma = z.copy(), dots(r, z)
    progress.begin(dots(r, r))
    while progress.active.any():
        system.multiply(p, q)
        curvature = dots(p, q)
        progress.end(gamma <= 0.0, Status.INDEFINITE_PRECONDITIONER)
        progress.end(curvature <= 0.0, Status.INDEFINITE)
        active = progress.active.copy()
        alpha = gamma / curvature
        add_scaled(active, alpha, p, x)
        add_scaled(active, -alpha, q, r)
        z = preconditioned(system, r, z)
        before, gamma = gamma, dots(r, z)
        progress.count(dots(r, r))
        scale_and_add(active, gamma / before, z, p)


class DeviceRecurrence(base.DeviceRecurrence):
    """CG as launches: one SpMM and five kernels per iteration."""

    def __init__(self, system: System, work: ColumnWorkspace) -> None:
        self._system, self._work, self._kind = system, work, kind_of(system)
        self._p, self._q = work.block(), work.block()
        self._z = work.block() if self._kind == APART else work.r
        self._m = operand(system, self._z, work.r)

    def start(self) -> None:
        """Implement `DeviceRecurrence`."""
        work = self._work
        apply(self._system, work.r, self._z)
        self._over_rows(f"begin<{self._kind}>", work.r, self._m, self._p, work.partials, work.state)
        self._over_columns("start", work.state, work.columns)

    def iterate(self, parity: int) -> None:  # noqa: ARG002 (no blocks change places)
        """Implement `DeviceRecurrence`."""
        work, after = self._work, (self._work.partials, self._work.state)
        self._system.multiply(self._p, self._q)
        self._over_rows("curvature", self._p, self._q, *after)
        self._over_columns("alpha", work.state)
        self._over_rows(f"residual<{self._kind}>", self._q, work.r, self._m, *after)
        if self._kind == APART:
            apply(self._system, work.r, self._z)
            self._over_rows("projection", work.r, self._z, *after)
        self._over_columns("beta", work.state, work.columns)
        self._over_rows(f"direction<{self._kind}>", work.r, self._m, self._p, work.x, work.state)

    def _over_rows(self, name: str, *arguments: Any) -> None:
        self._work.over_rows(SOURCE, f"column_cg_{name}", *arguments)

    def _over_columns(self, name: str, *arguments: Any) -> None:
        self._work.over_columns(SOURCE, f"column_cg_{name}", *arguments)


CG = ColumnMethod(name="cg", title="CG", on_host=recurrence, on_device=DeviceRecurrence, source=SOURCE, symmetric=True)
