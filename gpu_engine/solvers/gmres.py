"""GMRES(restart) for nonsymmetric matrices, with the preconditioner on the right.

Y. Saad, M. H. Schultz, GMRES, SIAM J. Sci. Stat. Comput. 7(3), 1986. Classical Gram–Schmidt, a second time where
much was canceled: L. Giraud, J. Langou, M. Rozložník, The loss of orthogonality in the Gram–Schmidt process, 2005.
"""

from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np

from gpu_engine.cuda.load import CudaSource
from gpu_engine.solvers import base
from gpu_engine.solvers.base import BreakdownError, Method, Status, Stop, System
from gpu_engine.solvers.preconditioning import APART, DIAGONAL, KINDS, NONE, apply, image, kind_of, operand
from gpu_engine.solvers.vectors import dot, preconditioned
from gpu_engine.solvers.workspace import Workspace

TOGETHER = (8, 16, 32)
"""Basis vectors that one pass over the rows multiplies; the smallest number that suffices."""

SOURCE = CudaSource(
    __package__,
    "gmres.cu",
    (
        *(f"gmres_{kernel}<{choice}>" for kernel in ("totals", "project") for choice in ("false", "true")),
        *(f"gmres_correct<{kind}>" for kind in KINDS),
        *(f"gmres_dots<{second}, {together}>" for second in ("false", "true") for together in TOGETHER),
        *("gmres_begin", "gmres_rotate", "gmres_weights", "gmres_add"),
    ),
)

CHUNK = 5
"""Iterations of a cycle between two conditions of the graph: after convergence, at most so many SpMVs are useless."""

RESTART = 30
"""Vectors of the basis after which GMRES restarts, unless the caller says otherwise."""

LEFT = 0.1
"""Share of a vector below which the first Gram–Schmidt pass has canceled so much that a second one follows."""

EPSILON = float(np.finfo(np.float64).eps)


def recurrence(restart: int, system: System, x: np.ndarray, r: np.ndarray, stop: Stop) -> None:
    """Improve x by cycles of `restart` iterations."""
    norm = np.sqrt(dot(r, r))
    ended = stop(norm**2)
    while not ended:
        ended, before = _cycle(min(restart, system.n), system, x, r, stop), norm
        norm = np.sqrt(dot(r, r))
        if not ended and norm >= before * (1.0 - EPSILON):
            raise BreakdownError(Status.STAGNATED)


def _cycle(restart: int, system: System, x: np.ndarray, r: np.ndarray, stop: Stop) -> bool:
    """Improve x by one cycle, set r to b − A·x, and return whether the recurrence ends."""
    basis = np.zeros((restart + 1, system.n))
    hessenberg, rotations = np.zeros((restart + 1, restart)), np.zeros((restart, 2))
    right = np.zeros(restart + 1)
    right[0] = np.sqrt(dot(r, r))
    basis[0] = r / right[0]
    z, ended, columns = np.empty_like(r), False, 0
    while columns < restart and not ended:
        j = columns
        column = _next_vector(system, basis, j, preconditioned(system, basis[j], z))
        hessenberg[: j + 2, j] = _rotated(column, rotations, j, right)
        if hessenberg[j, j] == 0.0:
            break
        columns = j + 1
        # The last entry of the rotated right-hand side is the norm of the residual.
        ended = stop(right[columns] ** 2)
        if column[j + 1] == 0.0:
            break
    y = np.linalg.solve(hessenberg[:columns, :columns], right[:columns]) if columns else np.zeros(0)
    z = preconditioned(system, y @ basis[:columns], z)
    x += z
    system.multiply(np.ascontiguousarray(z), basis[restart])
    r -= basis[restart]
    if not columns:
        raise BreakdownError(Status.BREAKDOWN)
    return ended


def _next_vector(system: System, basis: np.ndarray, j: int, z: np.ndarray) -> np.ndarray:
    """Write basis[j + 1], orthonormal to those before, and return the column of the Hessenberg matrix: [j + 2]."""
    w = basis[j + 1]
    system.multiply(np.ascontiguousarray(z), w)
    size, coefficients = np.sqrt(dot(w, w)), np.zeros(j + 2)
    coefficients[:-1] = _without(basis[: j + 1], w)
    length = np.sqrt(dot(w, w))
    if length < LEFT * size:
        coefficients[:-1] += _without(basis[: j + 1], w)
        length = np.sqrt(dot(w, w))
    # What is left of w is rounding: the Krylov space is complete.
    coefficients[-1] = length if length > EPSILON * size else 0.0
    if coefficients[-1]:
        w /= length
    return coefficients


