"""Sentences on histories of one device and cache state: change points and changes of the environment."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from gpu_engine.findings.history.change_points import CHANGED, LOOKED_FROM, PERIOD_MIN, ChangePoint, History
from gpu_engine.findings.history.records import SOURCE, Change, HistoryPoint
from gpu_engine.findings.ranking import NAMED, join
from gpu_engine.text.units import count, moment, number, percent, seconds, times

SENTENCES_MAX = 5
"""Maximum number of sentences on change points; the table has all of them."""

FACTOR_FROM = 2.0
"""Ratio from which a change is printed as a factor instead of percent."""

CaseChange = tuple[History, ChangePoint]
"""A history with one of its change points."""

CANNOT = (
    "Change points cannot be searched: the library ruptures has no release for this version of Python. "
    "Run the server with Python 3.13."
)
"""Sentence if the library for change points is missing."""


def sentences(histories: Sequence[History]) -> tuple[str, ...]:
    """Return the newest change points, or why there are none; then the newest environment change without one."""
    if not all(h.searched for h in histories):
        return (CANNOT,)
    longest = max((len(h.timeline) for h in histories), default=0)
    if longest < LOOKED_FROM:
        return (_too_short(longest),)
    texts = tuple(_event_text(event) for event in by_job(histories))
    if not texts:
        return (_no_change(histories), *_without_step(histories))
    more = len(texts) - SENTENCES_MAX
    rest = (f"{'1 earlier change is' if more == 1 else f'{count(more)} earlier changes are'} in the table.",)
    return (*texts[:SENTENCES_MAX], *(rest if more > 0 else ()), *_without_step(histories))


def by_job(histories: Sequence[History]) -> list[list[CaseChange]]:
    """Return the change points grouped by job and verdict, the newest first; in a group the largest first."""
    changes = [(h, point) for h in histories for point in h.points]
    changes.sort(key=lambda pair: (-pair[1].first.measured_at, pair[1].verdict.kind, -abs(pair[1].growth)))
    grouped = groupby(changes, key=lambda pair: (pair[1].first.job_id, pair[1].verdict.kind))
    return [list(group) for _, group in grouped]


def growth_in_words(growth: float) -> str:
    """Return a relative change of the time as text: `4.1 % slower`, or `slower (2.50 ×)` from a factor of 2 on."""
    word = "slower" if growth > 0 else "faster"
    return f"{word} ({times(1 + growth)})" if _is_factor(growth) else f"{percent(abs(growth))} {word}"


def _amount(growth: float) -> str:
    """Return a relative change without its direction: `by 4.1 %`, `2.50 ×`."""
    return times(1 + growth) if _is_factor(growth) else f"by {percent(abs(growth))}"


def _is_factor(growth: float) -> bool:
    return max(1 + growth, 1 / (1 + growth)) >= FACTOR_FROM


def day(point: HistoryPoint) -> str:
    """Return the day of a measurement in UTC: `2026-11-02`."""
    return moment(point.measured_at)[:10]


def _event_text(event: Sequence[CaseChange]) -> str:
    """Return `split/tile became 4.1 % slower on 2026-11-02, from … to …, with driver 580.1 → 590.2; no other …`."""
    (history, point), *others = event
    sure = point.verdict.kind in CHANGED
    if not others:
        claim = f"{history.label} {'became' if sure else 'may have become'} {growth_in_words(point.growth)}"
        levels = f"from {seconds(point.before.level_s)} to {seconds(point.after.level_s)}"
        return f"{claim} on {day(point.first)}, {levels}{_with(event)}.{'' if sure else f' {point.verdict.reason}'}"
    did = f"became {point.verdict.kind}" if sure else "may have changed"
    words = _amount if sure else growth_in_words
    names = join([f"{h.label} {words(p.growth)}" for h, p in event], NAMED)
    return f"{count(len(event))} cases {did} on {day(point.first)} ({names}){_with(event)}."


def _with(event: Sequence[CaseChange]) -> str:
    """Return the changes of the environment common to the cases, and how many kernels have a new source."""
    every = [point.changes for _, point in event]
    common = [change for change in every[0] if change.name != SOURCE and all(change in fields for fields in every)]
    sources = sum(any(change.name == SOURCE for change in fields) for fields in every)
    parts = [str(change) for change in common]
    if len(event) == 1:
        parts += [str(change) for change in every[0] if change.name == SOURCE]
    elif sources:
        parts.append(f"a new kernel source in {'all' if sources == len(event) else count(sources)} of them")
    if not parts:
        return "; no recorded driver, library, or kernel source changed"
    return f", with {join(parts)}; no other recorded change"


def _too_short(longest: int) -> str:
    if not longest:
        return "No job has measured this yet, so there is no history."
    needs = f"A change point needs {LOOKED_FROM} measurements, {PERIOD_MIN} on each side. Measure again in new jobs."
    if longest == 1:
        return f"Each case was measured only once. {needs}"
    return f"The history is too short: no case was measured more than {longest} times. {needs}"


def _no_change(histories: Sequence[History]) -> str:
    long = [h for h in histories if len(h.timeline) >= LOOKED_FROM]
    first, last = min(h.timeline[0].measured_at for h in long), max(h.timeline[-1].measured_at for h in long)
    cases = long[0].label if len(long) == 1 else f"{count(len(long))} cases"
    return f"No change detected in {cases}, {moment(first)[:10]} to {moment(last)[:10]}."


def environments(histories: Sequence[History]) -> list[tuple[HistoryPoint, dict[Change, list[History]]]]:
    """Return the changes of the environment, the newest first: (first measurement after it, change → histories)."""
    by_job_id: dict[str, tuple[HistoryPoint, dict[Change, list[History]]]] = {}
    for history in histories:
        for each in history.underneath:
            _, affected = by_job_id.setdefault(each.first.job_id, (each.first, {}))
            for change in each.changes:
                affected.setdefault(change, []).append(history)
    return sorted(by_job_id.values(), key=lambda pair: -pair[0].measured_at)


def _without_step(histories: Sequence[History]) -> Iterable[str]:
    """Yield a sentence on the newest change of the environment without a change point."""
    stepped = {job_id for h in histories for point in h.points for job_id in point.beside}
    for point, affected in environments(histories):
        if point.job_id in stepped:
            continue
        touched = {h.label: h for every in affected.values() for h in every}.values()
        names = join([str(change) for change in affected if change.name != SOURCE] or ["new kernel sources"])
        if any(_is_flanked(h, point) for h in touched):
            yield f"On {day(point)}: {names}; no change of a time was detected with it."
        else:
            yield f"On {day(point)}: {names}; too early to tell (fewer than {PERIOD_MIN} measurements on one side)."
        return


def _is_flanked(history: History, point: HistoryPoint) -> bool:
    """Return whether there are enough measurements on both sides for a change point."""
    after = sum(each.measured_at >= point.measured_at for each in history.timeline)
    return PERIOD_MIN <= after <= len(history.timeline) - PERIOD_MIN


def spread(histories: Sequence[History]) -> str:
    """Return a sentence on the noise of a time between jobs; empty without a history."""
    noises = sorted(h.noise for h in histories if len(h.timeline) >= LOOKED_FROM)
    if not noises:
        return ""
    ends = dict.fromkeys(f"{number(100 * noise, 2)}" for noise in (noises[0], noises[-1]))
    return f"Noise from job to job, without changes: {' to '.join(ends)} % (standard deviation)."
