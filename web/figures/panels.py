"""Panels one above the other, and legends with one entry per name, shared by figures of several matrices."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Generic, TypeVar

import plotly.graph_objects as go
from plotly.subplots import make_subplots

GAP_PX = 60
"""Distance between panels: the tick labels of one and the title of the next."""

TOP_PX, BOTTOM_PX = 32, 48
"""Heights of the first title, and of the axis title below the last panel."""

DOT = " · "
"""Separator between the parts of a title."""

LABEL_PX = 72
"""Width of the title and the tick labels of a numeric y axis."""

LEGEND_LINE_PX, LEGEND_PER_LINE = 24, 6
"""Height of a legend line, and its entries; on a narrow screen the figure becomes taller."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Panels(Generic[Item]):
    """The panels of a figure from the top; number: how many of them are drawn, None: all."""

    panels: tuple[Item, ...]
    number: int | None = None

    @property
    def visible(self) -> tuple[Item, ...]:
        """Return the panels that are drawn; the table has all."""
        return self.panels[: self.number]


def panels(
    titles: Sequence[str],
    heights: Sequence[int],
    legend: int = 0,
    columns: int = 1,
    above_px: int = 0,
    below_px: int = 0,
    across: int = 1,
    label_px: int = LABEL_PX,
    **options: Any,
) -> go.Figure:
    """Return panels of these heights in pixels, one above the other; legend: number of legend entries.

    titles    parts separated by dots; parts after the first that all titles share are omitted
    columns   panels side by side that share their y axis; a title stands on the left, above the first of them
    above_px  room between the title of a panel and the panel, for labels of its columns
    below_px  room below every panel for an axis title of its own
    across    panels that stand side by side if the page is wide enough, each with its own axis, arranged by
              figure_svg/layout.py and static/paint.js; label_px: width of the labels of that axis
    """
    gap = GAP_PX + above_px + below_px
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
        subplot_titles=_distinct_titles(titles),
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


def _distinct_titles(titles: Sequence[str]) -> list[str]:
    # A panel next to the first of its row has no title.
    parts = [title.split(DOT) for title in titles if title]
    if len(parts) == 1 or len({*map(len, parts)}) > 1:
        return list(titles)
    differs = [not index or len({*each}) > 1 for index, each in enumerate(zip(*parts, strict=True))]
    return [DOT.join(compress(title.split(DOT), differs)) for title in titles]


class Legend:
    """Legend entries of a figure: a name has one entry, however many panels show it."""

    def __init__(self) -> None:
        self._listed: set[str] = set()

    def entry(self, name: str) -> dict[str, Any]:
        """Return the settings of a trace with that name."""
        first = name not in self._listed
        self._listed.add(name)
        return {"name": name, "legendgroup": name, "showlegend": first}
