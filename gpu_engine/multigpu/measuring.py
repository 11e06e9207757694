"""Products of one matrix on fleets of devices: each setting checked first, then all sampled in interleaved rounds."""

import dataclasses
import random
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import DeviceMemoryError, KernelError, LayoutTooLargeError, ParameterError, SparsightError
from gpu_engine.formats.base import check_room
from gpu_engine.measure import Bench, Timing
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.fleet import ProductName, devices_of, open_fleet
from gpu_engine.multigpu.numa import allocator
from gpu_engine.multigpu.work import Setting, Subject, Work
from gpu_engine.multigpu.works import WORKS
from gpu_engine.records import Case, Measurement, MeasurementState, Progress, Record, Started

PREPARATION = 0.2
"""Share of a group's progress that its first results and their checks take."""

ROOM = 0.6
"""Share of the memory of a device for what the settings that are sampled together leave on it."""

ENTRY_BYTES = 16
"""Of a part, at most: two indices and a value."""

VIRTUAL = "virtual devices: threads of this CPU; their times say nothing of a GPU"

SKIPS = (LayoutTooLargeError, DeviceMemoryError, ParameterError)
"""Reasons for which a case is skipped; any other fails it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure of a matrix: for each case its setting.

    nodes  NUMA nodes over which virtual devices are spread
    """

    settings: Mapping[str, Setting]
    rounds: int
    nodes: int


@dataclass(slots=True)
class _Candidate:
    """A case on its way into the rounds."""

    case: Case
    setting: Setting
    devices: tuple[Device, ...] = ()
    work: Work | None = None
    error: SparsightError | None = None
    samples: tuple[float, ...] = ()
    clocks: tuple[float, ...] = ()

    @property
    def is_virtual(self) -> bool:
        return any(device.virtual for device in self.devices)


