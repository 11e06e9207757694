"""CG on a matrix that is partitioned by rows over the devices of one process.

An iteration has one exchange, that of r, and one sum over all devices: γ = r·r and δ = r·A·r, from which each device
computes α and β itself. So the host only launches, and reads the sums after every CHECK_EVERY iterations. The SpMV
w := A·r and one more recurrence, s = A·p, take the place of the second sum.
Source: A. T. Chronopoulos, C. W. Gear, s-step iterative methods for symmetric linear systems, J. Comput. Appl. Math.
25, 1989. Residual replacement as in solvers/.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import InputError, ParameterError
from gpu_engine.multigpu.base import Device, SolveRows
from gpu_engine.multigpu.blocks import Block
from gpu_engine.multigpu.exchange import ExchangeName, Transfer, halo_of, plan_transfers
from gpu_engine.multigpu.graph_shards import PARTITIONING, whole_rows
from gpu_engine.multigpu.iteration import iterate, member_of
from gpu_engine.multigpu.partition import localize, part_of
from gpu_engine.multigpu.peer_copies import PeerCopies
from gpu_engine.multigpu.replay import Replays
from gpu_engine.solvers import residual
from gpu_engine.solvers.base import Solution, Status

CHECK_EVERY = 10
"""Iterations that are captured together, between two looks of the host; even, because two states take turns."""

REPLACEMENTS_MAX, PROGRESS = 20, 0.5
"""Most restarts from the true residual, and the factor by which each must have reduced it."""

N_SUMS, N_STATE = 2, 3
"""Numbers per device that are summed, γ and δ; numbers of a state: γ and α of the iteration before, breakdown."""


class SharedSolve:
    """System A·x = b on several devices: the matrix, and five vectors per device.

    spans      positions of the nonzeros of each device
    transfers  halo transfers of each iteration
    """

    def __init__(
        self,
        matrix: CsrMatrix,
        devices: Sequence[Device],
        exchange: ExchangeName = "halo",
        overlap: bool = True,
    ) -> None:
        """Copy partitions of whole rows to the devices.

        matrix   on the host; it is assumed to be symmetric
        overlap  multiply the diagonal blocks during the exchange

        Raises ParameterError for a matrix that is not square, or without devices.
        """
        if matrix.n_rows != matrix.n_cols:
            raise ParameterError(f"CG needs a square matrix, not {matrix.n_rows} × {matrix.n_cols}. Choose another.")
        if not devices:
            raise ParameterError("CG needs a device. Give at least one.")
        self._matrix, self._n = matrix, matrix.n_rows
        stored = PARTITIONING.store(matrix)
        self.spans = whole_rows(stored, len(devices))
        parts = [part_of(stored, span, localize(stored, span)) for span in self.spans]
        halos = [halo_of(self.spans, i, part, self._n, exchange) for i, part in enumerate(parts)]
        self.transfers = plan_transfers(self.spans, halos)
        self._members = [
            member_of(device, PARTITIONING, part, halo, self._n, overlap)
            for device, part, halo in zip(devices, parts, halos, strict=True)
        ]
        # r of the owned rows, with the halo that A·r reads.
        self._local = [member.device.allocate(member.halo.size, np.float64) for member in self._members]
        self._rows = [self._allocate(i) for i in range(len(devices))]
        self._states = [[d.allocate(N_STATE, np.float64) for _ in range(2)] for d in devices]
        self._sums = [device.allocate(N_SUMS * len(devices), np.float64) for device in devices]
        self._seen = devices[0].allocate_host(N_SUMS * len(devices) + N_STATE, np.float64)
        copy_streams = [member.copy_stream for member in self._members]
        self._copies = PeerCopies(copy_streams, self.transfers)
        self._sum_copies = PeerCopies(devices, plan_sums(len(devices)))
        self._replays = Replays([*devices, *copy_streams])

    @property
    def exchanged_bytes(self) -> int:
        """Return the bytes transferred between devices per iteration."""
        return self._copies.exchanged_bytes() + self._sum_copies.exchanged_bytes()

    @property
    def stored_bytes(self) -> int:
        """Return the bytes of all partitions."""
        return sum(member.stored_bytes for member in self._members)

    def solve(self, b: Any, rtol: float = 1e-8, maxiter: int = 10_000) -> Solution:
        """Solve A·x = b from x = 0.

        b        float64 [n] on the host
        rtol     bound of ‖b − A·x‖₂ / ‖b‖₂; the residual is computed on the host, in twice the precision
        maxiter  most iterations; CHECK_EVERY at a time

        Returns a solution with x on the host. Raises InputError for another b.
        """
        bound, x, r = rtol * float(np.linalg.norm(b)), np.zeros(self._n), np.empty(self._n)
        self.begin(b)
        iterations, true_norm, replacements, norms = 0, math.inf, 0, []
        while True:
            norm, is_broken = self.look()
            norms.append(norm)
            if norm <= bound:
                self.read(x)
                before, true_norm = true_norm, math.sqrt(residual.on_host(self._matrix, b, x, r))
                if true_norm <= bound:
                    status = Status.CONVERGED
                    break
                if replacements == REPLACEMENTS_MAX or not true_norm < PROGRESS * before:
                    status = Status.STAGNATED
                    break
                self._restart(r)
                replacements += 1
            elif is_broken or not math.isfinite(norm):
                status = Status.INDEFINITE if math.isfinite(norm) else Status.NOT_FINITE
                break
            elif iterations >= maxiter:
                status = Status.ITERATIONS_MAX
                break
            self.advance(CHECK_EVERY)
            iterations += CHECK_EVERY
        if status is not Status.CONVERGED:
            self.read(x)
            true_norm = math.sqrt(residual.on_host(self._matrix, b, x, r))
        return Solution(x, status, iterations, true_norm, bound, norms, CHECK_EVERY, replacements)

    def begin(self, b: Any) -> None:
        """Start with x = 0; raise InputError unless b is float64 [n] on the host."""
        if b.dtype != np.float64 or b.shape != (self._n,):
            raise InputError(f"b is {b.dtype} {b.shape}, but the matrix needs float64 ({self._n},).")
        for rows, member in zip(self._rows, self._members, strict=True):
            member.device.call(rows.x.fill, 0.0)
        self._restart(b)

    def advance(self, iterations: int) -> None:
        """Launch iterations, of which complete batches of CHECK_EVERY are captured."""
        batches, rest = divmod(iterations, CHECK_EVERY)
        if batches:
            self._replays.launch("advance", self._batch, batches)
            self._renew()
        for number in range(rest):
            self._iterate(number % 2)
        if rest % 2:
            for member, (first, second) in zip(self._members, self._states, strict=True):
                member.device.fetch(second, first)

    def look(self) -> tuple[float, bool]:
        """Wait, and return ‖r‖₂ of the recurrence and whether CG has broken down: A is not positive definite."""
        device, sums = self._members[0].device, self._seen[:-N_STATE]
        device.download(self._sums[0], sums)
        device.download(self._states[0][0], self._seen[-N_STATE:])
        self.synchronize()
        return float(np.sqrt(sums[::N_SUMS].sum())), bool(self._seen[-1])

    def read(self, x: Any) -> None:
        """Copy the iterate to x, float64 [n] on the host, and wait for it."""
        for rows, member, span in zip(self._rows, self._members, self.spans, strict=True):
            member.device.download(rows.x, x[span.owned])
        self.synchronize()

    def synchronize(self) -> None:
        """Wait for all launched work and raise its first error."""
        for member in self._members:
            member.synchronize()

    def _allocate(self, i: int) -> SolveRows:
        member, span = self._members[i], self.spans[i]
        count = span.owned.stop - span.owned.start
        p, s, w, x = (member.device.allocate(count, np.float64) for _ in "pswx")
        partials = member.device.allocate(member.device.operations.solve.N_PARTIALS, np.float64)
        return SolveRows(p, s, w, x, self._local[i][member.halo.owned], partials)

    def _restart(self, r: Any) -> None:
        """Continue from the iterate with a new residual of the host."""
        self.synchronize()
        for rows, member, span, states in zip(self._rows, self._members, self.spans, self._states, strict=True):
            for array in (rows.p, rows.s, states[0]):
                member.device.call(array.fill, 0.0)
            member.device.upload(r[span.owned], rows.r)
        self._project(squares=True)
        self.synchronize()
        self._renew()

    def _batch(self) -> None:
        # Captured work must not wait for events from before the capture.
        self._renew()
        for number in range(CHECK_EVERY):
            self._iterate(number % 2)

    def _renew(self) -> None:
        self._copies.renew()
        self._sum_copies.renew()

    def _iterate(self, parity: int) -> None:
        """Launch an iteration, which reads one of two states and writes the other."""
        # The sums of the peers, which each device has, follow their exchange: nobody reads r any more.
        for member, rows, sums, states in zip(self._members, self._rows, self._sums, self._states, strict=True):
            advance = member.device.operations.solve.advance
            member.device.call(advance, rows, sums, states[parity], states[1 - parity])
        self._project(squares=False)

    def _project(self, *, squares: bool) -> None:
        """Launch the exchange of r, w := A·r, and the sums of all devices."""
        iterate(self._members, self._multiply, [rows.w for rows in self._rows], self._exchange)
        for i, (member, rows) in enumerate(zip(self._members, self._rows, strict=True)):
            self._sum_copies.release(i, member.device)
            own = self._sums[i][N_SUMS * i : N_SUMS * (i + 1)]
            member.device.call(member.device.operations.solve.project, rows, own, squares)
        self._sum_copies.launch(self._sums)

    def _exchange(self) -> None:
        self._copies.launch(self._local)

    def _multiply(self, i: int, block: Block, y: Any) -> None:
        device = self._members[i].device
        device.call(device.operations.multiply, PARTITIONING, block.part, self._local[i], y)


def plan_sums(devices: int) -> tuple[Transfer, ...]:
    """Return the transfers with which each device fetches the sums of all others."""
    pairs = ((target, (target + step) % devices) for target in range(devices) for step in range(1, devices))
    places = ((source, target, N_SUMS * source) for target, source in pairs)
    return tuple(Transfer(source, target, place, place + N_SUMS, place) for source, target, place in places)
