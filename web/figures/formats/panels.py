"""What the figures of the study share: how measurements are grouped, and panels one above the other."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from gpu_engine.records import Measurement
from web.comparison import group_by_facet, without_duplicates
from web.palette import position

GAP_PX = 60
"""Between panels: the tick labels of one and the title of the next."""

TOP_PX, BOTTOM_PX = 32, 48
"""The first title; the axis title below the last panel."""

NO_TIME = "No kernel has a time here."
"""The summary where nothing was timed."""

LEGEND_LINE_PX, LEGEND_PER_LINE = 24, 6
"""A legend below that; a narrow screen has fewer entries a line and takes the rest from the panels."""

Place = tuple[str, str]
"""(device, cache)."""

Groups = dict[str, list[Measurement]]
"""Matrix id → its measurements in one place, fastest first, then those without a time."""


def by_place(measurements: Sequence[Measurement]) -> dict[Place, Groups]:
    """The measurements by device and cache state, then by matrix; of a library only its best where that is there."""
    places: dict[Place, Groups] = {}
    for (matrix_id, device, cache), group in group_by_facet(measurements).items():
        places.setdefault((device, cache), {})[matrix_id] = without_duplicates(group)
    return places


def fastest_by_format(group: Sequence[Measurement]) -> dict[str, Measurement]:
    """Format → its fastest kernel with a time, in the order of FORMATS; `group` is sorted, fastest first."""
    found: dict[str, Measurement] = {}
    for m in group:
        if m.median_s:
            found.setdefault(m.format, m)
    return {name: found[name] for name in sorted(found, key=position)}


def formats_of(groups: Groups) -> list[str]:
    """The formats with a time on any of these matrices, in the order of FORMATS."""
    return sorted({m.format for group in groups.values() for m in group if m.median_s}, key=position)


def panels(titles: Sequence[str], heights: Sequence[int], legend: int = 0, **options: Any) -> go.Figure:
    """Panels of these heights in pixels, one above the other; legend: how many entries it will have."""
    inner = sum(heights) + GAP_PX * (len(heights) - 1)
    below = BOTTOM_PX + LEGEND_LINE_PX * -(-legend // LEGEND_PER_LINE)
    figure = make_subplots(
        rows=len(heights),
        cols=1,
        row_heights=list(heights),
        vertical_spacing=GAP_PX / inner if len(heights) > 1 else 0,
        subplot_titles=list(titles),
    )
    figure.update_annotations(x=0, xanchor="left", font_size=13)
    figure.update_xaxes(automargin=True)
    figure.update_yaxes(automargin=True)
    figure.update_layout(
        template="none",
        height=inner + TOP_PX + below,
        margin={"l": 8, "r": 16, "t": TOP_PX, "b": below},
        legend={"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"},
        **options,
    )
    return figure


class Legend:
    """Says of each name once that it is to be listed: a format has one entry, however many panels it is in."""

    def __init__(self) -> None:
        self._listed: set[str] = set()

    def entry(self, name: str) -> dict[str, Any]:
        """The settings of a trace of that name."""
        first = name not in self._listed
        self._listed.add(name)
        return {"name": name, "legendgroup": name, "showlegend": first}


def in_words(place: Place) -> str:
    """`cpu, warm`."""
    return ", ".join(place)
