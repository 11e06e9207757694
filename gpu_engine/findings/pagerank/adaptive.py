"""Whether fewer bits pay: the fastest run of each kind on each graph beside the fastest in fp64."""

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
    """The fastest run in fp64, and the fastest of a kind, on one graph; speedup: time of the first over the other's."""

    full: Run
    other: Run
    speedup: float

    @property
    def verdict(self) -> VerdictKind:
        """The verdict on the other against fp64."""
        return compare(self.full.measurement, self.other.measurement).kind


def pays(data: StudyData) -> tuple[str, ...]:
    """Return a sentence per device and kind of `KINDS`, lower triangles apart."""
    return tuple(_sentence(kind, place, own) for (kind, place), own in pairs_of(data).items())


def pairs_of(data: StudyData) -> dict[tuple[str, str], list[Pair]]:
    """Return the pairs by kind of `KINDS` and place, of graphs that have runs with right ranks in fp64 and of the kind.

    Graphs whose times are not plausible do not count.
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
    mean = f"{ratio(geometric_mean(gains))} the speed of the fastest run in fp64"
    spread = f", {ratio(min(gains))} to {ratio(max(gains))}" if len(gains) > 1 else ""
    counts = f"it pays on {verdicts['faster']} of {graphs} and costs on {verdicts['slower']}"
    return f"{kind.capitalize()} on {place}: {mean}{spread}; {counts}."
