"""SampleRun: prepares and verifies candidates, samples them in interleaved rounds, and yields their records."""

import dataclasses
import os
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from gpu_engine.cuda.precompile import compile_here, missing_here
from gpu_engine.errors import KernelError, ParameterError, SparsightError
from gpu_engine.measure import Bench, Rounds
from gpu_engine.records import Cache, Case, Interim, Measurement, MeasurementState, Progress, Record, Started
from gpu_engine.sampling.experiment import CASE_ERRORS, SKIPS, Candidate, Experiment, Fields
from gpu_engine.sampling.messages import STOPPED_BEFORE_START, checking, in_round
from gpu_engine.sampling.round_scheduler import REPEAT, RoundScheduler
from gpu_engine.sampling.sampling_options import ALL_ROUNDS, SamplingOptions
from gpu_engine.sampling.stopping import aa_gap
from gpu_engine.text import units
from gpu_engine.verdicts.noise import beats_copy
from gpu_engine.verdicts.verdict import compare

PREPARATION = 0.3
"""Share of the progress bar for conversion and verification."""

ENERGY_KERNELS_MAX = 4
"""Maximum number of fastest kernels whose energy is measured."""

ROOM = 0.6
"""Share of the device memory for candidates that are sampled together; conversions need the rest."""

VERIFICATIONS = min(8, os.cpu_count() or 1)
"""Number of results that the host verifies at a time while the device continues; each takes host memory."""


