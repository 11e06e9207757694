"""Products of one matrix: every kernel converted, checked against SciPy and sampled in the same interleaved rounds."""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gpu_engine.competitors import BEST, COMPETITORS, competitor_names
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import DeviceMemoryError, KernelError, LayoutTooLargeError, ParameterError, SparsightError
from gpu_engine.formats import FORMATS
from gpu_engine.formats.base import Format, Kernel, check_room
from gpu_engine.measure import Bench, Entry, Rounds
from gpu_engine.orders import GIVEN, Reordered, moving, ordered, reorder
from gpu_engine.records import Cache, Case, Measurement, MeasurementState, Progress, Record, Started
from gpu_engine.verify import POISON, check, reference

GATHER, REPEAT, PERMUTE = "probe/gather", "probe/repeat", "probe/permute"
"""Entries of the rounds that are not cases: the gather probe, the reference kernel once more, moving x and y."""

PREPARATION = 0.25
"""Share of a matrix's progress that converting and checking takes."""


@dataclass(frozen=True, slots=True)
class SamplingPlan:
    """How to sample: cache states, interleaved rounds, the kernel that enters twice, seconds of repeats for energy, and
    the order of rows and columns.
    """

    caches: tuple[Cache, ...]
    rounds: int
    reference: str
    energy_s: float
    order: str = GIVEN


@dataclass(slots=True)
class _Candidate:
    """A kernel of one matrix on its way into the rounds."""

    name: str
    format: Format
    kernel: Kernel
    fields: dict[str, Any] = dataclasses.field(default_factory=dict)
    layout: Any = None
    error: SparsightError | None = None


