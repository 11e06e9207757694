"""Bars and cells of a drawing."""

from collections.abc import Sequence
from typing import Any

from web.figure_svg import colors, text
from web.figure_svg.axes import Axis
from web.figure_svg.marks import Panel, Trace, errors, role

HATCHES = {
    "/": "M-1,1l2,-2M0,{s}L{s},0M{e},{f}l2,-2",
    "\\": "M{e},-1l2,2M0,0L{s},{s}M-1,{e}l2,2",
    "x": "M0,0L{s},{s}M0,{s}L{s},0",
    "-": "M0,{h}H{s}",
    "|": "M{h},0V{s}",
    "+": "M0,{h}H{s}M{h},0V{s}",
}
"""Hatching → the lines of its tile of side s; any other is a dot."""


def spans(bars: Sequence[Trace], mode: str) -> list[list[tuple[float, float]]]:
    """Return the two ends of each bar of these traces along their length."""
    totals: dict[Any, float] = {}
    every = []
    for trace in bars:
        lengths, rows = sides(trace)
        bases = trace.get("base")
        ends = []
        for place, (length, row) in enumerate(zip(lengths, rows, strict=True)):
            begin = totals.get(row, 0.0) if mode == "stack" else 0.0
            begin = float(bases[place] if isinstance(bases, Sequence) else bases) if bases is not None else begin
            ends.append((begin, begin + float(length or 0)))
            totals[row] = ends[-1][1]
        every.append(ends)
    return every


