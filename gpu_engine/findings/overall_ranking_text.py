"""Sentences and tables of an overall ranking."""

from collections.abc import Iterable, Sequence

from gpu_engine.findings.bootstrap import CONTESTS_MIN
from gpu_engine.findings.finding import INTERVAL
from gpu_engine.findings.overall_ranking import FAR, NEAR, KernelSummary, OverallRanking
from gpu_engine.findings.ranking import NAMED, join
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.words import amount, capital

NEAR_PERCENT, FAR_PERCENT = (round(100 * (bound - 1)) for bound in (NEAR, FAR))

NAMED_SHORT = 2
"""Maximum number of names in a short line."""
SINGULAR = {
    "matrices": "matrix",
    "batches": "batch",
    "graphs": "graph",
    "systems": "system",
    "solves": "solve",
    "preconditioners": "preconditioner",
    "SpMMs": "SpMM",
}


def sentence(answer: OverallRanking) -> str:
    """Return the best kernel with its mean slowdown and 95 % CI as sentences, or why there is no ranking."""
    if answer.only:
        return answer.only
    total = answer.contests + answer.busy + answer.empty
    if not answer.level:
        where = f" on {answer.busy} of {total} {answer.what}" if total > 1 else ""
        why = f"the timings are too noisy{where}" if answer.busy else "no kernel was timed"
        return f"No ranking {answer.where}: {why}."
    noisy, empty = _more(answer.busy, answer.what), _more(answer.empty, answer.what)
    excluded = f" {noisy} excluded because the timings are too noisy." if answer.busy else ""
    untimed = f" {empty} without a timing." if answer.empty else ""
    return f"{_lead(answer)}{_baseline(answer)}.{_tie(answer)}{_missing(answer)}{excluded}{untimed}"


def _tie(answer: OverallRanking) -> str:
    """Return why kernels with other means tie; empty without a tie."""
    if len(answer.level) < 2:
        return ""
    if answer.contests < CONTESTS_MIN:
        return f" A tie: no verdict says slower on every one of the {answer.what}."
    return f" A tie: the ratio of their means is 1 within its {INTERVAL}."


def _missing(answer: OverallRanking) -> str:
    """Return where kernels of the sentence were not measured; empty if they were everywhere."""
    named = [standing for standing in answer.standings if standing.label in answer.level and standing.absent]
    lacks = (f" {each.label} was not measured on {each.absent} of {answer.contests}." for each in named)
    return "".join(lacks)


def _more(number: int, what: str) -> str:
    """Return `1 more matrix is` or `3 more matrices are`."""
    return f"1 more {SINGULAR.get(what, what)} is" if number == 1 else f"{number} more {what} are"


def short(answer: OverallRanking, beside: Sequence[OverallRanking]) -> str:
    """Return a short line: what distinguishes the ranking from the others, and its best kernels."""
    parts = [(f"on {each.device}", each.cache, each.of) for each in (answer, *beside)]
    differs = [part for part, *others in zip(*parts, strict=True) if part and any(other != part for other in others)]
    where = ", ".join(differs) or answer.where
    where = capital(where)
    if not answer.level:
        return f"{where}: no ranking"
    claim = "is the best single choice" if len(answer.level) == 1 else "tie as the best single choice"
    return f"{where}: {join(answer.level, NAMED_SHORT)} {claim}"


def _lead(answer: OverallRanking) -> str:
    first = answer.standings[0]
    name, worst = first.worst
    claim = "is the best single choice" if len(answer.level) == 1 else "tie as the best single choice"
    of = "" if len(answer.level) == 1 else f" of {first.label}"
    number = f"1 of {answer.contests + answer.busy + answer.empty}" if answer.contests == 1 else str(answer.contests)
    ends = units.ratio_interval((first.low, first.high))
    interval = f"{INTERVAL} {ends}, " if ends else ""
    return (
        f"{join(answer.level, NAMED)} {claim} over {number} {answer.what}{_extent(answer)}. "
        f"Mean slowdown{of}: {units.ratio(first.mean)} ({interval}worst {units.ratio(worst)} on {name}). "
        f"Fastest or tied on {units.percent(first.wins / answer.contests)}"
    )


