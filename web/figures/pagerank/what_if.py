"""Predicted effect of another schedule or another ε: the switch rule replayed on the γ of a stored trace."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean
from typing import Any, Literal

import plotly.graph_objects as go

from gpu_engine.errors import ParameterError, quote
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank import ranking_of
from gpu_engine.findings.pagerank.predicted import predicted_s
from gpu_engine.findings.pagerank.runs import REFINED, SCHEDULE, Run, RunGroup, by_precision, by_segments, run_groups
from gpu_engine.pagerank import Schedule, iterations_by_segments, replay
from gpu_engine.parameters import parse_params
from gpu_engine.text.axes import axis_text
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING, count, ratio, seconds
from web.figures.base import blank, caption
from web.figures.pagerank import dots
from web.figures.pagerank.facets import Panels, panel_of, schedule_name
from web.figures.pagerank.levels import WORD_BITS, level, levels_of, stretches
from web.figures.pagerank.timeline import Line, draw_lines
from web.palette import style

SEGMENTS: tuple[Literal[2, 4], ...] = (2, 4)
EPSILON, REPLAY = "epsilon", "replay"
NOTHING = "No run has a trace to replay."

CAVEAT = (
    "A replay uses the stored γ, so it does not show stalls or extra iterations of a lower precision. "
    "It is exact up to its first difference from the schedule of the trace."
)

PREDICTED = "Predicted times add up the measured iterations of each kernel as replayed; fp64 runs until the same ε."


@dataclass(frozen=True, slots=True)
class Prediction:
    """A measured kernel under the replayed schedule.

    more      iterations beyond the measured ones; time_s: until ε
    faster    measured over predicted time; speed_up: over the same kernel in fp64 until the same ε, None without it
    """

    more: int
    time_s: float
    faster: float
    speed_up: float | None


@dataclass(frozen=True, slots=True)
class Row(Line):
    """A replay or a measured run.

    run        the measured run; None of a replay; busy: whether its timings are too noisy
    counts     iterations that wrote 1, 2 … segments
    predicted  of a measured run, if all its iterations are known
    """

    name: str
    schedule: str
    counts: tuple[int, ...]
    iterations: int | None
    run: Run | None = None
    predicted: Prediction | None = None
    busy: bool = False


@dataclass(frozen=True, slots=True)
class Info:
    """The panels, the replay on top of each, below it the runs measured with equally many segments.

    kernels  whose traces are replayed; schedule: the replayed rule; epsilon: where runs end, 0: at their own ε
    """

    panels: Panels[Row]
    kernels: tuple[str, ...]
    schedule: str
    epsilon: float

    @property
    def graphs(self) -> int:
        """Return the number of combinations of graph, device, and parameters."""
        return len({panel.place for panel in self.panels.panels})


def info(data: StudyData) -> Info:
    """Return the trace of the selected kernel under the selected schedule, an fp64 trace with 2 and 4 segments.

    By default the trace is one in fp64. Raises ParameterError if the schedule or ε is invalid.
    """
    epsilon = chosen_epsilon(data)
    panels, kernels, schedules = [], [], []
    for group in run_groups(data):
        is_busy = bool(ranking_of(group, data).busy)
        run = _replayed(group, data.choice(REPLAY))
        for segments in () if run is None else (run.segments,) if run.segments else SEGMENTS:
            schedule = chosen_schedule(data, segments)
            # Two segments cannot start with three.
            if run is None or schedule is None:
                continue
            written = replay(_until(run, epsilon), schedule)
            rows = (
                _replay_row(group, run, schedule, written),
                *_measured_rows(group, segments, written, epsilon, is_busy),
            )
            panel = panel_of(group, data, rows)
            panels.append(replace(panel, heading=f"{segments} segments · {panel.heading}"))
            kernels.append(run.measurement.kernel)
            schedules.append(rows[0].schedule)
    return Info(Panels(tuple(panels)), tuple(dict.fromkeys(kernels)), next(iter(schedules), ""), epsilon)


def draw(info: Info) -> go.Figure:
    """Return a panel per number of segments of one graph: the replay on top, below it the measured runs.

    For several graphs, return the predicted speedups, a row per kernel, a point per graph.
    """
    if info.graphs < 2:
        return draw_lines(info.panels, NOTHING)
    if not any(_dots(row) for panel in info.panels.panels for row in panel.rows):
        return blank(NOTHING)
    return dots.draw(info.panels, _dots, "predicted speedup over fp64")


def table(info: Info) -> Table:
    """Return a row per replay and measured run: schedule, iterations, time, and the prediction."""
    heads = tuple(Head(text, numeric=False) for text in ("matrix", "device", "run", "schedule"))
    rows = [
        (*panel.place, row.name, row.schedule, by_segments(row.counts), count(row.iterations), *_times(row))
        for panel in info.panels.panels
        for row in panel.rows
    ]
    measured = Head("iterations", "by segments"), Head("iterations"), Head("time", "measured")
    predicted = Head("Δ iterations", "replayed"), Head("time", "predicted"), Head("speedup", "over measured")
    return Table((*heads, *measured, *predicted, Head("speedup", "over fp64")), tuple(rows))


def summary(info: Info) -> str:
    """Return the replayed rule, the predicted speedup, and the limits of a replay."""
    if not info.kernels:
        return NOTHING
    until = f" until γ < {info.epsilon:g}" if info.epsilon else ""
    best = _best(info)
    replayed = f"{' and '.join(info.kernels)} replayed with {info.schedule}{until}."
    return caption(replayed, (best,), (PREDICTED if best else "", CAVEAT))


def _best(info: Info) -> str:
    """Return the kernel with the highest predicted mean over several graphs, with its mean over the measured time."""
    pairs_by_kernel: dict[str, list[tuple[float, float]]] = {}
    for row in (row for panel in info.panels.panels for row in panel.rows):
        predicted = row.predicted
        if row.run and predicted and predicted.speed_up and not row.busy:
            pairs_by_kernel.setdefault(row.run.measurement.kernel, []).append((predicted.speed_up, predicted.faster))
    if info.graphs < 2 or not pairs_by_kernel:
        return ""
    means = {
        kernel: [geometric_mean(each) for each in zip(*pairs, strict=True)] for kernel, pairs in pairs_by_kernel.items()
    }
    kernel, (speed_up, faster) = max(means.items(), key=lambda item: item[1][0])
    speedups = f"geometric-mean speedup {ratio(speed_up)} over fp64, {ratio(faster)} over the measured runs"
    return f"Best predicted kernel: {kernel}, {speedups}."


def _dots(row: Row) -> list[dots.Dot]:
    if row.run is None or row.predicted is None or row.predicted.speed_up is None:
        return []
    m = row.run.measurement
    return [dots.Dot(m.kernel, style(m.format).color, row.predicted.speed_up, m, counts=not row.busy)]


def _times(row: Row) -> tuple[str, ...]:
    """Return the cells of the times of a measured run."""
    if row.run is None:
        return ("",) * 5
    predicted, measured = row.predicted, seconds(row.run.measurement.median_s)
    if predicted is None:
        return (measured, *(MISSING,) * 4)
    return (
        measured,
        f"{predicted.more:+d}",
        seconds(predicted.time_s),
        ratio(predicted.faster),
        ratio(predicted.speed_up),
    )


def chosen_schedule(data: StudyData, segments: int) -> Schedule | None:
    """Return the selected schedule with its defaults; None if it starts with more segments than there are.

    Raises ParameterError for a value that is not a number or out of bounds.
    """
    values: dict[str, Any] = {name: _number(name, data.choice(name)) for name in SCHEDULE if data.choice(name)}
    whole = parse_params(Schedule, {**values, "segments": max(SEGMENTS)})
    return parse_params(Schedule, {**values, "segments": segments}) if whole.start_segments <= segments else None


def chosen_epsilon(data: StudyData) -> float:
    """Return the ε at which runs end; 0: each at its own. Raises ParameterError if it is not from 0 to 1."""
    epsilon = _number(EPSILON, data.choice(EPSILON, "0"))
    if not 0 <= epsilon < 1:
        raise ParameterError(f"{EPSILON} is {quote(data.choice(EPSILON))}; expected a number from 0 to 1.")
    return epsilon


def check(name: str, text: str) -> None:
    """Check a parameter of the simulation; raises ParameterError if it is invalid."""
    data = StudyData(chosen={name: (text,)})
    chosen_schedule(data, max(SEGMENTS))
    chosen_epsilon(data)


def _number(name: str, text: str) -> float | int:
    try:
        return int(text) if name == "start_segments" else float(text)
    except ValueError:
        raise ParameterError(f"{name} is {quote(text)}; expected a number.") from None


def replayable(group: RunGroup) -> tuple[Run, ...]:
    """Return the runs whose γ allows a replay of the switch rule, those in fp64 first.

    Excluded are fp32, whose γ is not that of fp64, and iterative refinement, whose trace has changes of corrections.
    """
    others = ("fp32", *REFINED)
    traced = [run for run in group.runs if any(run.array("gamma")) and run.precision not in others]
    return tuple(sorted(traced, key=by_precision))


def _replayed(group: RunGroup, kernel: str) -> Run | None:
    known = replayable(group)
    return next((run for run in known if run.measurement.kernel == kernel), known[0] if known and not kernel else None)


def _until(run: Run, epsilon: float) -> tuple[float, ...]:
    """Return the γ of a run up to the first one below ε; all if none is."""
    gammas = run.array("gamma")
    end = next((number for number, gamma in enumerate(gammas, start=1) if gamma < epsilon), len(gammas))
    return gammas[:end]


def _replay_row(group: RunGroup, run: Run, schedule: Schedule, written: Sequence[int]) -> Row:
    levels = [level(f"{WORD_BITS // schedule.segments * number} bit") for number in written]
    rule = f"start segments {schedule.start_segments}, raise at {schedule.raise_at:g}, "
    rule += f"stall ratio {schedule.stall_ratio:g}"
    counts = tuple(iterations_by_segments(written, schedule))
    name = f"{group.label(run)} replayed"
    return Row("replayed", "replayed", True, tuple(stretches(levels)), name, rule, counts, len(written))


def _measured_rows(
    group: RunGroup, segments: int, written: Sequence[int], epsilon: float, is_busy: bool
) -> Iterator[Row]:
    for run in group.runs:
        if run.segments == segments and run.array("written"):
            details, axes, levels = run.measurement.details, run.measurement.axes, levels_of(run)
            rule = ", ".join(axis_text(name, axes[name]) for name in SCHEDULE if name in axes) or MISSING
            label, parts = group.label(run), tuple(stretches(levels))
            name, counts, predicted = (
                schedule_name(run),
                details.iterations_by_segments,
                _predicted(group, run, written, epsilon),
            )
            yield Row(label, name, True, parts, label, rule, counts, details.iterations, run, predicted, is_busy)


def _predicted(group: RunGroup, run: Run, written: Sequence[int], epsilon: float) -> Prediction | None:
    median_s, iterations = run.measurement.median_s, run.measurement.details.iterations
    time_s = predicted_s(run, group.runs, written)
    if time_s is None or not median_s or iterations is None:
        return None
    plain = group.plain(run)
    fp64_s = plain.measurement.median_s if plain else None
    # Every iteration in fp64 takes equally long.
    share = len(_until(plain, epsilon)) / max(1, len(plain.array("gamma"))) if plain else 0.0
    speed_up = fp64_s * share / time_s if fp64_s and share else None
    return Prediction(len(written) - iterations, time_s, median_s / time_s, speed_up)
