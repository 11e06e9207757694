"""Frame of a panel: grid, tick labels, titles, shapes, and annotations."""

from collections.abc import Mapping
from typing import Any

from web.figure_svg import colors, text
from web.figure_svg.axes import Axis
from web.figure_svg.layout import ABOVE_PX, TICK_GAP_PX, Place, font_size, tick_labels_px, title_of, turn_of
from web.figure_svg.marks import Panel, line_style


def grid(panel: Panel) -> str:
    """Return the grid lines of a panel, and its lines of zero."""
    left, top, width, height = panel.box
    lines, zeros = [], []
    for axis in (panel.x, panel.y):
        ends = f"M{{0:.1f}} {top:.1f}v{height:.1f}" if axis.letter == "x" else f"M{left:.1f} {{0:.1f}}h{width:.1f}"
        if axis.kind != "category" and axis.settings.get("showgrid") is not False:
            lines += [ends.format(axis.pixel(position)) for position, _ in axis.ticks]
        low, high = sorted((axis.low, axis.high))
        if axis.kind == "linear" and axis.settings.get("zeroline") is not False and low <= 0 <= high:
            zeros.append(ends.format(axis.pixel(0)))
    paths = ((colors.LINE, lines), (colors.STRONG, zeros))
    return "".join(
        f'<path fill="none" stroke="{color}" d="{"".join(segments)}"/>' for color, segments in paths if segments
    )


def labels(place: Place) -> str:
    """Return the tick labels, the titles of the axes, and the title of the panel."""
    panel = place.panel
    left, top, width, height = panel.box
    parts = [_x_labels(panel.x, top, height), _y_labels(place)]
    if title := title_of(panel.x):
        above = panel.x.settings.get("side") == "top"
        # Under the tick labels, or over them.
        y = top - TICK_GAP_PX - 24 if above else top + height + tick_labels_px(panel.x) + 14
        parts.append(text.draw(left + width / 2, y, title, anchor="middle", color=colors.INK))
    if title := title_of(panel.y):
        parts.append(text.draw(place.cell[0] + 7, top + height / 2, title, anchor="middle", turn=-90))
    if place.title:
        size = (place.title.get("font") or {}).get("size", 13)
        y = top - 11 - (place.title.get("yshift") or 0) - (ABOVE_PX / 2 if place.labels_above else 0)
        room = place.cell[1] - place.cell[0]
        label = place.title["text"]
        size = max(9.0, min(size, size * room / (text.width(label, size) or 1.0)))
        parts.append(text.draw(place.cell[0], y, text.fitted(label, room, size), size=size))
    return "".join(parts)


def _x_labels(axis: Axis, top: float, height: float) -> str:
    if axis.settings.get("showticklabels") is False:
        return ""
    above, size = axis.settings.get("side") == "top", font_size(axis)
    turn = turn_of(axis)
    y = top - TICK_GAP_PX - size / 2 if above else top + height + TICK_GAP_PX + size / 2
    parts, free = [], float("-inf")
    for position, label in sorted(axis.ticks):
        x, half = axis.pixel(position), text.width(label, size) / 2
        if turn:
            parts.append(
                text.draw(x, y, label, size=size, anchor="start" if above else "end", color=colors.MUTED, turn=turn)
            )
        elif axis.start > axis.end or x - half >= free:
            parts.append(text.draw(x, y, label, size=size, anchor="middle", color=colors.MUTED))
            free = x + half + 4
    return "".join(parts)


def _y_labels(place: Place) -> str:
    axis = place.panel.y
    if axis.settings.get("showticklabels") is False:
        return ""
    left, size = place.panel.x.start, font_size(axis)
    if place.labels_above:
        shift = ABOVE_PX
        return "".join(text.draw(left, axis.pixel(p) - shift, label, size=11) for p, label in axis.ticks)
    x = left - TICK_GAP_PX
    return "".join(text.draw(x, axis.pixel(p), label, size=size, anchor="end") for p, label in axis.ticks)


def shapes(panel: Panel, names: tuple[str, str], layout: Mapping[str, Any], layer: str) -> str:
    """Return the shapes of a panel in a layer; names: those of its axes, such as `x2`.

    layer  `below` and `above` end at the edges of the panel; `beside` holds those at shares of both axes
    """
    parts = []
    for shape in layout.get("shapes") or ():
        refs = shape.get("xref", "x"), shape.get("yref", "y")
        if tuple(ref.split()[0] for ref in refs) != names or _layer(shape, refs) != layer:
            continue
        xs = [_x(panel.x, refs[0], shape, name) for name in ("x0", "x1")]
        ys = [_ref(panel.y, refs[1], shape[name]) for name in ("y0", "y1")]
        if None not in (*xs, *ys):
            parts.append(_shape(shape, [x for x in xs if x is not None], [y for y in ys if y is not None]))
    return "".join(parts)


def _layer(shape: Mapping[str, Any], refs: tuple[str, str]) -> str:
    return "beside" if all(ref.endswith(" domain") for ref in refs) else shape.get("layer") or "above"


def _x(axis: Axis, ref: str, shape: Mapping[str, Any], name: str) -> float | None:
    """Return the pixel of an end of a shape, which may be given in pixels from an anchor."""
    if shape.get("xsizemode") != "pixel":
        return _ref(axis, ref, shape[name])
    anchor = _ref(axis, ref, shape["xanchor"])
    return None if anchor is None else anchor + shape[name]


def _shape(shape: Mapping[str, Any], xs: list[float], ys: list[float]) -> str:
    line, faint = shape.get("line") or {}, f' opacity="{shape["opacity"]:g}"' if shape.get("opacity") else ""
    if shape["type"] == "rect":
        box = f'x="{min(xs):.1f}" y="{min(ys):.1f}" width="{max(xs) - min(xs):.1f}" height="{max(ys) - min(ys):.1f}"'
        return f'<rect {box} fill="{shape.get("fillcolor") or "none"}"{faint}/>'
    style = line_style(line, colors.themed(line["color"]) if line.get("color") else colors.STRONG)
    return f'<path {style}{faint} d="M{xs[0]:.1f} {ys[0]:.1f}L{xs[1]:.1f} {ys[1]:.1f}"/>'


def annotations(panel: Panel, names: tuple[str, str], layout: Mapping[str, Any]) -> str:
    """Return the annotations at positions of a panel."""
    parts = []
    for note in layout.get("annotations") or ():
        refs = note.get("xref", "x"), note.get("yref", "y")
        if tuple(ref.split()[0] for ref in refs) != names:
            continue
        x, y = _ref(panel.x, refs[0], note["x"]), _ref(panel.y, refs[1], note["y"])
        if x is None or y is None:
            continue
        anchor = {"left": "start", "right": "end"}.get(note.get("xanchor", ""), "middle")
        size = (note.get("font") or {}).get("size", 12)
        shifted = x + (note.get("xshift") or 0), y - (note.get("yshift") or 0)
        parts.append(text.draw(*shifted, note["text"], size=size, anchor=anchor))
    return "".join(parts)


def _ref(axis: Axis, ref: str, value: Any) -> float | None:
    """Return the pixel of a value, or of a share of the axis if the reference is to its domain."""
    if not ref.endswith(" domain"):
        return axis.at(value)
    return axis.start + (axis.end - axis.start) * float(value)
