"""Speedup of adaptive precision and iterative refinement over the fastest fp64 run, on each graph.

`papers_pairs` compares within the paper's own kernels instead, which are slower than the fastest ones.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import geometric_mean
from typing import Literal

from gpu_engine.findings.bootstrap import interval_of_mean
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.realizations import Realizations, realizations
from gpu_engine.findings.pagerank.runs import KINDS, Run, RunGroup, run_groups, speed_up
from gpu_engine.text.units import ratio
from gpu_engine.verdicts.noise import noise
from gpu_engine.verdicts.verdict import EQUIVALENCE, VerdictKind, compare, interval_of_ratio, threshold_between

Answer = Literal["yes", "partly", "no", "inconclusive"]
"""Answer to the question whether something pays; `inconclusive` if the CI of the mean allows both yes and no."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Run in fp64 and fastest run of a kind on one graph; speedup: time of `full` / time of `other`.

    fastest  fastest fp64 run of the graph if `full` is one of the paper's own kernels, else None
    """

    full: Run
    other: Run
    speedup: float
    fastest: Run | None = None

    @property
    def slowdown(self) -> float:
        """Time of `full` / time of the fastest fp64 run."""
        return speed_up(self.full, self.fastest) or 1.0

    @property
    def verdict(self) -> VerdictKind:
        """Verdict on the other run against fp64."""
        return compare(self.full.measurement, self.other.measurement).kind

    @property
    def threshold(self) -> float:
        """Relative difference up to which the two runs count as equal."""
        return threshold_between(self.full.measurement, self.other.measurement)

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % CI of the speedup; None without the intervals of both times."""
        return interval_of_ratio(self.full.measurement, self.other.measurement)

    @property
    def matrix_id(self) -> str:
        """Id of the graph."""
        return self.full.measurement.matrix_id


@dataclass(frozen=True, slots=True)
class Tally:
    """Pairs of at least one graph, and what they say together."""

    pairs: tuple[Pair, ...]

    @property
    def verdicts(self) -> Counter[VerdictKind]:
        """Number of graphs by verdict."""
        return Counter(pair.verdict for pair in self.pairs)

    @property
    def mean(self) -> float:
        """Geometric mean of the speedups."""
        return geometric_mean(pair.speedup for pair in self.pairs)

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % CI of the mean over the graphs; None with too few."""
        return interval_of_mean([pair.speedup for pair in self.pairs])

    @property
    def pays(self) -> Answer:
        """Whether the speedup pays: on the mean of all graphs, on most of them, or not.

        The answer is `no` only if the CI of the mean excludes every speedup that would not count as equal.
        """
        faster, (low, high) = self.verdicts["faster"], self.interval or (0.0, 0.0)
        if low > 1 or (self.interval is None and faster == len(self.pairs)):
            return "yes"
        if 2 * faster > len(self.pairs):
            return "partly"
        return "no" if high < 1 + EQUIVALENCE[self.pairs[0].full.measurement.backend] else "inconclusive"

    @property
    def slowdowns(self) -> tuple[float, float]:
        """Geometric mean and maximum of the slowdowns of the baseline over the fastest fp64 run."""
        slowdowns = [pair.slowdown for pair in self.pairs]
        return geometric_mean(slowdowns), max(slowdowns)


def pays(data: StudyData) -> tuple[str, ...]:
    """Return a sentence per device and kind of `KINDS`, with separate ones for lower triangles."""
    return tuple(_sentence(kind, place, pairs) for (kind, place), pairs in pairs_of(data).items())


def pairs_of(data: StudyData) -> dict[tuple[str, str], list[Pair]]:
    """Return the pairs by (kind of `KINDS`, place), for graphs with verified runs in fp64 and of the kind.

    Graphs whose timings are too noisy are left out, and those on which no run of the kind has the layout of the
    fastest fp64 run: the speedup would be that of the layout.
    """
    pairs: dict[tuple[str, str], list[Pair]] = {}
    groups = [group for group in run_groups(data) if not is_noisy(group)]
    for kind, belongs in KINDS.items():
        for group in groups:
            full, other = group.fastest_full, group.fastest(belongs, data.matrix(group.matrix_id).n_rows)
            in_layout = full and any(belongs(run) and run.layout == full.layout for run in group.runs)
            if full and other and in_layout and (speedup := speed_up(full, other)):
                pairs.setdefault((kind, group.place), []).append(Pair(full, other, speedup))
    return pairs


def papers_pairs(data: StudyData) -> dict[str, list[Pair]]:
    """Return pairs by place as `pairs_of` does, of the paper's unfused kernels and schedule only."""
    by_group: dict[tuple[str, str, str], list[Realizations]] = {}
    for each in realizations(data):
        if not each.fused and not is_noisy(each.group):
            by_group.setdefault((each.group.matrix_id, each.group.device, each.group.parameters), []).append(each)
    pairs: dict[str, list[Pair]] = {}
    for layouts in by_group.values():
        full = _fastest([each.full for each in layouts])
        other = _fastest([run for each in layouts for run in (each.two, each.four)])
        if full and other and (speedup := speed_up(full, other)):
            group = layouts[0].group
            pairs.setdefault(group.place, []).append(Pair(full, other, speedup, group.fastest_full))
    return pairs


def is_noisy(group: RunGroup) -> bool:
    """Return whether the timings of a graph are too noisy to compare."""
    return bool(noise([run.measurement for run in group.timed]))


def _fastest(runs: Sequence[Run | None]) -> Run | None:
    timed = [run for run in runs if run and run.measurement.median_s]
    return min(timed, key=lambda run: run.measurement.median_s or 0.0, default=None)


def _sentence(kind: str, place: str, pairs: Sequence[Pair]) -> str:
    verdicts = Counter(pair.verdict for pair in pairs)
    gains = [pair.speedup for pair in pairs]
    graphs = "1 graph" if len(pairs) == 1 else f"{len(pairs)} graphs"
    spread = f" (geometric mean, range {ratio(min(gains))} to {ratio(max(gains))})" if len(gains) > 1 else ""
    mean = f"speedup {ratio(geometric_mean(gains))} over the fastest fp64 run{spread}"
    counts = f"Faster on {verdicts['faster']} of {graphs}, slower on {verdicts['slower']}"
    return f"{kind.capitalize()} on {place}: {mean}. {counts}."
