"""Answer of many seed sets: what they cost beside one set, and what a warm start saves."""

from collections.abc import Sequence
from statistics import geometric_mean

from gpu_engine.findings.seeded.groups import SeededGroup, seeded_groups, sets_amount
from gpu_engine.findings.seeded.tables import saved
from gpu_engine.text import units
from gpu_engine.text.words import amount
from gpu_engine.verdicts.verdict import interval_of_ratio
from web.explore import ExploreAnswer
from web.plots.axis import Axis, log_axis
from web.plots.dots import DotRow, Dots, DotValue, Series
from web.results import Results
from web.studies.answers.wording import measured_on

ONE_BY_ONE = Series("over one set at a time", "circle", "of-none", "As many runs, with one seed set each.")


def explore(results: Results) -> ExploreAnswer | None:
    """Return the answer on the largest number of seed sets on the first device; None without two times to compare."""
    groups = [group for group in seeded_groups(results.data) if not group.ranking.busy]
    compared = [group for group in groups if not group.is_start and group.verdict and group.cost]
    if not compared:
        return None
    device = compared[0].device
    most = max(group.sets for group in compared if group.device == device)
    chosen = [group for group in compared if (group.device, group.sets) == (device, most)]
    starts = [group for group in groups if group.is_start and group.device == device and saved(group) is not None]
    return ExploreAnswer(
        eyebrow=f"{sets_amount(chosen[0])} · {measured_on(device)} · {amount(len(chosen), 'run')}",
        sentence=f"{sets_amount(chosen[0])} at once take {_mean(chosen)} the time of one set.",
        under=tuple(filter(None, (_over_runs(chosen), _on_starts(starts)))),
        pictures=(_picture(chosen, results),),
        notes=("Geometric means. All sets share each pass over the links, and all runs share their rounds.",),
    )


def _mean(groups: Sequence[SeededGroup]) -> str:
    return units.ratio(geometric_mean([group.cost or 1.0 for group in groups]))


def _over_runs(groups: Sequence[SeededGroup]) -> str:
    """Return the mean speedup over one set at a time."""
    ratios = [_ratio(group) for group in groups]
    return f"Speedup over {sets_amount(groups[0])} one at a time: {units.ratio(geometric_mean(ratios))}."


def _on_starts(groups: Sequence[SeededGroup]) -> str:
    """Return the mean share of the iterations that a warm start needs after the first share of changed links."""
    same = [group for group in groups if group.start == groups[0].start]
    if not same:
        return ""
    share = geometric_mean([saved(group) or 1.0 for group in same])
    changed = f"After {units.percent(float(same[0].start))} of the links changed"
    return f"{changed}, a warm start needs {units.percent(share)} of the iterations of a cold one."


def _picture(groups: Sequence[SeededGroup], results: Results) -> Dots:
    """Return a row per graph, the largest speedup over one set at a time first."""
    axis = log_axis([_ratio(group) for group in groups])
    ordered = sorted(groups, key=lambda group: -_ratio(group))
    return Dots(
        heading=f"Speedup of {sets_amount(groups[0])} at once",
        series=(ONE_BY_ONE,),
        ticks=axis.ticks(),
        one=axis.at(1.0),
        heads=("time, all sets", "time over one set", ONE_BY_ONE.name),
        rows=tuple(_row(group, axis, results) for group in ordered),
        what="graph",
        wide=("time, all sets",),
        note="bar: 95 % CI",
        verdicts=True,
    )


def _row(group: SeededGroup, axis: Axis, results: Results) -> DotRow:
    m, base, verdict = group.together, group.baseline, group.verdict
    low, high = (interval_of_ratio(base, m) if base and m else None) or (None, None)
    kind = verdict.kind if verdict else "inconclusive"
    name = ", ".join(filter(None, (results.data.matrix(group.matrix_id).name, group.parameters)))
    values = (
        DotValue(units.seconds(m.median_s if m else None)),
        DotValue(units.ratio(group.cost)),
        DotValue(units.ratio_beside_verdict(_ratio(group)), kind),
    )
    return DotRow(
        name, f"/matrices/{group.matrix_id}", (axis.dot(_ratio(group), "circle", kind, low=low, high=high),), values
    )


def _ratio(group: SeededGroup) -> float:
    return (group.verdict.ratio if group.verdict else None) or 1.0