def sides(trace: Trace) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return the lengths of the bars of a trace, and their rows."""
    first, second = list(trace.get("x") or ()), list(trace.get("y") or ())
    return (first, second) if trace.get("orientation") == "h" else (second, first)


def draw(bars: Sequence[Trace], panel: Panel, mode: str, gap: float) -> tuple[str, str]:
    """Return the bars of a panel, and their error bars, which no neighbor covers."""
    filled, whiskers = [], []
    number = len(bars) if mode == "group" else 1
    thick = (1 - gap) / number
    for turn, (trace, ends) in enumerate(zip(bars, spans(bars, mode), strict=True)):
        is_flat = trace.get("orientation") == "h"
        along, across = (panel.x, panel.y) if is_flat else (panel.y, panel.x)
        offset = -(1 - gap) / 2 + (turn if number > 1 else 0) * thick
        middles: list[tuple[float | None, float | None]] = []
        for place, ((low, high), row) in enumerate(zip(ends, sides(trace)[1], strict=True)):
            position = across.position(row)
            begin, end = along.at(low), along.at(high)
            if position is None or end is None:
                middles.append((None, None))
                continue
            edges = across.pixel(position + offset), across.pixel(position + offset + thick)
            filled.append(_bar(trace, place, (along.start if begin is None else begin, end), edges, is_flat))
            middle = sum(edges) / 2
            middles.append((end, middle) if is_flat else (middle, end))
        whiskers += [errors(trace, letter, panel, middles) for letter in ("x", "y")]
    return "".join(filled), "".join(whiskers)


def _bar(trace: Trace, place: int, ends: tuple[float, float], edges: tuple[float, float], is_flat: bool) -> str:
    (x0, x1), (y0, y1) = (sorted(ends), sorted(edges)) if is_flat else (sorted(edges), sorted(ends))
    box = f'x="{x0:.1f}" y="{y0:.1f}" width="{max(x1 - x0, 0.5):.1f}" height="{max(y1 - y0, 0.5):.1f}"'
    return swatch(trace, place, box)


def swatch(trace: Trace, place: int, box: str, is_entry: bool = False) -> str:
    """Return a bar of a trace, or its square in the legend; box: the attributes of its place."""
    marker, opacity = trace.get("marker", {}), trace.get("opacity", 1)
    given = marker.get("color") or "#8A8A85"
    color = given if isinstance(given, str) else given[place]
    busy = not is_entry and (trace.get("meta", {}).get("busy") or [False] * (place + 1))[place]
    fill = colors.STRONG if busy else role(trace).get("fill", colors.themed(color))
    line = marker.get("line", {}).get("width", 0)
    outline = role(trace).get("outline", colors.INK)
    stroke = f' stroke="{outline}" stroke-width="{line:g}"' if line else ""
    faint = f' opacity="{opacity:g}"' if opacity != 1 else ""
    pattern = marker.get("pattern", {})
    hatched = f'<rect {box} fill="url(#{hatch_id(pattern)})"{faint}/>' if pattern.get("shape") else ""
    return f'<rect {box} fill="{fill}"{stroke}{faint}/>{hatched}'


def hatch_id(pattern: Trace) -> str:
    """Return the id of a hatching, equal in all drawings of a page."""
    return f"hatch-{ord(pattern['shape'])}-{pattern.get('size', 8)}-{100 * pattern.get('fgopacity', 0.5):.0f}"


def hatches(traces: Sequence[Trace]) -> str:
    """Return the definitions of all hatchings of these traces."""
    patterns = {hatch_id(p): p for trace in traces if (p := trace.get("marker", {}).get("pattern", {})).get("shape")}
    return "".join(_hatch(name, pattern) for name, pattern in patterns.items())


def _hatch(name: str, pattern: Trace) -> str:
    side, opacity = pattern.get("size", 8), pattern.get("fgopacity", 0.5)
    lines = HATCHES.get(pattern["shape"])
    if lines is None:
        shape = (
            f'<circle cx="{side / 2:g}" cy="{side / 2:g}" r="{side / 5:g}" fill="{colors.INK}" opacity="{opacity:g}"/>'
        )
    else:
        path = lines.format(s=side, h=side / 2, e=side - 1, f=side + 1)
        shape = f'<path d="{path}" fill="none" stroke="{colors.INK}" stroke-width="1" opacity="{opacity:g}"/>'
    return f'<pattern id="{name}" width="{side}" height="{side}" patternUnits="userSpaceOnUse">{shape}</pattern>'


def cell_axes(trace: Trace) -> dict[str, tuple[list[Any], float]]:
    """Return the positions of columns and rows of cells by letter, and the size of a cell."""
    rows = trace["z"]
    number = {"x": max(map(len, rows), default=0), "y": len(rows)}
    placed = {}
    for letter, count in number.items():
        step = float(trace.get(f"d{letter}", 1))
        first = float(trace.get(f"{letter}0", 0))
        named = trace.get(letter)
        placed[letter] = (list(named) if named is not None else [first + step * place for place in range(count)], step)
    return placed


def cells(trace: Trace, panel: Panel) -> str:
    """Return the cells of a heat map, one path per color, and their texts."""
    color = color_scale(trace)
    low, high = float(trace["zmin"]), float(trace["zmax"])
    placed = cell_axes(trace)
    columns, rows = (
        _edges(axis, *placed[axis.letter], trace.get(f"{axis.letter}gap", 0)) for axis in (panel.x, panel.y)
    )
    paths: dict[str, list[str]] = {}
    texts = []
    for row, values in enumerate(trace["z"]):
        for column, value in enumerate(values):
            if value is None or value != value:
                continue
            (x0, x1), (y0, y1) = columns[column], rows[row]
            fill = colors.themed(color((float(value) - low) / ((high - low) or 1.0)))
            paths.setdefault(fill, []).append(f"M{x0:.1f} {y0:.1f}H{x1:.1f}V{y1:.1f}H{x0:.1f}z")
            if trace.get("texttemplate"):
                texts.append((colors.ink_on(fill), (x0 + x1) / 2, (y0 + y1) / 2, trace["text"][row][column]))
    size = min(12.0, abs(rows[0][1] - rows[0][0]) - 2) if rows else 12.0
    cell_paths = "".join(f'<path fill="{fill}" d="{"".join(shapes)}"/>' for fill, shapes in paths.items())
    return cell_paths + _cell_texts(texts, size)


def color_scale(trace: Trace) -> Any:
    """Return the function from a share to the color of a cell."""
    is_density = trace.get("meta", {}).get("role") == "density"
    return colors.scale(colors.DENSITY if is_density else trace["colorscale"])


def _edges(axis: Axis, positions: Sequence[Any], step: float, gap: float) -> list[tuple[float, float]]:
    middles = [axis.position(value) or 0.0 for value in positions]
    ends = [sorted((axis.pixel(middle - step / 2), axis.pixel(middle + step / 2))) for middle in middles]
    return [(low + gap / 2, high - gap / 2) for low, high in ends]


def _cell_texts(texts: Sequence[tuple[str, float, float, str]], size: float) -> str:
    groups: dict[str, list[str]] = {}
    for ink, x, y, label in texts:
        groups.setdefault(ink, []).append(f'<text x="{x:.1f}" y="{y + 0.35 * size:.1f}">{text.plain(label)}</text>')
    return "".join(
        f'<g fill="{ink}" font-size="{size:g}" text-anchor="middle">{"".join(elements)}</g>'
        for ink, elements in groups.items()
    )
