"""The colours of times over that of the fastest."""

import math
from typing import Any

from web.figures.formats.groups import FACTOR_MAX
from web.palette import CIVIDIS

STEPS = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, FACTOR_MAX)
"""Factors between which all cells have one colour, a colour of CIVIDIS each: on none of them a number is faint."""

LENGTH_PX = 300
"""Of the colours above all, whose steps have room for their numbers on any screen."""


def steps() -> list[tuple[float, str]]:
    """The colours as Plotly takes them, of logarithms from that of 1 to that of FACTOR_MAX."""
    places = [math.log(step) / math.log(FACTOR_MAX) for step in STEPS]
    return [
        (place, color) for color, low, high in zip(CIVIDIS, places, places[1:], strict=False) for place in (low, high)
    ]


def explained() -> dict[str, Any]:
    """The bar of these colours with its numbers, on the left above a figure."""
    return {
        "tickvals": [math.log(step) for step in STEPS],
        "ticklabeloverflow": "allow",
        "ticktext": [*(f"{step:g}" for step in STEPS[:-1]), f"≥ {FACTOR_MAX:g}"],
        "orientation": "h",
        "thickness": 10,
        "lenmode": "pixels",
        "len": LENGTH_PX,
        "x": 0,
        "xref": "container",
        "xanchor": "left",
        "y": 1,
        "yref": "container",
        "yanchor": "top",
        "ypad": 0,
    }
