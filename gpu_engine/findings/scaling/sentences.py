"""What may be said of work shared by devices: what is fastest, what it gains, what holds it back."""

from collections.abc import Sequence

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import against
from gpu_engine.findings.scaling.cases import COLD, COMPUTE, EXCHANGE, ONCE, SpeedUp, hidden_share, imbalance, phases_of
from gpu_engine.findings.scaling.groups import BASELINE, LINES, Entry, Series, WorkGroup, devices_in_words, number_of
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.verdicts.verdict import in_words

VIRTUAL_CAVEAT = (
    "These devices are virtual: threads of this CPU. Their times say nothing of a GPU; how a matrix is cut, what is "
    "exchanged and what is merged are as on GPUs."
)

PAPER_GAINS = "5.5 × with 6 GPUs and 6.2 × with 8 in the paper"
"""p*-opt over one GPU, on Summit and a DGX-1: §8."""


def sentences(groups: Sequence[WorkGroup], shown: StudyData) -> tuple[str, ...]:
    """The verdict on a work, of each partitioning with the chosen number of devices, or with the most that have a time.

    All is said of the partitioning that took least; the others were measured in other rounds, and are not ranked.
    """
    timed = sorted(
        (entry for group in groups if (entry := _best(group, shown))), key=lambda entry: entry[2].median_s or 0.0
    )
    if not timed:
        return (_nothing(groups, shown),)
    group, series, m = timed[0]
    devices = m.details.devices or 1
    first = f" on {group.device} with {devices_in_words(devices, group.virtual)}"
    said = (
        _fastest(group, devices, first),
        _beside_library(group, series, m),
        _gain(group, series, m),
        _held_back(series, m),
        _balance(group, series, m),
        *(_fastest(other, beside.details.devices or 1, _unlike(beside, m)) for other, _, beside in timed[1:]),
    )
    return tuple(sentence for sentence in said if sentence)


def _best(group: WorkGroup, shown: StudyData) -> tuple[WorkGroup, Series, Measurement] | None:
    ranked = group.ranked(number_of(group, shown))
    return (group, *ranked[0]) if ranked else None


def _nothing(groups: Sequence[WorkGroup], shown: StudyData) -> str:
    """Why none of ours is ranked, and what a library takes."""
    measurements = [m for group in groups for series in group.series for m in series.measurements]
    note = next((m.note for m in measurements if m.note and m.state != "ok"), "")
    why = f" on {groups[0].device}{f': {note}' if note else ''}"
    found = [(group, *entry) for group in groups if (entry := group.rival(number_of(group, shown)))]
    if not found:
        return f"Nothing {'converged' if any(m.median_s for m in measurements) else 'has a time'}{why}."
    group, series, m = min(found, key=lambda entry: entry[2].median_s or 0.0)
    takes = f"{series.label} takes {units.seconds(m.median_s)} {ONCE[group.work]}"
    return f"Nothing of ours has a time{why}; {takes} with {devices_in_words(m.details.devices or 1, group.virtual)}."


def _unlike(m: Measurement, first: Measurement) -> str:
    number = (
        ""
        if m.details.devices == first.details.devices
        else f" with {devices_in_words(m.details.devices or 1, virtual=False)}"
    )
    return f" in rounds of its own{number}"


def _fastest(group: WorkGroup, devices: int, where: str) -> str:
    """The leaders, and what the first of them gains over equal lines, which are the paper's baseline."""
    ranking, ranked = group.ranking(devices), group.ranked(devices)
    labels = {m.case: series.label for series, m in ranked}
    facts = f"{units.seconds(ranked[0][1].median_s)} {ONCE[group.work]}", _over_baseline(group, *ranked[0])
    return ranking.sentence(lambda m: labels[m.case], where.strip(), facts)


def _over_baseline(group: WorkGroup, series: Series, m: Measurement) -> str:
    devices = m.details.devices or 1
    found = group.baseline(devices)
    if found and found[0] is series:
        what = "strategy gains" if group.work == COLD else "other cut gains"
        return f"no {what} over it" if len(group.ranked(devices)) > 1 else ""
    if found is None:
        return f"{series.partitioning}/{BASELINE} has no time beside it" if group.work == COLD else ""
    return against(found[1], m, found[0].label)


