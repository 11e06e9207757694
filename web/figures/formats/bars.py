"""Throughput of each kernel, with the roofline and the gather probe."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import Finding, interval_text, share
from gpu_engine.findings.formats import findings
from gpu_engine.findings.formats.groups import group_by_facet
from gpu_engine.findings.ranking import NAMED, join
from gpu_engine.records import Measurement
from gpu_engine.text.units import gflops, percent, seconds
from web.figures import markers
from web.figures.base import blank, caption, escape, shorten
from web.figures.formats.groups import NO_RESULTS, Rate, rate_of, rate_within
from web.figures.panels import panels
from web.palette import style

ROW_PX = 28
ROWS_MAX = 60
"""Facets are drawn until they have this many bars together; nobody reads more."""

FASTEST_NAMED = 6


@dataclass(frozen=True, slots=True)
class BoundStyle:
    """A bound as it is drawn: its symbol, and the role of its trace."""

    symbol: str
    role: str


BOUNDS = {"roofline": BoundStyle("line-ns", "floor"), "gather probe": BoundStyle("diamond-tall", "gather_floor")}
"""Bound → how it is drawn."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound of a kernel: its time in seconds, its throughput in GFLOP/s, and its share of the measured time."""

    kernel: str
    time_s: float
    rate: float
    share: float | None


@dataclass(frozen=True, slots=True)
class Panel:
    """The kernels of a matrix on one device in one cache state, the fastest first.

    rates         of kernels with a time; without_time: kernels without one
    bounds        by the names of BOUNDS
    """

    matrix: str
    device: str
    cache: str
    kernels: tuple[str, ...]
    rates: tuple[Rate, ...]
    bounds: Mapping[str, tuple[Bound, ...]]
    without_time: tuple[Measurement, ...]


@dataclass(frozen=True, slots=True)
class Info:
    """The panels until ROWS_MAX, and the findings of each facet, drawn or not."""

    panels: tuple[Panel, ...]
    findings: tuple[Finding, ...]


def info(data: StudyData) -> Info:
    """Return the throughput of all kernels with both bounds, a panel per matrix, device, and cache state."""
    facets = list(group_by_facet(data.measurements).items())
    first = markers.first_panels(facets, lambda facet: len(facet[1]), ROWS_MAX)
    return Info(
        tuple(_panel(data.matrix(facet[0]).name, facet[1], facet[2], group) for facet, group in first), findings(data)
    )


def draw(info: Info) -> go.Figure:
    """Return GFLOP/s by kernel, the fastest first, a facet per matrix, device, and cache state, with both bounds.

    Failed and skipped kernels keep their row, without a bar.
    """
    if not info.panels:
        return blank(NO_RESULTS)
    titles = [f"{escape(shorten(panel.matrix))} · {panel.device} · {panel.cache}" for panel in info.panels]
    heights = [len(panel.kernels) * ROW_PX for panel in info.panels]
    figure = panels(titles, heights, len(BOUNDS), bargap=0.3, barmode="overlay")
    for row, panel in enumerate(info.panels, start=1):
        traces = [
            *(_bar(rate) for rate in panel.rates),
            *(_bounds(panel.bounds[name], name, row == 1) for name in BOUNDS),
        ]
        if panel.without_time:
            traces.append(_reasons(panel.without_time))
        for trace in traces:
            figure.add_trace(trace, row=row, col=1)
        markers.label_rows(figure, row, panel.kernels)
    figure.update_xaxes(rangemode="tozero")
    figure.update_xaxes(title_text="GFLOP/s", title_standoff=4, row=len(info.panels), col=1)
    return figure


