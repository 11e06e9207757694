"""RoundScheduler: decides which kernels run in each round, and when sampling stops."""

from collections.abc import Callable, Collection, Sequence

from gpu_engine.measure import Entry, Timed
from gpu_engine.measure.statistics import interval
from gpu_engine.records import Cache, Interim
from gpu_engine.sampling.experiment import Candidate, Experiment
from gpu_engine.sampling.sampling_options import SamplingOptions
from gpu_engine.sampling.stopping import CaseSamples, undecided_cases
from gpu_engine.verdicts.verdict import MIN_ROUNDS_FOR_VERDICT

REPEAT = "probe/repeat"
"""Name of the second run of the control kernel, which belongs to no case."""


class RoundScheduler:
    """Decides which candidates of a group run in each round, and collects their samples.

    rounds  iterator over the rounds
    """

    def __init__(self, group: Sequence[Candidate], experiment: Experiment, options: SamplingOptions) -> None:
        self._ready = [c for c in group if c.error is None]
        self._bench, self._caches, self._options = experiment.bench, experiment.caches, options
        timed = [Timed(c.name, c.turns) for c in self._ready]
        timed += [Timed(REPEAT, self._second_turns(c)) for c in self._ready[:1]]
        timed += experiment.probes() if self._ready else ()
        self.rounds = self._bench.rounds(timed, self._caches, experiment.rounds, self._round_entries)
        self._undecided = frozenset(self.rounds.entries)
        self._begin_s = 0.0

    def _second_turns(self, c: Candidate) -> Callable[[Cache], Callable[[], float]]:
        """Return turns on a second copy of the arrays, unless each turn has a new one or it would not fit."""
        return self._bench.turns_elsewhere(c.placement(), c.captured) or c.turns

    def _round_entries(self, number: int) -> Collection[Entry]:
        """Return the entries of the round with that number; none once all verdicts are decided or the run must stop."""
        now_s = self._bench.stopwatch.now()
        if number < MIN_ROUNDS_FOR_VERDICT:
            self._begin_s = self._begin_s or now_s
            return self.rounds.entries
        if self._bench.stop_requested() or 0 < self._options.time_limit_s < now_s - self._begin_s:
            return ()
        if self._options.sampling == "fixed":
            return self.rounds.entries
        self._undecided = frozenset((name, cache) for cache in self._caches for name in self._undecided_in(cache))
        # The control kernel and the probes show the state of the machine, so they run as long as anything is sampled.
        caches, compared = {cache for _, cache in self._undecided}, {c.name for c in self._ready[1:]}
        return self._undecided | {
            (name, cache) for name, cache in self.rounds.entries if cache in caches and name not in compared
        }

    def _undecided_in(self, cache: Cache) -> set[str]:
        valid = [c for c in self._ready if c.error is None]
        if valid[:1] != self._ready[:1]:
            # Without the control kernel there is no noise threshold, so no verdict is decided.
            return {c.name for c in valid}
        samples = {
            c.name: CaseSamples(self.rounds.timing(c.name, cache).samples_s, self.rounds.turn_s(c.name, cache))
            for c in valid
        }
        repeat_s = self.rounds.timing(REPEAT, cache).samples_s
        undecided = undecided_cases(samples, valid[0].name, repeat_s, self._bench.stopwatch.backend)
        return undecided | {c.name for c in valid if not c.stops_early}

    def interim(self, done: int) -> tuple[Interim, ...]:
        """Return the provisional results after `done` rounds, fastest first; none before the first."""
        if not done:
            return ()
        cases = [(c, cache) for c in self._ready if c.error is None and c.has_interim for cache in c.cases]
        return tuple(sorted((self._interim(c, cache) for c, cache in cases), key=lambda interim: interim.median_s))

    def _interim(self, c: Candidate, cache: Cache) -> Interim:
        timing = self.rounds.timing(c.name, cache)
        count, decided = len(timing.samples_s), (c.name, cache) not in self._undecided
        low, high = interval(timing.samples_s) or (None, None)
        ends = min(timing.samples_s), max(timing.samples_s)
        return Interim(c.cases[cache].key, timing.median_s, low, high, count, decided, *ends)
