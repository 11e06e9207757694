"""What histories of one place say: which times changed when, with what underneath, and what changed without a step."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from gpu_engine.findings.history.change_points import CHANGED, LOOKED_FROM, PERIOD_MIN, ChangePoint, History
from gpu_engine.findings.history.records import SOURCE, Change, Taken
from gpu_engine.findings.ranking import NAMED, join
from gpu_engine.text.units import count, moment, number, percent, seconds, times

TOLD_MAX = 5
"""Most sentences on change points; the table has them all."""

FACTOR_FROM = 2.0
"""From here on a change is told as a factor."""

Found = tuple[History, ChangePoint]

CANNOT = (
    "Change points are not looked for here: ruptures, which finds them, has no release for this version of Python. "
    "Run the server with Python 3.13."
)


def sentences(histories: Sequence[History]) -> tuple[str, ...]:
    """The answer first: the newest change points, or why there is none; then what changed with no step."""
    if not all(h.searched for h in histories):
        return (CANNOT,)
    longest = max((len(h.taken) for h in histories), default=0)
    if longest < LOOKED_FROM:
        return (_too_short(longest),)
    told = tuple(_told(found) for found in by_job(histories))
    if not told:
        return (_nothing(histories), *_without_step(histories))
    more = len(told) - TOLD_MAX
    rest = (f"{'1 earlier change is' if more == 1 else f'{count(more)} earlier changes are'} in the table.",)
    return (*told[:TOLD_MAX], *(rest if more > 0 else ()), *_without_step(histories))


def by_job(histories: Sequence[History]) -> list[list[Found]]:
    """The change points that are one event, the newest first: of the same job and verdict, the largest first."""
    found = [(h, point) for h in histories for point in h.points]
    found.sort(key=lambda pair: (-pair[1].first.measured_at, pair[1].verdict.kind, -abs(pair[1].growth)))
    grouped = groupby(found, key=lambda pair: (pair[1].first.job_id, pair[1].verdict.kind))
    return [list(group) for _, group in grouped]


def growth_in_words(growth: float) -> str:
    """`4.1 % slower`, or `2.50 × as slow`: of a time that grew by this share, or fell."""
    word = "slow" if growth > 0 else "fast"
    return f"{times(1 + growth)} as {word}" if _is_factor(growth) else f"{percent(abs(growth))} {word}er"


def _amount(growth: float) -> str:
    """The same after a word that says which way: `by 4.1 %`, `2.50 ×`."""
    return times(1 + growth) if _is_factor(growth) else f"by {percent(abs(growth))}"


def _is_factor(growth: float) -> bool:
    return max(1 + growth, 1 / (1 + growth)) >= FACTOR_FROM


def day(taken: Taken) -> str:
    """When it was measured, in UTC: `2026-11-02`."""
    return moment(taken.measured_at)[:10]


def _told(found: Sequence[Found]) -> str:
    """`split/tile became 4.1 % slower on 2026-11-02, from … to …, with driver 580.1 → 590.2; nothing else …`"""
    (history, point), *others = found
    sure = point.verdict.kind in CHANGED
    if not others:
        said = f"{history.label} {'became' if sure else 'may have become'} {growth_in_words(point.growth)}"
        levels = f"from {seconds(point.before.level_s)} to {seconds(point.after.level_s)}"
        return f"{said} on {day(point.first)}, {levels}{_with(found)}.{'' if sure else f' {point.verdict.reason}'}"
    did = f"became {point.verdict.kind}" if sure else "may have changed"
    words = _amount if sure else growth_in_words
    names = join([f"{h.label} {words(p.growth)}" for h, p in found], NAMED)
    return f"{count(len(found))} cases {did} on {day(point.first)} ({names}){_with(found)}."


def _with(found: Sequence[Found]) -> str:
    """What changed underneath with all of these, and which kernels have another source."""
    every = [point.changes for _, point in found]
    common = [change for change in every[0] if change.name != SOURCE and all(change in own for own in every)]
    sources = sum(any(change.name == SOURCE for change in own) for own in every)
    parts = [str(change) for change in common]
    if len(found) == 1:
        parts += [str(change) for change in every[0] if change.name == SOURCE]
    elif sources:
        parts.append(f"another source of {'all' if sources == len(found) else count(sources)} of them")
    if not parts:
        return "; nothing that the records name changed with it"
    return f", with {join(parts)}; nothing else that the records name changed"


def _too_short(longest: int) -> str:
    if not longest:
        return "No job has measured this: there is no history."
    ask = f"a change point needs {LOOKED_FROM}, {PERIOD_MIN} on each side of it. Measure it again in new jobs."
    if longest == 1:
        return f"Each case has been measured once, which is no history: {ask}"
    return f"No case has been measured more than {longest} times, which is too short a history: {ask}"


def _nothing(histories: Sequence[History]) -> str:
    long = [h for h in histories if len(h.taken) >= LOOKED_FROM]
    first, last = min(h.taken[0].measured_at for h in long), max(h.taken[-1].measured_at for h in long)
    of = long[0].label if len(long) == 1 else f"{count(len(long))} cases"
    spans = f"{moment(first)[:10]} to {moment(last)[:10]}"
    return f"No change point: no time of {of} went to another level that held, from {spans}."


def environments(histories: Sequence[History]) -> list[tuple[Taken, dict[Change, list[History]]]]:
    """What changed underneath, the newest first: the first measurement after it, each change with those it is of."""
    found: dict[str, tuple[Taken, dict[Change, list[History]]]] = {}
    for history in histories:
        for each in history.underneath:
            _, own = found.setdefault(each.taken.job_id, (each.taken, {}))
            for change in each.changes:
                own.setdefault(change, []).append(history)
    return sorted(found.values(), key=lambda pair: -pair[0].measured_at)


def _without_step(histories: Sequence[History]) -> Iterable[str]:
    """The newest change underneath with which no time went to another level, where that can be told."""
    stepped = {job_id for h in histories for point in h.points for job_id in point.beside}
    for taken, own in environments(histories):
        if taken.job_id in stepped:
            continue
        touched = {h.label: h for every in own.values() for h in every}.values()
        names = join([str(change) for change in own if change.name != SOURCE] or ["another source of kernels"])
        if any(_is_flanked(h, taken) for h in touched):
            yield f"On {day(taken)}: {names}; no time went to another level with it."
        else:
            yield f"On {day(taken)}: {names}; fewer than {PERIOD_MIN} measurements on one side of it say nothing yet."
        return


def _is_flanked(history: History, taken: Taken) -> bool:
    """Whether a change point could be there."""
    after = sum(each.measured_at >= taken.measured_at for each in history.taken)
    return PERIOD_MIN <= after <= len(history.taken) - PERIOD_MIN


def spread(histories: Sequence[History]) -> str:
    """By how much a time differs between jobs, as a sentence; empty without a history."""
    noises = sorted(h.noise for h in histories if len(h.taken) >= LOOKED_FROM)
    if not noises:
        return ""
    ends = dict.fromkeys(f"{number(100 * noise, 2)}" for noise in (noises[0], noises[-1]))
    return f"From job to job a time scatters by {' to '.join(ends)} % where nothing changes (a standard deviation)."
