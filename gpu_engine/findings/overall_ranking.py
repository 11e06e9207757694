"""Overall rankings: kernels by mean slowdown over all matrices, batches, or graphs, with bootstrapped 95 % CIs."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gpu_engine.findings.bootstrap import CONTESTS_MIN, interval, resampled_means
from gpu_engine.findings.finding import Finding
from gpu_engine.findings.ranking import Ranking, rank
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.verdicts.verdict import compare

NEAR = 1.02
"""Factor on the leader's mean slowdown below which a kernel counts as equally good (within 2 %)."""

FAR = 1.10
"""Factor on the leader's mean slowdown above which a kernel is listed as clearly slower (more than 10 %)."""

FIRST = 5
"""Number of kernels shown with the baseline if the user has chosen none."""

ABSENT_MAX = 0.1
"""Largest share of the comparison groups without a record of a kernel that is ranked before those with fewer."""

TRIED_MIN = 0.5
"""Least share of the comparison groups in which a shown kernel was measured."""

PENALTY = 2.0
"""Factor on the slowest time of a comparison group that a kernel without a time counts with."""


@dataclass(frozen=True, slots=True)
class ComparisonGroup:
    """Comparison group: the kernels that are ranked together on one matrix, batch, or graph.

    name      name of the matrix, batch, or graph
    entrants  measurements by label, including those without a time
    ranking   ranking of the entrants that compete
    baseline  label of the baseline; empty if there is none
    of        part of the study with an overall ranking of its own, such as a partitioning; usually empty
    parts     what the group is made of: plural noun → its value, such as the matrix and the preconditioner
    without   what the times leave out: `conversion`; empty if nothing
    """

    name: str
    device: str
    cache: str
    entrants: Mapping[str, Measurement]
    ranking: Ranking
    baseline: str = ""
    of: str = ""
    parts: tuple[tuple[str, str], ...] = ()
    without: str = ""

    @property
    def leaders(self) -> tuple[str, ...]:
        """Labels of the fastest kernel and of those equal to it; none if the timings are too noisy."""
        return self._labels(self.ranking.leaders)

    @property
    def unsettled(self) -> tuple[str, ...]:
        """Labels of the kernels that may be equally fast (inconclusive)."""
        return self._labels(self.ranking.unsettled)

    def times(self) -> dict[str, float]:
        """Return the times in seconds of the ranked entrants, by label."""
        competing = {m.case: m.median_s for m in self.ranking.measurements}
        times = ((label, competing.get(m.case)) for label, m in self.entrants.items())
        return {label: time for label, time in times if time}

    def _labels(self, measurements: Iterable[Measurement]) -> tuple[str, ...]:
        cases = {m.case: label for label, m in self.entrants.items()}
        return tuple(cases[m.case] for m in measurements if m.case in cases)


