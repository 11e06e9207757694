"""Colors of a drawing: variables of the style sheet, so that one drawing has the colors of every theme."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from web import assets

VARIABLE = re.compile(r"var\(--([\w-]+)\)")
PAIR = re.compile(r"light-dark\((#\w+), ?(#\w+)\)")

INK, MUTED, LINE, STRONG = (f"var(--{name})" for name in ("ink", "muted", "line", "line-strong"))

OF_ROLE: Mapping[str, Mapping[str, str]] = {
    "kernel": {"outline": INK, "error": INK},
    "point": {"outline": INK, "error": MUTED},
    "unsettled": {"error": MUTED},
    "line": {"line": STRONG, "text": INK},
    "roof": {"line": "var(--floor)", "text": INK},
    "floor": {"fill": "var(--floor)", "outline": "var(--floor)"},
    "gather_floor": {"fill": "var(--gather-floor)", "outline": "var(--gather-floor)"},
    "reason": {"text": MUTED},
    "beyond": {"fill": INK},
    "busy": {"fill": STRONG, "outline": MUTED},
}
"""Role of a trace → the parts of its marks that have colors of the theme; all other colors are those of the trace."""

DENSITY = [(step / 2, f"var(--density-{step})") for step in range(3)]


THEMED = ("family", "heat-")
"""Beginnings of the variables that figures use by their light colors."""

INKS = ("#000000", "#ffffff")
"""Text on light and on dark cells."""


@cache
def tokens() -> dict[str, tuple[str, str]]:
    """Return the colors of the style sheet by the name of their variable: (light, dark)."""
    pairs_by_name = re.findall(rf"--([\w-]+): {PAIR.pattern};", assets.text(assets.STYLES))
    known = {name: (light, dark) for name, light, dark in pairs_by_name}
    same = re.findall(r"--([\w-]+): var\(--([\w-]+)\);", assets.text(assets.STYLES))
    return known | {name: known[other] for name, other in same if other in known}


@cache
def themed(color: str) -> str:
    """Return the variable of a family of formats or of a slowdown with this light color, or the color itself."""
    names = (name for name, (light, _) in tokens().items() if name.startswith(THEMED) and light == color.lower())
    name = next(names, "")
    return f"var(--{name})" if name else color


def with_tokens(svg: str) -> str:
    """Return a drawing that carries the variables it uses, and follows the theme of the page that shows it."""
    used = dict.fromkeys(VARIABLE.findall(svg))
    values = ";".join(f"--{name}:light-dark({','.join(tokens()[name])})" for name in used)
    head, rest = svg.split(">", 1)
    return f"{head}><style>:root{{color-scheme:light dark;{values}}}</style>{rest}"


def light(svg: str) -> str:
    """Return a drawing in light colors that every program can read."""
    return PAIR.sub(r"\1", VARIABLE.sub(lambda match: tokens()[match[1]][0], svg))


def scale(stops: Sequence[Sequence[Any]]) -> Callable[[float], str]:
    """Return the function from a share (0 … 1) to its color on a color scale."""

    def color(share: float) -> str:
        share = min(max(share, float(stops[0][0])), float(stops[-1][0]))
        for (low, first), (high, second) in pairwise(stops):
            if share <= high:
                return _between(str(first), str(second), (share - low) / ((high - low) or 1.0))
        return str(stops[-1][1])

    return color


def is_dark(color: str) -> bool:
    """Return whether text on a color must be light."""
    red, green, blue = _channels(color)
    return 0.299 * red + 0.587 * green + 0.114 * blue < 128


def ink_on(color: str) -> str:
    """Return the color of text on a color of a drawing, in both themes if it is a variable."""
    match = VARIABLE.match(color)
    inks = [INKS[is_dark(each)] for each in (tokens()[match[1]] if match else (color,))]
    return inks[0] if len(set(inks)) == 1 else f"light-dark({','.join(inks)})"


def _between(first: str, second: str, share: float) -> str:
    pairs = [tokens()[match[1]] if (match := VARIABLE.match(each)) else (each, each) for each in (first, second)]
    mixed = [_mixed(one, other, share) for one, other in zip(*pairs, strict=True)]
    return mixed[0] if mixed[0] == mixed[1] else f"light-dark({mixed[0]},{mixed[1]})"


def _mixed(first: str, second: str, share: float) -> str:
    channels = (round(a + share * (b - a)) for a, b in zip(_channels(first), _channels(second), strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in channels)


def _channels(color: str) -> tuple[int, ...]:
    return tuple(int(color[place : place + 2], 16) for place in (1, 3, 5))
