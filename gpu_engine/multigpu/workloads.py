"""Workloads of a shared matrix, from an SpMV from host memory to iterations of PageRank and CG (WORKLOADS)."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpu_engine.errors import ParameterError
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.cut import cut_by_entries, cut_by_lines
from gpu_engine.multigpu.from_host.chunks import ChunkedProduct
from gpu_engine.multigpu.from_host.link_bandwidth import LinkBandwidth
from gpu_engine.multigpu.from_host.spmv import COLD_PHASES, PHASES, DistributedMatrix, Phases
from gpu_engine.multigpu.from_host.strategies import Strategy, find_strategy, node_groups
from gpu_engine.multigpu.numa import on_several_nodes
from gpu_engine.multigpu.pagerank_workload import RankIterations
from gpu_engine.multigpu.partition import SharedMatrix, Span
from gpu_engine.multigpu.resident import BATCH, ResidentMatrix
from gpu_engine.multigpu.sampler import SAMPLES, Sampler
from gpu_engine.multigpu.solve_workload import SolveIterations
from gpu_engine.multigpu.workload import (
    Clock,
    CutName,
    ProductData,
    Setting,
    Workload,
    WorkloadData,
    WorkloadName,
    stored_bytes,
)
from gpu_engine.verify import POISON, check

SLACK = 1e-3
"""Fraction of its nonzeros by which a resident partition may deviate from the others to avoid cutting a row."""

LONG_S = 0.2
"""Seconds of an SpMV above which a turn takes one sample only."""


class ColdProduct:
    """Workload cold: every SpMV partitions, copies, and multiplies the matrix, and merges y in host memory."""

    def __init__(self, data: WorkloadData, setting: Setting, devices: Sequence[Device], clock: Clock) -> None:
        if (setting.placement, setting.affinity) != (None, None) and not on_several_nodes(data.host):
            raise ParameterError(
                "Placement and affinity only matter with several NUMA nodes; all devices here share one. "
                "Set both to “paper”."
            )
        self._strategy, self._merge = strategy_of(setting), setting.merge
        arrays = data.placed(setting.partitioning, self._strategy.placement, devices)
        self._stored, self._x, self._y = arrays.stored, arrays.x, arrays.y
        self._expected, self._devices, self._clock = data.reference, devices, clock
        # Like OpenMP threads in the paper, they are reused by all SpMVs; they end with this object.
        self._threads = self._strategy.start_threads(devices)
        self._chunked: ChunkedProduct | None = None
        if self._strategy.in_chunks:
            start = clock()
            self._chunked = ChunkedProduct(self._stored, devices, self._strategy, self._threads)
            self._packing_s = clock() - start
        self._names = COLD_PHASES if self._strategy.packed else PHASES
        self._phases = _Phases(self._names)
        self._fields = _part_fields(self._stored, self._strategy.cut(self._stored, devices))
        self.moved_bytes: float = self._fields["stored_bytes"] + self._y.nbytes

    def check(self) -> None:
        """Run a few SpMVs without timing and verify them."""
        self._y[:] = POISON
        once = self._product()[0]
        self._fields["max_error"] = check(self._expected, self._y)
        if self._chunked is not None:
            self._y[:] = POISON
            self._in_turn(self._chunked)
            self._fields["max_error"] = max(self._fields["max_error"], check(self._expected, self._y))
            self.moved_bytes = self._chunked.sent_bytes + self._y.nbytes
        self._bandwidth = LinkBandwidth.measured(self._devices, self._stored, self._clock)
        # The first SpMV may include compiling its kernel.
        self._samples = 1 if min(once, self._product()[0]) > LONG_S else SAMPLES

    def turn(self) -> float:
        """Return the seconds of an SpMV."""
        samples = [self._product() for _ in range(self._samples)]
        if self._chunked is not None and self._strategy.pipelined:
            phase_samples = [self._in_turn(self._chunked)]
        else:
            phase_samples = [phases for _, phases in samples]
        for name in self._names:
            self._phases.add(name, statistics.median(phases[name] for phases in phase_samples))
        return statistics.median(seconds for seconds, _ in samples)

    def fields(self) -> dict[str, Any]:
        """Return the fields of the record; overlapping phases are timed separately.

        Other phases add up to the time, except for the work of Python between them.
        """
        moved = self._chunked.bytes_of_phases() if self._chunked else self._bytes_of_phases()
        phase_fields = {"strategy": self._strategy.name, "phases_s": self._phases.medians(), "phase_bytes": moved}
        if self._strategy.prepacked:
            self._fields["packing_s"] = self._packing_s
        return self._fields | phase_fields | {"bounds_s": self._bandwidth.bounds(moved)}

    def _product(self) -> tuple[float, Mapping[str, float]]:
        if self._chunked is not None:
            start = self._clock()
            if not self._strategy.pipelined:
                phases_s = self._in_turn(self._chunked)
                return self._clock() - start, phases_s
            self._chunked.multiply(self._x, self._y)
            return self._clock() - start, {}
        phases, start = Phases(self._clock), self._clock()
        arguments = self._stored, self._devices, self._strategy, phases, self._merge, self._threads
        with DistributedMatrix(*arguments) as matrix:
            matrix.multiply(self._x, self._y, phases)
        return self._clock() - start, phases.seconds

    def _in_turn(self, chunked: ChunkedProduct) -> Mapping[str, float]:
        phases = Phases(self._clock, COLD_PHASES)
        chunked.multiply_in_turn(self._x, self._y, phases)
        return phases.seconds

    def _bytes_of_phases(self) -> dict[str, int]:
        """Return phase → minimum bytes, summed over all devices."""
        n_rows, n_cols = self._stored.n_rows, self._stored.n_cols
        by_rows, count = self._stored.partitioning.axis == "rows", len(self._devices)
        x, y = 8 * n_cols * (count if by_rows else 1), 8 * n_rows * (1 if by_rows else count)
        sent = self._fields["stored_bytes"] + x
        return {"distribute": sent, "compute": sent + y, "merge": y if self._merge == "host" else 8 * n_rows}


def strategy_of(setting: Setting) -> Strategy:
    """Return the strategy of the workload cold with the overrides of the setting."""
    strategy = find_strategy(setting.variant)
    return replace(
        strategy,
        balanced=strategy.balanced and setting.balance == "nonzeros",
        placement=setting.placement or strategy.placement,
        affinity=strategy.affinity if setting.affinity is None else setting.affinity,
    )


class ResidentProduct:
    """Workload resident: y := A·x with the matrix, x, and y on the devices."""

    def __init__(self, data: ProductData, setting: Setting, devices: Sequence[Device], clock: Clock) -> None:
        stored = data.stored(setting.partitioning)
        spans = _cut(stored, devices, setting.balance)
        self._matrix = ResidentMatrix(stored, spans, devices, overlap=False)
        self._expected, self._sampler = data.reference, Sampler(self._matrix.synchronize, clock, BATCH)
        self._fields = _part_fields(stored, spans)
        self.moved_bytes: float = self._fields["stored_bytes"] + self._expected.y.nbytes

    def check(self) -> None:
        """Run and verify a batch of SpMVs, captured like the timed ones; x stays on the devices."""
        self._matrix.load(self._expected.x)
        self._matrix.exchange()
        self._matrix.multiply(BATCH)
        y = np.full(self._expected.y.size, POISON)
        self._matrix.read_product(y)
        self._fields["max_error"] = check(self._expected, y)
        self._sampler.calibrate(self._matrix.multiply)

    def turn(self) -> float:
        """Return the seconds of an SpMV."""
        return self._sampler.turn(self._matrix.multiply)

    def fields(self) -> dict[str, Any]:
        """Return the fields of the record; there are no phases."""
        return self._fields


class IteratedProduct:
    """Workload iterate: x := A·x with the exchange; SpMV and exchange are also timed separately as phases."""

    def __init__(self, data: ProductData, setting: Setting, devices: Sequence[Device], clock: Clock) -> None:
        stored = data.stored(setting.partitioning)
        spans = _cut(stored, devices, "nonzeros")
        self._matrix = ResidentMatrix(stored, spans, devices, setting.exchange, setting.overlap)
        self._expected = data.iterated_reference
        self._sampler = Sampler(
            self._matrix.synchronize, clock, BATCH, before=lambda: self._matrix.load(self._expected.x)
        )
        self._phases = _Phases(("compute", "exchange"))
        self._fields = _part_fields(stored, spans) | {"exchanged_bytes": self._matrix.exchanged_bytes}
        self.moved_bytes: float = self._fields["stored_bytes"] + self._expected.y.nbytes

    def check(self) -> None:
        """Run and verify a batch of iterations, captured like the timed ones."""
        self._matrix.load(self._expected.x)
        self._matrix.advance(BATCH)
        x = np.full(self._expected.y.size, POISON)
        self._matrix.read(x)
        self._fields["max_error"] = check(self._expected, x)
        self._sampler.calibrate(self._matrix.advance, self._matrix.exchange, self._matrix.multiply)

    def turn(self) -> float:
        """Return the seconds of an iteration."""
        # The SpMV alone needs the halo, so the exchange comes first.
        self._phases.add("exchange", self._sampler.sample(self._matrix.exchange))
        self._phases.add("compute", self._sampler.sample(self._matrix.multiply))
        return self._sampler.turn(self._matrix.advance)

    def fields(self) -> dict[str, Any]:
        """Return the fields of the record; overlapping phases add up to more than the time."""
        return self._fields | {"phases_s": self._phases.medians()}


class _Phases:
    """Seconds of each phase, one value per turn."""

    def __init__(self, names: Sequence[str]) -> None:
        self._seconds: dict[str, list[float]] = {name: [] for name in names}

    def add(self, name: str, seconds: float) -> None:
        self._seconds[name].append(seconds)

    def medians(self) -> dict[str, float]:
        return {name: statistics.median(seconds) for name, seconds in self._seconds.items() if seconds}


def _cut(stored: SharedMatrix, devices: Sequence[Device], cut: CutName) -> Sequence[Span]:
    """Return partitions with equal nonzeros, divided among NUMA nodes first, or with equal lines."""
    if cut == "rows":
        return cut_by_lines(stored, len(devices))
    # The partial sum of a cut row is transferred after every SpMV, which costs more than a slight imbalance.
    return cut_by_entries(stored, node_groups(devices), slack=round(SLACK * stored.nnz / len(devices)))


def _part_fields(stored: SharedMatrix, spans: Sequence[Span]) -> dict[str, Any]:
    """Return the fields of the record about the partitions."""
    return {
        "nonzeros_by_device": tuple(span.entries for span in spans),
        "stored_bytes": stored_bytes(stored, spans),
    }


WORKLOADS: Mapping[WorkloadName, type[Workload]] = {
    "cold": ColdProduct,
    "resident": ResidentProduct,
    "iterate": IteratedProduct,
    "pagerank": RankIterations,
    "solve": SolveIterations,
}
"""Workload → class that measures it."""
