"""SampleRun: the one measuring engine. Candidates are prepared and verified, then sampled in interleaved rounds."""

import dataclasses
import os
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from gpu_engine.cuda.ahead import compile_here, missing_here
from gpu_engine.errors import KernelError, ParameterError, SparsightError
from gpu_engine.measure import Bench, Rounds
from gpu_engine.records import Cache, Case, Interim, Measurement, MeasurementState, Progress, Record, Started
from gpu_engine.sampling.course import REPEAT, Course
from gpu_engine.sampling.effort import FULL, Effort
from gpu_engine.sampling.experiment import CASE_ERRORS, SKIPS, Candidate, Experiment, Fields
from gpu_engine.sampling.settling import gap_of
from gpu_engine.text import units
from gpu_engine.verdicts.noise import beats_copy
from gpu_engine.verdicts.verdict import compare

PREPARATION = 0.3
"""Share of the progress that converting and checking takes."""

ENERGY_MOST = 4
"""Of so many leaders the energy is measured."""

NOT_REACHED = "not measured: before its turn came it was said that what was measured is enough"

ROOM = 0.6
"""Share of the memory for all that is sampled together; conversions need the rest."""

VERIFICATIONS = min(8, os.cpu_count() or 1)
"""So many results at a time are verified on the host while the device goes on; each takes memory there."""


class SampleRun:
    """Measures all cases of an experiment and reports each of them once."""

    def __init__(self, experiment: Experiment, effort: Effort = FULL) -> None:
        self._experiment, self._bench, self._effort = experiment, experiment.bench, effort
        self._measured: list[Measurement] = []
        self._reported: set[str] = set()
        self._rounds_s = 0.0

    def records(self) -> Iterator[Record]:
        """Measures group by group; a case that fails or does not fit yields its reason instead of a time."""
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
            for record in self._group(group, self._effort.share(self._rounds_s, len(groups) - number)):
                if isinstance(record, Progress):
                    record = dataclasses.replace(record, done=(number + record.done) / len(groups))
                yield record
        yield from self._experiment.derived(self._measured)

    def _compile(self, candidates: Sequence[Candidate]) -> Iterator[Progress]:
        """Compiles what the candidates launch, all of it at once: nothing is timed meanwhile."""
        if self._bench.stopwatch.backend != "cuda":
            return
        missing = missing_here([source for c in candidates for source in c.sources])
        if missing:
            yield Progress(0.0, f"compiling kernels, {len(missing)} sources")
            compile_here(missing)

    def _groups(self, candidates: Sequence[Candidate]) -> Iterator[list[Candidate]]:
        """Candidates of one kind whose layouts fit the memory together; the first of a kind is in all its groups."""
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
        """What a group leaves on the device: a layout that several share counts once, what is refused never."""
        made = [c for c in group if c.bytes_needed <= self._bench.layout_bytes]
        shared = {c.layout: c.bytes_needed for c in made if c.layout is not None}
        return sum(shared.values()) + sum(c.bytes_needed for c in made if c.layout is None)

    def _group(self, group: Sequence[Candidate], effort: Effort) -> Iterator[Record]:
        with self._experiment.group():
            yield from self._prepare(group)
            course = Course(group, self._experiment, effort)
            begin_s = self._bench.stopwatch.now()
            yield from self._sample(group, course)
            self._rounds_s += self._bench.stopwatch.now() - begin_s
            yield from self._report(group, course.rounds)
            for c in group:
                c.release()

    def _prepare(self, group: Sequence[Candidate]) -> Iterator[Record]:
        """Prepares one candidate after the other while earlier results are verified; each has an error of its own."""
        with ThreadPoolExecutor(VERIFICATIONS) as verifiers:
            pending = deque[tuple[Candidate, Future[Fields]]]()
            for number, c in enumerate(group):
                yield from (Started(case.key) for case in tuple(c.cases.values())[:1])
                yield Progress(PREPARATION * number / len(group), f"checking {c.kernel}")
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
        """Raises ParameterError, which skips what has not begun, once somebody has said that it is enough."""
        if self._bench.stop_requested():
            raise ParameterError(NOT_REACHED)

    def _sample(self, group: Sequence[Candidate], course: Course) -> Iterator[Record]:
        keys = {(c.name, cache): case.key for c in group for cache, case in c.cases.items()}
        caches, most = self._experiment.caches, self._experiment.rounds
        shown: tuple[Cache, int] | None = None
        for turn in course.rounds:
            if shown != (turn.cache, turn.round):
                shown = turn.cache, turn.round
                done = (turn.round + caches.index(turn.cache) / len(caches)) / most
                interim = course.interim(turn.round)
                said = f"round {turn.round + 1} of {most}, {turn.cache}{_so_far(interim, turn.cache)}"
                yield Progress(PREPARATION + (1 - PREPARATION) * done, said, interim)
            if (turn.name, turn.cache) in keys:
                yield Started(keys[turn.name, turn.cache])

    def _report(self, group: Sequence[Candidate], rounds: Rounds) -> Iterator[Record]:
        """The records of each candidate that no group before has reported, in the order of the cases."""
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
        found: list[tuple[int, Sequence[Record]]] = []
        wanted = self._with_energy([m for _, _, m in measured])
        for c, cache, m in measured:
            full = m.with_(energy_j=c.energy_j()) if m.case in wanted else m
            self._measured.append(full)
            if cache in c.cases:
                found.append((order[m.case], (*traces[c.name], full)))
        for _, records in sorted(found, key=lambda entry: entry[0]):
            yield from records

    def _with_energy(self, measured: Iterable[Measurement]) -> set[str]:
        """The cases whose energy is measured, in a pass of its own: warm ones, all or those that may be the fastest."""
        if self._bench.stop_requested():
            return set()
        warm = sorted((m for m in measured if m.state == "ok" and m.cache == "warm"), key=lambda m: m.median_s or 0.0)
        if self._effort.energy == "fastest":
            warm = [m for m in warm if compare(warm[0], m).kind != "slower"][:ENERGY_MOST]
        return {m.case for m in warm}

    def _is_doubtful(self, measured: Sequence[tuple[Candidate, Cache, Measurement]], rounds: Rounds) -> bool:
        """Whether a time is shorter than the probe of the bandwidth allows: one of them is wrong."""
        timed = [(c, cache, m) for c, cache, m in measured if c.error is None]
        return any(rounds.timing(c.name, cache).median_s < c.least_s(cache) or beats_copy(m) for c, cache, m in timed)

    def _measurements(
        self, group: Sequence[Candidate], candidates: Sequence[Candidate], rounds: Rounds
    ) -> Iterator[tuple[Candidate, Cache, Measurement]]:
        """What the rounds of a group say of these candidates, without energy."""
        gaps = {cache: _reference_gap(group, cache, rounds) for cache in self._experiment.caches}
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
        return base.with_(**timing.fields(), aa_gap=gap, **c.rates(timing, cache, rounds))

    def _blank(self, case: Case) -> Measurement:
        known = {"environment": self._bench.environment, **self._experiment.known(case)}
        known["backend"] = self._bench.device.backend
        return Measurement.of(case, self._bench.device.id, self._experiment.details, **known)