def _extent(answer: OverallRanking) -> str:
    """Return what the groups are made of, where they were measured, and what their times leave out."""
    parts = ", ".join(amount(number, SINGULAR[noun], noun) for noun, number in answer.parts if number > 1)
    without = f", without {answer.without}" if answer.without else ""
    return f"{f' ({parts})' if parts else ''} {answer.where}{without}"


def _baseline(answer: OverallRanking) -> str:
    baseline = next((standing for standing in answer.standings if standing.label == answer.baseline), None)
    if baseline is None or baseline.label in answer.level:
        return ""
    return f". Mean slowdown of {baseline.label}: {units.ratio(baseline.mean)}"


HEADS = (
    Head("kernel", numeric=False),
    Head("mean slowdown", "× fastest"),
    Head(INTERVAL),
    Head("fastest or tied", "% of groups"),
    Head("worst", "slowdown"),
    Head("missing", "or failed"),
)

HEADS_OF_ONE = (HEADS[0], Head("time", "median"), Head("slowdown", "× fastest"))


def table(answer: OverallRanking, standings: Iterable[KernelSummary]) -> Table:
    """Return a table of some kernels of the ranking; with a single group it has times instead of means."""
    if answer.only:
        cells = (
            (standing.label, units.seconds(standing.measurement.median_s), units.ratio(standing.mean))
            for standing in standings
        )
        return Table(HEADS_OF_ONE, tuple(cells))
    return Table(HEADS, tuple(_row(standing, answer) for standing in standings)).without_empty(INTERVAL)


def _row(standing: KernelSummary, answer: OverallRanking) -> tuple[str, ...]:
    missing = f"{standing.failed} of {answer.contests - standing.absent}" if standing.absent else str(standing.failed)
    return (
        standing.label,
        units.ratio(standing.mean),
        units.ratio_interval((standing.low, standing.high)) or units.MISSING,
        units.percent(standing.wins / answer.contests),
        units.ratio(standing.worst[1]),
        missing,
    )


def visible_rows(
    answer: OverallRanking, chosen: Iterable[str]
) -> tuple[list[KernelSummary], list[KernelSummary], list[KernelSummary]]:
    """Return three lists: best kernels, baseline, and chosen ones; the others within 2 % of the best; the rest.

    The best kernels are those that the sentence names, and the first one if it names none.
    """
    labels = {*(standing.label for standing in answer.standings[:1]), *answer.level, answer.baseline, *chosen}
    near = [standing for standing in answer.near if standing.label not in labels]
    first = [standing for standing in answer.standings if standing.label in labels]
    return (
        first,
        near,
        [standing for standing in answer.standings if standing.label not in labels and standing not in near],
    )


def buckets(
    answer: OverallRanking, near: Sequence[KernelSummary], rest: Sequence[KernelSummary]
) -> list[tuple[str, list[KernelSummary]]]:
    """Return the hidden kernels in groups by slowdown: (summary, kernels).

    near  hidden kernels within NEAR of the best one; rest: all others
    """
    if not answer.standings:
        return []
    first = answer.standings[0]
    measured = [standing for standing in rest if answer.is_ranked(standing)]
    behind = [standing for standing in measured if standing.mean <= FAR * first.mean]
    far = [standing for standing in measured if standing not in behind]
    partial = [standing for standing in rest if standing not in measured]
    groups = (
        (f"{len(near)} more within {NEAR_PERCENT}{units.THIN}% of {first.label}", [*near]),
        (f"{_are(behind)} {NEAR_PERCENT} to {FAR_PERCENT}{units.THIN}% slower", behind),
        (f"{_are(far)} more than {FAR_PERCENT}{units.THIN}% slower: {_span(far)}", far),
        (f"{_are(partial, 'was', 'were')} measured on only some {answer.what}: {_span(partial)}", partial),
    )
    return [(summary, standings) for summary, standings in groups if standings]


def _are(standings: Sequence[KernelSummary], of_one: str = "is", of_more: str = "are") -> str:
    return f"1 kernel {of_one}" if len(standings) == 1 else f"{len(standings)} kernels {of_more}"


def _span(standings: Sequence[KernelSummary]) -> str:
    """Return the range of the mean slowdowns: `mean slowdown 1.30 × to 4.00 ×`."""
    means = [standing.mean for standing in standings] or [1.0]
    ends = units.ratio(means[0]) if len(means) == 1 else f"{units.ratio(min(means))} to {units.ratio(max(means))}"
    return f"mean slowdown {ends}"
