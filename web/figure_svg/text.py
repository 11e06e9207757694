"""Text of a drawing: estimated widths, and the tags of Plotly's labels as SVG."""

import re
from html import escape, unescape

NARROW, WIDE = frozenset("ijlft.,:;|!'()[]{}/\\ \u202f·"), frozenset("mwMW%@—<>&+=×…")
NARROW_EM, WIDE_EM, CAPITAL_EM, LETTER_EM = 0.34, 0.94, 0.7, 0.61
"""Widths of letters in the widest of the fonts of the pages."""

LINE_EM = 1.3
"""Distance between lines."""

TAG = re.compile(r"</?\w+[^>]*>")
MARKUP = re.compile(r"(</?b>|<span style=\"color:#\w+\">|</span>)")
COLOR = re.compile(r"color:(#\w+)")


def lines_of(label: str) -> list[str]:
    """Return the lines of a label."""
    return re.split(r"<br ?/?>", label)


def plain(label: str) -> str:
    """Return a label without tags and entities."""
    return unescape(TAG.sub("", label))


def width(label: str, size: float) -> float:
    """Return the estimated width of the longest line of a label in pixels."""
    return size * max(sum(map(_em, plain(line))) for line in lines_of(label))


def wrapped(sentence: str, room: float, size: float) -> str:
    """Return a sentence broken into lines of that width."""
    lines = [""]
    for word in sentence.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width(longer, size) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return "<br>".join(lines)


def fitted(label: str, room: float, size: float) -> str:
    """Return a label without markup, or its beginning with an ellipsis if it is wider than the room."""
    letters = plain(label)
    if "<" in label or width(label, size) <= room:
        return label
    while letters and width(f"{letters}…", size) > room:
        letters = letters[:-1]
    return f"{escape(letters.rstrip(), quote=False)}…"


def draw(
    x: float, y: float, label: str, *, size: float = 12, anchor: str = "start", color: str = "", turn: int = 0
) -> str:
    """Return a text element whose first line has its middle at y.

    anchor  `start`, `middle`, or `end`: which part of the text is at x
    color   an SVG color; empty: that of the drawing
    turn    rotation about (x, y) in degrees, clockwise
    """
    given = {"start": "", "middle": ' text-anchor="middle"', "end": ' text-anchor="end"'}[anchor]
    if size != 12:
        given += f' font-size="{size:g}"'
    if color:
        given += f' fill="{color}"'
    if turn:
        given += f' transform="rotate({turn} {x:.1f} {y:.1f})"'
    first, *rest = lines_of(label)
    further = "".join(f'<tspan x="{x:.1f}" dy="{LINE_EM}em">{_marked(line)}</tspan>' for line in rest)
    return f'<text x="{x:.1f}" y="{y + 0.35 * size:.1f}"{given}>{_marked(first)}{further}</text>'


def _em(letter: str) -> float:
    if letter in NARROW:
        return NARROW_EM
    if letter in WIDE:
        return WIDE_EM
    return CAPITAL_EM if letter.isupper() else LETTER_EM


def _marked(line: str) -> str:
    """Return a line as SVG, with its bold and its colored parts."""
    parts: list[str] = []
    depth = 0
    for place, part in enumerate(MARKUP.split(line)):
        if place % 2 == 0:
            parts.append(escape(plain(part), quote=False))
        elif not part.startswith("</"):
            color = COLOR.search(part)
            parts.append(f'<tspan fill="{color[1]}">' if color else '<tspan font-weight="600">')
            depth += 1
        elif depth:
            parts.append("</tspan>")
            depth -= 1
    return "".join(parts) + "</tspan>" * depth