class ProductRun:
    """All cases of one matrix: converts and checks each kernel, samples them together, reports in the cases' order."""

    def __init__(self, plan: SamplingPlan, cases: Sequence[Case], matrix: CsrMatrix, bench: Bench) -> None:
        self.plan = plan
        self.cases = cases
        self.bench = bench
        self.backend = bench.stopwatch.backend
        self.host = matrix
        self.reordered: Reordered | None = None
        self.keys = {(self._plain(case), case.cache): case.key for case in cases}
        self.caches = tuple(cache for cache in plan.caches if any(case.cache == cache for case in cases))

    def records(self) -> Iterator[Record]:
        """Measures group by group; a case whose kernel fails or does not fit yields its reason instead of a time."""
        if not self.host.nnz:
            yield from self._without_time(self.cases, "skipped", "the matrix has no entries")
            return
        if self.plan.order != GIVEN:
            yield Progress(0.0, f"finding the order {self.plan.order}")
            try:
                self.reordered = reorder(self.plan.order, self.host)
            except ParameterError as error:
                yield from self._without_time(self.cases, "skipped", error.message)
                return
            self.host = self.reordered.matrix
        yield Progress(0.0, "computing the reference product")
        expected = reference(self.host)
        try:
            self.matrix = self.bench.stopwatch.upload(self.host)
            self.expected = expected.on(self.bench.xp)
        except DeviceMemoryError as error:
            yield from self._without_time(self.cases, "skipped", error.message)
            return
        self.x = self.expected.x
        self.y = self.bench.xp.empty(self.host.n_rows)
        reported: list[Measurement] = []
        groups = self._groups()
        for number, group in enumerate(groups):
            yield from self._prepare(group, number / len(groups), 1 / len(groups))
            rounds = self._rounds(group)
            yield from self._sample(rounds, (number + PREPARATION) / len(groups), (1 - PREPARATION) / len(groups))
            reported += self._report(group, rounds, {m.kernel for m in reported})
            for candidate in group:
                candidate.layout = None
        yield from self._in_order(reported)

    def _groups(self) -> list[list[_Candidate]]:
        """The kernels to sample, in groups whose layouts fit the memory together; the reference kernel is in each."""
        wanted = {self._plain(case) for case in self.cases}
        if BEST in wanted:
            wanted |= set(competitor_names(self.backend))
        wanted.add(self.plan.reference)
        room = int(self.bench.stopwatch.memory_bytes * 0.8) - 2 * self.matrix.stored_bytes
        groups: list[list[_Candidate]] = [[]]
        used = 0
        for f in (*FORMATS, *COMPETITORS):
            kernels = [k for name, k in f.kernels_on(self.backend) if name in wanted]
            needed = f.bytes_needed(self.matrix) if kernels else 0
            if groups[-1] and used + needed > room and needed <= self.bench.layout_bytes:
                groups.append(self._candidates(*self._reference()))
                used = 0
            used += min(needed, self.bench.layout_bytes)
            groups[-1] += self._candidates(f, [k for k in kernels if not self._in(groups[-1], f, k)])
        return groups

    def _plain(self, case: Case) -> str:
        """The kernel of a case without its order."""
        return case.kernel.removesuffix(ordered("", self.plan.order))

    def _reference(self) -> tuple[Format, list[Kernel]]:
        return next(
            (f, [k])
            for f in (*FORMATS, *COMPETITORS)
            for name, k in f.kernels_on(self.backend)
            if name == self.plan.reference
        )

    @staticmethod
    def _candidates(f: Format, kernels: list[Kernel]) -> list[_Candidate]:
        return [_Candidate(f.name_of(k), f, k) for k in kernels]

    @staticmethod
    def _in(group: list[_Candidate], f: Format, kernel: Kernel) -> bool:
        return any(c.format is f and c.kernel is kernel for c in group)

    def _prepare(self, group: list[_Candidate], begin: float, share: float) -> Iterator[Record]:
        """Converts to each format once and checks each kernel; what goes wrong is the candidate's own."""
        layouts: dict[int, tuple[Any, dict[str, Any]] | SparsightError] = {}
        for number, candidate in enumerate(group):
            key = next((self.keys[candidate.name, c] for c in self.caches if (candidate.name, c) in self.keys), None)
            if key is not None:
                yield Started(key)
            yield Progress(begin + share * PREPARATION * number / len(group), f"checking {candidate.name}")
            built = layouts.get(id(candidate.format))
            if built is None:
                built = layouts[id(candidate.format)] = self._convert(candidate.format)
            if isinstance(built, SparsightError):
                candidate.error = built
                continue
            candidate.layout, candidate.fields = built[0], dict(built[1])
            try:
                candidate.fields["max_error"] = self._check(candidate)
            except (KernelError, DeviceMemoryError) as error:
                candidate.error = error

    def _convert(self, f: Format) -> tuple[Any, dict[str, Any]] | SparsightError:
        stopwatch = self.bench.stopwatch
        try:
            check_room(f.bytes_needed(self.matrix), self.bench.layout_bytes)
            with stopwatch.guard():
                peak = stopwatch.peak_bytes(lambda: f.from_csr(self.matrix))
                layout, seconds = stopwatch.time_once(lambda: f.from_csr(self.matrix))
        except (DeviceMemoryError, KernelError, LayoutTooLargeError) as error:
            return error
        return layout, {"stored_bytes": layout.stored_bytes, "convert_s": seconds, "convert_peak_bytes": peak}

    def _check(self, candidate: _Candidate) -> float:
        self.y.fill(POISON)
        with self.bench.stopwatch.guard():
            self._call(candidate)()
            self.bench.stopwatch.synchronize()
        return check(self.expected, self.y)

    def _call(self, candidate: _Candidate) -> Any:
        product = candidate.kernel.product(self.backend)
        if product is None:
            raise KernelError(f"{candidate.name} does not exist on {self.backend}.")
        return lambda: product(candidate.layout, self.x, self.y)

    def _rounds(self, group: list[_Candidate]) -> Rounds:
        entries = [Entry(c.name, self._call(c)) for c in group if c.error is None]
        entries += [Entry(REPEAT, self._call(c)) for c in group if c.name == self.plan.reference and c.error is None]
        entries.append(Entry(GATHER, self.bench.stopwatch.gather(self.matrix, self.x)))
        if self.reordered is not None:
            entries.append(Entry(PERMUTE, moving(self.reordered, self.x, self.y, self.bench.xp)))
        return self.bench.rounds(entries, self.caches, self.plan.rounds)

    def _sample(self, rounds: Rounds, begin: float, share: float) -> Iterator[Record]:
        for number, turn in enumerate(rounds):
            if (turn.entry, turn.cache) in self.keys:
                yield Started(self.keys[turn.entry, turn.cache])
            if turn.entry == GATHER:
                message = f"round {turn.round + 1} of {self.plan.rounds}, {turn.cache}"
                yield Progress(begin + share * number / len(rounds), message)

    def _report(self, group: list[_Candidate], rounds: Rounds, known: set[str]) -> list[Measurement]:
        """The measurements of the group's kernels that no group before it reported."""
        return [self._measurement(c, cache, rounds) for c in group if c.name not in known for cache in self.caches]

    def _measurement(self, candidate: _Candidate, cache: Cache, rounds: Rounds) -> Measurement:
        base = Measurement(
            case=Case("", candidate.name, cache).key,
            matrix_id=self.cases[0].matrix_id,
            device=self.bench.device.id,
            format=candidate.format.name,
            kernel=candidate.name,
            state="ok",
            cache=cache,
            environment={**self.bench.environment, "source": candidate.kernel.source_hash(self.backend)},
            **candidate.fields,
        )
        if candidate.error is not None:
            state: MeasurementState = (
                "skipped" if isinstance(candidate.error, LayoutTooLargeError | DeviceMemoryError) else "failed"
            )
            return dataclasses.replace(base, state=state, note=candidate.error.message)
        return self._timed(base, candidate, cache, rounds)

    def _timed(self, base: Measurement, candidate: _Candidate, cache: Cache, rounds: Rounds) -> Measurement:
        timing = rounds.timing(candidate.name, cache)
        moved = candidate.kernel.layout_bytes(candidate.layout) + 8 * self.host.n_rows
        least = self.bench.least_s(moved, cache)
        if timing.median_s < least:
            note = f"refused: {timing.median_s:.3e} s is under {least:.3e} s, the floor of the {moved} bytes it moves"
            return dataclasses.replace(base, state="failed", note=note)
        compulsory = self.host.compulsory_bytes
        return dataclasses.replace(
            base,
            **timing.fields(),
            gflops=2 * self.host.nnz / timing.median_s / 1e9,
            floor_s=compulsory / self.bench.profile.rate(compulsory, cache),
            gather_floor_s=rounds.timing(GATHER, cache).median_s,
            reference_gap=self._reference_gap(rounds, cache),
            energy_j=self._energy(candidate) if cache == "warm" else None,
            order_s=self.reordered.seconds if self.reordered else None,
            permute_s=rounds.timing(PERMUTE, cache).median_s if self.reordered else None,
        )

    def _reference_gap(self, rounds: Rounds, cache: Cache) -> float | None:
        try:
            first, again = (rounds.timing(name, cache).median_s for name in (self.plan.reference, REPEAT))
        except KeyError:
            # The reference kernel failed on this matrix and was not sampled.
            return None
        return abs(again / first - 1)

    def _energy(self, candidate: _Candidate) -> float | None:
        if not self.plan.energy_s:
            return None
        return self.bench.stopwatch.energy_j(self._call(candidate), self.plan.energy_s)

    def _in_order(self, measured: list[Measurement]) -> Iterator[Measurement]:
        """One measurement per case of this run, in the order of the cases."""
        found = {(m.kernel, m.cache): m for m in measured}
        for case in self.cases:
            kernel = self._plain(case)
            m = _best(measured, case.cache) if kernel == BEST else found[kernel, case.cache]
            yield dataclasses.replace(m, case=case.key, kernel=case.kernel)

    def _without_time(self, cases: Sequence[Case], state: MeasurementState, note: str) -> Iterator[Measurement]:
        for case in cases:
            device, environment = self.bench.device.id, self.bench.environment
            yield Measurement(
                case.key,
                case.matrix_id,
                device,
                case.format,
                case.kernel,
                state,
                case.cache,
                note=note,
                environment=environment,
            )


def _best(measured: list[Measurement], cache: Cache) -> Measurement:
    """The fastest competitor in that cache state, its algorithm in the note; a failed one when none has a time."""
    algorithms = [m for m in measured if m.format == BEST.partition("/")[0] and m.cache == cache]
    timed = [m for m in algorithms if m.median_s is not None]
    if not timed:
        return dataclasses.replace(algorithms[0], note="no algorithm of the library ran")
    fastest = min(timed, key=lambda m: m.median_s or 0.0)
    return dataclasses.replace(fastest, note=fastest.kernel.partition("/")[2])