def summary(info: Info) -> str:
    """Return what the bars show, and the fastest kernels."""
    every = info.findings
    if not every:
        return NO_RESULTS
    axis = _axis(info.panels)
    if len(every) == 1:
        return f"{axis}: {every[0].sentences[0]}"
    common = [each.pop() for each in ({f.device for f in every}, {f.cache for f in every}) if len(each) == 1]
    where = f" ({', '.join(common)})" if common else ""
    rest = markers.omission(len(info.panels), len(every), where="the tables have all")
    with_winner = [each for each in every if each.leaders]
    best = "; ".join(f"{each.title} {join(each.leaders, NAMED)}" for each in with_winner[:FASTEST_NAMED])
    more = f"; {len(with_winner) - FASTEST_NAMED} more in the tables" if len(with_winner) > FASTEST_NAMED else ""
    no_winner = f"No clear winner on {len(every) - len(with_winner)} of {len(every)}; the verdicts give the reason."
    return caption(
        f"{axis}{where}.{rest}",
        (no_winner,) if len(with_winner) < len(every) else (),
        (f"Fastest: {best}{more}." if with_winner else "",),
    )


def _axis(visible_panels: Sequence[Panel]) -> str:
    """Return what is drawn: single timings have no intervals, and bounds need a profile of the device."""
    intervals = any(rate.measurement.shown_ci_s[0] for panel in visible_panels for rate in panel.rates)
    names = [name for name in BOUNDS if any(panel.bounds[name] for panel in visible_panels)]
    extras = [*(["95\u202f% CI"] if intervals else []), *names]
    return f"Throughput by kernel{f', with {join(extras)}' if extras else ''}"


def _panel(matrix: str, device: str, cache: str, group: Sequence[Measurement]) -> Panel:
    timed = [m for m in group if m.gflops is not None and m.median_s]
    return Panel(
        matrix,
        device,
        cache,
        tuple(m.kernel for m in group),
        tuple(map(rate_of, timed)),
        {name: _bounds_of(timed, name) for name in BOUNDS},
        tuple(m for m in group if m.median_s is None),
    )


def _bounds_of(timed: Sequence[Measurement], name: str) -> tuple[Bound, ...]:
    times = ((m, m.roofline_s if name == "roofline" else m.gather_probe_s) for m in timed)
    return tuple(Bound(m.kernel, time_s, rate_within(m, time_s), share(time_s, m)) for m, time_s in times if time_s)


def _bar(rate: Rate) -> go.Bar:
    m, look = rate.measurement, style(rate.measurement.format)
    interval = (
        f"95\u202f% CI {interval_text(m)}" if m.shown_ci_s[0] else interval_text(m) if m.rounds else "no interval"
    )
    text = markers.hover(m.kernel, f" {gflops(m.gflops)}", f"median {seconds(m.median_s)}, {interval}")
    return markers.bars(
        [(rate.value, m.kernel, text, m)],
        markers.fill(look.color, look.pattern, outline=1, opacity=0.45),
        name=escape(m.kernel),
        error_x=markers.intervals([rate.value], [rate.interval]),
        showlegend=False,
        meta={"role": "kernel", "format": m.format},
    )


def _bounds(bounds: Sequence[Bound], name: str, legend: bool) -> go.Scatter:
    look = BOUNDS[name]
    texts = [f"{name} {seconds(b.time_s)}; {escape(b.kernel)} reaches {percent(b.share)} of it" for b in bounds]
    return markers.points(
        [(bound.rate, bound.kernel, text) for bound, text in zip(bounds, texts, strict=True)],
        {"symbol": look.symbol, "size": ROW_PX - 8 if look.symbol == "line-ns" else 9, "line": {"width": 2}},
        name=name,
        showlegend=legend and bool(bounds),
        legendgroup=name,
        meta={"role": look.role},
    )


def _reasons(group: Sequence[Measurement]) -> go.Scatter:
    return go.Scatter(
        name="no timing",
        x=[0.0] * len(group),
        y=[m.kernel for m in group],
        mode="text",
        text=[f" {m.state}" for m in group],
        textposition="middle right",
        hovertext=[escape(m.note or m.state) for m in group],
        hoverinfo="text",
        showlegend=False,
        meta={"role": "reason"},
    )
