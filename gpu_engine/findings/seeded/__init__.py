"""Findings of the `seeded` study: what k seed sets cost beside one, and what a warm start saves."""

from functools import lru_cache

from gpu_engine.findings.data import FINDINGS_CACHED, StudyData
from gpu_engine.findings.finding import INTERVAL, Finding, interval_text, share_text
from gpu_engine.findings.overall_ranking import ComparisonGroup
from gpu_engine.findings.pagerank.runs import power
from gpu_engine.findings.seeded.groups import SeededGroup, seeded_groups, sets_amount
from gpu_engine.findings.seeded.names import COLD, ONE_BY_ONE, label
from gpu_engine.findings.seeded.tables import saved
from gpu_engine.findings.titled_group import contest_of, finding_of
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head
from gpu_engine.text.words import amount
from gpu_engine.verdicts.verdict import Verdict, verdict_text

HEADS = (
    Head("iterations", "maximum"),
    Head("passes", "all runs"),
    Head("time", "median"),
    Head(INTERVAL),
    Head("time", "per set"),
    Head("% of roofline"),
    Head("residual", "maximum"),
    Head("mass error", "maximum"),
    Head("note", numeric=False),
)


@lru_cache(FINDINGS_CACHED)
def findings(data: StudyData) -> tuple[Finding, ...]:
    """Return a finding per graph, device, parameters of PageRank, seed sets, and share of changed links."""
    return tuple(finding_of(group, data, label, _sentences(group), HEADS, _cells) for group in seeded_groups(data))


def contests(data: StudyData) -> tuple[ComparisonGroup, ...]:
    """Return a comparison group per finding with several runs; one seed set has a single run."""
    return tuple(contest_of(group, data, label) for group in seeded_groups(data) if len(group.measurements) > 1)


def _sentences(group: SeededGroup) -> tuple[str, ...]:
    if not group.timed:
        note = next((m.note for m in group.measurements if m.note), "no reason was recorded")
        return (f"No run was timed: {note.rstrip('.')}.",)
    if group.ranking.busy:
        return (group.ranking.busy,)
    return tuple(filter(None, _on_start(group) if group.is_start else _on_seeds(group)))


def _on_seeds(group: SeededGroup) -> tuple[str, ...]:
    """Return the time of all sets at once, over that of one set and against one set at a time."""
    m, verdict = group.together, group.verdict
    if m is None:
        return (f"Only {label(ONE_BY_ONE)} was timed on {group.device}.",)
    sets, time = sets_amount(group), units.seconds(m.median_s)
    if group.sets == 1:
        return (f"{sets.capitalize()} on {group.device}: {time}, {amount(m.details.iterations, 'iteration')}.",)
    beside = f", {units.ratio(group.cost)} the time of one set" if group.cost is not None else ""
    against = ""
    if verdict is not None and verdict.ratio:
        against = f"Speedup over {sets} one at a time: {_ratio_text(verdict)}."
    return f"{sets} at once on {group.device}: {time}{beside}.", against


def _on_start(group: SeededGroup) -> tuple[str, ...]:
    """Return the iterations of the warm start beside those of the cold one, and the speedup."""
    warm, cold, share, verdict = group.warm, group.of_kernel(COLD), saved(group), group.verdict
    if warm is None or cold is None or share is None:
        return (f"Not all starts were timed on {group.device}.",)
    counts = f"{amount(warm.details.iterations, 'iteration')} instead of {units.count(cold.details.iterations)}"
    changed = f"{units.percent(float(group.start))} of the links changed"
    time = f"Speedup on {group.device}: {_ratio_text(verdict)}." if verdict is not None and verdict.ratio else ""
    return f"After {changed}, a warm start needs {counts} ({units.percent(share)}).", time


def _ratio_text(verdict: Verdict) -> str:
    """Return a speedup with its verdict: `1.25× (faster)`."""
    return f"{units.ratio(verdict.ratio)} ({verdict_text(verdict.kind)})"


def _cells(m: Measurement) -> tuple[str, ...]:
    details = m.details
    return (
        units.count(details.iterations),
        units.count(details.passes),
        units.seconds(m.median_s),
        interval_text(m),
        units.seconds(details.set_s),
        share_text(m.roofline_s, m),
        power(details.residual),
        power(details.mass_error),
        m.note,
    )
