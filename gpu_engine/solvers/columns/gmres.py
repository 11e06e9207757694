"""GMRES(restart) for several right-hand sides in lockstep: the cycle of gpu_engine/solvers/gmres.py per column."""

from functools import partial
from typing import Any

import numpy as np

from gpu_engine.cuda.load import CudaSource
from gpu_engine.solvers import base
from gpu_engine.solvers.base import Status, System
from gpu_engine.solvers.columns.base import ColumnMethod, ColumnProgress
from gpu_engine.solvers.columns.elements import dots
from gpu_engine.solvers.columns.workspace import ColumnWorkspace
from gpu_engine.solvers.preconditioning import APART, DIAGONAL, KINDS, NONE, apply, kind_of, operand
from gpu_engine.solvers.vectors import preconditioned

PASSES = ("false", "true")
"""Whether a pass of Gram–Schmidt is the second, in C++."""

SOURCE = CudaSource(
    __package__,
    "gmres.cu",
    (
        *(f"column_gmres_{kernel}<{kind}>" for kernel in ("direction", "correct") for kind in KINDS),
        *(
            f"column_gmres_{kernel}<{second}>"
            for kernel in ("dots", "totals", "project")
            for second in ("false", "true")
        ),
        *(f"column_gmres_{kernel}" for kernel in ("start", "begin", "rotate", "weights", "add")),
    ),
)

LEFT = 0.1
"""Share of a vector below which the first Gram–Schmidt pass has canceled so much that a second one follows."""

EPSILON = float(np.finfo(np.float64).eps)


class _Cycle:
    """The numbers of a cycle on a CPU: a basis and a Hessenberg matrix per column."""

    def __init__(self, restart: int, r: np.ndarray) -> None:
        n, k = r.shape
        self.basis, self.hessenberg = np.zeros((restart + 1, n, k)), np.zeros((restart + 1, restart, k))
        self.rotations, self.right = np.zeros((restart, 2, k)), np.zeros((restart + 1, k))
        self.right[0] = np.sqrt(dots(r, r))
        self.steps = np.zeros(k, np.int64)

    def orthogonalize(self, j: int) -> np.ndarray:
        """Make basis[j + 1] orthonormal to those before; return the column of each Hessenberg matrix: [j + 2, k]."""
        w, before = self.basis[j + 1], self.basis[: j + 1]
        size, coefficients = np.sqrt(dots(w, w)), np.zeros((j + 2, w.shape[1]))
        coefficients[:-1] = _without(before, w)
        length = np.sqrt(dots(w, w))
        if (length < LEFT * size).any():
            coefficients[:-1] += _without(before, w)
            length = np.sqrt(dots(w, w))
        # What is left of w is rounding: the Krylov space is complete.
        coefficients[-1] = np.where(length > EPSILON * size, length, 0.0)
        w *= np.where(coefficients[-1] != 0.0, 1.0 / length, 0.0)
        return coefficients

    def rotate(self, coefficients: np.ndarray, j: int) -> None:
        """Set column j of the Hessenberg matrices after all Givens rotations, and rotate the right-hand sides."""
        column = coefficients.copy()
        for i in range(j):
            c, s = self.rotations[i]
            column[i], column[i + 1] = c * column[i] + s * column[i + 1], c * column[i + 1] - s * column[i]
        length = np.hypot(column[j], column[j + 1])
        c, s = np.where(length != 0.0, column[j] / length, 1.0), np.where(length != 0.0, column[j + 1] / length, 0.0)
        self.rotations[j] = c, s
        column[j], column[j + 1] = length, 0.0
        self.hessenberg[: j + 2, j] = column
        self.right[j], self.right[j + 1] = c * self.right[j], -s * self.right[j]

    def correction(self) -> np.ndarray:
        """Return the sum of the basis of each column with the weights that its steps give: [n, k]."""
        weights = np.zeros_like(self.right)
        for i in reversed(range(int(self.steps.max()))):
            rest = self.right[i] - (self.hessenberg[i] * weights[:-1]).sum(axis=0)
            weights[i] = np.where(i < self.steps, rest / self.hessenberg[i, i], 0.0)
        total: np.ndarray = np.einsum("ik,ink->nk", weights, self.basis)
        return total


