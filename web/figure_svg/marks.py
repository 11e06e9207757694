"""Points, lines, texts, and error bars of a drawing."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from web.figure_svg import colors, text
from web.figure_svg.axes import Axis

SIZE = 6
"""Diameter of a marker without a size."""

CAP_PX = 4
"""Length of the ends of an error bar whose trace names none."""

DASHES = {"dot": (1, 1), "dash": (3, 1), "longdash": (5, 1), "dashdot": (3, 1, 1, 1), "longdashdot": (5, 1, 1, 1)}
"""Line style → lengths of its dashes and gaps, in widths of at least DASH_PX."""

DASH_PX = 3.0

Trace = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Panel:
    """A pair of axes."""

    x: Axis
    y: Axis

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, width, and height in pixels."""
        return self.x.start, self.y.end, self.x.end - self.x.start, self.y.start - self.y.end


def role(trace: Trace) -> Mapping[str, str]:
    """Return the colors of the theme that the parts of a trace have."""
    return colors.OF_ROLE.get(trace.get("meta", {}).get("role", ""), {})


def scatter(trace: Trace, panel: Panel) -> str:
    """Return the lines, error bars, markers, and texts of a trace, in this order."""
    xs, ys = list(trace.get("x") or ()), list(trace.get("y") or ())
    places = [(panel.x.at(x), panel.y.at(y)) for x, y in zip(xs, ys, strict=True)]
    mode = trace.get("mode") or "markers"
    parts = [_line(trace, places)] if "lines" in mode else []
    parts += [errors(trace, letter, panel, places) for letter in ("x", "y")]
    if "markers" in mode:
        parts.append(_markers(trace, places))
    if "text" in mode:
        parts.append(_texts(trace, places, panel))
    opacity = trace.get("opacity", 1)
    element = "".join(parts)
    return f'<g opacity="{opacity:g}">{element}</g>' if element and opacity != 1 else element


def line_style(line: Mapping[str, Any], color: str) -> str:
    """Return the attributes of a line."""
    width = line.get("width", 2)
    lengths = dash_lengths(line)
    dash = f' stroke-dasharray="{" ".join(f"{each:g}" for each in lengths)}"' if lengths else ""
    return f'fill="none" stroke="{color}" stroke-width="{width:g}"{dash}'


def dash_lengths(line: Mapping[str, Any]) -> tuple[float, ...]:
    """Return the lengths of the dashes and gaps of a line in pixels, from a name or `2px,6px`; none if it is solid."""
    dash = line.get("dash") or "solid"
    if dash.endswith("px"):
        return tuple(float(each.removesuffix("px")) for each in dash.split(","))
    return tuple(max(line.get("width", 2), DASH_PX) * each for each in DASHES.get(dash, ()))


def line_color(trace: Trace) -> str:
    """Return the color of the line of a trace."""
    given = trace.get("line", {}).get("color") or _first(trace.get("marker", {}).get("color")) or "#8A8A85"
    return role(trace).get("line", colors.themed(given))


def marker_style(trace: Trace, place: int = 0, is_entry: bool = False) -> tuple[str, float, str]:
    """Return (symbol, diameter, attributes) of a marker; is_entry: of the legend, where it is never gray."""
    marker, of_role = trace.get("marker", {}), role(trace)
    given = _at(marker.get("color"), place) or trace.get("line", {}).get("color") or "#8A8A85"
    busy = not is_entry and (trace.get("meta", {}).get("busy") or [False] * (place + 1))[place]
    fill = colors.STRONG if busy else of_role.get("fill", colors.themed(given))
    line = marker.get("line", {})
    outline = colors.MUTED if busy else of_role.get("outline", line.get("color") or fill)
    symbol, width = str(_at(marker.get("symbol"), place) or "circle"), float(_at(line.get("width"), place) or 0)
    if symbol.endswith("-open") or symbol.startswith("line-"):
        style = f'fill="none" stroke="{fill if symbol.endswith("-open") else outline}" stroke-width="{width or 1:g}"'
    else:
        style = f'fill="{fill}"' + (f' stroke="{outline}" stroke-width="{width:g}"' if width else "")
    opacity = _at(marker.get("opacity"), place)
    style += f' opacity="{opacity:g}"' if opacity not in (None, 1) else ""
    return symbol.removesuffix("-open"), float(_at(marker.get("size"), place) or SIZE), style


def marker_path(symbol: str, x: float, y: float, size: float) -> str:
    """Return the path of a marker around a point."""
    r = size / 2
    if symbol == "circle":
        return f"M{x - r:.1f} {y:.1f}a{r:g} {r:g} 0 1 0 {size:g} 0a{r:g} {r:g} 0 1 0 -{size:g} 0z"
    if symbol == "line-ns":
        return f"M{x:.1f} {y - 1.4 * r:.1f}v{2.8 * r:.1f}"
    first, *rest = ((x + r * dx, y + r * dy) for dx, dy in SHAPES.get(symbol, SHAPES["square"]))
    return f"M{first[0]:.1f} {first[1]:.1f}" + "".join(f"L{px:.1f} {py:.1f}" for px, py in rest) + "z"


def _cross(turn: float, arm: float = 0.4) -> list[tuple[float, float]]:
    corners = [(arm, arm), (arm, 1), (-arm, 1), (-arm, arm), (-1, arm), (-1, -arm)]
    every = corners + [(-x, -y) for x, y in corners]
    cos, sin = math.cos(turn), math.sin(turn)
    return [(x * cos - y * sin, x * sin + y * cos) for x, y in every]


