"""Sentences of the `scaling` study: fastest case, speedup, bottleneck, and load balance."""

from collections.abc import Sequence

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import against
from gpu_engine.findings.scaling.cases import COLD, COMPUTE, EXCHANGE, ONCE, SpeedUp, hidden_share, imbalance, phases_of
from gpu_engine.findings.scaling.groups import Entry, WorkGroup, devices_in_words, number_of
from gpu_engine.findings.scaling.series import BASELINE, LINES, Series
from gpu_engine.findings.scaling.superlinear import superlinear_text
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.verdicts.verdict import speedup_text, verdict_text

VIRTUAL_CAVEAT = (
    "Simulated devices: CPU threads stand in for GPUs. Partitions, exchanges, and merges are the same as on GPUs; "
    "the timings are not."
)
"""Sentence shown with results of simulated devices."""

SUM_OF_PHASES = "the sum of the phases"
"""What the share of a phase refers to; phases that overlap sum to more than the measured time."""

PAPER_GAINS = "The paper has 5.5 × with 6 GPUs and 6.2 × with 8."
"""Speedup of p*-opt over one GPU in the paper, on Summit and a DGX-1: §8."""


def sentences(groups: Sequence[WorkGroup], data: StudyData) -> tuple[str, ...]:
    """Return the sentences on a workload, for the chosen number of devices or else the most timed ones.

    They describe the fastest partitioning. The others were sampled in separate rounds and get one sentence each.
    """
    timed = sorted(
        (entry for group in groups if (entry := _best(group, data))), key=lambda entry: entry[2].median_s or 0.0
    )
    if not timed:
        return (_no_ranking(groups, data),)
    group, series, m = timed[0]
    devices = m.details.devices or 1
    # The name of a machine begins with the number of its GPUs.
    number = "" if group.device.startswith(f"{devices} × ") else f" with {devices_in_words(devices, group.virtual)}"
    where = f"on {group.device}{number}"
    parts = (
        _fastest(group, devices, where),
        _over_library(group, series, m),
        _speedup(group, series, m),
        superlinear_text(group, series, m, series.base, data.matrix(group.matrix_id)),
        _bottleneck(series, m),
        _balance(group, series, m),
        *(_fastest(group, best.details.devices or 1, _other_rounds(best, m)) for group, _, best in timed[1:]),
    )
    return tuple(sentence for sentence in parts if sentence)


def _best(group: WorkGroup, data: StudyData) -> tuple[WorkGroup, Series, Measurement] | None:
    ranked = group.ranked(number_of(group, data))
    return (group, *ranked[0]) if ranked else None


def _no_ranking(groups: Sequence[WorkGroup], data: StudyData) -> str:
    """Return why no Sparsight kernel is ranked, and the time of a library kernel if there is one."""
    measurements = [m for group in groups for series in group.series for m in series.measurements]
    note = next((m.note for m in measurements if m.note and m.state != "ok"), "")
    why = f" on {groups[0].device}{f': {note}' if note else ''}"
    rivals = [(group, *entry) for group in groups if (entry := group.rival(number_of(group, data)))]
    if not rivals:
        return f"No kernel {'converged' if any(m.median_s for m in measurements) else 'was timed'}{why}."
    group, series, m = min(rivals, key=lambda entry: entry[2].median_s or 0.0)
    time = f"{series.label} takes {units.seconds(m.median_s)} per {ONCE[group.work]}"
    devices = devices_in_words(m.details.devices or 1, group.virtual)
    return f"No Sparsight kernel was timed{why}; {time} with {devices}."


def _other_rounds(m: Measurement, first: Measurement) -> str:
    number = (
        ""
        if m.details.devices == first.details.devices
        else f" with {devices_in_words(m.details.devices or 1, virtual=False)}"
    )
    return f"in separate rounds{number}"


def _fastest(group: WorkGroup, devices: int, where: str) -> str:
    """Return the fastest or tied kernels, and the speedup over equal rows, the paper's baseline."""
    ranking, ranked = group.ranking(devices), group.ranked(devices)
    labels = {m.case: series.label for series, m in ranked}
    facts = f"{units.seconds(ranked[0][1].median_s)} per {ONCE[group.work]}", _over_baseline(group, *ranked[0])
    return ranking.sentence(lambda m: labels[m.case], where, facts)


def _over_baseline(group: WorkGroup, series: Series, m: Measurement) -> str:
    devices = m.details.devices or 1
    baseline = group.baseline(devices)
    if baseline and baseline[0] is series:
        what = "strategy" if group.work == COLD else "balance"
        return f"no other {what} is faster" if len(group.ranked(devices)) > 1 else ""
    if baseline is None:
        return f"{series.partitioning}/{BASELINE} was not timed" if group.work == COLD else ""
    return against(baseline[1], m, baseline[0].label)


