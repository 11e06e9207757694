"""Wins per format: the share of matrices on which it is the only fastest format, or tied."""

from collections.abc import Mapping
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import percent
from gpu_engine.verdicts.verdict import compare
from web.figures import markers
from web.figures.base import blank, caption, escape
from web.figures.formats.groups import (
    NO_QUIET,
    NO_RESULTS,
    Groups,
    Place,
    busy,
    by_place,
    fastest_by_format,
    left_out,
    place_in_words,
    quiet,
)
from web.figures.panels import Panels
from web.palette import style

ROW_PX = 22


@dataclass(frozen=True, slots=True)
class Panel:
    """The matrices with a time on one device in one cache state.

    alone  format → number of matrices on which it is faster than all others; tied: number on which it ties for fastest
    busy   how many matrices have only timings that are too noisy
    """

    place: Place
    matrices: int
    alone: Mapping[str, int]
    tied: Mapping[str, int]
    busy: int


def info(data: StudyData) -> Panels[Panel]:
    """Return the formats that are fastest or tied on some matrix, the most wins first."""
    every = (_panel(place, groups) for place, groups in by_place(data.measurements).items())
    return Panels(tuple(panel for panel in every if panel.matrices))


def draw(info: Panels[Panel]) -> go.Figure:
    """Return the share of the matrices, a row per format: wins, and ties in a paler color."""
    if not info.panels:
        return blank(NO_RESULTS)
    titles = [place_in_words(panel.place) for panel in info.panels]
    figure = markers.bar_panels(titles, [list(map(escape, panel.alone)) for panel in info.panels], 0, "stack", ROW_PX)
    for row, panel in enumerate(info.panels, start=1):
        for kind, counts in (("fastest", panel.alone), ("tied", panel.tied)):
            bars = [
                (n / panel.matrices, escape(name), markers.hover(name, "", f"{kind} on {n} of {panel.matrices}"))
                for name, n in counts.items()
            ]
            fill = markers.fill([style(name).color for name in counts], "")
            trace = markers.bars(bars, fill, name=kind, opacity=1.0 if kind == "fastest" else 0.45, showlegend=False)
            figure.add_trace(trace, row=row, col=1)
    figure.update_xaxes(tickformat=".0%", rangemode="tozero")
    return figure.update_xaxes(title_text="matrices", title_standoff=4, row=len(info.panels), col=1)


def table(info: Panels[Panel]) -> Table:
    """Return a row per format: the shares of the matrices on which it is the only fastest, or tied."""
    heads = (*(Head(text, numeric=False) for text in ("format", "device", "cache")), Head("matrices"))
    rows = [
        (name, *panel.place, str(panel.matrices), *(percent(n / panel.matrices) for n in (alone, panel.tied[name])))
        for panel in info.panels
        for name, alone in panel.alone.items()
    ]
    return Table((*heads, Head("fastest"), Head("tied")), tuple(rows))


def summary(info: Panels[Panel]) -> str:
    """Return what the bars are, and the format with the most wins."""
    if not info.panels:
        return NO_QUIET
    text = (
        "Share of matrices on which a format has the fastest kernel. Paler: tied with another format, or inconclusive."
    )
    return caption(text, map(_most_often, info.panels))


def _most_often(panel: Panel) -> str:
    name, alone = next(iter(panel.alone.items()))
    over = left_out(panel.matrices, panel.busy)
    wins, ties = percent(alone / panel.matrices), percent(panel.tied[name] / panel.matrices)
    where = place_in_words(panel.place)
    if not alone:
        return f"On {where}, no format is the only fastest one; {name} ties most often: {ties} of {over}."
    return f"On {where}, {name} is most often the only fastest format: {wins} of {over}. Ties: {ties}."


def _panel(place: Place, groups: Groups) -> Panel:
    best = [_fastest_formats(group) for group in quiet(groups).values()]
    names = dict.fromkeys(name for fastest in best for name in fastest)
    alone = {name: sum(fastest == [name] for fastest in best) for name in names}
    tied = {name: sum(name in fastest and len(fastest) > 1 for fastest in best) for name in names}
    ordered = sorted(names, key=lambda name: (-alone[name], -tied[name], name))
    alone, tied = ({name: counts[name] for name in ordered} for counts in (alone, tied))
    return Panel(place, len(best), alone, tied, busy(groups))


def _fastest_formats(group: list[Measurement]) -> list[str]:
    """Return the formats that no verdict calls slower than the fastest."""
    fastest = sorted(fastest_by_format(group).values(), key=lambda m: m.median_s or 0.0)
    return [m.format for m in fastest if m is fastest[0] or compare(fastest[0], m).kind != "slower"]