def recurrence(restart: int, system: System, x: np.ndarray, r: np.ndarray, progress: ColumnProgress) -> None:
    """Improve the active columns of x by a cycle of at most `restart` iterations."""
    cycle = _Cycle(min(restart, system.n), r)
    progress.begin(cycle.right[0] ** 2)
    cycle.basis[0] = np.where(progress.active, r / cycle.right[0], 0.0)
    z = np.empty_like(r)
    for j in range(min(restart, system.n)):
        if not progress.active.any():
            break
        system.multiply(preconditioned(system, cycle.basis[j], z), cycle.basis[j + 1])
        cycle.basis[j + 1][:, ~progress.active] = 0.0
        coefficients = cycle.orthogonalize(j)
        cycle.rotate(coefficients, j)
        is_singular = cycle.hessenberg[j, j] == 0.0
        if j == 0:
            progress.end(is_singular, Status.BREAKDOWN)
        progress.stop(is_singular)
        cycle.steps[progress.active] = j + 1
        # The last entry of the rotated right-hand side is the norm of the residual.
        progress.count(cycle.right[j + 1] ** 2)
        progress.stop(coefficients[-1] == 0.0)
    progress.stop(progress.active)
    if cycle.steps.any():
        x += np.where(cycle.steps > 0, preconditioned(system, cycle.correction(), z), 0.0)


def _without(basis: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Subtract from w its projections on the basis, and return them: [vectors, k]."""
    projections: np.ndarray = np.einsum("ink,nk->ik", basis, w)
    w -= np.einsum("ik,ink->nk", projections, basis)
    return projections


class DeviceRecurrence(base.DeviceRecurrence):
    """A cycle of GMRES as launches: one SpMM and eight kernels per iteration.

    The vectors of the basis have factors, which the kernels that read them apply. The step of the cycle lies on the
    device, so that all iterations are the same launches.
    """

    def __init__(self, restart: int, system: System, work: ColumnWorkspace) -> None:
        restart = max(1, min(restart, system.n))
        self._system, self._work, self._kind = system, work, kind_of(system)
        self._restart, self._totals = np.int32(restart), (restart + 2) * work.k
        self._basis = work.xp.zeros((restart + 1, work.n, work.k), np.float64)
        # Factors, right-hand sides, projections, products of both, weights, rotations, and the Hessenberg matrices.
        self._numbers = work.xp.zeros((7 * (restart + 2) + restart * (restart + 1), work.k), np.float64)
        self._p, self._w = work.block(), work.block()
        self._z = work.block() if self._kind == APART else self._p
        self._m = operand(system, self._z, work.r)

    def start(self) -> None:
        """Implement `DeviceRecurrence`."""
        work, cycle = self._work, (self._restart, self._numbers)
        self._over_blocks("start", work.k, *cycle, work.state, work.columns)
        self._over_rows("begin", work.r, self._basis, work.state, work.columns)
        self._direction(0)

    def iterate(self, parity: int) -> None:  # noqa: ARG002 (no blocks change places)
        """Implement `DeviceRecurrence`."""
        work, state = self._work, (self._work.state, self._work.columns)
        apply(self._system, self._p, self._z)
        self._system.multiply(self._z, self._w)
        for second in PASSES:
            self._over_rows(f"dots<{second}>", self._basis, self._w, work.partials, *state)
            self._over_blocks(f"totals<{second}>", self._totals, self._restart, self._numbers, *work.sums, *state)
            operands = self._restart, self._basis, self._w, self._numbers, work.partials
            self._over_rows(f"project<{second}>", *operands, *state)
        work.over_columns(SOURCE, "column_gmres_rotate", self._restart, self._numbers, *state)
        self._direction(1)

    def finish(self) -> None:
        """Implement `DeviceRecurrence`."""
        work, cycle = self._work, (self._restart, self._numbers)
        self._over_blocks("weights", work.k, *cycle, work.state)
        target = self._z if self._kind == APART else work.x
        self._over_rows(
            f"correct<{self._kind}>", self._restart, self._basis, self._numbers, self._m, target, work.state
        )
        if self._kind == APART:
            apply(self._system, self._z, self._w)
            self._over_rows("add", self._w, work.x, work.state)

    def _direction(self, advance: int) -> None:
        """Launch the next direction, after so many steps."""
        kind, work = DIAGONAL if self._kind == DIAGONAL else NONE, self._work
        operands = self._restart, self._basis, self._numbers, self._m, self._p
        self._over_rows(f"direction<{kind}>", *operands, work.state, work.columns, np.int32(advance))

    def _over_rows(self, name: str, *arguments: Any) -> None:
        self._work.over_rows(SOURCE, f"column_gmres_{name}", *arguments)

    def _over_blocks(self, name: str, blocks: int, *arguments: Any) -> None:
        self._work.over_blocks(SOURCE, f"column_gmres_{name}", *arguments, blocks=blocks)


def gmres(restart: int) -> ColumnMethod:
    """Return GMRES that restarts after this many iterations."""
    return ColumnMethod(
        name="gmres",
        title=f"GMRES({restart})",
        on_host=partial(recurrence, restart),
        on_device=partial(DeviceRecurrence, restart),
        source=SOURCE,
        restart=restart,
        sums=restart + 4,
    )