@dataclass(frozen=True, slots=True)
class KernelSummary:
    """Summary of a kernel over all comparison groups.

    measurement  one of its measurements
    ratios       (group name, slowdown against the fastest there) where it has a time; names may repeat
    mean         geometric mean of the slowdowns, including PENALTY; low, high: its 95 % CI over the groups, None if
                 there are fewer than CONTESTS_MIN
    wins         number of groups where it is fastest or tied
    failed       number of groups where it failed, was skipped, or did not converge; absent: where it was not measured
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
        """Group with the largest slowdown, and that slowdown."""
        return max(self.ratios, key=lambda pair: pair[1])


@dataclass(frozen=True, slots=True)
class OverallRanking:
    """Overall ranking of the kernels over all comparison groups of one device in one cache state.

    of         as in ComparisonGroup
    what       plural noun for the groups: `matrices`, `batches`, `graphs`
    contests   number of groups with usable timings; busy: number of groups with noisy ones; empty: without a time
    standings  summaries of the kernels by mean slowdown; those not measured in all groups last
    level      labels of the best kernel and of those tied with it over the groups; none if there is no ranking
    only       sentence about the group if there is only one
    parts      numbers of what the groups are made of: (plural noun, number); without: what the times leave out
    """

    device: str
    cache: str
    of: str
    what: str
    contests: int
    busy: int
    empty: int
    standings: tuple[KernelSummary, ...]
    level: tuple[str, ...]
    baseline: str
    only: str = ""
    parts: tuple[tuple[str, int], ...] = ()
    without: str = ""

    @property
    def where(self) -> str:
        """Device, cache state, and `of` as text: `on cpu, warm`."""
        return ", ".join(filter(None, (f"on {self.device}", self.cache, self.of)))

    @property
    def near(self) -> tuple[KernelSummary, ...]:
        """Kernels within 2 % of the best one, excluding it."""
        first, *others = self.standings or (None,)
        return tuple(
            standing for standing in others if first and standing.mean < NEAR * first.mean and self.is_ranked(standing)
        )

    def is_ranked(self, standing: KernelSummary) -> bool:
        """Return whether a kernel was measured in enough groups to be ranked before those measured in fewer."""
        return standing.absent <= _absent_max(self.standings, self.contests)

    @property
    def best(self) -> tuple[str, ...]:
        """Labels of the best kernel, of the next best ones measured in TRIED_MIN of the groups, and of the baseline."""
        return self._first(())

    @property
    def apart(self) -> tuple[str, ...]:
        """Labels as in `best`, without the kernels within 2 % of the best one."""
        return self._first([standing.label for standing in self.near])

    def _first(self, without: Collection[str]) -> tuple[str, ...]:
        """Return the first labels by mean slowdown; a kernel measured in fewer groups has the mean over those."""
        tried = (standing for standing in self.standings if standing.absent <= (1 - TRIED_MIN) * self.contests)
        nearest = [
            standing.label
            for standing in sorted(tried, key=lambda standing: standing.mean)
            if standing.label not in without
        ]
        first = list(dict.fromkeys((*(standing.label for standing in self.standings[:1]), *nearest)))[:FIRST]
        return tuple(dict.fromkeys((*first, *filter(None, [self.baseline]))))


def answers(contests: Sequence[ComparisonGroup], what: str = "matrices") -> list[OverallRanking]:
    """Return an overall ranking per device, cache state, and `of`, in order of appearance."""
    by_setting: dict[tuple[str, str, str], list[ComparisonGroup]] = {}
    for contest in contests:
        if contest.entrants:
            by_setting.setdefault((contest.device, contest.cache, contest.of), []).append(contest)
    return [_answer(setting, members, what) for setting, members in by_setting.items()]


def of_findings(findings: Iterable[Finding]) -> list[ComparisonGroup]:
    """Return a comparison group per finding, in which all rows compete."""
    return [
        ComparisonGroup(
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


def _answer(setting: tuple[str, str, str], contests: Sequence[ComparisonGroup], what: str) -> OverallRanking:
    usable = [contest for contest in contests if contest.ranking.leaders]
    busy = sum(bool(contest.ranking.busy) for contest in contests)
    standings, logs = _standings(usable)
    everywhere = {standing.label for standing in standings if standing.absent <= _absent_max(standings, len(usable))}
    baselines = Counter(contest.baseline for contest in usable if contest.baseline in everywhere)
    baseline = baselines.most_common(1)[0][0] if baselines else ""
    only = _only(usable[0]) if len(usable) == len(contests) == 1 else ""
    level = _level(standings, logs, usable) if standings and 2 * busy <= len(contests) else ()
    numbers = len(usable), busy, len(contests) - len(usable) - busy
    text = only, _parts(contests), contests[0].without
    return OverallRanking(*setting, what, *numbers, standings, level, baseline, *text)


def _parts(contests: Sequence[ComparisonGroup]) -> tuple[tuple[str, int], ...]:
    """Return the number of different values of each part of the groups."""
    every = dict.fromkeys(part for contest in contests for part in contest.parts)
    return tuple(Counter(noun for noun, _ in every).items())


def _absent_max(standings: Sequence[KernelSummary], contests: int) -> int:
    """Return the largest number of groups without a record of a kernel that is ranked before the others."""
    least = min((standing.absent for standing in standings), default=0)
    return max(least, int(ABSENT_MAX * contests))


def _only(contest: ComparisonGroup) -> str:
    labels = {m.case: label for label, m in contest.entrants.items()}
    facts = (units.seconds(contest.ranking.measurements[0].median_s),)
    return contest.ranking.sentence(lambda m: labels[m.case], f"of {contest.name} on {contest.device}", facts)


Logs = Mapping[str, np.ndarray]
"""Label → logarithm of its slowdown in each group; NaN in a group without a record of the kernel."""


def _standings(usable: Sequence[ComparisonGroup]) -> tuple[tuple[KernelSummary, ...], Logs]:
    labels = list(dict.fromkeys(label for contest in usable for label in contest.entrants))
    times = [contest.times() for contest in usable]
    logs = np.full((len(usable), len(labels)), np.nan)
    for row, (contest, of_group) in enumerate(zip(usable, times, strict=True)):
        best, last = min(of_group.values()), PENALTY * max(of_group.values())
        for column, label in enumerate(labels):
            if label in contest.entrants:
                logs[row, column] = np.log(of_group.get(label, last) / best)
    timed = [column for column, label in enumerate(labels) if any(label in of_group for of_group in times)]
    means = resampled_means(logs) if len(usable) >= CONTESTS_MIN else None
    unsorted_standings = tuple(
        _standing(labels[column], logs[:, column], column, means, usable, times) for column in timed
    )
    last = _absent_max(unsorted_standings, len(usable))
    ordered = sorted(unsorted_standings, key=lambda each: (each.absent > last, each.mean, each.label))
    return tuple(ordered), {labels[column]: logs[:, column] for column in timed}


def _standing(
    label: str,
    logs: np.ndarray,
    column: int,
    means: np.ndarray | None,
    usable: Sequence[ComparisonGroup],
    times: Sequence[Mapping[str, float]],
) -> KernelSummary:
    low, high = interval(means[:, column]) if means is not None else (None, None)
    tried = [label in contest.entrants for contest in usable]
    ratios = tuple(
        (contest.name, of_group[label] / min(of_group.values()))
        for contest, of_group in zip(usable, times, strict=True)
        if label in of_group
    )
    return KernelSummary(
        label,
        next(contest.entrants[label] for contest in usable if label in contest.entrants),
        ratios,
        float(np.exp(np.nanmean(logs))),
        low,
        high,
        wins=sum(label in contest.leaders for contest in usable),
        failed=sum(tried) - len(ratios),
        absent=len(usable) - sum(tried),
    )


def _level(standings: Sequence[KernelSummary], logs: Logs, usable: Sequence[ComparisonGroup]) -> tuple[str, ...]:
    """Return the best kernel and those not clearly slower on the groups with both, by the bootstrap or by verdicts."""
    last = _absent_max(standings, len(usable))
    first, *others = (standing for standing in standings if standing.absent <= last)
    if others and len(usable) >= CONTESTS_MIN:
        means = resampled_means(np.stack([logs[each.label] - logs[first.label] for each in others], axis=1))
        tied = [each for column, each in enumerate(others) if interval(means[:, column])[0] <= 1]
    else:
        tied = [each for each in others if not _is_slower(each.label, first.label, usable)]
    return first.label, *(each.label for each in tied)


def _is_slower(label: str, first: str, usable: Sequence[ComparisonGroup]) -> bool:
    """Return whether a kernel is slower than the first one, or has no time, in every group with both."""
    pairs = [
        (contest.entrants[first], contest.entrants[label], contest.times())
        for contest in usable
        if {label, first} <= {*contest.entrants}
    ]
    return all(label not in times or compare(base, m).kind == "slower" for base, m, times in pairs)