def _star() -> list[tuple[float, float]]:
    radii = (1.4, 0.55) * 5
    return [(r * math.sin(k * math.pi / 5), -r * math.cos(k * math.pi / 5)) for k, r in enumerate(radii)]


SHAPES: Mapping[str, Sequence[tuple[float, float]]] = {
    "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    "diamond-tall": ((0, -1.4), (0.7, 0), (0, 1.4), (-0.7, 0)),
    "triangle-up": ((0, -1.15), (1.15, 0.85), (-1.15, 0.85)),
    "triangle-down": ((0, 1.15), (-1.15, -0.85), (1.15, -0.85)),
    "triangle-left": ((-1.15, 0), (0.85, -1.15), (0.85, 1.15)),
    "triangle-right": ((1.15, 0), (-0.85, 1.15), (-0.85, -1.15)),
    "cross": _cross(0),
    "x": _cross(math.pi / 4),
    "star": _star(),
}
"""Symbol → its corners, in radii."""

Place = tuple[float | None, float | None]


def _markers(trace: Trace, places: Sequence[Place]) -> str:
    """Return one path per look of a marker, and so a small drawing."""
    paths: dict[str, list[str]] = {}
    for index, (x, y) in enumerate(places):
        if x is not None and y is not None:
            symbol, size, style = marker_style(trace, index)
            paths.setdefault(style, []).append(marker_path(symbol, x, y, size))
    return "".join(f'<path {style} d="{"".join(shapes)}"/>' for style, shapes in paths.items())


def _line(trace: Trace, places: Sequence[Place]) -> str:
    """Return the line through the points; a missing one interrupts it, unless the trace connects gaps."""
    runs: list[list[tuple[float, float]]] = [[]]
    for x, y in places:
        if x is not None and y is not None:
            runs[-1].append((x, y))
        elif runs[-1] and not trace.get("connectgaps"):
            runs.append([])
    stepped = trace.get("line", {}).get("shape") == "hv"
    path = "".join("M" + "L".join(_corners(run, stepped)) for run in runs if len(run) > 1)
    return f'<path {line_style(trace.get("line", {}), line_color(trace))} d="{path}"/>' if path else ""


def _corners(run: Sequence[tuple[float, float]], stepped: bool) -> Iterator[str]:
    yield f"{run[0][0]:.1f} {run[0][1]:.1f}"
    for (_, before), (x, y) in pairwise(run):
        if stepped:
            yield f"{x:.1f} {before:.1f}"
        yield f"{x:.1f} {y:.1f}"


def errors(trace: Trace, letter: str, panel: Panel, places: Sequence[Place]) -> str:
    """Return the error bars along an axis; places: the points they belong to."""
    bars = trace.get(f"error_{letter}") or {}
    if not bars.get("array") or bars.get("visible") is False:
        return ""
    axis = panel.x if letter == "x" else panel.y
    cap = bars.get("width", CAP_PX)
    parts = []
    for value, above, below, (x, y) in zip(trace[letter], bars["array"], bars["arrayminus"], places, strict=True):
        if x is None or y is None or not (above or below):
            continue
        ends = [axis.at(value - (below or 0)), axis.at(value + (above or 0))]
        low, high = (axis.start if ends[0] is None else ends[0]), (axis.end if ends[1] is None else ends[1])
        parts.append(_whisker(letter, (x, y), low, high, cap))
    color = role(trace).get("error") or bars.get("color") or line_color(trace)
    return f'<path fill="none" stroke="{color}" stroke-width="{bars.get("thickness", 1):g}" d="{"".join(parts)}"/>'


def _whisker(letter: str, place: tuple[float, float], low: float, high: float, cap: float) -> str:
    x, y = place
    if letter == "x":
        caps = "".join(f"M{end:.1f} {y - cap / 2:.1f}v{cap:g}" for end in (low, high)) if cap else ""
        return f"M{low:.1f} {y:.1f}H{high:.1f}{caps}"
    caps = "".join(f"M{x - cap / 2:.1f} {end:.1f}h{cap:g}" for end in (low, high)) if cap else ""
    return f"M{x:.1f} {low:.1f}V{high:.1f}{caps}"


def _texts(trace: Trace, places: Sequence[Place], panel: Panel) -> str:
    """Return the texts beside their points, inside the panel."""
    position = trace.get("textposition", "middle center")
    share = 1.0 if "left" in position else 0.0 if "right" in position else 0.5
    shift = -9 if "top" in position else 9 if "bottom" in position else 0
    given = trace.get("textfont", {}).get("color") or colors.INK
    color, size = role(trace).get("text", given), trace.get("textfont", {}).get("size", 12)
    texts = trace.get("text") or ()
    parts = []
    for label, (x, y) in zip([texts] * len(places) if isinstance(texts, str) else texts, places, strict=False):
        if label and x is not None and y is not None:
            width = text.width(label, size)
            left = max(panel.x.start, min(x - share * width, panel.x.end - width))
            anchor, at = (
                ("end", left + width) if share == 1 else ("start", left) if share == 0 else ("middle", left + width / 2)
            )
            middle = max(panel.y.end + size, min(y + shift, panel.y.start - size))
            parts.append(text.draw(at, middle, label, size=size, anchor=anchor, color=color))
    return "".join(parts)


def _at(value: Any, place: int) -> Any:
    """Return the value of a mark, if a trace has one per mark, or the value of all."""
    return value[place] if isinstance(value, Sequence) and not isinstance(value, str) else value


def _first(value: Any) -> Any:
    return _at(value, 0)
