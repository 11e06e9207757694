"""Findings of the `batched` study: the fastest kernel, its speedup over libraries, and the choice of `auto`."""

from collections.abc import Sequence
from functools import lru_cache, partial

from gpu_engine.findings.batched.groups import BATCH, BatchGroup, bandwidth, batch_groups, largest, name_of
from gpu_engine.findings.data import FINDINGS_CACHED, StudyData
from gpu_engine.findings.finding import (
    INTERVAL,
    Finding,
    against,
    common_axes,
    interval_text,
    row_of,
    share,
    share_text,
    with_energy,
    with_intervals,
)
from gpu_engine.findings.overall_ranking import ComparisonGroup
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.words import capital

PAPER_GAIN = "paper: 10\u202f× to 25\u202f×"
"""Speedup of batched kernels over a launch loop in the paper, on a P100: §4.2, §5."""

HEADS = (
    Head("throughput", "GFLOP/s"),
    Head("time", "median"),
    Head(INTERVAL),
    Head("% of roofline"),
    Head("storage"),
    Head("bandwidth", "sustained"),
    Head("conversion", "from CSR"),
    Head("max error", "ε(|A||x|)"),
    Head("note", numeric=False),
)


@lru_cache(FINDINGS_CACHED)
def findings(data: StudyData) -> tuple[Finding, ...]:
    """Return a finding per batch, for all sizes and operations."""
    return tuple(finding(group, data) for group in batch_groups(data, every_operation=True))


def contests(data: StudyData) -> tuple[ComparisonGroup, ...]:
    """Return a comparison group per matrix and mixture: the batch of the chosen size, else the largest timed one."""
    return tuple(_contest(group, data) for group in largest(batch_groups(data), data.number(BATCH)))


def _contest(group: BatchGroup, data: StudyData) -> ComparisonGroup:
    entrants = {m.kernel: m for m in group.measurements}
    baseline = group.peer.kernel if group.peer else ""
    return ComparisonGroup(
        name_of(group, data), group.device, group.cache, entrants, group.ranking, baseline, without="conversion"
    )


def finding(group: BatchGroup, data: StudyData) -> Finding:
    """Return the finding of one batch."""
    leaders = {m.case for m in group.ranking.leaders}
    return Finding(
        study="batched",
        matrix_id=group.matrix_id,
        device=group.device,
        cache=group.cache,
        title=f"{name_of(group, data)}, {units.count(group.batch_size)} matrices",
        axes=common_axes(group.measurements),
        leaders=group.leaders,
        decided=group.ranking.decided,
        busy=group.ranking.busy,
        sentences=_sentences(group),
        baseline=group.peer.kernel if group.peer else "",
        rows=tuple(row_of(m, m.kernel, m.case in leaders, group.peer) for m in group.measurements),
        tabulate=partial(_numbers, group.measurements),
        # Reference results name the members of a mixed batch as on the machine that measured them.
        members=tuple(member for member in group.members if member in data.matrices) or (group.matrix_id,),
    )


def _sentences(group: BatchGroup) -> tuple[str, ...]:
    """Return the sentences on a batch, with the reason if a kernel for comparison was skipped."""
    if not group.timed:
        note = group.measurements[0].note
        return (f"No kernel was timed{f': {note}' if note else ''}.",)
    return tuple(filter(None, (_fastest(group), _over_libraries(group), _chosen(group))))


def _fastest(group: BatchGroup) -> str:
    first = group.timed[0]
    of_roofline = share(first.roofline_s, first)
    roofline = f"{units.percent(of_roofline)} of roofline" if of_roofline is not None else ""
    facts = units.gflops(first.gflops), roofline
    where = f"on {group.device}, {group.cache}, with {units.count(group.batch_size)} matrices"
    return group.ranking.sentence(lambda m: m.kernel, where, facts)


def _over_libraries(group: BatchGroup) -> str:
    """Return the speedup of the fastest Sparsight kernel over the fastest library and over a launch loop."""
    if not group.ours:
        return ""
    first, peer, loop = group.ours[0], group.peer, group.loop
    parts = [f"{against(peer, first)}, the fastest library kernel"] if peer and peer is not loop else []
    if loop is not None and loop.median_s:
        parts.append(f"{against(loop, first)}, a launch loop ({PAPER_GAIN})")
    unmeasured = f" {loop.kernel} {loop.state}: {loop.note}." if loop is not None and not loop.median_s else ""
    sentences = ". ".join([*parts[:1], *map(capital, parts[1:])])
    compared = f"{first.kernel}: {sentences}." if parts else "No library kernel was timed."
    return compared + unmeasured


def _chosen(group: BatchGroup) -> str:
    auto, single = group.auto, group.single
    if auto is None or single is None:
        return ""
    return f"{auto.kernel}: {against(single, auto)}, the best single kernel."


def _numbers(measurements: Sequence[Measurement]) -> Table:
    table = Table(HEADS, tuple(map(_cells, measurements)))
    return with_energy(with_intervals(table, measurements), measurements)


def _cells(m: Measurement) -> tuple[str, ...]:
    return (
        units.number(m.gflops),
        units.seconds(m.median_s),
        interval_text(m),
        share_text(m.roofline_s, m),
        units.size(m.stored_bytes),
        units.rate(bandwidth(m)),
        "none" if m.details.convert_s == 0 else units.seconds(m.details.convert_s),
        units.number(m.max_error),
        m.note,
    )
