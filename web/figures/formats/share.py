"""On how many matrices a format is the best: alone, or not told apart from the best."""

from collections.abc import Mapping
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import percent
from gpu_engine.verdicts.verdict import compare
from web.figures import marks
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

    alone   format → on how many it is faster than every other, by its verdict; tied: on how many it is the fastest, or
            not told apart from it, and another is not either
    busy    how many matrices more have times that are not plausible
    """

    place: Place
    matrices: int
    alone: Mapping[str, int]
    tied: Mapping[str, int]
    busy: int


def info(data: StudyData) -> Panels[Panel]:
    """The formats that are the best somewhere, the most often alone first."""
    found = (_panel(place, groups) for place, groups in by_place(data.measurements).items())
    return Panels(tuple(panel for panel in found if panel.matrices))


def draw(info: Panels[Panel]) -> go.Figure:
    """Share of the matrices, a row a format: alone, and in a paler colour tied."""
    if not info.panels:
        return blank(NO_RESULTS)
    titles = [place_in_words(panel.place) for panel in info.panels]
    figure = marks.bar_panels(titles, [list(map(escape, panel.alone)) for panel in info.panels], 0, "stack", ROW_PX)
    for row, panel in enumerate(info.panels, start=1):
        for kind, counts in (("alone", panel.alone), ("tied", panel.tied)):
            bars = [
                (n / panel.matrices, escape(name), marks.hover(name, "", f"{kind} on {n} of {panel.matrices}"))
                for name, n in counts.items()
            ]
            fill = marks.fill([style(name).color for name in counts], "")
            trace = marks.bars(bars, fill, name=kind, opacity=1.0 if kind == "alone" else 0.45, showlegend=False)
            figure.add_trace(trace, row=row, col=1)
    figure.update_xaxes(tickformat=".0%", rangemode="tozero")
    return figure.update_xaxes(title_text="matrices", title_standoff=4, row=len(info.panels), col=1)


def table(info: Panels[Panel]) -> Table:
    """A row a format: on how many matrices it is the best alone, and tied with others."""
    heads = (*(Head(text, numeric=False) for text in ("format", "device", "cache")), Head("matrices"))
    rows = [
        (name, *panel.place, str(panel.matrices), *(percent(n / panel.matrices) for n in (alone, panel.tied[name])))
        for panel in info.panels
        for name, alone in panel.alone.items()
    ]
    return Table((*heads, Head("best", "alone"), Head("best", "tied")), tuple(rows))


def summary(info: Panels[Panel]) -> str:
    """What the bars are, and which format is the best most often."""
    if not info.panels:
        return NO_QUIET
    text = "On how many matrices the fastest kernel of a format is the fastest of all; paler where others are the same "
    text += "or inconclusive."
    return caption(text, map(_most_often, info.panels))


def _most_often(panel: Panel) -> str:
    name, alone = next(iter(panel.alone.items()))
    over = left_out(panel.matrices, panel.busy)
    shares = f"on {percent(alone / panel.matrices)}, and tied on {percent(panel.tied[name] / panel.matrices)}"
    return f"On {place_in_words(panel.place)}, over {over}, {name} is it alone most often, {shares}."


def _panel(place: Place, groups: Groups) -> Panel:
    best = [_leaders(group) for group in quiet(groups).values()]
    names = dict.fromkeys(name for leaders in best for name in leaders)
    alone = {name: sum(leaders == [name] for leaders in best) for name in names}
    tied = {name: sum(name in leaders and len(leaders) > 1 for leaders in best) for name in names}
    ordered = sorted(names, key=lambda name: (-alone[name], -tied[name], name))
    alone, tied = ({name: counts[name] for name in ordered} for counts in (alone, tied))
    return Panel(place, len(best), alone, tied, busy(groups))


def _leaders(group: list[Measurement]) -> list[str]:
    """The formats that nothing says are slower than the fastest."""
    fastest = sorted(fastest_by_format(group).values(), key=lambda m: m.median_s or 0.0)
    return [m.format for m in fastest if m is fastest[0] or compare(fastest[0], m).kind != "slower"]
