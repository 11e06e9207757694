"""Findings of the `batched` study: which kernel is fastest, what it gains over libraries, how well `auto` chooses."""

from collections.abc import Sequence
from functools import lru_cache, partial

from gpu_engine.findings.answer import Contest
from gpu_engine.findings.batched.groups import BATCH, BatchGroup, bandwidth, batch_groups, largest, name_of
from gpu_engine.findings.data import KEPT, StudyData
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
    with_interval_head,
)
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table

PAPER_GAIN = "10 to 25 times as fast in the paper"
"""Batched kernels over one product after the other, on a P100: §4.2, §5."""

HEADS = (
    Head("rate", "GFLOP/s"),
    Head("time", "median"),
    Head(INTERVAL),
    Head("share of", "floor"),
    Head("stored"),
    Head("bandwidth", "sustained"),
    Head("conversion", "from CSR"),
    Head("max error", "ε(|A||x|)"),
    Head("note", numeric=False),
)


@lru_cache(KEPT)
def findings(data: StudyData) -> tuple[Finding, ...]:
    """A finding per batch, of every size and operation."""
    return tuple(finding(group, data) for group in batch_groups(data, every_operation=True))


def contests(data: StudyData) -> tuple[Contest, ...]:
    """A contest per matrix and mixture: its batch of the chosen size, else the largest with a time."""
    return tuple(_contest(group, data) for group in largest(batch_groups(data), data.number(BATCH)))


def _contest(group: BatchGroup, data: StudyData) -> Contest:
    entrants = {m.kernel: m for m in group.measurements}
    baseline = group.peer.kernel if group.peer else ""
    return Contest(name_of(group, data), group.device, group.cache, entrants, group.ranking, baseline)


def finding(group: BatchGroup, data: StudyData) -> Finding:
    """What may be said of one batch."""
    leaders = {m.case for m in group.ranking.leaders}
    return Finding(
        study="batched",
        matrix_id=group.matrix_id,
        device=group.device,
        cache=group.cache,
        title=f"{name_of(group, data)}, {units.count(group.batch_size)} problems",
        axes=common_axes(group.measurements),
        leaders=group.leaders,
        decided=group.ranking.decided,
        busy=group.ranking.busy,
        sentences=_sentences(group),
        baseline=group.peer.kernel if group.peer else "",
        rows=tuple(row_of(m, m.kernel, m.case in leaders, group.peer) for m in group.measurements),
        tabulate=partial(_numbers, group.measurements),
        # What was recorded names the members of a mixed batch as they were called there.
        members=tuple(member for member in group.members if member in data.matrices) or (group.matrix_id,),
    )


def _sentences(group: BatchGroup) -> tuple[str, ...]:
    """The verdict on a batch; a kernel that is skipped says why where it would have been compared."""
    if not group.timed:
        note = group.measurements[0].note
        return (f"No kernel has a time here{f': {note}' if note else ''}.",)
    return tuple(filter(None, (_fastest(group), _over_libraries(group), _chosen(group))))


def _fastest(group: BatchGroup) -> str:
    first = group.timed[0]
    of_floor = share(first.roofline_s, first)
    facts = units.gflops(first.gflops), f"{units.percent(of_floor)} of the floor" if of_floor is not None else ""
    where = f"on {group.device}, {group.cache}, with {units.count(group.batch_size)} problems"
    return group.ranking.sentence(lambda m: m.kernel, where, facts)


def _over_libraries(group: BatchGroup) -> str:
    """Our fastest kernel against the fastest library and against one product after the other, both where measured."""
    if not group.ours:
        return ""
    first, peer, loop = group.ours[0], group.peer, group.loop
    parts = [f"{against(peer, first)}, the fastest library,"] if peer and peer is not loop else []
    if loop is not None and loop.median_s:
        parts.append(f"{against(loop, first)}, one product after the other: {PAPER_GAIN}")
    unmeasured = f" {loop.kernel} {loop.state}: {loop.note}." if loop is not None and not loop.median_s else ""
    compared = f"{first.kernel} is {' and '.join(parts).rstrip(',')}." if parts else "No library has a time here."
    return compared + unmeasured


def _chosen(group: BatchGroup) -> str:
    auto, single = group.auto, group.single
    if auto is None or single is None:
        return ""
    return f"{auto.kernel} is {against(single, auto)}, the best single kernel."


def _numbers(measurements: Sequence[Measurement]) -> Table:
    heads = with_interval_head(HEADS, measurements)
    return with_energy(Table(heads, tuple(map(_cells, measurements))), measurements)


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
