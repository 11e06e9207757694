"""Panels one above the other, and legends that name each thing once: what figures of several matrices share."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Generic, TypeVar

import plotly.graph_objects as go
from plotly.subplots import make_subplots

GAP_PX = 60
"""Between panels: the tick labels of one and the title of the next."""

TOP_PX, BOTTOM_PX = 32, 48
"""The first title; the axis title below the last panel."""

DOT = " · "
"""Between the parts of a title."""

LABEL_PX = 72
"""The title and the tick labels of a y axis of numbers."""

LEGEND_LINE_PX, LEGEND_PER_LINE = 24, 6
"""A legend below that; a narrow screen has fewer entries a line, and static/charts.js makes the figure taller."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Panels(Generic[Item]):
    """What stands in the panels of a figure, from the top; number: how many of them are drawn, None: all."""

    panels: tuple[Item, ...]
    number: int | None = None

    @property
    def drawn(self) -> tuple[Item, ...]:
        """The first of them; the table has all."""
        return self.panels[: self.number]


def panels(
    titles: Sequence[str],
    heights: Sequence[int],
    legend: int = 0,
    columns: int = 1,
    above_px: int = 0,
    across: int = 1,
    label_px: int = LABEL_PX,
    **options: Any,
) -> go.Figure:
    """Panels of these heights in pixels, one above the other; legend: how many entries it will have.

    titles    parts between dots; what comes after the first and is the same in all of them is left out
    columns   panels side by side that share their y axis; a title stands on the left, over the first of them
    above_px  room between the title of a panel and the panel, for labels of its columns
    across    panels that stand side by side where the page is wide enough, each with an axis of its own; label_px: what
              the labels of that take. static/paint.js arranges them.
    """
    gap = GAP_PX + above_px
    inner = sum(heights) + gap * (len(heights) - 1)
    legend_px = LEGEND_LINE_PX * -(-legend // LEGEND_PER_LINE)
    below = BOTTOM_PX + legend_px
    figure = make_subplots(
        rows=len(heights),
        cols=columns,
        shared_yaxes=columns > 1,
        row_heights=list(heights),
        horizontal_spacing=0.06 if columns > 1 else 0,
        vertical_spacing=gap / inner if len(heights) > 1 else 0,
        subplot_titles=_apart(titles),
    )
    figure.update_annotations(x=0, xanchor="left", yshift=above_px, font_size=13)
    figure.update_xaxes(automargin=True)
    figure.update_yaxes(automargin=True)
    figure.update_layout(
        template="none",
        height=inner + TOP_PX + above_px + below,
        margin={"l": 8, "r": 16, "t": TOP_PX + above_px, "b": below},
        legend={"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"},
        meta={"legend_px": legend_px, "across": across, "label_px": label_px},
        **options,
    )
    return figure


def _apart(titles: Sequence[str]) -> list[str]:
    # A panel beside the first of its row has none.
    parts = [title.split(DOT) for title in titles if title]
    if len(parts) == 1 or len({*map(len, parts)}) > 1:
        return list(titles)
    differs = [not place or len({*each}) > 1 for place, each in enumerate(zip(*parts, strict=True))]
    return [DOT.join(compress(title.split(DOT), differs)) for title in titles]


class Legend:
    """Says of each name once that it is to be listed: a format has one entry, however many panels it is in."""

    def __init__(self) -> None:
        self._listed: set[str] = set()

    def entry(self, name: str) -> dict[str, Any]:
        """The settings of a trace of that name."""
        first = name not in self._listed
        self._listed.add(name)
        return {"name": name, "legendgroup": name, "showlegend": first}
