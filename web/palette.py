"""Colour, hatching and marker by format: a format looks the same in every figure, whatever else is shown."""

import zlib
from dataclasses import dataclass

from gpu_engine.formats import FORMATS

OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
"""Okabe and Ito's colours for colour-blind readers, without black, which a dark page would swallow."""

PATTERNS = ("", "/", "x", ".", "-")
"""Hatching of the first seven formats, of the next seven, and so on."""

DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
"""Lines of the first seven formats, of the next seven, and so on."""

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "x")

OTHERS = "#8A8A85"
"""Libraries that we are measured against are grey: they are the background of the comparison."""

SEQUENTIAL = ((0.0, "#9ecae1"), (0.5, "#3182bd"), (1.0, "#08306b"))
"""Few to many on a light page; the browser replaces it by the theme's own."""


@dataclass(frozen=True, slots=True)
class Style:
    """How a format is drawn: a fill, a hatching, a marker and a line, each enough to tell it from its neighbours."""

    color: str
    pattern: str
    symbol: str
    dash: str


_POSITIONS = {entry.name: index for index, entry in enumerate(FORMATS)}


def style(format_name: str) -> Style:
    """The style of a format of FORMATS by its place there; any other name is grey and hatched by its letters."""
    index = _POSITIONS.get(format_name)
    if index is None:
        place = zlib.crc32(format_name.encode())
        hatched = 1 + place % (len(PATTERNS) - 1)
        return Style(OTHERS, PATTERNS[hatched], SYMBOLS[place % len(SYMBOLS)], DASHES[hatched])
    turn = index // len(OKABE_ITO)
    return Style(
        OKABE_ITO[index % len(OKABE_ITO)],
        PATTERNS[turn % len(PATTERNS)],
        SYMBOLS[(index + turn) % len(SYMBOLS)],
        DASHES[turn % len(DASHES)],
    )


def position(format_name: str) -> tuple[int, str]:
    """A sort key: formats in the order of FORMATS, then libraries by name."""
    return _POSITIONS.get(format_name, len(_POSITIONS)), format_name
