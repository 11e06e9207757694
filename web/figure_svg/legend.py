"""Legend of a drawing, and the color bar of its cells."""

from collections.abc import Mapping, Sequence
from typing import Any

from web.figure_svg import bars, colors, text
from web.figure_svg.marks import Trace, dash_lengths, line_color, line_style, marker_path, marker_style, role

KEY_PX, GAP_PX, LINE_PX, BAR_PX = 26, 18, 22, 300
"""Width of the sample of an entry, distance of entries, height of a line, and length of a color bar."""

DASHED_PX = 54
"""Width of the sample of a dashed line: two periods of the longest pattern of dashes."""

RANK = 1000
"""Rank of an entry whose trace names none."""


def entries(data: Sequence[Trace], layout: Mapping[str, Any]) -> list[Trace]:
    """Return the traces of the legend in their order."""
    if layout.get("showlegend") is False:
        return []
    listed = [trace for trace in data if trace["type"] != "heatmap" and trace.get("showlegend") is not False]
    if len(listed) < 2 and not any(trace.get("showlegend") for trace in listed) and not layout.get("showlegend"):
        return []
    listed = [trace for trace in listed if trace.get("name")]
    if "reversed" in str((layout.get("legend") or {}).get("traceorder") or ""):
        listed.reverse()
    return sorted(listed, key=lambda trace: trace.get("legendrank") or RANK)


def draw(data: Sequence[Trace], layout: Mapping[str, Any], left: float, top: float, width: float) -> tuple[str, float]:
    """Return the legend from a point on, and its height."""
    x, y, parts = left, top + LINE_PX / 2, []
    listed = entries(data, layout)
    for trace in listed:
        label = str(trace["name"])
        key = _key_px(trace)
        room = key + text.width(label, 12)
        if x > left and x + room > left + width:
            x, y = left, y + LINE_PX
        parts += [_sample(trace, x, y), text.draw(x + key, y, label)]
        x += room + GAP_PX
    return "".join(parts), (y + LINE_PX / 2 - top if listed else 0.0)


def _key_px(trace: Trace) -> int:
    """Return the width of the sample of an entry, with its distance to the label."""
    is_dashed = "lines" in (trace.get("mode") or "") and bool(dash_lengths(trace.get("line", {})))
    return DASHED_PX if is_dashed else KEY_PX


def _sample(trace: Trace, x: float, y: float) -> str:
    key = _key_px(trace)
    middle = x + key / 2 - 3
    if trace["type"] == "bar":
        return bars.swatch(trace, 0, f'x="{middle - 6:.1f}" y="{y - 6:.1f}" width="12" height="12"', is_entry=True)
    mode, parts = trace.get("mode") or "markers", []
    if "lines" in mode:
        parts.append(f'<path {line_style(trace.get("line", {}), line_color(trace))} d="M{x:.1f} {y:.1f}h{key - 6}"/>')
    if "markers" in mode:
        symbol, size, style = marker_style(trace, is_entry=True)
        parts.append(f'<path {style} d="{marker_path(symbol, middle, y, min(size, 11))}"/>')
    if mode == "text":
        label = text.draw(middle, y, "a", anchor="middle", color=role(trace).get("text", colors.INK))
        parts.append(label)
    return "".join(parts)


def color_bar(trace: Trace, left: float, top: float, width: float) -> tuple[str, float]:
    """Return the color bar of a heat map from a point on, and its height."""
    bar = trace.get("colorbar") or {}
    if trace.get("showscale") is False:
        return "", 0.0
    low, high = float(trace["zmin"]), float(trace["zmax"])
    color, parts, y = bars.color_scale(trace), [], top
    if title := (bar.get("title") or {}).get("text"):
        parts.append(text.draw(left, y + 8, title))
        y += 18
    length = min(BAR_PX, width - 40)
    steps = 60
    for step in range(steps):
        box = f'x="{left + length * step / steps:.1f}" y="{y:.1f}" width="{length / steps + 0.5:.1f}" height="10"'
        parts.append(f'<rect {box} fill="{colors.themed(color((step + 0.5) / steps))}"/>')
    for value, label in zip(bar.get("tickvals") or (), bar.get("ticktext") or (), strict=True):
        x = left + length * (float(value) - low) / ((high - low) or 1.0)
        parts.append(text.draw(x, y + 19, label, anchor="start" if x == left else "middle", color=colors.MUTED))
    return "".join(parts), y + 28 - top
