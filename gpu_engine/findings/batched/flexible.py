"""Whether one flexible kernel does: FLEXIBLE against the best library kernel, and against the fastest kernel."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from gpu_engine.findings.batched.groups import BATCH, BatchGroup, batch_groups, largest
from gpu_engine.findings.batched.outlook import FLEXIBLE
from gpu_engine.findings.bootstrap import interval_of_mean
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.overall_ranking import NEAR
from gpu_engine.records import Measurement
from gpu_engine.verdicts.verdict import Verdict, VerdictKind, compare, interval_of_ratio


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch with a time of FLEXIBLE; library: its fastest library kernel, None without one."""

    group: BatchGroup
    flexible: Measurement
    library: Measurement | None

    @property
    def slowdown(self) -> float:
        """Time of FLEXIBLE / time of the fastest kernel."""
        return (self.flexible.median_s or 0.0) / (self.group.timed[0].median_s or 1.0)

    @property
    def over_library(self) -> Verdict | None:
        """Verdict on FLEXIBLE against the library kernel; None without one."""
        return compare(self.library, self.flexible) if self.library else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % CI of the speedup over the library kernel."""
        return interval_of_ratio(self.library, self.flexible) if self.library else None

    @property
    def is_fastest(self) -> bool:
        """Whether FLEXIBLE is fastest or tied for fastest."""
        return FLEXIBLE in self.group.leaders


@dataclass(frozen=True, slots=True)
class Flexible:
    """At least one batch of a device and cache state; noisy: number of batches with noisy timings, not among them."""

    device: str
    cache: str
    batches: tuple[Batch, ...]
    noisy: int

    @property
    def slowdown(self) -> float:
        """Geometric mean of the slowdowns against the fastest kernel of each batch."""
        return geometric_mean(batch.slowdown for batch in self.batches)

    @property
    def verdicts(self) -> Counter[VerdictKind]:
        """Number of batches by verdict against the library."""
        return Counter(verdict.kind for batch in self.batches if (verdict := batch.over_library))

    @property
    def speedup(self) -> float | None:
        """Geometric mean of the speedups over the library; None without a library kernel."""
        ratios = self._ratios()
        return geometric_mean(ratios) if ratios else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % CI of the mean speedup over the batches; None with too few."""
        return interval_of_mean(self._ratios())

    @property
    def wins(self) -> int:
        """Number of batches on which FLEXIBLE is fastest or tied."""
        return sum(batch.is_fastest for batch in self.batches)

    @property
    def does(self) -> bool:
        """Whether it can replace all others: near the fastest on average, or fastest or tied on most batches."""
        return self.slowdown < NEAR or 2 * self.wins > len(self.batches)

    def _ratios(self) -> list[float]:
        verdicts = (batch.over_library for batch in self.batches)
        return [verdict.ratio for verdict in verdicts if verdict and verdict.ratio]


def flexible(data: StudyData) -> list[Flexible]:
    """Return the comparison per device and cache state, for the chosen batch size or the largest timed one."""
    by_setting: dict[tuple[str, str], list[BatchGroup]] = {}
    for group in largest(batch_groups(data), data.number(BATCH)):
        if group.of(FLEXIBLE):
            by_setting.setdefault((group.device, group.cache), []).append(group)
    made = (_flexible(*setting, groups) for setting, groups in by_setting.items())
    return [each for each in made if each.batches]


def of_smaller_sizes(data: StudyData, largest_batches: Flexible) -> dict[int, Flexible]:
    """Return the comparison of uniform batches per size below all of the largest ones; none for a chosen size."""
    if data.number(BATCH):
        return {}
    least = min(batch.group.batch_size for batch in largest_batches.batches)
    by_size: dict[int, list[BatchGroup]] = {}
    for group in batch_groups(data):
        here = (group.device, group.cache) == (largest_batches.device, largest_batches.cache)
        if here and group.batch_size < least and group.peer and group.of(FLEXIBLE):
            by_size.setdefault(group.batch_size, []).append(group)
    made = {size: _flexible(largest_batches.device, largest_batches.cache, by_size[size]) for size in sorted(by_size)}
    return {size: each for size, each in made.items() if each.verdicts}


def _flexible(device: str, cache: str, groups: Sequence[BatchGroup]) -> Flexible:
    quiet = [group for group in groups if not group.ranking.busy]
    batches = tuple(Batch(group, m, group.peer) for group in quiet if (m := group.of(FLEXIBLE)))
    return Flexible(device, cache, batches, len(groups) - len(quiet))
