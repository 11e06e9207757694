"""How much faster whole runs are; Figure 6 of the CPMS PageRank paper."""

from collections.abc import Sequence
from statistics import geometric_mean

import plotly.graph_objects as go

from gpu_engine.verdict import compare
from web.figures.base import Head, Table, blank, escape
from web.figures.pagerank.facets import Rows, axis_end, bar_panels, drawn, heading, left_out, place, rows_of
from web.figures.panels import Legend
from web.palette import OTHERS, style
from web.runs import FP64, Run, RunGroup, has_right_ranks, speed_up
from web.shown import Shown
from web.units import MISSING, ratio, seconds

NO_PAIR = "No run has a time beside a run of the same kernel in fp64."


def draw(shown: Shown) -> go.Figure:
    """Speed-up of the time to convergence over the same kernel in fp64, a row a run, beside the bound by bytes."""
    found = drawn(rows_of(shown, _has_base))
    if not found:
        return blank(NO_PAIR)
    labels = [[escape(group.label(run)) for run in runs] for group, runs in found]
    figure = bar_panels([heading(group, shown) for group, _ in found], labels, 2, "overlay")
    legend = Legend()
    for row, (group, runs) in enumerate(found, start=1):
        for look in dict.fromkeys(_look(run, shown) for run in runs):
            alike = [run for run in runs if _look(run, shown) == look]
            figure.add_trace(_bars(group, alike, *look, legend), row=row, col=1)
        bounds = {label: bound(group, run) for label, run in zip(labels[row - 1], runs, strict=True)}
        if any(bounds.values()):
            figure.add_trace(_bounds(bounds, legend), row=row, col=1)
        gains = (speed_up(_base(group, run), run) or 0.0 for run in runs)
        marks = (1.0, *gains, *(value or 0.0 for value in bounds.values()))
        figure.update_xaxes(range=[0, axis_end((mark, True) for mark in marks)], row=row, col=1)
        figure.add_vline(x=1, line={"color": OTHERS, "dash": "dot", "width": 1}, row=row, col=1)
    figure.update_xaxes(title_text="speed-up over fp64", title_standoff=4, row=len(found), col=1)
    return figure


def table(shown: Shown) -> Table:
    """A row a run: both speed-ups, the verdict on the first, and the bound by bytes."""
    heads = tuple(Head(text, numeric=False) for text in ("matrix", "device", "run", "against"))
    numbers = (Head("speed-up", "same kernel"), Head("bound", "by bytes"), Head("verdict", numeric=False))
    rows = []
    for group, runs in rows_of(shown, _has_base):
        for run in runs:
            base = _base(group, run)
            verdict = compare(base.measurement, run.measurement).kind if base else MISSING
            over_all = ratio(speed_up(group.fastest_full, run))
            named = *place(group, shown), group.label(run), base.measurement.kernel if base else MISSING
            rows.append((*named, ratio(speed_up(base, run)), ratio(bound(group, run)), verdict, over_all))
    return Table((*heads, *numbers, Head("speed-up", "fastest in fp64")), tuple(rows))


def summary(shown: Shown) -> str:
    """What the bars and marks are, and the geometric mean of each kernel where there are several matrices."""
    found = rows_of(shown, _has_base)
    if not found:
        return NO_PAIR
    said = "The time to convergence of the same kernel in fp64 over that of the run; the mark is the same ratio of the "
    said += "bytes that the two must move. Over the fastest run in fp64 a gain is smaller: the table has both."
    return said + _means(found, shown) + left_out(found)


def bound(group: RunGroup, run: Run) -> float | None:
    """Compulsory bytes of the same kernel in fp64 over those of the run, as times at the same bandwidth."""
    base = _base(group, run)
    floors = (base.measurement.floor_s if base else None), run.measurement.floor_s
    return floors[0] / floors[1] if floors[0] and floors[1] else None


def _base(group: RunGroup, run: Run) -> Run | None:
    """The same kernel in fp64; no run is compared with itself."""
    return None if run.precision == FP64 else group.plain(run)


def _has_base(group: RunGroup, run: Run) -> bool:
    return speed_up(_base(group, run), run) is not None


def _means(found: Sequence[Rows], shown: Shown) -> str:
    """A sentence per device with several matrices, on what is decided: of each kernel the fastest run."""
    gains: dict[str, dict[str, dict[str, float]]] = {}
    for group, runs in found:
        for run in runs:
            gain = _decided_gain(group, run, shown)
            if gain is not None:
                own = gains.setdefault(group.device, {}).setdefault(run.measurement.kernel, {})
                own[group.matrix_id] = max(gain, own.get(group.matrix_id, 0.0))
    said = ""
    for device, kernels in gains.items():
        means = [f"{kernel} {ratio(geometric_mean(own.values()))} ({len(own)})" for kernel, own in kernels.items()]
        if any(len(own) > 1 for own in kernels.values()):
            said += f" Geometric means of what is not ambiguous on {device}, number of matrices in brackets: "
            said += f"{', '.join(means)}."
    return said


def _decided_gain(group: RunGroup, run: Run, shown: Shown) -> float | None:
    """The speed-up, where it is one: the ranks right, the verdict not ambiguous, segments not all read throughout."""
    base = _base(group, run)
    if base is None or not has_right_ranks(run, shown):
        return None
    if (run.segments and not run.in_fewer_bits) or compare(base.measurement, run.measurement).kind == "ambiguous":
        return None
    return speed_up(base, run)


Look = tuple[str, bool]
"""(format, whether the ranks are right)."""


def _look(run: Run, shown: Shown) -> Look:
    return run.measurement.format, has_right_ranks(run, shown)


def _bars(group: RunGroup, runs: Sequence[Run], name: str, right: bool, legend: Legend) -> go.Bar:
    """The runs of one format; those whose ranks are not right are pale."""
    look, labels = style(name), [escape(group.label(run)) for run in runs]
    gains = [speed_up(_base(group, run), run) or 0.0 for run in runs]
    return go.Bar(
        **(legend.entry("ranks not right to ε") if not right else {"name": name, "showlegend": False}),
        x=gains,
        y=labels,
        orientation="h",
        error_x={"visible": False},
        opacity=1.0 if right else 0.3,
        marker={
            "color": look.color,
            "line": {"width": 1},
            "pattern": {"shape": look.pattern, "fillmode": "overlay", "fgopacity": 0.45, "size": 6},
        },
        hovertext=[
            f"<b>{label}</b><br>{ratio(gain)}, {seconds(run.measurement.median_s)} to convergence"
            for label, gain, run in zip(labels, gains, runs, strict=True)
        ],
        hoverinfo="text",
        meta={"role": "kernel"},
    )


def _bounds(bounds: dict[str, float | None], legend: Legend) -> go.Scatter:
    known = {label: value for label, value in bounds.items() if value}
    return go.Scatter(
        **legend.entry("bound by bytes"),
        x=list(known.values()),
        y=list(known),
        mode="markers",
        marker={"symbol": "line-ns", "size": 18, "line": {"width": 2}},
        hovertext=[f"by the bytes that must move: {ratio(value)}" for value in known.values()],
        hoverinfo="text",
        meta={"role": "floor"},
    )
