"""Speedup of adaptive precision and iterative refinement over the fastest fp64 run, on each graph."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.runs import KINDS, Run, run_groups, speed_up
from gpu_engine.text.units import ratio
from gpu_engine.verdicts.noise import noise
from gpu_engine.verdicts.verdict import VerdictKind, compare


@dataclass(frozen=True, slots=True)
class Pair:
    """Fastest run in fp64 and fastest run of a kind on one graph; speedup: time of `full` / time of `other`."""

    full: Run
    other: Run
    speedup: float

    @property
    def verdict(self) -> VerdictKind:
        """Verdict on the other run against fp64."""
        return compare(self.full.measurement, self.other.measurement).kind


def pays(data: StudyData) -> tuple[str, ...]:
    """Return a sentence per device and kind of `KINDS`, with separate ones for lower triangles."""
    return tuple(_sentence(kind, place, pairs) for (kind, place), pairs in pairs_of(data).items())


def pairs_of(data: StudyData) -> dict[tuple[str, str], list[Pair]]:
    """Return the pairs by (kind of `KINDS`, place), for graphs with verified runs in fp64 and of the kind.

    Graphs whose timings are too noisy are left out.
    """
    pairs: dict[tuple[str, str], list[Pair]] = {}
    groups = [group for group in run_groups(data) if not noise([run.measurement for run in group.timed])]
    for kind, belongs in KINDS.items():
        for group in groups:
            full, other = group.fastest_full, group.fastest(belongs, data.matrix(group.matrix_id).n_rows)
            if full and other and (speedup := speed_up(full, other)):
                pairs.setdefault((kind, group.place), []).append(Pair(full, other, speedup))
    return pairs


def _sentence(kind: str, place: str, pairs: Sequence[Pair]) -> str:
    verdicts = Counter(pair.verdict for pair in pairs)
    gains = [pair.speedup for pair in pairs]
    graphs = "1 graph" if len(pairs) == 1 else f"{len(pairs)} graphs"
    spread = f" (geometric mean, range {ratio(min(gains))} to {ratio(max(gains))})" if len(gains) > 1 else ""
    mean = f"speedup {ratio(geometric_mean(gains))} over the fastest fp64 run{spread}"
    counts = f"faster on {verdicts['faster']} of {graphs}, slower on {verdicts['slower']}"
    return f"{kind.capitalize()} on {place}: {mean}; {counts}."
