"""PageRank of one graph: every kernel and schedule run, verified, and sampled in the same interleaved rounds."""

import dataclasses
import os
import statistics
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import DeviceMemoryError, KernelError, LayoutTooLargeError, ParameterError, SparsightError
from gpu_engine.formats.base import check_room
from gpu_engine.measure import Bench, Entry, Rounds
from gpu_engine.pagerank.bytes import iteration_bytes
from gpu_engine.pagerank.cuda_pulls import PULLS
from gpu_engine.pagerank.graph import PageRankParams, transition_matrix
from gpu_engine.pagerank.kernels import RankKernel
from gpu_engine.pagerank.run import PHASES, Ranks, Run, iterate, replayed
from gpu_engine.pagerank.schedule import Schedule, iterations_by_segments
from gpu_engine.pagerank.verify import Verifier, top_pages
from gpu_engine.records import Case, Measurement, Progress, Record, Started, Trace

PREPARATION = 0.4
"""Share of a graph's progress that the first runs and their verification take."""

PARTS_REPEATS = 3
"""Runs timed part by part; each part's median counts."""

JUDGES = min(8, os.cpu_count() or 1)
"""Rank vectors that are verified at a time, on the host, while the device runs the next case; each takes memory."""

ROOM = 0.6
"""Share of the memory that the ranks and matrices of kernels sampled together may take."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure of a graph: for each case its kernel and schedule, how often, and how many top pages."""

    params: PageRankParams
    kernels: dict[str, tuple[RankKernel, Schedule, bool]]
    rounds: int
    energy_s: float
    top: int


@dataclass(slots=True)
class _Candidate:
    """A case on its way into the rounds."""

    case: Case
    kernel: RankKernel
    schedule: Schedule
    convert: bool
    ranks: Ranks | None = None
    run: Run | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    error: SparsightError | None = None


