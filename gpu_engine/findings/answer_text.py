"""An answer in words and in numbers."""

from collections.abc import Iterable, Sequence

from gpu_engine.findings.answer import FAR, NEAR, Answer, Standing
from gpu_engine.findings.ranking import NAMED, join
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table

NEAR_PERCENT, FAR_PERCENT = (round(100 * (bound - 1)) for bound in (NEAR, FAR))

NAMED_SHORT = 2
"""Most names in a line."""


def sentence(answer: Answer) -> str:
    """Who is nearest to the best, how near and how surely; or why nothing leads."""
    if answer.only:
        return answer.only
    every = answer.contests + answer.busy + answer.empty
    if not answer.level:
        where = f" on {answer.busy} of {every} {answer.what}" if every > 1 else ""
        why = f"the machine was busy{where}" if answer.busy else "no kernel has a time"
        return f"Nothing leads {answer.where}: {why}."
    busy = f" On {answer.busy} more the machine was busy: their times do not count." if answer.busy else ""
    empty = f" On {answer.empty} more nothing has a time." if answer.empty else ""
    return f"{_lead(answer)}{_beside_baseline(answer)}.{busy}{empty}"


def short(answer: Answer, beside: Sequence[Answer]) -> str:
    """What sets it apart from the answers beside it, and who is nearest: `cut as pCSC: pCSC/p* is nearest`."""
    parts = [(f"on {each.device}", each.cache, each.of) for each in (answer, *beside)]
    differs = [own for own, *others in zip(*parts, strict=True) if own and any(other != own for other in others)]
    where = ", ".join(differs) or answer.where
    where = where[:1].upper() + where[1:]
    if not answer.level:
        return f"{where}: nothing leads"
    ends = "is" if len(answer.level) == 1 else "are"
    return f"{where}: {join(answer.level, NAMED_SHORT)} {ends} nearest to the fastest"


def _lead(answer: Answer) -> str:
    first, alone = answer.standings[0], len(answer.level) == 1
    name, worst = first.worst
    number = f"1 of {answer.contests + answer.busy + answer.empty}" if answer.contests == 1 else str(answer.contests)
    return (
        f"{join(answer.level, NAMED)} {'stays' if alone else 'stay'} nearest to the fastest over {number} "
        f"{answer.what} {answer.where}{'' if alone else ', and nothing tells them apart'}: {first.label} takes "
        f"{units.ratio(first.mean)} the best time in geometric mean and {units.ratio(worst)} at worst ({name}), and is "
        f"fastest or the same on {units.percent(first.wins / answer.contests)}"
    )


def _beside_baseline(answer: Answer) -> str:
    own = next((own for own in answer.standings if own.label == answer.baseline), None)
    if own is None or own.label in answer.level:
        return ""
    return f"; {own.label} takes {units.ratio(own.mean)}"


HEADS = (
    Head("kernel", numeric=False),
    Head("time over best", "geometric mean"),
    Head("95 %", "interval"),
    Head("best", "or same"),
    Head("at", "worst"),
    Head("no time", "or failed"),
)

HEADS_OF_ONE = (HEADS[0], Head("time", "median"), Head("time", "over best"))


def table(answer: Answer, standings: Iterable[Standing]) -> Table:
    """Some of the standings as text; of a lone contest there is no mean."""
    if answer.only:
        cells = ((own.label, units.seconds(own.measurement.median_s), units.ratio(own.mean)) for own in standings)
        return Table(HEADS_OF_ONE, tuple(cells))
    return Table(HEADS, tuple(_row(own, answer) for own in standings))


def _row(own: Standing, answer: Answer) -> tuple[str, ...]:
    lacks = f"{own.failed} of {answer.contests - own.absent}" if own.absent else str(own.failed)
    return (
        own.label,
        units.ratio(own.mean),
        f"{own.low:.2f} – {own.high:.2f}" if own.low and own.high else units.MISSING,
        units.percent(own.wins / answer.contests),
        units.ratio(own.worst[1]),
        lacks,
    )


def shown(answer: Answer, wanted: Iterable[str]) -> tuple[list[Standing], list[Standing], list[Standing]]:
    """The leader, the baseline and what is wanted; then the others within 2 % of the leader; then the rest."""
    labels = {*(own.label for own in answer.standings[:1]), answer.baseline, *wanted}
    near = [own for own in answer.near if own.label not in labels]
    first = [own for own in answer.standings if own.label in labels]
    return first, near, [own for own in answer.standings if own.label not in labels and own not in near]


def buckets(answer: Answer, near: Sequence[Standing], rest: Sequence[Standing]) -> list[tuple[str, list[Standing]]]:
    """What is not shown, by how far it is behind the leader: what a fold is called, and what is in it.

    near  less than NEAR behind; rest: all others
    """
    if not answer.standings:
        return []
    first = answer.standings[0]
    tried = [own for own in rest if own.absent <= first.absent]
    behind = [own for own in tried if own.mean <= FAR * first.mean]
    far = [own for own in tried if own not in behind]
    elsewhere = [own for own in rest if own not in tried]
    found = (
        (f"{len(near)} more within {NEAR_PERCENT}{units.THIN}% of {first.label}", [*near]),
        (f"{_are(behind)} {NEAR_PERCENT} to {FAR_PERCENT}{units.THIN}% slower", behind),
        (f"{_are(far)} more than {FAR_PERCENT}{units.THIN}% slower: {_span(far)}", far),
        (f"{_are(elsewhere, 'was', 'were')} not tried on all {answer.what}: {_span(elsewhere)}", elsewhere),
    )
    return [(summary, own) for summary, own in found if own]


def _are(standings: Sequence[Standing], of_one: str = "is", of_more: str = "are") -> str:
    return f"1 kernel {of_one}" if len(standings) == 1 else f"{len(standings)} kernels {of_more}"


def _span(standings: Sequence[Standing]) -> str:
    """`1.30 × to 4.00 × the best time`."""
    means = [own.mean for own in standings] or [1.0]
    ends = units.ratio(means[0]) if len(means) == 1 else f"{units.ratio(min(means))} to {units.ratio(max(means))}"
    return f"{ends} the best time"