def measure(bench: Bench, experiments: Iterable[Experiment], effort: Effort = FULL) -> Iterator[Record]:
    """The records of one experiment after the other, each with that effort; progress counts their cases."""
    yield from bench.calibrate()
    done = 0
    for experiment in experiments:
        for record in SampleRun(experiment, effort).records():
            if isinstance(record, Progress):
                record = dataclasses.replace(record, done=done + record.done * len(experiment.cases))
            yield record
        done += len(experiment.cases)


def alike(cases: Iterable[Case], key: Callable[[Case], Hashable]) -> Iterator[list[Case]]:
    """The cases in groups of one key, in the order in which the keys come first."""
    groups: dict[Hashable, list[Case]] = {}
    for case in cases:
        groups.setdefault(key(case), []).append(case)
    yield from groups.values()


def by_matrix(cases: Iterable[Case]) -> Iterator[list[Case]]:
    """The cases of one matrix after the other."""
    return alike(cases, lambda case: case.matrix_id)


def _verified(c: Candidate, result: Future[Fields]) -> None:
    """Adds what the verification found to the fields of the candidate, or keeps its error."""
    try:
        c.fields |= result.result()
    except CASE_ERRORS as error:
        c.fail(error)


def _so_far(interim: Iterable[Interim], cache: Cache) -> str:
    """The fastest in that cache state by the rounds so far, and how many are open; empty where they say nothing yet."""
    own = [each for each in interim if Case.parse(each.case).cache == cache]
    if not own:
        return ""
    still = sum(not each.decided for each in own)
    said = f"; so far {Case.parse(own[0].case).kernel} is the fastest, {units.seconds(own[0].median_s)}"
    return said if still == len(own) else f"{said}, {still} of {len(own)} open"


def _reference_gap(group: Sequence[Candidate], cache: Cache, rounds: Rounds) -> float | None:
    reference = next((c for c in group if c.error is None), None)
    if reference is None:
        return None
    return gap_of(*(rounds.timing(name, cache).samples_s for name in (reference.name, REPEAT)))


def _without_time(base: Measurement, error: SparsightError) -> Measurement:
    state: MeasurementState = "skipped" if isinstance(error, SKIPS) else "failed"
    return dataclasses.replace(base, state=state, note=error.message)
