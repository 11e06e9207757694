"""What another schedule would have done: the switch rule replayed on the γ of a stored trace."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import plotly.graph_objects as go

from gpu_engine.errors import ParameterError, quote
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.runs import REFINED, SCHEDULE, Run, RunGroup, by_precision, by_segments, run_groups
from gpu_engine.findings.tables import Head, Table
from gpu_engine.findings.units import MISSING, count
from gpu_engine.pagerank import Schedule, iterations_by_segments, replay
from gpu_engine.parameters import parse_params
from web.figures import marks
from web.figures.pagerank.facets import Panels, panel_of, schedule_name
from web.figures.pagerank.levels import WORD_BITS, level, levels_of, stretches
from web.figures.pagerank.timeline import Line, draw_lines

SEGMENTS: tuple[Literal[2, 4], ...] = (2, 4)
NOTHING = "No run here has a trace to replay."

CAVEAT = (
    "A replay knows only the γ that were stored: those that fewer segments would have given are not known, so stalls "
    "and iterations that a lower precision adds do not show, and it is exact up to where it first departs from the "
    "schedule that wrote the trace."
)


@dataclass(frozen=True, slots=True)
class Row(Line):
    """A replay or a measured run; counts: iterations that wrote 1, 2 … segments."""

    name: str
    schedule: str
    counts: tuple[int, ...]
    iterations: int | None


@dataclass(frozen=True, slots=True)
class Info:
    """The panels, the replay on top of each, below it the runs measured with as many segments.

    kernels  whose traces are replayed; schedule: under which rule
    """

    panels: Panels[Row]
    kernels: tuple[str, ...]
    schedule: str


def info(data: StudyData) -> Info:
    """The chosen kernel's trace, by default one in fp64, under the chosen schedule; one in fp64 with 2 and 4 segments.

    Raises ParameterError where the schedule is none.
    """
    panels, kernels, schedules = [], [], []
    for group in run_groups(data):
        run = _replayed(group, data.what_if.get("replay", ""))
        for segments in () if run is None else (run.segments,) if run.segments else SEGMENTS:
            schedule = chosen_schedule(data.what_if, segments)
            # Two segments cannot begin with three.
            if run is None or schedule is None:
                continue
            rows = (_replay_row(group, run, schedule), *_measured_rows(group, segments))
            panel = panel_of(group, data, rows)
            panels.append(replace(panel, heading=f"{segments} segments · {panel.heading}"))
            kernels.append(run.measurement.kernel)
            schedules.append(rows[0].schedule)
    return Info(Panels(tuple(panels)), tuple(dict.fromkeys(kernels)), next(iter(schedules), ""))


def draw(info: Info) -> go.Figure:
    """A panel a matrix and number of segments: the replay on top, below it the runs measured with as many."""
    return draw_lines(info.panels, NOTHING)


def table(info: Info) -> Table:
    """A row per replay and measured run: its schedule and the iterations by segments."""
    heads = tuple(Head(text, numeric=False) for text in ("matrix", "device", "run", "schedule"))
    rows = [
        (*panel.place, row.name, row.schedule, by_segments(row.counts), count(row.iterations))
        for panel in info.panels.panels
        for row in panel.rows
    ]
    return Table((*heads, Head("iterations", "by segments"), Head("iterations")), tuple(rows))


def summary(info: Info) -> str:
    """Which rule is replayed on what, and what a replay cannot know."""
    if not info.kernels:
        return NOTHING
    rest = marks.omission(len(info.panels.drawn), len(info.panels.panels))
    return f"{' and '.join(info.kernels)} replayed with {info.schedule}. {CAVEAT}{rest}"


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
    """The runs whose γ the switch rule can be replayed on, those in fp64 first; that of fp32 is none of fp64.

    What a refinement sums up are changes of corrections.
    """
    others = ("fp32", *REFINED)
    traced = [run for run in group.runs if any(run.array("gamma")) and run.precision not in others]
    return tuple(sorted(traced, key=by_precision))


def _replayed(group: RunGroup, kernel: str) -> Run | None:
    known = replayable(group)
    return next((run for run in known if run.measurement.kernel == kernel), known[0] if known and not kernel else None)


def _replay_row(group: RunGroup, run: Run, schedule: Schedule) -> Row:
    written = replay(run.array("gamma"), schedule)
    levels = [level(f"{WORD_BITS // schedule.segments * number} bit") for number in written]
    rule = f"first {schedule.first}, near {schedule.near:g}, stall {schedule.stall:g}"
    counts = tuple(iterations_by_segments(written, schedule))
    name = f"{group.label(run)} replayed"
    return Row("replayed", "replayed", True, tuple(stretches(levels)), name, rule, counts, len(written))


def _measured_rows(group: RunGroup, segments: int) -> Iterator[Row]:
    for run in group.runs:
        if run.segments == segments and run.array("written"):
            own, axes, levels = run.measurement.details, run.measurement.axes, levels_of(run)
            rule = ", ".join(f"{name} {axes[name]}" for name in SCHEDULE if name in axes) or MISSING
            label, parts = group.label(run), tuple(stretches(levels))
            yield Row(label, schedule_name(run), True, parts, label, rule, own.iterations_by_segments, own.iterations)
