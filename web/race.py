"""Race: the kernels of a job as bars drawn by the server, of a running matrix and of results; template `_race.html`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gpu_engine.custom_kernels.sources import PREFIX
from gpu_engine.findings.finding import Finding, Row, interval_head, interval_text
from gpu_engine.records import Cache, Case
from gpu_engine.rounds import shows_interval
from gpu_engine.text import units
from web.palette import mark_of

ROWS_SHOWN = 12
"""Rows that are not folded; the slowest kernels of a group are the least interesting ones."""

JsonInterim = Mapping[str, float | str | bool | None]


@dataclass(frozen=True, slots=True)
class RaceRow:
    """A kernel.

    color, form  classes of its mark
    width        length of its bar in percent: the time of the fastest over its own; 0: no bar
    look         `forecast`, `provisional`, or `settled`, which is how its bar is drawn
    time, spread  its time, and the 95 % CI or number of rounds, as text
    state        `waiting`, `checking`, `checked`, `provisional`, `settled`, or a verdict; note: further words
    rounds       number of its rounds, as text
    """

    kernel: str
    color: str
    form: str
    width: float
    look: str
    time: str
    spread: str
    state: str
    note: str = ""
    rounds: str = ""


@dataclass(frozen=True, slots=True)
class Race:
    """The kernels of a matrix in one cache state, the fastest first.

    time_head    head of the times; spread_head: of the intervals, empty if they have no meaning
    state_head   head of the states or verdicts
    folded       the slower rows, and their summary
    has_forecast whether some bars are predictions
    is_busy      whether the times do not count
    """

    time_head: str
    spread_head: str
    state_head: str
    rows: tuple[RaceRow, ...]
    folded: tuple[RaceRow, ...] = ()
    folded_summary: str = ""
    has_forecast: bool = False
    is_busy: bool = False


@dataclass(frozen=True, slots=True)
class LiveCases:
    """What is known of the cases of one matrix while it is measured.

    plan       its cases in the order in which they are checked
    interim    provisional results, as JSON
    times      case → seconds of those with a record; None: it has no time
    predicted  kernel → predicted seconds, the shortest first
    current    case that is prepared or sampled; empty: none
    checking   whether cases are being checked
    sampling   whether rounds run
    """

    plan: tuple[Case, ...]
    interim: Sequence[JsonInterim]
    times: Mapping[str, float | None]
    predicted: Mapping[str, float]
    current: str
    checking: bool
    sampling: bool

    @property
    def cache(self) -> Cache:
        """Cache state that is shown; the other one is sampled in the same rounds."""
        caches = {case.cache for case in self.plan} | {Case.parse(str(entry["case"])).cache for entry in self.interim}
        return "cold" if caches == {"cold"} else "warm"


@dataclass(frozen=True, slots=True)
class _LiveCase:
    """A case with its state and seconds; predicted seconds if it has none."""

    label: str
    kernel: str
    state: str
    time_s: float | None
    predicted_s: float | None
    rounds: int = 0


def live_race(cases: LiveCases, time_head: str) -> Race:
    """Return the race of the matrix that is being measured: those with times first, then in the order of forecasts."""
    order = {kernel: number for number, kernel in enumerate(cases.predicted)}
    live = sorted(
        _live_cases(cases),
        key=lambda each: (each.time_s is None, each.time_s or 0.0, order.get(each.kernel, len(order))),
    )
    times = [each.time_s for each in live if each.time_s] or [each.predicted_s for each in live if each.predicted_s]
    best_s = min((time_s for time_s in times if time_s), default=0.0)
    rows = [_live_row(each, best_s) for each in live]
    return folded(Race(time_head, "", "state", tuple(rows), has_forecast=any(row.look == "forecast" for row in rows)))


def finding_race(finding: Finding) -> Race:
    """Return the race of a comparison group with its verdicts; cases without a time have no row.

    If the machine was busy, the times do not count and have no interval.
    """
    timed = [row for row in finding.rows if row.measurement.median_s]
    timed.sort(key=lambda row: row.measurement.median_s or 0.0)
    best_s = timed[0].measurement.median_s if timed else None
    head = "per SpMV" if timed and all(row.measurement.details.is_one_product for row in timed) else "time"
    rows = tuple(_result_row(row, best_s or 0.0) for row in timed)
    if finding.busy:
        rows = tuple(replace(row, look="provisional", spread="", state="", note=row.rounds) for row in rows)
        return folded(Race(head, "", "rounds", rows, is_busy=True))
    return folded(Race(head, interval_head(row.measurement.rounds for row in timed), "verdict", rows))


def folded(race: Race, most: int = ROWS_SHOWN) -> Race:
    """Return the race with its slower rows folded, if there are more than a few; never those of custom kernels."""
    rows = (*race.rows, *race.folded)
    rest = tuple(row for row in rows[most:] if not row.kernel.startswith(PREFIX))
    if len(rest) <= 1:
        return replace(race, rows=rows, folded=(), folded_summary="")
    ends = [row.time for row in (rest[0], rest[-1]) if row.time != units.MISSING]
    times = f", {ends[0]} to {ends[1]}" if len(ends) == 2 and ends[0] != ends[1] else ""
    visible = tuple(row for row in rows if row not in rest)
    return replace(race, rows=visible, folded=rest, folded_summary=f"{len(rest)} more{times}")


def states(race: Race) -> Counter[str]:
    """Return the number of rows by state."""
    return Counter(row.state for row in (*race.rows, *race.folded))


def _live_cases(cases: LiveCases) -> list[_LiveCase]:
    """Return the cases of the cache state that is shown, in the order of the plan."""
    cache = cases.cache
    entries = {str(entry["case"]): entry for entry in cases.interim}
    unplanned = (Case.parse(key) for key in entries if all(case.key != key for case in cases.plan))
    chosen = [case for case in (*cases.plan, *unplanned) if case.cache == cache]
    current = Case.parse(cases.current) if cases.current else None
    places = [number for number, case in enumerate(chosen) if current and _is_same(case, current)]
    last = max((number for number, case in enumerate(chosen) if case.key in entries), default=-1)
    if cases.checking and places:
        without = [
            "checked" if n < places[0] else "waiting" if n > places[0] else "checking" for n in range(len(chosen))
        ]
    elif entries:
        # Kernels after the last one of these rounds belong to a later group.
        without = ["no time" if n < last else "waiting" for n in range(len(chosen))]
    else:
        without = ["checked" if cases.sampling else "waiting"] * len(chosen)
    return [
        _live_case(cases, case, label, entries.get(case.key), state)
        for case, label, state in zip(chosen, _labels(chosen), without, strict=True)
    ]


def _is_same(one: Case, other: Case) -> bool:
    """Return whether two cases differ at most in their cache state."""
    return (one.kernel, one.axes) == (other.kernel, other.axes)


def _labels(cases: Sequence[Case]) -> list[str]:
    """Return the kernel of each case with those of its axes that tell it from other cases of that kernel."""
    values: dict[tuple[str, str], set[str]] = {}
    for case in cases:
        for name, value in case.axes:
            values.setdefault((case.kernel, name), set()).add(value)
    return [
        " ".join((case.kernel, *(f"{name}={value}" for name, value in case.axes if len(values[case.kernel, name]) > 1)))
        for case in cases
    ]


def _live_case(cases: LiveCases, case: Case, label: str, entry: JsonInterim | None, state: str) -> _LiveCase:
    """Return what is known of a case; state: that of a case without a time."""
    if case.key in cases.times:
        time_s = cases.times[case.key]
        return _LiveCase(label, case.kernel, "settled" if time_s else "no time", time_s, None)
    if entry is None:
        predicted_s = None if state == "no time" else cases.predicted.get(case.kernel)
        return _LiveCase(label, case.kernel, state, None, predicted_s)
    decided, time_s = entry.get("decided"), float(entry["median_s"] or 0.0)
    return _LiveCase(
        label, case.kernel, "settled" if decided else "provisional", time_s, None, int(entry.get("rounds") or 0)
    )


def _live_row(live: _LiveCase, best_s: float) -> RaceRow:
    look = live.state if live.time_s else "forecast" if live.predicted_s else ""
    time_s = live.time_s or live.predicted_s
    width = round(min(100.0, 100 * best_s / time_s), 1) if time_s and best_s else 0.0
    note, time = _rounds(live.rounds), units.seconds(time_s)
    return RaceRow(live.label, *mark_of(live.kernel), width, look, time, "", live.state, note, note)


def _result_row(row: Row, best_s: float) -> RaceRow:
    m = row.measurement
    look = "settled" if shows_interval(m.rounds) else "provisional"
    width = round(100 * best_s / m.median_s, 1) if m.median_s else 0.0
    times = units.seconds(m.median_s), interval_text(m)
    return RaceRow(row.label, *mark_of(m.kernel), width, look, *times, row.word, row.reason, _rounds(m.rounds or 0))


def _rounds(number: int) -> str:
    return units.rounds_text(number, units.MISSING) if number else ""
