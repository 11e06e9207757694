"""Color scale of the slowdown against the fastest kernel."""

import math
from typing import Any

from web.figures.formats.groups import FACTOR_MAX
from web.palette import HEAT

STEPS = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, FACTOR_MAX)
"""Factors between which all cells have one color of HEAT; numbers are readable on each of them."""

LENGTH_PX = 300
"""Length of the color bar above a figure: its steps have room for their numbers on any screen."""


def steps() -> list[tuple[float, str]]:
    """Return the color scale for Plotly, over logarithms from that of 1 to that of FACTOR_MAX."""
    positions = [math.log(step) / math.log(FACTOR_MAX) for step in STEPS]
    return [
        (position, color)
        for color, low, high in zip(HEAT, positions, positions[1:], strict=False)
        for position in (low, high)
    ]


def color_bar() -> dict[str, Any]:
    """Return the bar of these colors with its numbers, on the left above a figure."""
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