class SampleRun:
    """Measurement of all cases of an experiment; it reports each case once."""

    def __init__(self, experiment: Experiment, options: SamplingOptions = ALL_ROUNDS) -> None:
        self._experiment, self._bench, self._options = experiment, experiment.bench, options
        self._measured: list[Measurement] = []
        self._reported: set[str] = set()
        self._rounds_s = 0.0

    def records(self) -> Iterator[Record]:
        """Yield the records group by group; a case that fails or does not fit has a reason instead of a time."""
        yield Progress(0.0, self._experiment.beginning)
        try:
            self._check_time()
            with self._bench.stopwatch.guard():
                candidates = self._experiment.load()
            yield from self._compile(candidates)
        except CASE_ERRORS as error:
            for case in self._experiment.cases:
                yield _without_time(self._blank(case), error)
            return
        groups = list(self._groups(candidates))
        for number, group in enumerate(groups):
            for record in self._group(group, self._options.share(self._rounds_s, len(groups) - number)):
                if isinstance(record, Progress):
                    record = dataclasses.replace(record, done=(number + record.done) / len(groups))
                yield record
        yield from self._experiment.derived(self._measured)

    def _compile(self, candidates: Sequence[Candidate]) -> Iterator[Progress]:
        """Compile the sources of all candidates, in parallel because nothing is timed yet."""
        if self._bench.stopwatch.backend != "cuda":
            return
        missing = missing_here([source for c in candidates for source in c.sources])
        if missing:
            yield Progress(0.0, f"compiling kernels, {len(missing)} sources")
            compile_here(missing)

    def _groups(self, candidates: Sequence[Candidate]) -> Iterator[list[Candidate]]:
        """Yield groups of one kind whose layouts fit into memory together; each starts with the first of its kind."""
        room = ROOM * self._bench.stopwatch.memory_bytes - self._experiment.held_bytes
        group: list[Candidate] = []
        for c in candidates:
            if group and c.kind != group[0].kind:
                yield group
                group = []
            elif group and self._bytes_of((*group, c)) > max(room, self._bytes_of(group)):
                yield group
                group = [group[0]]
            group.append(c)
        if group:
            yield group

    def _bytes_of(self, group: Iterable[Candidate]) -> float:
        """Return the bytes of a group on the device; a shared layout counts once, a skipped one not at all."""
        made = [c for c in group if c.bytes_needed <= self._bench.layout_bytes]
        shared = {c.layout: c.bytes_needed for c in made if c.layout is not None}
        return sum(shared.values()) + sum(c.bytes_needed for c in made if c.layout is None)

    def _group(self, group: Sequence[Candidate], options: SamplingOptions) -> Iterator[Record]:
        with self._experiment.group():
            yield from self._prepare(group)
            scheduler = RoundScheduler(group, self._experiment, options)
            begin_s = self._bench.stopwatch.now()
            yield from self._sample(group, scheduler)
            self._rounds_s += self._bench.stopwatch.now() - begin_s
            yield from self._report(group, scheduler.rounds)
            for c in group:
                c.release()

    def _prepare(self, group: Sequence[Candidate]) -> Iterator[Record]:
        """Prepare the candidates one by one while the host verifies earlier results; an error affects one candidate."""
        with ThreadPoolExecutor(VERIFICATIONS) as verifiers:
            pending = deque[tuple[Candidate, Future[Fields]]]()
            for number, c in enumerate(group):
                yield from (Started(case.key) for case in tuple(c.cases.values())[:1])
                yield Progress(PREPARATION * number / len(group), checking(c.kernel))
                c.fields, c.error = {}, None
                while c.alone and pending:
                    _verified(*pending.popleft())
                try:
                    self._check_time()
                    with self._bench.stopwatch.guard():
                        pending.append((c, verifiers.submit(c.prepare())))
                except CASE_ERRORS as error:
                    c.fail(error)
                if len(pending) > VERIFICATIONS:
                    _verified(*pending.popleft())
            for c, result in pending:
                _verified(c, result)

    def _check_time(self) -> None:
        """Raise ParameterError, which skips the remaining cases, once the job is asked to stop."""
        if self._bench.stop_requested():
            raise ParameterError(STOPPED_BEFORE_START)

    def _sample(self, group: Sequence[Candidate], scheduler: RoundScheduler) -> Iterator[Record]:
        keys = {(c.name, cache): case.key for c in group for cache, case in c.cases.items()}
        caches, rounds = self._experiment.caches, self._experiment.rounds
        current: tuple[Cache, int] | None = None
        for turn in scheduler.rounds:
            if current != (turn.cache, turn.round):
                current = turn.cache, turn.round
                done = (turn.round + caches.index(turn.cache) / len(caches)) / rounds
                interim = scheduler.interim(turn.round)
                message = in_round(turn.round + 1, rounds, turn.cache, _so_far(interim, turn.cache))
                yield Progress(PREPARATION + (1 - PREPARATION) * done, message, interim)
            if (turn.name, turn.cache) in keys:
                yield Started(keys[turn.name, turn.cache])

    def _report(self, group: Sequence[Candidate], rounds: Rounds) -> Iterator[Record]:
        """Yield the records of the candidates that no earlier group has reported, in the order of the cases."""
        order = {case.key: number for number, case in enumerate(self._experiment.cases)}
        new = [c for c in group if c.name not in self._reported]
        self._reported |= {c.name for c in new}
        traces = {c.name: tuple(c.traces()) if c.error is None else () for c in new}
        measured = list(self._measurements(group, new, rounds))
        if self._is_doubtful(measured, rounds):
            profile = self._bench.profile
            yield from self._bench.calibrate_again()
            if self._bench.profile is not profile:
                measured = list(self._measurements(group, new, rounds))
        records: list[tuple[int, Sequence[Record]]] = []
        with_energy = self._with_energy([m for _, _, m in measured])
        for c, cache, m in measured:
            full = m.with_(energy_j=c.energy_j()) if m.case in with_energy else m
            self._measured.append(full)
            if cache in c.cases:
                records.append((order[m.case], (*traces[c.name], full)))
        for _, of_case in sorted(records, key=lambda entry: entry[0]):
            yield from of_case

    def _with_energy(self, measured: Iterable[Measurement]) -> set[str]:
        """Return the keys of the warm cases whose energy is measured, after the rounds: all, or the fastest."""
        if self._bench.stop_requested():
            return set()
        warm = sorted((m for m in measured if m.state == "ok" and m.cache == "warm"), key=lambda m: m.median_s or 0.0)
        if self._options.energy == "fastest":
            warm = [m for m in warm if compare(warm[0], m).kind != "slower"][:ENERGY_KERNELS_MAX]
        return {m.case for m in warm}

    def _is_doubtful(self, measured: Sequence[tuple[Candidate, Cache, Measurement]], rounds: Rounds) -> bool:
        """Return whether a time is shorter than the bandwidth probe allows, so that one of the two is wrong."""
        timed = [(c, cache, m) for c, cache, m in measured if c.error is None]
        return any(rounds.timing(c.name, cache).median_s < c.least_s(cache) or beats_copy(m) for c, cache, m in timed)

    def _measurements(
        self, group: Sequence[Candidate], candidates: Sequence[Candidate], rounds: Rounds
    ) -> Iterator[tuple[Candidate, Cache, Measurement]]:
        """Yield the measurements of these candidates from the rounds of their group, without energy."""
        gaps = {cache: _control_gap(group, cache, rounds) for cache in self._experiment.caches}
        for c in candidates:
            for cache in self._experiment.caches:
                yield c, cache, self._measurement(c, cache, rounds, gaps[cache])

    def _measurement(self, c: Candidate, cache: Cache, rounds: Rounds, gap: float | None) -> Measurement:
        case = c.cases.get(cache) or dataclasses.replace(self._experiment.cases[0], kernel=c.kernel, cache=cache)
        blank = self._blank(case)
        base = blank.with_(environment={**blank.environment, **c.environment}, **c.fields)
        if c.error is not None:
            return _without_time(base, c.error)
        timing = rounds.timing(c.name, cache)
        try:
            c.confirm(timing, cache)
        except KernelError as error:
            return _without_time(base, error)
        placements = len(timing.samples_s) if self._bench.places(c.placement()) else 1
        return base.with_(**timing.fields(), aa_gap=gap, placements=placements, **c.rates(timing, cache, rounds))

    def _blank(self, case: Case) -> Measurement:
        known = {"environment": self._bench.environment, **self._experiment.known(case)}
        known["backend"] = self._bench.device.backend
        return Measurement.of(case, self._bench.device.id, self._experiment.details, **known)


