"""CG on the devices of a cluster: the part of one actor, and the run that a driver makes; see solve_run.py."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.measure.stopwatch import now
from gpu_engine.multigpu.cluster.actor_pool import CaseActors
from gpu_engine.multigpu.cluster.member import CaseActor, PartInfo
from gpu_engine.multigpu.cluster.product import open_stored
from gpu_engine.multigpu.exchange import SUMS, ExchangeName, halo_of
from gpu_engine.multigpu.graph_shards import PARTITIONING
from gpu_engine.multigpu.iteration import member_of
from gpu_engine.multigpu.partition import Span, localize, part_of
from gpu_engine.multigpu.solve_part import N_STATE, SolvePart, multiply_all
from gpu_engine.multigpu.solve_run import CHECK_EVERY, SolveRun, Stretch, stretch_until


class SolveMember(CaseActor):
    """Rows of a system on one device; all actors of the case do the same, and decide alike by the same sums."""

    def load_part(
        self, spans: Sequence[Span], number: int, folder: Path, exchange: ExchangeName, overlap: bool
    ) -> PartInfo:
        """Load only its rows to its device, as `ProductMember` does; spans: whole rows."""
        span, stored = spans[number], open_stored(folder)
        part = part_of(stored, span, localize(stored, span))
        halo = halo_of(spans, number, part, stored.n_rows, exchange)
        self._member = member_of(self._device, PARTITIONING, part, halo, stored.n_rows, overlap)
        self._part, self._first = SolvePart(self._member), span.owned.start
        self._own = self._device.allocate(SUMS, np.float64)
        self._targets = self._part.targets([self._own])
        self._residual = np.zeros(span.owned.stop - span.owned.start)
        self._host_state = self._device.allocate_host(N_STATE, np.float64)
        for vector in (self._part.local, self._own):
            self._device.call(vector.fill, 0.0)
        self._warm_up()
        return PartInfo(halo, self._member.stored_bytes)

    def load(self, begin: int, values: Any) -> None:
        """Receive elements of the next residual, from global index `begin` on."""
        self._residual[begin - self._first :][: values.size] = values

    def restart(self, is_first: bool) -> None:
        """Continue from the iterate, or from x = 0 if it is the first time, with the residual that was received."""
        if is_first:
            self._part.clear()
        self._part.forget()
        self._device.upload(self._residual, self._part.rows.r)
        self._project(squares=True)
        self.synchronize()

    def converge(self, bound: float, most: int) -> Stretch:
        """Iterate until ‖r‖ ≤ bound, a breakdown, or `most` iterations."""
        return stretch_until(self._look, lambda: self._launch("advance", self._batch), bound, most)

    def sample(self, batches: int) -> float:
        """Return the seconds of an iteration from x = 0 on, timed from the moment when all actors are ready."""
        # All actors are ready when each has the sums of all.
        self.restart(is_first=True)
        start = now()
        self._launch("advance", self._batch, batches)
        self.synchronize()
        return (now() - start) / (batches * CHECK_EVERY)

    def read(self, begin: int, end: int) -> Any:
        """Return elements begin … end − 1 of the iterate; float64 on the host."""
        host = np.empty(end - begin, np.float64)
        self._device.download(self._part.rows.x[begin - self._first : end - self._first], host)
        self._device.synchronize()
        return host

    def _look(self) -> tuple[float, bool]:
        """Wait, and return ‖r‖₂ of the recurrence and whether it has broken down."""
        self._device.download(self._part.states[0], self._host_state)
        self.synchronize()
        return float(np.sqrt(self._host_sums[::SUMS].sum())), bool(self._host_state[-1])

    def _batch(self) -> None:
        for number in range(CHECK_EVERY):
            self._part.advance(self._all_sums, number % 2)
            self._project(squares=False)

    def _project(self, *, squares: bool) -> None:
        """Launch the exchange of r, w := A·r, and the sums of all actors."""
        multiply_all([self._part], lambda: self._move(self._part.local), ahead=self._ahead)
        self._part.project(self._targets, squares=squares)
        self._exchange_sums(self._own)

    def _warm_up(self) -> None:
        """Run every kernel once, because loading one later could block a peer."""
        self._part.clear()
        self._part.forget()
        for block in self._member.blocks:
            target = self._part.rows.w if block.lines is None else block.product
            self._part.multiply(block, target)
        self._part.advance(self._own, 0)
        for squares in (True, False):
            self._part.project(self._targets, squares=squares)
        self.synchronize()


class ClusterSolve(SolveRun):
    """A system on the devices of a team of SolveMembers, which have loaded their rows."""

    def __init__(self, matrix: CsrMatrix, team: CaseActors) -> None:
        """Raise ParameterError for a matrix that is not square."""
        super().__init__(matrix)
        self._team = team

    def begin(self, b: Any) -> None:
        """Implement `SolveRun`."""
        self._team.load(b)
        self._team.together("restart", True)

    def restart(self, r: Any) -> None:
        """Implement `SolveRun`."""
        self._team.load(r)
        self._team.together("restart", False)

    def converge(self, bound: float, most: int) -> Stretch:
        """Implement `SolveRun`."""
        stretch: Stretch = self._team.together("converge", bound, most)[0]
        return stretch

    def read(self, x: Any) -> None:
        """Implement `SolveRun`."""
        self._team.read(x)

    def sample(self, batches: int) -> float:
        """Return the seconds of an iteration, of the slowest actor."""
        seconds: list[float] = self._team.together("sample", batches)
        return max(seconds)