class RankRun:
    """All cases of one graph: runs and verifies each, samples them together, reports in the cases' order."""

    def __init__(self, plan: Plan, cases: Sequence[Case], adjacency: CsrMatrix, bench: Bench) -> None:
        self.plan, self.cases, self.adjacency, self.bench = plan, cases, adjacency, bench

    def records(self) -> Iterator[Record]:
        """Measures group by group; a case that fails or does not fit yields its reason instead of a time."""
        yield Progress(0.0, "making the transition matrix")
        try:
            self.graph = transition_matrix(self.adjacency, self.plan.params)
            self.verifier = Verifier(self.adjacency, self.plan.params)
            self.expected = self._fp64()
        except (ParameterError, DeviceMemoryError) as error:
            for case in self.cases:
                yield dataclasses.replace(self._blank(case), state="skipped", note=error.message)
            return
        candidates = [_Candidate(case, *self.plan.kernels[case.key]) for case in self.cases]
        groups = self._groups(candidates)
        for number, group in enumerate(groups):
            yield from self._measure(group, number / len(groups), 1 / len(groups))

    def _fp64(self) -> Any:
        """The ranks that others are compared with: of a run in fp64, CSR, one thread a page."""
        with self.bench.stopwatch.guard():
            ranks = RankKernel("csr/thread").ranks(self.graph, self.plan.params, self.bench.xp)
            iterate(ranks, self.plan.params)
            return ranks.ranks()

    def _groups(self, candidates: Sequence[_Candidate]) -> list[list[_Candidate]]:
        """Those whose arrays fit the memory together."""
        room, used = ROOM * self.bench.stopwatch.memory_bytes, 0.0
        groups: list[list[_Candidate]] = [[]]
        for candidate in candidates:
            needed = self._bytes_needed(candidate.kernel)
            if groups[-1] and used + needed > room:
                groups.append([])
                used = 0.0
            groups[-1].append(candidate)
            used += min(needed, self.bench.layout_bytes)
        return groups

    def _bytes_needed(self, kernel: RankKernel) -> float:
        """Upper bound of what a run holds on the device."""
        pull = self.graph.pull
        slots = PULLS[kernel.layout].most_slots(pull)
        return 20.0 * slots + 48.0 * pull.n_rows

    def _measure(self, group: list[_Candidate], begin: float, share: float) -> Iterator[Record]:
        with ThreadPoolExecutor(JUDGES) as judges:
            judged = list[tuple[_Candidate, Future[dict[str, Any]]]]()
            for number, candidate in enumerate(group):
                yield Started(candidate.case.key)
                yield Progress(begin + share * PREPARATION * number / len(group), f"running {candidate.kernel.name}")
                try:
                    p = self._first_run(candidate)
                except (KernelError, DeviceMemoryError, LayoutTooLargeError) as error:
                    candidate.error, candidate.ranks = error, None
                    continue
                if len(judged) >= JUDGES:
                    _take(*judged.pop(0))
                judged.append((candidate, judges.submit(self._judge, candidate, p)))
            for pair in judged:
                _take(*pair)
        rounds = self._rounds(group)
        for number, turn in enumerate(rounds):
            yield Started(turn.entry)
            done = PREPARATION + (1 - PREPARATION) * number / len(rounds)
            yield Progress(begin + share * done, f"round {turn.round + 1} of {self.plan.rounds}")
        for candidate in group:
            if candidate.error is None:
                yield self._trace(candidate)
            yield self._measurement(candidate, rounds)
            candidate.ranks = None

    def _first_run(self, c: _Candidate) -> Any:
        """The ranks of the first run of a case, which finds its iterations."""
        check_room(self._bytes_needed(c.kernel), self.bench.layout_bytes)
        with self.bench.stopwatch.guard():
            c.ranks = c.kernel.ranks(self.graph, self.plan.params, self.bench.xp, c.convert)
            c.run = iterate(c.ranks, self.plan.params, c.schedule)
            c.fields = {
                "iterations": len(c.run.gammas),
                "iterations_by_segments": iterations_by_segments(c.run.written, c.schedule)
                if c.kernel.segments
                else (),
                "stored_bytes": c.ranks.stored_bytes,
            }
            return c.ranks.ranks()

    def _judge(self, c: _Candidate, p: Any) -> dict[str, Any]:
        """What the verifier says of the ranks; raises KernelError where they are wrong."""
        gammas = c.run.gammas if c.run else ()
        gamma = gammas[-1] if gammas else 0.0
        found = self.verifier.check(p, gamma, self._mantissa_bits(c), self.expected, self.plan.top)
        best = top_pages(p, self.plan.top)
        converged = c.run is not None and c.run.converged
        return {
            "residual": found.residual,
            "mass_error": found.mass_error,
            "distance": found.distance,
            "overlap": found.overlap,
            "top_pages": tuple(int(page) for page in best),
            "top_ranks": tuple(float(p[page]) for page in best),
            "note": "" if converged else f"γ is {gamma:.3g} after {len(gammas)} iterations, not under ε",
        }

    def _mantissa_bits(self, c: _Candidate) -> int:
        """Those that the last iteration read."""
        if c.run is None or not c.kernel.segments or not c.run.steps:
            return c.kernel.mantissa_bits
        return c.schedule.mantissa_bits(c.run.steps[-1].read)

    def _rounds(self, group: Sequence[_Candidate]) -> Rounds:
        entries = []
        for c in group:
            if c.error is None and c.ranks is not None and c.run is not None:
                call = partial(_play, c.ranks, c.schedule, c.run)
                entries.append(Entry(c.case.key, call, c.ranks.rewinder(c.schedule.first)))
        return self.bench.rounds(entries, ("warm",), self.plan.rounds)

    def _trace(self, c: _Candidate) -> Trace:
        """γ, segments and seconds by phase of every iteration, in as many digits as tell something."""
        if c.ranks is None or c.run is None:
            raise RuntimeError("A case without a run has no trace.")
        parts = list(replayed(c.ranks, c.schedule, c.run.steps))
        rewind = c.ranks.rewinder(c.schedule.first)
        acts = [act for _, _, act in parts]
        timed = [self.bench.stopwatch.time_parts(acts, rewind) for _ in range(PARTS_REPEATS)]
        rewind()
        seconds = {phase: [0.0] * len(c.run.steps) for phase in PHASES}
        for (iteration, phase, _), samples in zip(parts, zip(*timed, strict=True), strict=True):
            seconds[phase][iteration] += float(f"{statistics.median(samples):.4g}")
        c.fields["phases_s"] = {phase: sum(values) for phase, values in seconds.items()}
        segmented = bool(c.kernel.segments)
        return Trace(
            c.case.key,
            {
                "gamma": tuple(float(f"{gamma:.6g}") for gamma in c.run.gammas),
                "read": tuple(float(k) if segmented else 0.0 for k in c.run.read),
                "written": tuple(float(k) if segmented else 0.0 for k in c.run.written),
                **{f"{phase}_s": tuple(values) for phase, values in seconds.items()},
                "gather_s": self._gather(c),
            },
        )

    def _gather(self, c: _Candidate) -> tuple[float, ...]:
        """Seconds of the probe at the precision of each iteration; 0 where there is none."""
        if c.ranks is None or c.run is None:
            raise RuntimeError("A case without a run has no probe.")
        if c.ranks.gather() is None or not self.graph.pull.nnz:
            return (0.0,) * len(c.run.steps)
        found = {k: self._probed(c.ranks, k) for k in sorted(set(c.run.read))}
        return tuple(found[k] for k in c.run.read)

    def _probed(self, ranks: Ranks, k: int) -> float:
        ranks.reset(k)
        probe = ranks.gather()
        if probe is None:
            return 0.0
        return float(f"{statistics.median(self.bench.stopwatch.prepare(probe, 'warm')()):.4g}")

    def _measurement(self, c: _Candidate, rounds: Rounds) -> Measurement:
        base = dataclasses.replace(self._blank(c.case), **c.fields)
        if c.error is not None or c.run is None:
            skipped = isinstance(c.error, LayoutTooLargeError | DeviceMemoryError)
            note = c.error.message if c.error else "it never ran"
            return dataclasses.replace(base, state="skipped" if skipped else "failed", note=note)
        timing = rounds.timing(c.case.key, "warm")
        moved = [iteration_bytes(self.graph, c.kernel, step.read, step.write) for step in c.run.steps]
        least = sum(self.bench.least_s(count, "warm") for count in moved)
        if timing.median_s < least:
            note = f"refused: {timing.median_s:.3e} s is under {least:.3e} s, the floor of the bytes that it moves"
            return dataclasses.replace(base, state="failed", note=note)
        return dataclasses.replace(
            base,
            **timing.fields(),
            gflops=2 * self.graph.pull.nnz * len(moved) / timing.median_s / 1e9,
            floor_s=sum(count / self.bench.profile.rate(int(count), "warm") for count in moved),
            energy_j=self._energy(c),
        )

    def _energy(self, c: _Candidate) -> float | None:
        if not self.plan.energy_s or c.ranks is None or c.run is None or not c.run.steps:
            return None
        rewind = c.ranks.rewinder(c.schedule.first)
        return self.bench.stopwatch.energy_j(partial(_play, c.ranks, c.schedule, c.run), self.plan.energy_s, rewind)

    def _blank(self, case: Case) -> Measurement:
        return Measurement(
            case=case.key,
            matrix_id=case.matrix_id,
            device=self.bench.device.id,
            format=case.format,
            kernel=case.kernel,
            state="ok",
            cache=case.cache,
            environment=self.bench.environment,
        )


def _take(c: _Candidate, judged: Future[dict[str, Any]]) -> None:
    """What the verifier said, as soon as it is there, becomes the candidate's own: its fields, or its error."""
    try:
        c.fields |= judged.result()
    except KernelError as error:
        c.error, c.ranks = error, None


def _play(ranks: Ranks, schedule: Schedule, run: Run) -> None:
    """The steps of a run once more, without a look at γ."""
    for _, _, act in replayed(ranks, schedule, run.steps):
        act()