class ScalingRun:
    """All cases of one matrix: those of one partitioning and one work are sampled together, on all fleets."""

    def __init__(self, plan: Plan, cases: Sequence[Case], matrix: CsrMatrix, bench: Bench) -> None:
        self.plan, self.cases, self.matrix, self.bench = plan, cases, matrix, bench

    def records(self) -> Iterator[Record]:
        """Measures group by group; a case whose result is wrong or does not fit yields its reason, not a time."""
        yield Progress(0.0, "making the reference product")
        candidates = [_Candidate(case, self.plan.settings[case.key]) for case in self.cases]
        try:
            with self.bench.stopwatch.guard():
                self.subject = self._subject()
        except DeviceMemoryError as error:
            for c in candidates:
                c.error = error
                yield self._measurement(c)
            return
        done = 0
        for group in self._groups(candidates):
            for record in self._measured(group):
                if isinstance(record, Progress):
                    record = Progress((done + record.done * len(group)) / len(candidates), record.message)
                yield record
            done += len(group)

    def _subject(self) -> Subject:
        if self.bench.device.backend == "cpu":
            return Subject(self.matrix)
        there, asked = devices_of(self.bench.device), [setting.devices for setting in self.plan.settings.values()]
        most = max((count for count in asked if count <= there), default=1)
        with open_fleet(self.bench.device, most) as devices:
            return Subject(self.matrix, allocator(devices), self.bench.xp)

    def _groups(self, candidates: Sequence[_Candidate]) -> Iterator[list[_Candidate]]:
        """Those of one partitioning and work, as many as fit the memory together; cold ones leave nothing there."""
        room = ROOM * self.bench.stopwatch.memory_bytes
        for (_, work), alike in groupby(candidates, lambda c: (c.setting.partitioning, c.setting.work)):
            group, used = list[_Candidate](), 0.0
            for candidate in alike:
                needed = 0.0 if work == "cold" else self._bytes_needed(candidate.setting)
                if group and used + needed > room:
                    yield group
                    group, used = [], 0.0
                group.append(candidate)
                used += needed
            yield group

    def _bytes_needed(self, setting: Setting) -> float:
        """Upper bound of what a device of equal parts holds; virtual ones share the memory of the host."""
        part = ENTRY_BYTES * self.matrix.nnz / setting.devices
        vectors = 8.0 * (3 * self.matrix.n_rows + 2 * self.matrix.n_cols)
        return (part + vectors) * (setting.devices if self.bench.device.backend == "cpu" else 1)

    def _measured(self, group: list[_Candidate]) -> Iterator[Record]:
        with ExitStack() as fleets:
            yield from self._prepare(group, fleets)
            ready = [c for c in group if c.work is not None]
            yield from self._sample(ready)
            for c in group:
                yield self._measurement(c)
                c.work = None

    def _prepare(self, group: list[_Candidate], fleets: ExitStack) -> Iterator[Record]:
        """Opens a fleet for each number of devices, does each work once and checks what comes out."""
        opened: dict[tuple[int, ProductName], tuple[Device, ...]] = {}
        for number, c in enumerate(group):
            count, product = fleet = c.setting.devices, c.setting.product
            yield Started(c.case.key)
            yield Progress(PREPARATION * number / len(group), f"checking {c.setting.kernel} on {count} devices")
            try:
                check_room(self._bytes_needed(c.setting), self.bench.layout_bytes)
                if fleet not in opened:
                    opened[fleet] = fleets.enter_context(open_fleet(self.bench.device, count, self.plan.nodes, product))
                c.devices = opened[fleet]
                with self.bench.stopwatch.guard():
                    work = WORKS[c.setting.work](self.subject, c.setting, c.devices, self.bench.stopwatch.now)
                    work.check()
                c.work = work
            except (KernelError, *SKIPS) as error:
                c.error = error

    def _sample(self, ready: Sequence[_Candidate]) -> Iterator[Record]:
        drawn, turns, rounds = random.Random(0), 0, self.plan.rounds
        for number in range(rounds):
            for c in drawn.sample(ready, len(ready)):
                yield Started(c.case.key)
                done = PREPARATION + (1 - PREPARATION) * turns / (rounds * len(ready))
                yield Progress(done, f"round {number + 1} of {rounds}, {c.setting.kernel}")
                turns += 1
                with self.bench.stopwatch.guard():
                    c.samples += (_taken(c.work).turn(),)
                clock = self.bench.stopwatch.clock_hz()
                c.clocks += () if clock is None else (clock,)

    def _measurement(self, c: _Candidate) -> Measurement:
        base = self._blank(c)
        if c.error is not None:
            state: MeasurementState = "skipped" if isinstance(c.error, SKIPS) else "failed"
            return dataclasses.replace(base, state=state, note=c.error.message)
        work, timing = _taken(c.work), Timing(c.samples, statistics.median(c.clocks) if c.clocks else None)
        base = dataclasses.replace(base, **work.fields())
        # Virtual devices share the memory whose rate is known; GPUs have one each.
        memories = 1 if c.is_virtual else c.setting.devices
        least = self.bench.least_s(work.moved_bytes / memories, "warm")
        if timing.median_s < least:
            note = f"refused: {timing.median_s:.3e} s is under {least:.3e} s, the floor of the bytes that it moves"
            return dataclasses.replace(base, state="failed", phases_s={}, note=note)
        compulsory = self.matrix.compulsory_bytes
        fields: dict[str, Any] = {
            "gflops": 2 * self.matrix.nnz / timing.median_s / 1e9,
            "floor_s": compulsory / self.bench.profile.rate(compulsory // c.setting.devices, "warm"),
            "note": "; ".join(filter(None, (base.note, VIRTUAL if c.is_virtual else ""))),
        }
        return dataclasses.replace(base, **timing.fields(), **fields)

    def _blank(self, c: _Candidate) -> Measurement:
        names = {
            "devices": ", ".join(device.name for device in c.devices),
            "nodes": ", ".join(str(device.node) for device in c.devices),
        }
        return Measurement(
            case=c.case.key,
            matrix_id=c.case.matrix_id,
            device=self.bench.device.id,
            format=c.case.format,
            kernel=c.case.kernel,
            state="ok",
            cache=c.case.cache,
            partitioning=c.setting.partitioning,
            devices=c.setting.devices,
            environment=self.bench.environment | (names if c.devices else {}),
        )


def _taken(work: Work | None) -> Work:
    if work is None:
        raise RuntimeError("A case whose work failed has no samples.")
    return work
