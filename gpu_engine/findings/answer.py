"""The answer of a study: which kernel is nearest to the best over all matrices, batches or graphs, and how surely."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gpu_engine.findings.finding import Finding
from gpu_engine.findings.ranking import Ranking, rank
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.verdicts.verdict import compare

NEAR = 1.02
"""A kernel that takes less than this times as long as the leader is as good: nobody would act on the difference."""

FAR = 1.10
"""One that takes more than this times as long is out of the question where time is what counts."""

FIRST = 5
"""The kernels that are shown beside the baseline where the reader has chosen none."""

TRIED_MIN = 0.5
"""These were tried on such a share of the contests at least; the leader on as many as any."""

DRAWS, LEVEL, SEED = 2000, 95.0, 0
"""Of the bootstrap over the contests."""

CONTESTS_MIN = 6
"""A kernel that wins fewer contests of two equals does so in more than 5 % of all draws: then verdicts decide."""

PENALTY = 2.0
"""What has no time counts as so many times the slowest of its contest."""


@dataclass(frozen=True, slots=True)
class Contest:
    """What was ranked together: the kernels on one matrix, batch or graph.

    name      what it is of
    of        what sets it apart from contests that are answered by themselves: `cut as pCSR`; else empty
    entrants  by label, those without a time too
    ranking   of those that compete
    baseline  label of what people use today; empty where nothing is
    """

    name: str
    device: str
    cache: str
    entrants: Mapping[str, Measurement]
    ranking: Ranking
    baseline: str = ""
    of: str = ""

    @property
    def leaders(self) -> tuple[str, ...]:
        """Labels of the fastest and of those that are `same` with it; none where the machine was busy."""
        return self._labels(self.ranking.leaders)

    @property
    def unsettled(self) -> tuple[str, ...]:
        """Labels of those that may be as fast."""
        return self._labels(self.ranking.unsettled)

    def times(self) -> dict[str, float]:
        """Seconds of those that compete, by label."""
        competing = {m.case: m.median_s for m in self.ranking.measurements}
        found = ((label, competing.get(m.case)) for label, m in self.entrants.items())
        return {label: time for label, time in found if time}

    def _labels(self, measurements: Iterable[Measurement]) -> tuple[str, ...]:
        cases = {m.case: label for label, m in self.entrants.items()}
        return tuple(cases[m.case] for m in measurements if m.case in cases)


@dataclass(frozen=True, slots=True)
class Standing:
    """A kernel over all contests.

    measurement  one of its own
    ratios       (contest, its time over the best there) where it has a time: names may come twice
    mean         the geometric mean of all ratios, PENALTY among them; low, high: its 95 % interval over the contests,
                 None of few
    wins         contests that it leads or shares the lead of
    failed       contests where it failed, was skipped or did not come to a right end; absent: where nobody tried it
    """

    label: str
    measurement: Measurement
    ratios: tuple[tuple[str, float], ...]
    mean: float
    low: float | None
    high: float | None
    wins: int
    failed: int
    absent: int

    @property
    def worst(self) -> tuple[str, float]:
        """The contest where it is farthest from the best, and how far."""
        return max(self.ratios, key=lambda own: own[1])


@dataclass(frozen=True, slots=True)
class Answer:
    """What all contests of one device in one cache state allow to say together.

    of         as in Contest; what: what the contests are of, as `matrices`
    contests   those whose times are plausible; busy: how many more there are whose times are not; empty: without a time
    standings  the nearest to the best first; what was not tried everywhere last
    level      labels of the leader and of those that the contests do not tell from it; none where nothing leads
    only       the sentence on a lone contest
    """

    device: str
    cache: str
    of: str
    what: str
    contests: int
    busy: int
    empty: int
    standings: tuple[Standing, ...]
    level: tuple[str, ...]
    baseline: str
    only: str = ""

    @property
    def where(self) -> str:
        """`on cpu, warm`, and what sets it apart."""
        return ", ".join(filter(None, (f"on {self.device}", self.cache, self.of)))

    @property
    def near(self) -> tuple[Standing, ...]:
        """Those less than 2 % behind the leader, without it."""
        first, *others = self.standings or (None,)
        return tuple(own for own in others if first and own.mean < NEAR * first.mean and own.absent <= first.absent)

    @property
    def best(self) -> tuple[str, ...]:
        """Labels of the leader, of the nearest to the best that were tried on TRIED_MIN, and of the baseline."""
        return self._first(())

    @property
    def apart(self) -> tuple[str, ...]:
        """The same without those that are as good as the leader."""
        return self._first([own.label for own in self.near])

    def _first(self, without: Collection[str]) -> tuple[str, ...]:
        """What was tried on fewer contests stands among the others by its own mean, which is over those."""
        tried = (own for own in self.standings if own.absent <= (1 - TRIED_MIN) * self.contests)
        nearest = [own.label for own in sorted(tried, key=lambda own: own.mean) if own.label not in without]
        first = list(dict.fromkeys((*(own.label for own in self.standings[:1]), *nearest)))[:FIRST]
        return tuple(dict.fromkeys((*first, *filter(None, [self.baseline]))))


def answers(contests: Sequence[Contest], what: str = "matrices") -> list[Answer]:
    """An answer per device, cache state and `of`, in order of appearance."""
    places: dict[tuple[str, str, str], list[Contest]] = {}
    for contest in contests:
        if contest.entrants:
            places.setdefault((contest.device, contest.cache, contest.of), []).append(contest)
    return [_answer(place, own, what) for place, own in places.items()]


def of_findings(findings: Iterable[Finding]) -> list[Contest]:
    """A contest per finding: all of its rows compete."""
    return [
        Contest(
            finding.title,
            finding.device,
            finding.cache,
            {row.label: row.measurement for row in finding.rows},
            rank(row.measurement for row in finding.rows),
            finding.baseline,
            finding.of or "",
        )
        for finding in findings
    ]


def _answer(place: tuple[str, str, str], contests: Sequence[Contest], what: str) -> Answer:
    quiet = [contest for contest in contests if contest.ranking.leaders]
    busy = sum(bool(contest.ranking.busy) for contest in contests)
    standings, draws = _standings(quiet)
    everywhere = {own.label for own in standings if own.absent == standings[0].absent}
    baselines = Counter(contest.baseline for contest in quiet if contest.baseline in everywhere)
    baseline = baselines.most_common(1)[0][0] if baselines else ""
    only = _only(quiet[0]) if len(quiet) == len(contests) == 1 else ""
    trusted = standings and 2 * busy <= len(contests)
    level = _level(standings, draws, quiet) if trusted else ()
    empty = len(contests) - len(quiet) - busy
    return Answer(*place, what, len(quiet), busy, empty, standings, level, baseline, only)


def _only(contest: Contest) -> str:
    labels = {m.case: label for label, m in contest.entrants.items()}
    facts = (units.seconds(contest.ranking.measurements[0].median_s),)
    return contest.ranking.sentence(lambda m: labels[m.case], f"of {contest.name} on {contest.device}", facts)


Draws = Mapping[str, np.ndarray]
"""Label → the mean logarithm of its ratios in each draw of the contests; NaN where it is in none of them."""


def _standings(quiet: Sequence[Contest]) -> tuple[tuple[Standing, ...], Draws]:
    labels = list(dict.fromkeys(label for contest in quiet for label in contest.entrants))
    times = [contest.times() for contest in quiet]
    logs = np.full((len(quiet), len(labels)), np.nan)
    for row, (contest, own) in enumerate(zip(quiet, times, strict=True)):
        best, last = min(own.values()), PENALTY * max(own.values())
        for column, label in enumerate(labels):
            if label in contest.entrants:
                logs[row, column] = np.log(own.get(label, last) / best)
    timed = [place for place, label in enumerate(labels) if any(label in own for own in times)]
    means = _drawn(logs) if len(quiet) >= CONTESTS_MIN else None
    found = tuple(_standing(labels[place], logs[:, place], place, means, quiet, times) for place in timed)
    least = min((own.absent for own in found), default=0)
    draws = {labels[place]: means[:, place] for place in timed} if means is not None else {}
    return tuple(sorted(found, key=lambda own: (own.absent > least, own.mean, own.label))), draws


def _drawn(logs: np.ndarray) -> np.ndarray:
    """The mean of each column over contests drawn with replacement, a row a draw."""
    number = len(logs)
    weights = np.random.default_rng(SEED).multinomial(number, [1 / number] * number, size=DRAWS).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((weights @ np.nan_to_num(logs)) / (weights @ ~np.isnan(logs)))


def _standing(
    label: str,
    logs: np.ndarray,
    place: int,
    means: np.ndarray | None,
    quiet: Sequence[Contest],
    times: Sequence[Mapping[str, float]],
) -> Standing:
    low, high = _interval(means[:, place]) if means is not None else (None, None)
    tried = [label in contest.entrants for contest in quiet]
    ratios = tuple(
        (contest.name, own[label] / min(own.values()))
        for contest, own in zip(quiet, times, strict=True)
        if label in own
    )
    return Standing(
        label,
        next(contest.entrants[label] for contest in quiet if label in contest.entrants),
        ratios,
        float(np.exp(np.nanmean(logs))),
        low,
        high,
        wins=sum(label in contest.leaders for contest in quiet),
        failed=sum(tried) - len(ratios),
        absent=len(quiet) - sum(tried),
    )


def interval_of_mean(ratios: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % interval of the geometric mean, bootstrapped over the ratios; None of fewer than CONTESTS_MIN."""
    return _interval(_drawn(np.log(ratios)[:, None])[:, 0]) if len(ratios) >= CONTESTS_MIN else None


def _interval(logs: np.ndarray) -> tuple[float, float]:
    low, high = np.nanpercentile(logs, [(100 - LEVEL) / 2, (100 + LEVEL) / 2])
    return float(np.exp(low)), float(np.exp(high))


def _level(standings: Sequence[Standing], draws: Draws, quiet: Sequence[Contest]) -> tuple[str, ...]:
    """The leader, and what is not slower for certain: over the draws, or of few contests in each of them."""
    first, *others = standings
    if draws:
        same = (own for own in others if _interval(draws[own.label] - draws[first.label])[0] <= 1)
    else:
        same = (own for own in others if not _is_slower(own.label, first.label, quiet))
    return first.label, *(own.label for own in same if own.absent <= first.absent)


def _is_slower(label: str, first: str, quiet: Sequence[Contest]) -> bool:
    """Whether it is in every contest, or has no time there."""
    pairs = [
        (own.entrants[first], own.entrants[label], own.times()) for own in quiet if {label, first} <= {*own.entrants}
    ]
    return all(label not in times or compare(base, m).kind == "slower" for base, m, times in pairs)
