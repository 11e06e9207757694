"""Plotly figures as SVG that the server draws, so that a figure needs neither a script nor Plotly in the browser."""

import html
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from web.figure_svg import bars, colors, frame, layout, legend, marks, text

WIDTH, WIDTHS = 960, (280, 2000)
"""Width of a drawing in pixels, and the least and the greatest."""

FONT = "font-family=\"system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif\" font-size=\"12\""
EDGE_PX = 14
"""Margin of a drawing on paper."""

ADDRESS_PX, LINES_MAX = 7.0, 3
"""Width of a letter of an address, and the greatest number of its lines."""


def draw(figure: go.Figure, width: float = WIDTH) -> str:
    """Return a figure as an SVG element in the variables of the style sheet."""
    source = figure.to_plotly_json()
    data = [each.to_plotly_json() if hasattr(each, "to_plotly_json") else each for each in source["data"]]
    settings: dict[str, Any] = source["layout"]
    width = max(width, (settings.get("meta") or {}).get("width_min", 0))
    if not data:
        return _element(width, settings.get("height") or 120, _sentence(settings, width))
    grid = layout.arrange(layout.panels(data, settings), settings, width)
    parts = [f"<defs>{bars.hatches(data)}</defs>"]
    parts += [_panel(place, settings) for place in grid.places]
    bottom = grid.height + 6
    for trace in (each for each in data if each["type"] == "heatmap" and each.get("showscale") is not False):
        is_above = (trace.get("colorbar") or {}).get("yref") == "container"
        svg_text, height = legend.color_bar(trace, 8, 2 if is_above else bottom, width)
        bottom += 0 if is_above else height
        parts.append(svg_text)
    svg_text, height = legend.draw(data, settings, 8, bottom, width - 16)
    return _element(width, bottom + height, "".join((*parts, svg_text)))


def on_paper(svg: str, title: str, lines: Sequence[str]) -> str:
    """Return a drawing in light colors on white, below its title and lines on its origin, as a file."""
    width, height = _size(svg)
    above = EDGE_PX + 22 + 15 * len(lines) + 6
    full = width + 2 * EDGE_PX, height + above + EDGE_PX
    head = text.draw(EDGE_PX, EDGE_PX + 8, f"<b>{html.escape(title)}</b>", size=15)
    for number, line in enumerate(lines):
        head += text.draw(EDGE_PX, EDGE_PX + 30 + 15 * number, html.escape(line), size=11, color=colors.MUTED)
    inner = svg.replace("<svg ", f'<svg x="{EDGE_PX}" y="{above}" ', 1)
    body = f'<rect width="{full[0]:g}" height="{full[1]:g}" fill="#ffffff"/>{head}{inner}'
    return colors.light(_element(*full, body))


def address_lines(address: str, width: float) -> list[str]:
    """Return an address in at most LINES_MAX lines for a drawing of that width; a longer one ends in an ellipsis."""
    letters = int(width / ADDRESS_PX)
    lines = [address[start : start + letters] for start in range(0, len(address), letters)]
    return lines if len(lines) <= LINES_MAX else [*lines[: LINES_MAX - 1], f"{lines[LINES_MAX - 1][:-1]}…"]


def _panel(place: layout.Place, settings: dict[str, Any]) -> str:
    panel = place.panel
    names = _names(place)
    left, top, width, height = panel.box
    clipped, free = _marks(place, settings)
    box = f'x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}"'
    view = f'viewBox="{left:.1f} {top:.1f} {width:.1f} {height:.1f}"'
    below = frame.shapes(panel, names, settings, "below")
    above = frame.shapes(panel, names, settings, "above")
    inside = f"<svg {box} {view}>{below}{frame.grid(panel)}{clipped}{above}</svg>"
    beside = frame.shapes(panel, names, settings, "beside")
    return inside + free + beside + frame.labels(place) + frame.annotations(panel, names, settings)


def _names(place: layout.Place) -> tuple[str, str]:
    trace = place.traces[0]
    return trace.get("xaxis") or "x", trace.get("yaxis") or "y"


def _marks(place: layout.Place, settings: dict[str, Any]) -> tuple[str, str]:
    """Return the marks that end at the edges of the panel, and those that may reach past it."""
    panel = place.panel
    cells = [bars.cells(trace, panel) for trace in place.traces if trace["type"] == "heatmap"]
    stood = [trace for trace in place.traces if trace["type"] == "bar"]
    gap = max(settings.get("bargap", 0.2), 0.55 if place.labels_above else 0)
    filled, whiskers = bars.draw(stood, panel, layout.bar_mode(settings), gap) if stood else ("", "")
    clipped, free = [*cells, filled], list[str]()
    for trace in (each for each in place.traces if each["type"] == "scatter"):
        # A marker at the edge is whole; lines end there.
        mode = trace.get("mode") or "markers"
        is_free = trace.get("cliponaxis") is False or mode == "text"
        (free if is_free else clipped).append(marks.scatter(trace, panel))
    return "".join((*clipped, whiskers)), "".join(free)


def _sentence(settings: dict[str, Any], width: float) -> str:
    notes = settings.get("annotations") or ()
    lines = (text.wrapped(note["text"], width - 16, 12) for note in notes)
    return "".join(text.draw(width / 2, 30, each, anchor="middle", color=colors.MUTED) for each in lines)


def _element(width: float, height: float, body: str) -> str:
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {FONT} fill="{colors.INK}">{body}</svg>'


def _size(svg: str) -> tuple[float, float]:
    numbers = svg.split('viewBox="0 0 ', 1)[1].split('"', 1)[0].split()
    return float(numbers[0]), float(numbers[1])