def _beside_library(group: WorkGroup, series: Series, m: Measurement) -> str:
    """How many times as fast our product is as a library's, as a whole and in the phase that it is of."""
    found = group.rival(m.details.devices or 1)
    if found is None:
        return ""
    rival, other = found
    theirs, own = (phases_of(each).get(COMPUTE) for each in (other, m))
    alone = f", {in_words(theirs / own)} in the phase {COMPUTE} alone" if theirs and own else ""
    return f"{series.label} is {against(other, m, rival.label)}{alone}."


def _gain(group: WorkGroup, series: Series, m: Measurement) -> str:
    devices = m.details.devices or 1
    if devices == 1:
        return "That is one device: nothing is said of a speed-up."
    base, own = group.common_base, series.gain(m)
    if own is None:
        return f"{series.label} has no time on one device here, so that nothing is said of its speed-up."
    over = f"on one device{_interval(own)}"
    if base and base[1] is not series.base and (gain := group.gain(series, m)):
        over = f"{base[0].label} on one device{_interval(gain)}, and {units.ratio(own.value)} as itself there"
    else:
        gain = own
    paper = f"; {PAPER_GAINS}" if group.work == COLD and not group.virtual else ""
    return (
        f"{series.label} is {units.ratio(gain.value)} as fast as {over}: "
        f"{units.percent(own.value / devices)} of the ideal {devices}{units.THIN}×{paper}."
    )


def _interval(gain: SpeedUp) -> str:
    span = f"{units.ratio(gain.low)} to {units.ratio(gain.high)}, " if gain.low and gain.high else ""
    return f" ({span}{gain.kind})"


def _held_back(series: Series, m: Measurement) -> str:
    """The phase that is furthest above its share of one device's."""
    devices, phases = m.details.devices or 1, phases_of(m)
    if devices == 1 or not sum(phases.values()):
        return ""
    before = phases_of(series.base) if series.base else {}
    if not before:
        longest = max(phases, key=lambda name: phases[name])
        return f"Most of its phases is {longest}, {units.percent(phases[longest] / sum(phases.values()))}."
    ideal = {name: before.get(name, 0.0) / devices for name in phases}
    worst = max(phases, key=lambda name: phases[name] - ideal[name])
    if phases[worst] <= ideal[worst]:
        return f"No phase takes longer than its share of one device's.{_exchanged(m)}"
    share = units.percent(phases[worst] / sum(phases.values()))
    one, part = units.seconds(before.get(worst)), units.seconds(ideal[worst])
    against = (
        f"where an even share of one device's {one} would be {part}" if ideal[worst] else "where one device needs none"
    )
    said = f"What holds it back is {worst}: {units.seconds(phases[worst])}, {share} of its phases, {against}."
    return said + _exchanged(m)


def _exchanged(m: Measurement) -> str:
    hidden, exchange = hidden_share(m), phases_of(m).get(EXCHANGE)
    if not exchange or not m.details.exchanged_bytes:
        return ""
    rate = units.rate(m.details.exchanged_bytes / exchange)
    share = units.percent(hidden) if hidden else "none"
    moved = f" {units.size(m.details.exchanged_bytes)} cross between devices in an iteration, at {rate}"
    return f"{moved}; {share} of the exchange goes on beside the products."


def _balance(group: WorkGroup, series: Series, m: Measurement) -> str:
    devices, own = m.details.devices or 1, imbalance(m)
    if devices == 1 or own is None:
        return ""
    said = f"Its largest part has {units.ratio(own)} the mean of the nonzeros, which allows {units.percent(1 / own)} "
    found = group.baseline(devices)
    if found is None:
        return f"{said}of the ideal."
    return f"{said}of the ideal{_equal_lines(group, found, beside=series.balance != LINES)}."


def _equal_lines(group: WorkGroup, found: Entry, beside: bool) -> str:
    """What the cut into equal lines allows, and of products that stay what is measured of that."""
    series, m = found
    other, speed = imbalance(m), None if group.work == COLD else group.cut_speed(series, m)
    allows = f"; that of {series.label} {units.ratio(other)}, {units.percent(1 / other)}" if beside and other else ""
    return allows + (f"; measured is {units.percent(speed)} of the speed of equal nonzeros" if speed else "")
