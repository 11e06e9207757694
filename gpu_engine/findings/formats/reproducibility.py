"""What bitwise reproducibility costs: the fastest kernel that gives the same bits again beside the fastest of all."""

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

HEAD = Head("same bits", "runs and builds", numeric=False)
"""The head of the column that `cells` fills."""

NOT_RECORDED = "not recorded"
"""What is said of results that were measured before anybody looked."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The fastest kernel of all in rounds, and the fastest of those that are reproducible; None where none of them is.

    Only kernels with a time of which it is known whether they are take part.
    """

    fastest: Measurement
    reproducible: Measurement | None

    @property
    def ratio(self) -> float | None:
        """Time of the reproducible one over that of the fastest."""
        own = self.reproducible.median_s if self.reproducible else None
        return own / self.fastest.median_s if own and self.fastest.median_s else None


def cost(group: Sequence[Measurement]) -> Cost | None:
    """Of what was sampled together; None where the machine was busy, and where nothing was recorded."""
    ranking = rank(without_duplicates(group))
    known = [m for m in ranking.measurements if m.details.is_reproducible is not None]
    if not ranking.leaders or not known:
        return None
    return Cost(known[0], next((m for m in known if m.details.is_reproducible), None))


def sentence(group: Sequence[Measurement]) -> str:
    """What it costs on one matrix; empty where there is nothing to say."""
    found = cost(group)
    if found is None:
        return ""
    if found.reproducible is None:
        return "No kernel with a time gave the same bits in every run."
    if found.reproducible is found.fastest:
        return f"{found.fastest.kernel} gave the same bits in every run."
    taken = f"{units.ratio(found.ratio)} the time of {found.fastest.kernel}"
    return f"{found.reproducible.kernel} is the fastest that gave the same bits in every run: it takes {taken}."


def overview(data: StudyData) -> list[str]:
    """A sentence on all matrices of a device and cache state together, where there are several or nothing is known."""
    places: dict[tuple[str, ...], list[Sequence[Measurement]]] = {}
    for (_, device, cache), group in group_by_facet(data.measurements).items():
        of = (OF_TRANSPOSE,) if op_of(group[0]) == TRANSPOSED else ()
        if any(m.median_s for m in group):
            places.setdefault((device, cache, *of), []).append(group)
    found = (_over(", ".join(place), groups) for place, groups in places.items())
    return [said for said in found if said]


def _over(where: str, groups: Sequence[Sequence[Measurement]]) -> str:
    costs = [found for group in groups if (found := cost(group))]
    recorded = Counter(_is_recorded(group) for group in groups)
    if not recorded[True]:
        return f"Which kernels give the same bits in every run was {NOT_RECORDED} on {where}."
    ratios = [found.ratio for found in costs if found.ratio]
    if len(groups) < 2 or not ratios:
        return ""
    over = "1 matrix" if len(ratios) == 1 else f"{len(ratios)} matrices"
    free = sum(found.reproducible is found.fastest for found in costs)
    text = (
        f"What reproducibility costs on {where}, over {over}: the fastest kernel that gave the same bits in every run "
        f"takes {units.ratio(geometric_mean(ratios))} the time of the fastest of all in the geometric mean, "
        f"{units.ratio(max(ratios))} at most; on {free} it is the fastest."
    )
    none, lacking = len(costs) - len(ratios), recorded[False]
    text += f" On {none} more no kernel did." if none else ""
    return text + (f" On {lacking} more it was {NOT_RECORDED}." if lacking else "")


def cells(group: Sequence[Measurement]) -> list[str]:
    """Beside each measurement what is known of it; none at all where nothing was recorded."""
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
    return {True: "yes", False: "not over builds", None: "yes, one build"}[m.details.reproducible_rebuild]