def measure(bench: Bench, experiments: Iterable[Experiment], options: SamplingOptions = ALL_ROUNDS) -> Iterator[Record]:
    """Yield the records of the experiments in order, sampled with the given options; progress counts their cases."""
    yield from bench.calibrate()
    done = 0
    for experiment in experiments:
        for record in SampleRun(experiment, options).records():
            if isinstance(record, Progress):
                record = dataclasses.replace(record, done=done + record.done * len(experiment.cases))
            yield record
        done += len(experiment.cases)


def group_by_key(cases: Iterable[Case], key: Callable[[Case], Hashable]) -> Iterator[list[Case]]:
    """Yield the cases grouped by key, in the order in which the keys first occur."""
    groups: dict[Hashable, list[Case]] = {}
    for case in cases:
        groups.setdefault(key(case), []).append(case)
    yield from groups.values()


def by_matrix(cases: Iterable[Case]) -> Iterator[list[Case]]:
    """Yield the cases grouped by matrix."""
    return group_by_key(cases, lambda case: case.matrix_id)


def _verified(c: Candidate, result: Future[Fields]) -> None:
    """Add the fields of the verification to the candidate, or store its error."""
    try:
        c.fields |= result.result()
    except CASE_ERRORS as error:
        c.fail(error)


def _so_far(interim: Iterable[Interim], cache: Cache) -> str:
    """Return the fastest kernel in a cache state so far and the number of undecided cases; empty without results."""
    results = [result for result in interim if Case.parse(result.case).cache == cache]
    if not results:
        return ""
    undecided = sum(not result.decided for result in results)
    fastest = f"; fastest so far: {Case.parse(results[0].case).kernel}, {units.seconds(results[0].median_s)}"
    return fastest if undecided == len(results) else f"{fastest}; {undecided} of {len(results)} undecided"


def _control_gap(group: Sequence[Candidate], cache: Cache, rounds: Rounds) -> float | None:
    control = next((c for c in group if c.error is None), None)
    if control is None:
        return None
    return aa_gap(*(rounds.timing(name, cache).samples_s for name in (control.name, REPEAT)))


def _without_time(base: Measurement, error: SparsightError) -> Measurement:
    state: MeasurementState = "skipped" if isinstance(error, SKIPS) else "failed"
    return dataclasses.replace(base, state=state, note=error.message)
