"""Course: the rounds of what is sampled together, which go where a verdict is open."""

from collections.abc import Collection, Sequence

from gpu_engine.measure import Entry, Timed
from gpu_engine.measure.statistics import interval
from gpu_engine.records import Cache, Interim
from gpu_engine.sampling.effort import Effort
from gpu_engine.sampling.experiment import Candidate, Experiment
from gpu_engine.sampling.settling import Sampled, open_cases
from gpu_engine.verdicts.verdict import FEWEST

REPEAT = "probe/repeat"
"""The reference candidate once more, which is no case."""


class Course:
    """The rounds of a group: who takes part in each of them, and what they say so far.

    rounds  what to iterate over
    """

    def __init__(self, group: Sequence[Candidate], experiment: Experiment, effort: Effort) -> None:
        self._ready = [c for c in group if c.error is None]
        self._bench, self._caches, self._effort = experiment.bench, experiment.caches, effort
        timed = [Timed(c.name, c.turns) for c in self._ready]
        timed += [Timed(REPEAT, c.turns) for c in self._ready[:1]]
        timed += experiment.probes() if self._ready else ()
        self.rounds = self._bench.rounds(timed, self._caches, experiment.rounds, self._wanted)
        self._open = frozenset(self.rounds.entries)
        self._begin_s = 0.0

    def _wanted(self, number: int) -> Collection[Entry]:
        """Who takes part in the round of that number; nobody where no verdict is open, or there is enough."""
        now_s = self._bench.stopwatch.now()
        if number < FEWEST:
            self._begin_s = self._begin_s or now_s
            return self.rounds.entries
        if self._bench.stop_requested() or 0 < self._effort.time_limit_s < now_s - self._begin_s:
            return ()
        if self._effort.sampling == "fixed":
            return self.rounds.entries
        self._open = frozenset((name, cache) for cache in self._caches for name in self._open_in(cache))
        # The reference and the probes tell what the machine does, as long as anything is sampled.
        caches, judged = {cache for _, cache in self._open}, {c.name for c in self._ready[1:]}
        return self._open | {
            (name, cache) for name, cache in self.rounds.entries if cache in caches and name not in judged
        }

    def _open_in(self, cache: Cache) -> set[str]:
        judged = [c for c in self._ready if c.error is None]
        if judged[:1] != self._ready[:1]:
            # What has become of the reference leaves nothing to hold the others against.
            return {c.name for c in judged}
        sampled = {
            c.name: Sampled(self.rounds.timing(c.name, cache).samples_s, self.rounds.turn_s(c.name, cache))
            for c in judged
        }
        again_s = self.rounds.timing(REPEAT, cache).samples_s
        found = open_cases(sampled, judged[0].name, again_s, self._bench.stopwatch.backend)
        return found | {c.name for c in judged if not c.settles}

    def interim(self, done: int) -> tuple[Interim, ...]:
        """What `done` rounds say of the cases; nothing before there are a few."""
        if done < FEWEST:
            return ()
        told = [(c, cache) for c in self._ready if c.error is None and c.told_early for cache in c.cases]
        found = [self._interim(c, cache) for c, cache in told]
        return tuple(sorted(found, key=lambda own: own.median_s))

    def _interim(self, c: Candidate, cache: Cache) -> Interim:
        timing = self.rounds.timing(c.name, cache)
        count, settled = len(timing.samples_s), (c.name, cache) not in self._open
        low, high = interval(timing.samples_s) or (None, None)
        ends = min(timing.samples_s), max(timing.samples_s)
        return Interim(c.cases[cache].key, timing.median_s, low, high, count, settled, *ends)