def _without(basis: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Subtract from w its projections on the basis, and return them."""
    projections: np.ndarray = basis @ w
    w -= projections @ basis
    return projections


def _rotated(column: np.ndarray, rotations: np.ndarray, j: int, right: np.ndarray) -> np.ndarray:
    """Return the column after all Givens rotations, and apply the new one, which zeroes its last entry, to `right`."""
    column = column.copy()
    for i in range(j):
        c, s = rotations[i]
        column[i], column[i + 1] = c * column[i] + s * column[i + 1], c * column[i + 1] - s * column[i]
    length = np.hypot(column[j], column[j + 1])
    c, s = (column[j] / length, column[j + 1] / length) if length else (1.0, 0.0)
    rotations[j] = c, s
    column[j], column[j + 1] = length, 0.0
    right[j], right[j + 1] = c * right[j], -s * right[j]
    return column


class DeviceRecurrence(base.DeviceRecurrence):
    """A cycle of GMRES as launches: one SpMV and seven kernels per iteration.

    The basis is not normalized: its vectors have factors, which the kernels that read them apply.
    """

    def __init__(self, restart: int, system: System, work: Workspace) -> None:
        restart = min(restart, system.n)
        self._system, self._work, self._restart, self._kind = system, work, restart, kind_of(system)
        self._basis = work.xp.zeros((restart + 1, system.n), np.float64)
        # Factors, right-hand side, projections, rotations (two numbers each), weights, and the Hessenberg matrix.
        self._numbers = work.xp.zeros(6 * (restart + 2) + restart * (restart + 1), np.float64)
        self._z = image(system, work, self._basis[0])
        self._m = operand(system, self._z, work.r)
        self._handles = work.xp.zeros(restart, np.uint64)
        self.conditions: list[int] = []

    def captured(self) -> None:
        """Write the conditions of the graph that was captured last where its kernels read them."""
        self._handles[: len(self.conditions)].set(np.array(self.conditions, np.uint64))

    def start(self) -> None:
        """Implement `DeviceRecurrence`."""
        self._over_rows("begin", self._work.r, self._work.state)

    def cycle(self) -> None:
        """Launch all iterations of a cycle, in chunks that run while they are needed, and the correction of x."""
        work, target = self._work, self._z if self._kind == APART else self._work.x
        self._iterations()
        work.over_blocks(SOURCE, "gmres_weights", *self._cycle, work.state)
        self._over_rows(f"correct<{self._kind}>", self._m, target, work.state)
        if self._kind == APART:
            apply(self._system, self._z, work.r)
            work.over_rows(SOURCE, "gmres_add", work.r, work.x, work.state)

    def _iterations(self) -> None:
        # This module imports CuPy.
        from gpu_engine.cuda.conditional import if_true, new_handle, supported

        chunks = [range(self._restart)[first : first + CHUNK] for first in range(0, self._restart, CHUNK)]
        if not (supported() and self._work.xp.cuda.get_current_stream().is_capturing()):
            chunks = [range(self._restart)]
        conditions = [new_handle(0) for _ in chunks[1:]]
        self.conditions = conditions
        for number, chunk in enumerate(chunks):
            with if_true(conditions[number - 1]) if number else nullcontext():
                for j in chunk:
                    self._iterate(j, number if j == chunk[-1] else len(conditions), len(conditions))

    def _iterate(self, j: int, condition: int, conditions: int) -> None:
        """Launch iteration j; after it, the conditions from number `condition` on are set."""
        work, system, column = self._work, self._system, np.int32(j)
        blocks, after = np.int32(work.blocks), (work.partials, work.state)
        v = self._basis[j]
        if self._kind == DIAGONAL:
            work.xp.multiply(v, self._m, out=self._z)
        apply(system, v, self._z)
        system.multiply(v if self._kind == NONE else self._z, self._basis[j + 1])
        for second in ("false", "true"):
            together = next((size for size in TOGETHER if size >= j + 2), TOGETHER[-1])
            self._over_rows(f"dots<{second}, {together}>", column, *after)
            totals = f"gmres_totals<{second}>"
            work.over_blocks(SOURCE, totals, *self._cycle, column, blocks, *after, blocks=j + 2)
            self._over_rows(f"project<{second}>", column, *after)
        tail = column, blocks, *after, work.norms, self._handles, np.int32(condition), np.int32(conditions)
        work.over_blocks(SOURCE, "gmres_rotate", *self._cycle, *tail)

    @property
    def _cycle(self) -> tuple[Any, ...]:
        """Arguments of every kernel of a cycle."""
        n = self._work.n
        return self._basis, self._numbers, np.int64(n), np.int32(self._restart), np.int32(n)

    def _over_rows(self, name: str, *arguments: Any) -> None:
        self._work.over_blocks(SOURCE, f"gmres_{name}", *self._cycle, *arguments, blocks=self._work.blocks)


def gmres(restart: int = RESTART) -> Method:
    """Return GMRES that restarts after this many iterations."""
    return Method(
        name="gmres",
        title=f"GMRES({restart})",
        needs="square",
        on_host=partial(recurrence, restart),
        on_device=partial(DeviceRecurrence, restart),
        source=SOURCE,
        cycles=True,
        restart=restart,
        sums=restart + 2,
        passes=restart + 6,
    )


GMRES = gmres()


def passes_of(method: Method, restart: int, iterations: int) -> float:
    """Return the vectors that an iteration reads or writes; a cycle of GMRES that ends early has a smaller basis."""
    if not method.cycles:
        return method.passes
    return gmres(max(1, min(restart, iterations))).passes
