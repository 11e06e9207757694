"""Highlighting of a few series among many: colors, and names at the ends of their lines."""

from collections.abc import Sequence

import plotly.graph_objects as go

from web.figures.base import escape, shorten
from web.palette import OTHERS, Style

NAMED_MAX = 6
"""Maximum number of series in color: readers cannot distinguish more at a glance. The others are gray."""

LABELS_PX, SAMPLE_PX, SAMPLE_GAP_PX = 152, 30, 4
"""Width right of a panel for the names at the ends of its lines, length of the sample before one, and its distance."""

OTHERS_MARKER = {"color": OTHERS, "symbol": "circle", "size": 5, "opacity": 0.5, "line": {"width": 0}}
"""Marker of all series without a color."""

NAME_GAP = 0.055
"""Distance between two names, as a share of the height of a panel."""


def direct_labels(figure: go.Figure, row: int, ends: Sequence[tuple[str, float, Style]]) -> None:
    """Write names right of a panel, each behind a sample of its line, at the end of the line and without overlap.

    ends  (name, position on the y axis from 0 to 1, look of the line)
    """
    places = _spread([place for _, place, _ in ends])
    axis = "" if row == 1 else str(row)
    for (name, _, look), place in zip(ends, places, strict=True):
        figure.add_shape(
            type="line",
            xref=f"x{axis} domain",
            yref=f"y{axis} domain",
            xsizemode="pixel",
            xanchor=1,
            x0=SAMPLE_GAP_PX,
            x1=SAMPLE_GAP_PX + SAMPLE_PX,
            y0=place,
            y1=place,
            line={"color": look.color, "dash": look.dash, "width": 2},
        )
        figure.add_annotation(
            text=escape(shorten(name, 16)),
            font={"size": 11},
            x=1,
            xref=f"x{axis} domain",
            xanchor="left",
            xshift=2 * SAMPLE_GAP_PX + SAMPLE_PX,
            y=place,
            yref=f"y{axis} domain",
            yanchor="middle",
            showarrow=False,
        )


def _spread(places: Sequence[float]) -> list[float]:
    """Return the positions, moved as little as needed to be NAME_GAP apart and below 1, in the same order."""
    spread = [0.0] * len(places)
    # From the top: the first of equal positions stays.
    limit = 1.0
    for index in sorted(range(len(places)), key=lambda i: (-places[i], i)):
        spread[index] = min(places[index], limit)
        limit = spread[index] - NAME_GAP
    # Positions below the panel move up, and push up those that they meet.
    lowest = 0.0
    for index in sorted(range(len(places)), key=lambda i: (spread[i], -i)):
        spread[index] = max(spread[index], lowest)
        lowest = spread[index] + NAME_GAP
    return spread