def _over_library(group: WorkGroup, series: Series, m: Measurement) -> str:
    """Return the speedup over the fastest library kernel, in total and in the compute phase."""
    entry = group.rival(m.details.devices or 1)
    if entry is None:
        return ""
    rival, other = entry
    library_s, compute_s = (phases_of(each).get(COMPUTE) for each in (other, m))
    phase = f" In the phase {COMPUTE}: {speedup_text(library_s / compute_s)}." if library_s and compute_s else ""
    return f"{series.label}: {against(other, m, rival.label)}.{phase}"


def _speedup(group: WorkGroup, series: Series, m: Measurement) -> str:
    devices = m.details.devices or 1
    if devices == 1:
        return "Measured on one device only; no speedup."
    base, itself = group.common_base, series.gain(m)
    if itself is None:
        return f"{series.label} was not timed on one device, so its speedup is unknown."
    if base and base[1] is not series.base and (gain := group.gain(series, m)):
        over = f"{base[0].label} on one device{_interval(gain)}, {units.ratio(itself.value)} over itself on one"
    else:
        gain, over = itself, f"one device{_interval(itself)}"
    paper = f" {PAPER_GAINS}" if group.work == COLD and not group.virtual else ""
    return (
        f"Speedup of {series.label} {units.ratio(gain.value)} over {over}. "
        f"Efficiency {units.percent(itself.value / devices)} (ideal {devices}{units.THIN}×).{paper}"
    )


def _interval(gain: SpeedUp) -> str:
    span = f"{units.ratio(gain.low)} to {units.ratio(gain.high)}, " if gain.low and gain.high else ""
    return f" ({span}{verdict_text(gain.kind)})"


def _bottleneck(series: Series, m: Measurement) -> str:
    """Return the phase that exceeds its ideal share of the time on one device by most."""
    devices, phases = m.details.devices or 1, phases_of(m)
    if devices == 1 or not sum(phases.values()):
        return ""
    before = phases_of(series.base) if series.base else {}
    if not before:
        longest = max(phases, key=lambda name: phases[name])
        share = units.percent(phases[longest] / sum(phases.values()))
        return f"Longest phase: {longest}, {share} of {SUM_OF_PHASES}."
    ideal = {name: before.get(name, 0.0) / devices for name in phases}
    worst = max(phases, key=lambda name: phases[name] - ideal[name])
    if phases[worst] <= ideal[worst]:
        return f"No bottleneck: no phase takes longer than its ideal share of one device.{_exchanged(m)}"
    share = units.percent(phases[worst] / sum(phases.values()))
    one, even = units.seconds(before.get(worst)), units.seconds(ideal[worst])
    target = f"ideal share of one device's {one}: {even}" if ideal[worst] else "none on one device"
    return f"Bottleneck: {worst}, {units.seconds(phases[worst])} ({share} of {SUM_OF_PHASES}; {target}).{_exchanged(m)}"


def _exchanged(m: Measurement) -> str:
    hidden, exchange = hidden_share(m), phases_of(m).get(EXCHANGE)
    if not exchange or not m.details.exchanged_bytes:
        return ""
    rate = units.rate(m.details.exchanged_bytes / exchange)
    moved = f" Exchange per iteration: {units.size(m.details.exchanged_bytes)} at {rate}"
    return f"{moved}; {units.percent(hidden) if hidden else 'none'} of it overlaps with computation."


def _balance(group: WorkGroup, series: Series, m: Measurement) -> str:
    devices, uneven = m.details.devices or 1, imbalance(m)
    if devices == 1 or uneven is None:
        return ""
    limit = f"limits the efficiency to {units.percent(1 / uneven)}."
    baseline = group.baseline(devices)
    equal_rows = _equal_rows(group, baseline, other=series.balance != LINES) if baseline else ""
    return f"Load imbalance {units.ratio(uneven)} (largest partition / mean), which {limit}{equal_rows}"


def _equal_rows(group: WorkGroup, entry: Entry, other: bool) -> str:
    """Return the imbalance and efficiency limit of equal rows, and the measured speed for resident workloads.

    other  whether the described case has another balance
    """
    series, m = entry
    uneven, speed = imbalance(m), None if group.work == COLD else group.cut_speed(series, m)
    limit = f" {series.label}: {units.ratio(uneven)}, limit {units.percent(1 / uneven)}." if other and uneven else ""
    return limit + (f" Equal rows have {units.percent(speed)} of the speed of equal nonzeros." if speed else "")
