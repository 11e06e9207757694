"""How much faster the product of an iteration is with fewer bits; Figure 4 of the CPMS PageRank paper."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import plotly.graph_objects as go

from web.figures.base import Head, Table, blank, escape
from web.figures.pagerank.facets import Rows, axis_end, bar_panels, drawn, heading, left_out, place, rows_of
from web.figures.pagerank.levels import LEVELS, Level, level_bars, level_of
from web.figures.panels import Legend
from web.palette import OTHERS
from web.runs import Run, RunGroup
from web.shown import Shown
from web.units import percent, ratio, seconds

NO_PULL = "No run with segments has iterations beside a run of the same kernel in fp64."


@dataclass(frozen=True, slots=True)
class Pull:
    """The product of the iterations of a run that read and write the same number of segments.

    iterations  how many there are; time: their median
    speed_up    over the median of the same kernel in fp64
    bound       the same ratio of the probes that gather the ranks alone; None where there are none
    """

    level: Level
    iterations: int
    time: float
    speed_up: float
    bound: float | None


def draw(shown: Shown) -> go.Figure:
    """Speed-up of the product over the same kernel in fp64, a row a run and precision, beside the gather's bound."""
    found = drawn(rows_of(shown, _has_pulls))
    if not found:
        return blank(NO_PULL)
    labelled = [_labelled(group, runs) for group, runs in found]
    used = [entry for entry in LEVELS if any(pull.level is entry for own in labelled for pull in own.values())]
    titles = [heading(group, shown) for group, _ in found]
    figure = bar_panels(titles, [list(own) for own in labelled], len(used) + 1, "overlay")
    legend = Legend()
    for row, own in enumerate(labelled, start=1):
        for entry in used:
            of_level = {label: pull for label, pull in own.items() if pull.level is entry}
            if of_level:
                figure.add_trace(_bars(of_level, entry, legend), row=row, col=1)
        bounded = {label: pull.bound for label, pull in own.items() if pull.bound}
        if bounded:
            figure.add_trace(_bounds(bounded, legend), row=row, col=1)
        marks = (1.0, *(pull.speed_up for pull in own.values()), *bounded.values())
        figure.update_xaxes(range=[0, axis_end((mark, True) for mark in marks)], row=row, col=1)
        figure.add_vline(x=1, line={"color": OTHERS, "dash": "dot", "width": 1}, row=row, col=1)
    figure.update_xaxes(title_text="speed-up over fp64", title_standoff=4, row=len(found), col=1)
    return figure


def table(shown: Shown) -> Table:
    """A row per run and precision: time of the product, speed-up, bound, and the share of the bound."""
    names = ("matrix", "device", "run", "reads")
    heads = (*(Head(name, numeric=False) for name in names), Head("iterations"), Head("product", "median"))
    ratios = (Head("speed-up", "over fp64"), Head("bound", "of the gather"), Head("share of", "bound"))
    rows = []
    for group, runs in rows_of(shown, _has_pulls):
        for run in runs:
            for pull in pulls(group, run):
                share = percent(pull.speed_up / pull.bound if pull.bound else None)
                cells = pull.level.name, str(pull.iterations), seconds(pull.time)
                named = *place(group, shown), group.label(run)
                rows.append((*named, *cells, ratio(pull.speed_up), ratio(pull.bound), share))
    return Table((*heads, *ratios), tuple(rows))


def summary(shown: Shown) -> str:
    """What the bars and the diamonds are, and from where to where the speed-up goes."""
    found = rows_of(shown, _has_pulls)
    if not found:
        return NO_PULL
    said = "The product of an iteration that reads and writes as many bits, over the same kernel in fp64"
    bounded = any(pull.bound for pull in _every(found))
    said += (
        "; the diamond is the same ratio of a probe that gathers the ranks and does nothing else." if bounded else "."
    )
    for entry in LEVELS:
        gains = [pull.speed_up for pull in _every(found) if pull.level is entry]
        if gains:
            low, high = ratio(min(gains)), ratio(max(gains))
            said += f" {entry.name}: {low if low == high else f'{low} to {high}'}."
    return said + left_out(found)


def pulls(group: RunGroup, run: Run) -> list[Pull]:
    """By ascending bits; empty without segments or without the same kernel in fp64."""
    plain = group.plain(run)
    base = _medians(plain).get(0) if plain else None
    if base is None or not run.segments:
        return []
    found = []
    for read, (number, time, gather) in sorted(_medians(run).items()):
        bound = base[2] / gather if base[2] and gather else None
        found.append(Pull(level_of(run, read), number, time, base[1] / time, bound))
    return found


def _medians(run: Run) -> dict[int, tuple[int, float, float]]:
    """Segments read → (iterations, median time of the product, of the probe) where as many are written."""
    arrays = [run.array(name) for name in ("read", "written", "pull_s", "gather_s")]
    steady: dict[int, list[tuple[float, float]]] = {}
    for read, written, pull, gather in zip(*arrays, strict=False):
        if read == written and pull > 0:
            steady.setdefault(int(read), []).append((pull, gather))
    return {
        read: (len(times), median(pull for pull, _ in times), median(gather for _, gather in times))
        for read, times in steady.items()
    }


def _has_pulls(group: RunGroup, run: Run) -> bool:
    return bool(pulls(group, run))


def _every(found: Sequence[Rows]) -> list[Pull]:
    return [pull for group, runs in found for run in runs for pull in pulls(group, run)]


def _labelled(group: RunGroup, runs: Sequence[Run]) -> dict[str, Pull]:
    return {f"{escape(group.label(run))} · {pull.level.name}": pull for run in runs for pull in pulls(group, run)}


def _bars(found: dict[str, Pull], entry: Level, legend: Legend) -> go.Bar:
    bars = []
    for label, pull in found.items():
        said = f"{ratio(pull.speed_up)}, {seconds(pull.time)} in the median of {pull.iterations}"
        bars.append((label, pull.speed_up, f"<b>{label}</b><br>{said}"))
    return level_bars(entry, bars, legend)


def _bounds(bounded: Mapping[str, float], legend: Legend) -> go.Scatter:
    return go.Scatter(
        **legend.entry("bound of the gather"),
        x=list(bounded.values()),
        y=list(bounded),
        mode="markers",
        marker={"symbol": "diamond-tall", "size": 9, "line": {"width": 2}},
        hovertext=[f"a probe that only gathers: {ratio(bound)}" for bound in bounded.values()],
        hoverinfo="text",
        meta={"role": "gather_floor"},
    )
