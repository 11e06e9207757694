"""What another schedule would have done: the switch rule replayed on the γ of a stored trace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import plotly.graph_objects as go

from gpu_engine.errors import ParameterError, quote
from gpu_engine.pagerank import Schedule, iterations_by_segments, replay
from gpu_engine.parameters import parse_params
from web.figures.base import Head, Table, blank, escape
from web.figures.pagerank.facets import ROWS_MAX, axis_end, bar_panels, heading, place
from web.figures.pagerank.levels import LEVELS, WORD_BITS, Level, level, levels_of
from web.figures.pagerank.timeline import bars
from web.figures.panels import Legend
from web.runs import SCHEDULE, Run, RunGroup, by_precision, by_segments, run_groups
from web.shown import Shown
from web.units import MISSING, count

SEGMENTS: tuple[Literal[2, 4], ...] = (2, 4)
NOTHING = "No run here has a trace to replay."

CAVEAT = (
    "A replay knows only the γ that were stored: those that fewer segments would have given are not known, so stalls "
    "and iterations that a lower precision adds do not show, and it is exact up to where it first departs from the "
    "schedule that wrote the trace."
)


@dataclass(frozen=True, slots=True)
class Replay:
    """A stored trace under another schedule, and the measured runs with as many segments.

    written  segments that each iteration would write
    """

    group: RunGroup
    replayed: Run
    schedule: Schedule
    written: tuple[int, ...]
    measured: tuple[Run, ...]

    @property
    def levels(self) -> list[Level]:
        """The precision under which each iteration would count."""
        return [level(f"{WORD_BITS // self.schedule.segments * written} bit") for written in self.written]


def draw(shown: Shown) -> go.Figure:
    """A panel a matrix and number of segments: the replay on top, below it the runs measured with as many."""
    found = _drawn(replays(shown))
    if not found:
        return blank(NOTHING)
    rows = [_rows(entry) for entry in found]
    used = [entry for entry in LEVELS if any(entry in levels for own in rows for levels in own.values())]
    titles = [f"{entry.schedule.segments} segments · {heading(entry.group, shown)}" for entry in found]
    figure = bar_panels(titles, [list(own) for own in rows], len(used), "overlay")
    legend = Legend()
    for row, own in enumerate(rows, start=1):
        figure.update_xaxes(range=[0, axis_end((len(levels), True) for levels in own.values())], row=row, col=1)
        for trace in bars(own, used, legend):
            figure.add_trace(trace, row=row, col=1)
    figure.update_xaxes(title_text="iterations", title_standoff=4, row=len(found), col=1)
    return figure


def table(shown: Shown) -> Table:
    """A row per replay and measured run: its schedule and the iterations by segments."""
    texts = ("matrix", "device", "run", "schedule")
    heads = tuple(Head(text, numeric=False) for text in texts)
    rows = []
    for entry in replays(shown):
        named = place(entry.group, shown)
        counts = iterations_by_segments(entry.written, entry.schedule)
        said = f"{entry.group.label(entry.replayed)} replayed"
        rows.append((*named, said, _in_words(entry.schedule), by_segments(counts), count(len(entry.written))))
        for run in entry.measured:
            m, axes = run.measurement, run.measurement.axes
            own = ", ".join(f"{name} {axes[name]}" for name in SCHEDULE if name in axes) or MISSING
            rows.append(
                (*named, entry.group.label(run), own, by_segments(m.iterations_by_segments), count(m.iterations))
            )
    return Table((*heads, Head("iterations", "by segments"), Head("iterations")), tuple(rows))


def summary(shown: Shown) -> str:
    """Which rule is replayed on what, and what a replay cannot know."""
    found = replays(shown)
    if not found:
        return NOTHING
    names = list(dict.fromkeys(entry.replayed.measurement.kernel for entry in found))
    left = (
        f" Drawn are the first {len(_drawn(found))} of {len(found)}; the table has all."
        if _drawn(found) != found
        else ""
    )
    return f"{' and '.join(names)} replayed with {_in_words(found[0].schedule)}. {CAVEAT}{left}"


def replays(shown: Shown) -> list[Replay]:
    """The chosen kernel's trace, by default one in fp64, under the chosen schedule; one in fp64 with 2 and 4 segments.

    Raises ParameterError where the schedule is none.
    """
    found = []
    for group in run_groups(shown):
        run = _replayed(group, shown.what_if.get("replay", ""))
        if run is None:
            continue
        for segments in (run.segments,) if run.segments else SEGMENTS:
            schedule = chosen_schedule(shown.what_if, segments)
            # Two segments cannot begin with three.
            if schedule is None:
                continue
            measured = tuple(r for r in group.runs if r.segments == segments and r.array("written"))
            found.append(Replay(group, run, schedule, replay(run.array("gamma"), schedule), measured))
    return found


def chosen_schedule(what_if: Mapping[str, str], segments: int) -> Schedule | None:
    """The schedule of a selection, its defaults filled in; None where it begins with more segments than there are.

    Raises ParameterError for what is no number, or out of bounds.
    """
    values: dict[str, Any] = {name: _number(name, what_if[name]) for name in SCHEDULE if name in what_if}
    whole = parse_params(Schedule, {**values, "segments": max(SEGMENTS)})
    return parse_params(Schedule, {**values, "segments": segments}) if whole.first <= segments else None


def _number(name: str, text: str) -> float | int:
    try:
        return int(text) if name == "first" else float(text)
    except ValueError:
        raise ParameterError(f"{name} is {quote(text)}; expected a number.") from None


def replayable(group: RunGroup) -> tuple[Run, ...]:
    """The runs whose γ the switch rule can be replayed on, those in fp64 first; that of fp32 is none of fp64."""
    traced = [run for run in group.runs if any(run.array("gamma")) and run.precision != "fp32"]
    return tuple(sorted(traced, key=by_precision))


def _replayed(group: RunGroup, kernel: str) -> Run | None:
    known = replayable(group)
    return next((run for run in known if run.measurement.kernel == kernel), known[0] if known and not kernel else None)


def _in_words(schedule: Schedule) -> str:
    return f"first {schedule.first}, near {schedule.near:g}, stall {schedule.stall:g}"


def _rows(entry: Replay) -> dict[str, list[Level]]:
    own = {"replayed": entry.levels}
    return own | {escape(entry.group.label(run)): levels_of(run) for run in entry.measured}


def _drawn(found: Sequence[Replay]) -> list[Replay]:
    kept: list[Replay] = []
    for entry in found:
        if kept and sum(1 + len(e.measured) for e in (*kept, entry)) > ROWS_MAX:
            break
        kept.append(entry)
    return kept
