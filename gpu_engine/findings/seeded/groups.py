"""Comparison groups of the `seeded` study: runs of the same seed sets on one graph, or starts after the same change."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

from gpu_engine.findings.data import FINDINGS_CACHED, StudyData
from gpu_engine.findings.pagerank.runs import PARAMETERS, in_words
from gpu_engine.findings.ranking import Ranking, rank
from gpu_engine.findings.seeded.names import COLD, EXTRAPOLATED, ONE_BY_ONE, SEEDS, START, TOGETHER, WARM
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.words import amount
from gpu_engine.verdicts.verdict import Verdict, compare


@dataclass(frozen=True)
class SeededGroup:
    """Comparable runs: one graph, device, parameters of PageRank, seed sets, and share of changed links.

    start         share of the links that changed, as text; empty without a change
    one           run of one seed set on the same graph, in the same rounds; None without a time
    measurements  the fastest first, those without a time last
    """

    matrix_id: str
    device: str
    parameters: str
    seeds: str
    start: str
    one: Measurement | None
    measurements: tuple[Measurement, ...]

    @cached_property
    def ranking(self) -> Ranking:
        """Ranking of the runs."""
        return rank(self.measurements)

    @property
    def timed(self) -> tuple[Measurement, ...]:
        """Converged runs with a time, the fastest first."""
        return tuple(m for m in self.measurements if m.state == "ok" and m.median_s)

    @property
    def sets(self) -> int:
        """Number of seed sets."""
        return int(self.seeds) if self.seeds.isdecimal() else self.seeds.count(";") + 1

    @property
    def is_start(self) -> bool:
        """Whether the group compares starts after links have changed."""
        return bool(self.start)

    @property
    def together(self) -> Measurement | None:
        """Run of all sets at once; None without a time."""
        return self.of_kernel(TOGETHER)

    @property
    def baseline(self) -> Measurement | None:
        """Run that the others are compared with: one set at a time, or the cold start."""
        return self.of_kernel(COLD if self.is_start else ONE_BY_ONE)

    @property
    def warm(self) -> Measurement | None:
        """Warm start with extrapolation, or else without; None without a time."""
        return self.of_kernel(EXTRAPOLATED) or self.of_kernel(WARM)

    @property
    def verdict(self) -> Verdict | None:
        """Verdict on the run of all sets against one set at a time, or on the warm start against the cold one."""
        m, base = self.warm if self.is_start else self.together, self.baseline
        return compare(base, m) if m is not None and base is not None else None

    @property
    def cost(self) -> float | None:
        """Time of all sets at once over that of one set; None without both times."""
        m = self.together
        if self.is_start or m is None or self.one is None or not (m.median_s and self.one.median_s):
            return None
        return m.median_s / self.one.median_s

    @property
    def title(self) -> str:
        """Seed sets, with the share of changed links and parameters of PageRank that are not the default."""
        given = "" if self.seeds.isdecimal() else " given"
        changed = f"{units.percent(float(self.start))} of the links changed" if self.is_start else ""
        sets = f"{units.count(self.sets)}{given} {'seed set' if self.sets == 1 else 'seed sets'}"
        return ", ".join(filter(None, (sets, changed, self.parameters)))

    def of_kernel(self, kernel: str) -> Measurement | None:
        """Return the timed run of a kernel; None without one."""
        return next((m for m in self.timed if m.kernel == kernel), None)


def sets_amount(group: SeededGroup) -> str:
    """Return `1 seed set` or `8 seed sets`."""
    return amount(group.sets, "seed set")


@lru_cache(FINDINGS_CACHED)
def seeded_groups(data: StudyData) -> tuple[SeededGroup, ...]:
    """Return the groups by graph, device, and parameters in order of appearance."""
    by_key: dict[tuple[str, ...], list[Measurement]] = {}
    ones: dict[tuple[str, ...], Measurement] = {}
    for m in data.measurements:
        parameters = ", ".join(in_words(name, value) for name, value in m.axes.items() if name in PARAMETERS)
        place = m.matrix_id, m.device, parameters
        seeds, start = m.axes.get(SEEDS, ""), m.axes.get(START, "")
        by_key.setdefault((*place, seeds, start), []).append(m)
        if (m.kernel, seeds, start) == (TOGETHER, "1", "") and m.state == "ok":
            ones[place] = m
    return tuple(
        SeededGroup(key[0], key[1], key[2], key[3], key[4], ones.get(key[:3]), tuple(sorted(runs, key=_fastest_first)))
        for key, runs in by_key.items()
        if key[3]
    )


def _fastest_first(m: Measurement) -> tuple[bool, float]:
    return not (m.state == "ok" and m.median_s), m.median_s or 0.0
