"""SolvePart: what one device has of a system that CG solves on several devices."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpu_engine.multigpu.base import SolveRows, call_and_wait
from gpu_engine.multigpu.blocks import Block
from gpu_engine.multigpu.graph_shards import PARTITIONING
from gpu_engine.multigpu.iteration import Member, iterate

N_STATE = 3
"""Numbers of a state: γ and α of the iteration before, and 1 after a breakdown."""


class SolvePart:
    """Partition of whole rows, and the vectors of these rows, on one device.

    local   r of the owned rows with the halo that A·r reads: float64 [halo.size]
    states  two states, which take turns from iteration to iteration
    """

    def __init__(self, member: Member) -> None:
        """Allocate the vectors."""
        self.member, device = member, member.device
        self._steps = device.operations.solve
        count = member.halo.owned.stop - member.halo.owned.start
        self.local = device.allocate(member.halo.size, np.float64)
        p, s, w, x = (device.allocate(count, np.float64) for _ in "pswx")
        partials = device.allocate(self._steps.N_PARTIALS, np.float64)
        self.rows = SolveRows(p, s, w, x, self.local[member.halo.owned], partials)
        self.states = [device.allocate(N_STATE, np.float64) for _ in range(2)]

    def clear(self) -> None:
        """Launch x := 0."""
        self.member.device.call(self.rows.x.fill, 0.0)

    def forget(self) -> None:
        """Launch the start of a new recurrence, whose residual is in `rows.r`."""
        for array in (self.rows.p, self.rows.s, self.states[0]):
            self.member.device.call(array.fill, 0.0)

    def advance(self, sums: Any, parity: int) -> None:
        """Launch the update of p, s, x, and r; sums: SUMS numbers of each device, γ = r·r and δ = r·A·r."""
        before, after = self.states[parity], self.states[1 - parity]
        self.member.device.call(self._steps.advance, self.rows, sums, before, after)

    def end_at(self, iterations: int) -> None:
        """Launch what makes `states[0]` the state after this number of iterations from `states[0]`."""
        if iterations % 2:
            self.member.device.fetch(self.states[1], self.states[0])

    def multiply(self, block: Block, y: Any) -> None:
        """Launch y := block · r."""
        device = self.member.device
        device.call(device.operations.multiply, PARTITIONING, block.part, self.local, y)

    def targets(self, arrays: Sequence[Any]) -> Any:
        """Return arrays of SUMS numbers, on reachable devices, in the form that `project` takes."""
        return call_and_wait(self.member.device, self._steps.targets, arrays)

    def project(self, targets: Any, *, squares: bool) -> None:
        """Launch r·r and r·w, written to all targets; squares: also r·r, which `advance` computes otherwise."""
        self.member.device.call(self._steps.project, self.rows, targets, squares)


def multiply_all(parts: list[SolvePart], exchange: Callable[[], None], *, ahead: bool = False) -> None:
    """Launch the exchange of r and w := A·r on all devices; ahead: see `iterate`."""

    def product(i: int, block: Block, y: Any) -> None:
        parts[i].multiply(block, y)

    members, results = [part.member for part in parts], [part.rows.w for part in parts]
    iterate(members, product, results, exchange, ahead=ahead)
