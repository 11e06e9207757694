"""What stands out of many series: a few in their colours, under their names at the ends of their lines."""

from collections.abc import Sequence

import plotly.graph_objects as go

from web.figures.base import escape, shorten
from web.palette import OTHERS

NAMED_MAX = 6
"""Most series in colours: more cannot be told apart at a glance. The others are grey."""

LABELS_PX = 136
"""Right of a panel, for the names at the ends of its lines."""

OTHERS_MARKER = {"color": OTHERS, "symbol": "circle", "size": 5, "opacity": 0.5, "line": {"width": 0}}
"""Of the points of all that have no colour."""

APART = 0.055
"""Of the height of a panel, between two names."""


def direct_labels(figure: go.Figure, row: int, ends: Sequence[tuple[str, float, str]]) -> None:
    """Writes names right of a panel, each beside the end of its line, with its colour, and none over another.

    ends  (name, place on the y axis from 0 to 1, colour)
    """
    places = _apart([place for _, place, _ in ends])
    axis = "" if row == 1 else str(row)
    for (name, _, color), place in zip(ends, places, strict=True):
        figure.add_annotation(
            text=f'<span style="color:{color}">▬</span> {escape(shorten(name, 16))}',
            font={"size": 11},
            x=1,
            xref=f"x{axis} domain",
            xanchor="left",
            xshift=4,
            y=place,
            yref=f"y{axis} domain",
            yanchor="middle",
            showarrow=False,
        )


def _apart(places: Sequence[float]) -> list[float]:
    """The places, moved as little as keeps them APART and below 1, in the order of the places."""
    found = [0.0] * len(places)
    # From the top: of equal ones the first stays where it is.
    limit = 1.0
    for index in sorted(range(len(places)), key=lambda i: (-places[i], i)):
        found[index] = min(places[index], limit)
        limit = found[index] - APART
    # What fell below the panel is put back, and lifts what it meets.
    floor = 0.0
    for index in sorted(range(len(places)), key=lambda i: (found[i], -i)):
        found[index] = max(found[index], floor)
        floor = found[index] + APART
    return found
