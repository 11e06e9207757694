"""Workload pagerank: iterations of PageRank, with the storage of ranks and values (RANKS)."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.pagerank import DistributedRanks
from gpu_engine.multigpu.workload import RANK_PARAMS, Clock, Setting, WorkloadData
from gpu_engine.pagerank.bytes import iteration_bytes
from gpu_engine.pagerank.kernels import RankKernel
from gpu_engine.pagerank.run import iterate, phases
from gpu_engine.pagerank.schedule import Step, iterations_by_segments

RANKS: Mapping[str, RankKernel] = {
    "pagerank+fp64": RankKernel("csr/thread"),
    "pagerank+cpms2": RankKernel("csr/thread", segments=2),
    "pagerank+cpms4": RankKernel("csr/thread", segments=4),
}
"""Variant → kernel that defines the storage of ranks and values."""


class RankIterations:
    """Workload pagerank: complete runs, timed per iteration; phases are timed in runs that wait between them."""

    def __init__(self, data: WorkloadData, setting: Setting, devices: Sequence[Device], clock: Clock) -> None:
        self._data, self._clock, self._kernel = data, clock, RANKS[setting.variant]
        self._schedule = self._kernel.schedule({})
        self._ranks = DistributedRanks(
            data.graph, RANK_PARAMS, devices, self._kernel.segments, setting.exchange, setting.overlap
        )
        self._steps: tuple[Step, ...] = ()
        self._phases: dict[str, list[float]] = {"compute": [], "exchange": []}
        self._fields: dict[str, Any] = {
            "nonzeros_by_device": tuple(span.entries for span in self._ranks.spans),
            "stored_bytes": self._ranks.stored_bytes,
        }
        # Bytes of an iteration that reads and writes one segment, the minimum of all iterations.
        self.moved_bytes: float = iteration_bytes(data.graph, self._kernel, 1, 1)

    def check(self) -> None:
        """Run to convergence, record the iterations, and verify the ranks."""
        run = iterate(self._ranks, RANK_PARAMS, self._schedule)
        bits = self._schedule.mantissa_bits(run.read[-1]) if self._kernel.segments else self._kernel.mantissa_bits
        gamma = run.gammas[-1]
        accuracy = self._data.verifier.check(self._ranks.ranks(), gamma, bits)
        exchanged = (self._ranks.exchanged_bytes(step.read) for step in run.steps)
        self._steps = run.steps
        self._fields |= {
            "iterations": len(run.steps),
            "exchanged_bytes": statistics.median_low(exchanged),
            "residual": accuracy.residual,
            "mass_error": accuracy.mass_error,
            **run.outcome,
        }
        if self._kernel.segments:
            self._fields["iterations_by_segments"] = iterations_by_segments(run.written, self._schedule)

    def turn(self) -> float:
        """Return the median seconds of an iteration in one run; a further run measures the phases."""
        self._ranks.exchanges = False
        pairs = [(self._timed(step, exchanges=True), self._timed(step)) for step in self._restart()]
        for name, seconds in zip(("exchange", "compute"), zip(*pairs, strict=True), strict=True):
            self._phases[name].append(statistics.median(seconds))
        self._ranks.exchanges = True
        return statistics.median(self._timed(step) for step in self._restart())

    def fields(self) -> dict[str, Any]:
        """Return the fields of the record; phases are medians over the iterations."""
        return self._fields | {"phases_s": {name: statistics.median(s) for name, s in self._phases.items() if s}}

    def _restart(self) -> tuple[Step, ...]:
        self._ranks.reset(self._schedule.start_segments)
        return self._steps

    def _timed(self, step: Step, exchanges: bool = False) -> float:
        start = self._clock()
        if exchanges:
            self._ranks.exchange(step.read)
            self._ranks.synchronize()
        else:
            for _, act in phases(self._ranks, self._schedule, step):
                act()
        return self._clock() - start
