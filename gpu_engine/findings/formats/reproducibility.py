"""Cost of bitwise reproducibility: time of the fastest reproducible kernel against the fastest of all kernels."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from gpu_engine.findings.data import StudyData, op_of
from gpu_engine.findings.formats.groups import OF_TRANSPOSE, group_by_facet, without_duplicates
from gpu_engine.findings.ranking import rank
from gpu_engine.records import TRANSPOSED, Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head

HEAD = Head("bitwise reproducible", numeric=False)
"""Head of the column that `cells` fills."""

NOT_RECORDED = "not recorded"
"""Text for results of a release that did not record reproducibility."""


@dataclass(frozen=True, slots=True)
class ReproducibilityCost:
    """The fastest kernel of the rounds, and the fastest reproducible one; None if none is reproducible.

    Only kernels with a time and a known reproducibility take part.
    """

    fastest: Measurement
    reproducible: Measurement | None

    @property
    def ratio(self) -> float | None:
        """Slowdown: time of the fastest reproducible kernel / time of the fastest kernel; None without one."""
        time = self.reproducible.median_s if self.reproducible else None
        return time / self.fastest.median_s if time and self.fastest.median_s else None


def cost(group: Sequence[Measurement]) -> ReproducibilityCost | None:
    """Return the cost in one comparison group; None if the timings are too noisy or reproducibility is unknown."""
    ranking = rank(without_duplicates(group))
    known = [m for m in ranking.measurements if m.details.is_reproducible is not None]
    if not ranking.leaders or not known:
        return None
    return ReproducibilityCost(known[0], next((m for m in known if m.details.is_reproducible), None))


def sentence(group: Sequence[Measurement]) -> str:
    """Return a sentence on the cost for one matrix; empty if it is unknown."""
    pair = cost(group)
    if pair is None:
        return ""
    if pair.reproducible is None:
        return "No timed kernel is bitwise reproducible."
    if pair.reproducible is pair.fastest:
        return f"{pair.fastest.kernel} is bitwise reproducible (identical y in all runs)."
    slowdown = f"slowdown {units.ratio(pair.ratio)} against {pair.fastest.kernel}"
    return f"{pair.reproducible.kernel} is the fastest bitwise reproducible kernel: {slowdown}."


def overview(data: StudyData) -> list[str]:
    """Return a sentence per device and cache state on all its matrices, if there are several or nothing is known."""
    by_setting: dict[tuple[str, ...], list[Sequence[Measurement]]] = {}
    for (_, device, cache), group in group_by_facet(data.measurements).items():
        of = (OF_TRANSPOSE,) if op_of(group[0]) == TRANSPOSED else ()
        if any(m.median_s for m in group):
            by_setting.setdefault((device, cache, *of), []).append(group)
    texts = (_over(", ".join(setting), groups) for setting, groups in by_setting.items())
    return [text for text in texts if text]


def _over(where: str, groups: Sequence[Sequence[Measurement]]) -> str:
    costs = [pair for group in groups if (pair := cost(group))]
    recorded = Counter(_is_recorded(group) for group in groups)
    if not recorded[True]:
        return f"Bitwise reproducibility was {NOT_RECORDED} on {where}."
    ratios = [pair.ratio for pair in costs if pair.ratio]
    if len(groups) < 2 or not ratios:
        return ""
    over = "1 matrix" if len(ratios) == 1 else f"{len(ratios)} matrices"
    free = sum(pair.reproducible is pair.fastest for pair in costs)
    text = (
        f"Cost of bitwise reproducibility on {where}: {units.ratio(geometric_mean(ratios))} "
        f"(geometric mean over {over}), at most {units.ratio(max(ratios))}. "
        f"The fastest kernel is reproducible on {free}."
    )
    none, lacking = len(costs) - len(ratios), recorded[False]
    text += f" On {none} more, no kernel is reproducible." if none else ""
    return text + (f" On {lacking} more, it was {NOT_RECORDED}." if lacking else "")


def cells(group: Sequence[Measurement]) -> list[str]:
    """Return `yes`, `runs only`, `no`, or a note for each measurement; empty if none was recorded."""
    return [_cell(m) for m in group] if _is_recorded(group) else []


def _is_recorded(group: Sequence[Measurement]) -> bool:
    return any(m.details.bitwise_reproducible is not None for m in group)


def _cell(m: Measurement) -> str:
    if not m.median_s:
        return units.MISSING
    if m.details.bitwise_reproducible is None:
        return NOT_RECORDED
    if not m.details.bitwise_reproducible:
        return "no"
    return {True: "yes", False: "runs only", None: "yes (one build)"}[m.details.reproducible_rebuild]
