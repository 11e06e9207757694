"""Products of one batch: every kernel converted, checked against SciPy and sampled in the same interleaved rounds."""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpu_engine.batched.base import BatchKernel
from gpu_engine.batched.composition import Composition
from gpu_engine.competitors import BEST
from gpu_engine.competitors.batches import DIAGONALS, LOOPS
from gpu_engine.errors import DeviceMemoryError, KernelError, LayoutTooLargeError, ParameterError, SparsightError
from gpu_engine.formats.base import check_room
from gpu_engine.measure import Bench, Entry, Rounds
from gpu_engine.records import Cache, Case, Measurement, MeasurementState, Progress, Record, Started
from gpu_engine.verify import POISON, check

PREPARATION = 0.3
"""Share of a batch's progress that converting and checking takes."""

ROOM = 0.6
"""Share of the memory for batch, vectors and the layouts of kernels sampled together; conversions need the rest."""

SKIPS = (LayoutTooLargeError, DeviceMemoryError, ParameterError)
"""Reasons for which a case is skipped; any other fails it."""

BEST_OF = frozenset(kernel.name for kernel in DIAGONALS)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure of a batch.

    kernels   every kernel that a case names, and those that BEST chooses from
    adds      y := A·x + y instead of y := A·x
    loop_max  most problems for kernels that launch something for each
    energy_s  seconds of repeats for the energy of a product; 0: not measured
    """

    kernels: tuple[BatchKernel, ...]
    caches: tuple[Cache, ...]
    rounds: int
    adds: bool
    loop_max: int
    energy_s: float


@dataclass(slots=True)
class _Candidate:
    """A kernel on its way into the rounds."""

    kernel: BatchKernel
    fields: dict[str, Any] = field(default_factory=dict)
    layout: Any = None
    error: SparsightError | None = None

    @property
    def name(self) -> str:
        return self.kernel.name


class BatchRun:
    """All cases of one batch: converts and checks each kernel, samples them together, reports in the cases' order.

    names  of the matrices of a mixed batch, for the records
    """

    def __init__(
        self, plan: Plan, cases: Sequence[Case], composition: Composition, bench: Bench, names: Sequence[str] = ()
    ) -> None:
        self.plan, self.cases, self.composition, self.bench = plan, cases, composition, bench
        self.backend = bench.stopwatch.backend
        self.keys = {(case.kernel, case.cache): case.key for case in cases}
        self.caches = tuple(cache for cache in plan.caches if any(case.cache == cache for case in cases))
        self.environment = {**bench.environment, **({"matrices": ", ".join(names)} if names else {})}

    @property
    def vector_bytes(self) -> int:
        """Bytes of x, read, and y, written and, where the product adds, read."""
        return 8 * self.composition.n_cols + (16 if self.plan.adds else 8) * self.composition.n_rows

    def records(self) -> Iterator[Record]:
        """Measures group by group; a case whose kernel fails or does not fit yields its reason instead of a time."""
        yield Progress(0.0, "making the batch and its reference product")
        try:
            with self.bench.stopwatch.guard():
                self._load()
        except SKIPS as error:
            yield from skipped(self.cases, error.message, self.bench)
            return
        reported: list[Measurement] = []
        groups = self._groups()
        for number, group in enumerate(groups):
            begin, share = number / len(groups), 1 / len(groups)
            yield from self._prepare(group, begin, share * PREPARATION)
            rounds = self._rounds(group)
            yield from self._sample(rounds, begin + share * PREPARATION, share * (1 - PREPARATION))
            for candidate in group:
                reported += [self._measurement(candidate, cache, rounds) for cache in self.caches]
                candidate.layout = None
        yield from self._in_order(reported)

    def _load(self) -> None:
        """The batch, x, y and the reference on the device; raises LayoutTooLargeError before any is made."""
        # x, y, the y before, and three arrays of the reference.
        needed = self.composition.bytes_needed + 8 * self.composition.n_cols + 5 * 8 * self.composition.n_rows
        check_room(needed, self.bench.layout_bytes)
        self.held_bytes, xp = needed, self.bench.xp
        self.batch = self.composition.batch(xp)
        self.expected = self.composition.reference(adds=self.plan.adds).on(xp)
        self.x, self.y = self.expected.x, xp.empty(self.composition.n_rows)
        self.start = xp.asarray(self.composition.start()) if self.plan.adds else POISON

    def _groups(self) -> list[list[_Candidate]]:
        """The kernels to sample, in groups whose layouts fit the memory together."""
        wanted = {case.kernel for case in self.cases}
        room = int(self.bench.stopwatch.memory_bytes * ROOM) - self.held_bytes
        groups: list[list[_Candidate]] = [[]]
        used, stores = 0, set[Any]()
        for kernel in self.plan.kernels:
            if kernel.name not in wanted and not (BEST in wanted and kernel.name in BEST_OF):
                continue
            needed = min(kernel.bytes_needed(self.batch), self.bench.layout_bytes)
            if groups[-1] and kernel.store not in stores and used + needed > room:
                groups.append([])
                used, stores = 0, set()
            used += 0 if kernel.store in stores else needed
            stores.add(kernel.store)
            groups[-1].append(_Candidate(kernel))
        return groups

    def _prepare(self, group: list[_Candidate], begin: float, share: float) -> Iterator[Record]:
        """Stores the batch once for kernels of one layout and checks each; what goes wrong is the candidate's own."""
        layouts: dict[Any, tuple[Any, dict[str, Any]] | SparsightError] = {}
        for number, candidate in enumerate(group):
            key = next((self.keys[candidate.name, c] for c in self.caches if (candidate.name, c) in self.keys), None)
            if key is not None:
                yield Started(key)
            yield Progress(begin + share * number / len(group), f"checking {candidate.name}")
            try:
                self._refuse_loop(candidate)
                if candidate.kernel.store not in layouts:
                    layouts[candidate.kernel.store] = self._stored(candidate.kernel)
                built = layouts[candidate.kernel.store]
                if isinstance(built, SparsightError):
                    raise built
                candidate.layout, candidate.fields = built[0], dict(built[1])
                candidate.fields["max_error"] = self._check(candidate)
            except (KernelError, *SKIPS) as error:
                candidate.error = error

    def _refuse_loop(self, candidate: _Candidate) -> None:
        count, most = self.composition.count, self.plan.loop_max
        if candidate.name in LOOPS and count > most:
            raise ParameterError(f"one launch a problem: {count} problems are more than {most}, the loop_max")

    def _stored(self, kernel: BatchKernel) -> tuple[Any, dict[str, Any]] | SparsightError:
        stopwatch = self.bench.stopwatch
        try:
            check_room(kernel.bytes_needed(self.batch), self.bench.layout_bytes)
            with stopwatch.guard():
                peak = stopwatch.peak_bytes(lambda: kernel.store(self.batch))
                layout, seconds = stopwatch.time_once(lambda: kernel.store(self.batch))
        except (KernelError, *SKIPS) as error:
            return error
        note = kernel.remark(layout) if kernel.remark else ""
        sizes = {"stored_bytes": layout.stored_bytes, "convert_peak_bytes": peak}
        return layout, {**sizes, "convert_s": seconds, "note": note}

    def _check(self, candidate: _Candidate) -> float:
        self.y[...] = self.start
        with self.bench.stopwatch.guard():
            self._call(candidate)()
            self.bench.stopwatch.synchronize()
        return check(self.expected, self.y)

    def _call(self, candidate: _Candidate) -> Any:
        product = candidate.kernel.product(self.backend)
        if product is None:
            raise KernelError(f"{candidate.name} does not exist on {self.backend}.")
        # The layout is looked up at each call: what keeps the call does not keep the layout.
        return lambda: product(candidate.layout, self.x, self.y, self.plan.adds)

    def _rounds(self, group: list[_Candidate]) -> Rounds:
        # From call to call a y that is added to grows by A·x: linearly, so that it never overflows.
        self.y[...] = 0.0
        entries = [Entry(c.name, self._call(c)) for c in group if c.error is None]
        return self.bench.rounds(entries, self.caches, self.plan.rounds)

    def _sample(self, rounds: Rounds, begin: float, share: float) -> Iterator[Record]:
        for number, turn in enumerate(rounds):
            if (turn.entry, turn.cache) in self.keys:
                yield Started(self.keys[turn.entry, turn.cache])
            message = f"round {turn.round + 1} of {self.plan.rounds}, {turn.cache}"
            yield Progress(begin + share * number / len(rounds), message)

    def _measurement(self, c: _Candidate, cache: Cache, rounds: Rounds) -> Measurement:
        base = dataclasses.replace(
            _blank(self.cases[0], self.bench),
            format=c.name.partition("/")[0],
            kernel=c.name,
            cache=cache,
            problems=self.composition.count,
            environment={**self.environment, "source": c.kernel.source_hash(self.backend)},
            **c.fields,
        )
        if c.error is not None:
            state: MeasurementState = "skipped" if isinstance(c.error, SKIPS) else "failed"
            return dataclasses.replace(base, state=state, note=c.error.message)
        timing = rounds.timing(c.name, cache)
        moved = c.kernel.layout_bytes(c.layout) + 8 * self._rows_written()
        least = self.bench.least_s(moved, cache)
        if timing.median_s < least:
            note = f"refused: {timing.median_s:.3e} s is under {least:.3e} s, the floor of the {moved} bytes it moves"
            return dataclasses.replace(base, state="failed", note=note)
        compulsory = self.batch.compulsory_bytes(self.plan.adds)
        return dataclasses.replace(
            base,
            **timing.fields(),
            gflops=2 * self.batch.nnz / timing.median_s / 1e9,
            floor_s=compulsory / self.bench.profile.rate(compulsory, cache),
            vector_bytes=self.vector_bytes,
            energy_j=self._energy(c) if cache == "warm" else None,
        )

    def _rows_written(self) -> int:
        """Elements of y that any product must write: none of an empty row where it adds."""
        if not self.plan.adds:
            return self.composition.n_rows
        occupied = [np.count_nonzero(np.diff(m.indptr)) for m in self.composition.matrices]
        return int(np.asarray(occupied)[self.composition.order].sum())

    def _energy(self, c: _Candidate) -> float | None:
        # The energy of a call comes from hundreds of them in one graph: too many launches for a loop.
        if not self.plan.energy_s or c.name in LOOPS:
            return None
        return self.bench.stopwatch.energy_j(self._call(c), self.plan.energy_s)

    def _in_order(self, measured: list[Measurement]) -> Iterator[Measurement]:
        """One measurement per case of this run, in the order of the cases."""
        found = {(m.kernel, m.cache): m for m in measured}
        for case in self.cases:
            m = _best(measured, case.cache) if case.kernel == BEST else found[case.kernel, case.cache]
            yield dataclasses.replace(m, case=case.key, kernel=case.kernel)


def skipped(cases: Sequence[Case], reason: str, bench: Bench) -> Iterator[Measurement]:
    """The cases without a time."""
    for case in cases:
        yield dataclasses.replace(_blank(case, bench), state="skipped", note=reason)


def _blank(case: Case, bench: Bench) -> Measurement:
    device, environment = bench.device.id, bench.environment
    return Measurement(
        case.key, case.matrix_id, device, case.format, case.kernel, "ok", case.cache, environment=environment
    )


def _best(measured: list[Measurement], cache: Cache) -> Measurement:
    """The fastest algorithm in that cache state, its name in the note; a failed one when none has a time."""
    algorithms = [m for m in measured if m.kernel in BEST_OF and m.cache == cache]
    timed = [m for m in algorithms if m.median_s is not None]
    if not timed:
        return dataclasses.replace(algorithms[0], note=f"no algorithm of the library ran: {algorithms[0].note}")
    fastest = min(timed, key=lambda m: m.median_s or 0.0)
    return dataclasses.replace(fastest, note=fastest.kernel.partition("/")[2])
