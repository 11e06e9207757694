"""Layout of a drawing: its panels, side by side where they have room, and the room for their labels."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from web.figure_svg import bars, text
from web.figure_svg.axes import Axis, Extent, axis_of
from web.figure_svg.marks import Panel, Trace

PANEL_MIN_PX = 230
"""Least width of a panel beside another."""

TICK_GAP_PX, TITLE_PX, TICK_PX = 6, 20, 18
"""Distance of labels from their axis; heights of an axis title and of a line of tick labels."""

COLUMN_GAP_PX = 14
"""Distance between a panel and the labels of the next one."""

LABELS_SHARE, ABOVE_PX, TALLER, SMALL_FONT = 0.25, 15, 1.6, 10
"""Labels wider than this share stand above their rows, this much higher, and the rows are taller."""


@dataclass(slots=True)
class Place:
    """A panel and its place in pixels.

    panel    its axes; traces: what is drawn in it; title: annotation that is its title, None without one
    top      above its own top; cell: left and right end of its column with the labels
    labels_above  whether the labels of its rows stand above them
    """

    panel: Panel
    traces: list[Trace]
    title: Mapping[str, Any] | None = None
    height: float = 0.0
    top: float = 0.0
    cell: tuple[float, float] = (0.0, 0.0)
    labels_above: bool = False

    @property
    def left_px(self) -> float:
        """Width of the tick labels and the title at the left of the panel."""
        axis = self.panel.y
        title = TITLE_PX if title_of(axis) else 0
        if self.labels_above or axis.settings.get("showticklabels") is False:
            return title
        size = font_size(axis)
        axis.start, axis.end = 0.0, self.height
        return title + TICK_GAP_PX + max((text.width(label, size) for _, label in axis.ticks), default=0.0)


@dataclass(slots=True)
class Grid:
    """All panels of a figure; height: to the lower end of the lowest labels."""

    places: list[Place] = field(default_factory=list)
    height: float = 0.0


def title_of(axis: Axis) -> str:
    """Return the title of an axis, empty without one."""
    title = axis.settings.get("title") or {}
    return str(title if isinstance(title, str) else title.get("text") or "")


def font_size(axis: Axis) -> float:
    """Return the font size of the tick labels of an axis."""
    return float((axis.settings.get("tickfont") or {}).get("size") or 12)


def bar_mode(layout: Mapping[str, Any]) -> str:
    """Return how the bars of a row are placed."""
    return str(layout.get("barmode") or "group")


def panels(data: Sequence[Trace], layout: Mapping[str, Any]) -> list[Place]:
    """Return the panels in the order of their axes, without a place."""
    pairs: dict[tuple[str, str], list[Trace]] = {}
    for trace in data:
        pairs.setdefault((trace.get("xaxis") or "x", trace.get("yaxis") or "y"), []).append(trace)
    groups: dict[str, list[Trace]] = {}
    for names, traces in pairs.items():
        for name in names:
            groups.setdefault(name, []).extend(traces)
    axes = {name: _axis(name, _matched(name, groups, layout), layout) for name in groups}
    ordered = sorted(pairs, key=lambda names: (_number(names[1]), _number(names[0])))
    places = [Place(Panel(axes[x], axes[y]), pairs[x, y]) for x, y in ordered]
    titles = [each for each in layout.get("annotations") or () if each.get("xref") == each.get("yref") == "paper"]
    rows: dict[tuple[float, ...], Place] = {}
    for place in places:
        rows.setdefault(tuple(place.panel.y.settings.get("domain") or (0, 1)), place)
    if len(titles) == len(rows):
        for place, title in zip(rows.values(), titles, strict=True):
            place.title = title
    return places


def _matched(name: str, groups: Mapping[str, list[Trace]], layout: Mapping[str, Any]) -> list[Trace]:
    """Return the traces of an axis and of all axes that have the same range."""
    of = {each: (layout.get(f"{each[0]}axis{each[1:]}") or {}).get("matches") or each for each in groups}
    return [trace for each, traces in groups.items() if of[each] == of[name] for trace in traces]


def _number(name: str) -> int:
    return int(name[1:] or 1)


def _axis(name: str, traces: Sequence[Trace], layout: Mapping[str, Any]) -> Axis:
    letter, settings = name[0], layout.get(f"{name[0]}axis{name[1:]}") or {}
    values: list[Any] = []
    extents: list[Extent] = []
    along = [t for t in traces if t["type"] == "bar" and (t.get("orientation") == "h") == (letter == "x")]
    for ends in bars.spans(along, bar_mode(layout)):
        extents += [(min(0.0, *pair), max(pair)) for pair in ends]
    for trace in traces:
        if trace["type"] == "heatmap":
            positions, step = bars.cell_axes(trace)[letter]
            values += [each for each in positions if isinstance(each, str)]
            extents += [(p - step / 2, p + step / 2) for p in positions if not isinstance(p, str)]
        elif trace not in along:
            values += [value for value in trace.get(letter) or () if value is not None]
    return axis_of(letter, settings, values, extents)


def arrange(places: list[Place], layout: Mapping[str, Any], width: float) -> Grid:
    """Return the panels in their places on a drawing of that width."""
    margin, meta = layout.get("margin") or {}, layout.get("meta") or {}
    left, right = float(margin.get("l", 8)), width - max(float(margin.get("r", 8)), 12)
    right -= max((_slanted_px(place.panel.x) for place in places), default=0.0)
    inner = float(layout.get("height") or 400) - float(margin.get("t", 8)) - float(margin.get("b", 8))
    for place in places:
        low, high = place.panel.y.settings.get("domain") or (0, 1)
        place.height = inner * (high - low)
    _put_labels_above(places, layout, width)
    columns = _columns(places, meta.get("across", 1), right - left)
    top = float(margin.get("t", 8))
    if columns > 1 or _is_stacked(places):
        return _rows(places, columns, (left, right), top)
    return _domains(places, (left, right), top, inner)


def _slanted_px(axis: Axis) -> float:
    """Return how far the slanted labels above a panel reach past its right end."""
    if axis.settings.get("side") != "top" or not axis.settings.get("tickangle"):
        return 0.0
    labels = [label for _, label in axis.ticks]
    return max(0.0, 0.5 * text.width(labels[-1], font_size(axis)) - COLUMN_GAP_PX) if labels else 0.0


def _put_labels_above(places: Sequence[Place], layout: Mapping[str, Any], width: float) -> None:
    """Mark the panels whose labels would take too much of a narrow drawing, and make their rows taller."""
    named = [
        p for p in places if p.panel.y.kind == "category" and p.panel.y.settings.get("showticklabels") is not False
    ]
    if (layout.get("meta") or {}).get("width_min") or len(named) < len(places):
        return
    if any(font_size(place.panel.y) <= SMALL_FONT or "matches" in place.panel.y.settings for place in named):
        return
    if max((place.left_px for place in named), default=0) < LABELS_SHARE * width:
        return
    for place in named:
        place.labels_above, place.height = True, TALLER * place.height


def _is_stacked(places: Sequence[Place]) -> bool:
    """Return whether every panel has the full width and its own row."""
    return all(tuple(p.panel.x.settings.get("domain") or (0, 1)) == (0, 1) for p in places) and len(
        {tuple(p.panel.y.settings.get("domain") or (0, 1)) for p in places}
    ) == len(places)


def _columns(places: Sequence[Place], across: int, inner: float) -> int:
    if not _is_stacked(places):
        return 1
    widest = max((place.left_px for place in places), default=0.0)
    return max(1, min(across, len(places), int((inner + COLUMN_GAP_PX) // (PANEL_MIN_PX + widest + COLUMN_GAP_PX))))


def _rows(places: list[Place], columns: int, ends: tuple[float, float], top: float) -> Grid:
    """Place panels in rows of `columns`; a row is as high as its highest panel."""
    grid, (left, right) = Grid(places), ends
    step = (right - left + COLUMN_GAP_PX) / columns
    widths = [max((p.left_px for p in places[column::columns]), default=0.0) for column in range(columns)]
    y = top
    for first in range(0, len(places), columns):
        row = places[first : first + columns]
        tallest = max(place.height for place in row)
        for column, place in enumerate(row):
            x0 = left + column * step
            place.cell = x0, x0 + step - COLUMN_GAP_PX
            _put(place, x0 + widths[column], place.cell[1], y)
        below = max(_below_px(place) for place in row)
        grid.height = y + tallest + below
        # The title of the next row needs as much room as that of the first.
        y = grid.height + max(top - 8, 12.0)
    return grid


def _domains(places: list[Place], ends: tuple[float, float], top: float, inner: float) -> Grid:
    """Place panels at their shares of the drawing."""
    left = ends[0] + max(
        (p.left_px for p in places if (p.panel.x.settings.get("domain") or (0, 1))[0] == 0), default=0.0
    )
    room = ends[1] - left
    grid = Grid(places)
    for place in places:
        low, high = place.panel.x.settings.get("domain") or (0, 1)
        upper = (place.panel.y.settings.get("domain") or (0, 1))[1]
        x0 = left + room * low
        place.cell = (ends[0] if low == 0 else x0), ends[1]
        _put(place, x0, left + room * high, top + inner * (1 - upper))
        grid.height = max(grid.height, place.top + place.height + _below_px(place))
    return grid


def _put(place: Place, left: float, right: float, top: float) -> None:
    x, y = place.panel.x, place.panel.y
    place.top = top
    x.start, x.end = left, right
    y.start, y.end = top + place.height, top
    if y.settings.get("scaleanchor"):
        unit = min(x.unit_px, y.unit_px)
        x.end = left + unit * abs(x.high - x.low)
        place.height = unit * abs(y.high - y.low)
        y.start = top + place.height


def turn_of(axis: Axis) -> int:
    """Return the rotation of the tick labels of an axis in degrees."""
    return int(axis.settings.get("tickangle") or 0)


def tick_labels_px(axis: Axis) -> float:
    """Return the height of the tick labels of an x axis, with their distance."""
    if axis.settings.get("showticklabels") is False:
        return 0.0
    longest = max((text.width(label, font_size(axis)) for _, label in axis.ticks), default=0.0)
    return TICK_GAP_PX + max(TICK_PX, longest * math.sin(math.radians(abs(turn_of(axis)))))


def _below_px(place: Place) -> float:
    """Return the height of the labels below a panel."""
    axis = place.panel.x
    if axis.settings.get("side") == "top":
        return 4.0
    labels = tick_labels_px(axis)
    return labels + (TITLE_PX if title_of(axis) else 0)
