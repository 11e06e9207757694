"""What may be said of a batch: which kernel is fastest, what it gains over libraries, how well `auto` chooses."""

from gpu_engine.noise import noise
from gpu_engine.records import Measurement
from gpu_engine.verdict import compare
from web import units
from web.batches import BatchGroup, gain, share_of_floor
from web.comparison import NAMED, claim, join, leaders_of, unsettled_of

PAPER_GAIN = "10 to 25 × in the paper"
"""Batched kernels over one product after the other, on a P100: §4.2, §5."""


def sentences(group: BatchGroup) -> tuple[str, ...]:
    """The verdict on a batch; a kernel that is skipped says why where it would have been compared."""
    if not group.timed:
        note = group.measurements[0].note
        return (f"No kernel has a time here{f': {note}' if note else ''}.",)
    said = (_fastest(group), _over_libraries(group), _chosen(group))
    return tuple(sentence for sentence in said if sentence)


def _fastest(group: BatchGroup) -> str:
    ranked, first = group.timed, group.timed[0]
    leaders, unsettled = leaders_of(ranked), unsettled_of(ranked)
    if not leaders:
        return noise(ranked)
    where = f"on {group.device}, {group.cache}, with {units.count(group.problems)} problems"
    facts = [units.gflops(first.gflops)]
    if (share := share_of_floor(first)) is not None:
        facts.append(f"{units.percent(share)} of the floor")
    doubt = f"; {join([m.kernel for m in unsettled], NAMED)} may be as fast (ambiguous)" if unsettled else ""
    names = join([m.kernel for m in leaders], NAMED)
    return f"{names} {claim(ranked, leaders, unsettled)} {where}: {', '.join(facts)}{doubt}."


def _over_libraries(group: BatchGroup) -> str:
    """Our fastest kernel against the fastest library and against one product after the other, both where measured."""
    if not group.ours:
        return ""
    first, peer, loop = group.ours[0], group.peer, group.loop
    parts = [f"at {_against(peer, first)}, the fastest library,"] if peer and peer is not loop else []
    if loop is not None and loop.median_s:
        parts.append(f"at {_against(loop, first)}, one product after the other: {PAPER_GAIN}")
    unmeasured = f" {loop.kernel} {loop.state}: {loop.note}." if loop is not None and not loop.median_s else ""
    compared = f"{first.kernel} runs {' and '.join(parts).rstrip(',')}." if parts else "No library has a time here."
    return compared + unmeasured


def _chosen(group: BatchGroup) -> str:
    auto, single = group.auto, group.single
    if auto is None or single is None:
        return ""
    return f"{auto.kernel} runs at {_against(single, auto)}, the best single kernel."


def _against(base: Measurement, m: Measurement) -> str:
    return f"{units.ratio(gain(base, m))} {base.kernel} ({compare(base, m).kind})"
