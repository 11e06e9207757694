"""Colour, hatching, marker and line by format: a format looks the same in every figure, whatever else is shown.

Figures of batches tell kernels apart, of which a format has several: these share its colour, and the first its line.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from gpu_engine.batched import KERNELS
from gpu_engine.formats import FORMATS
from gpu_engine.multigpu.partition import PARTITIONINGS

OKABE_ITO = ("#0072B2", "#B87A00", "#009E73", "#C9709F", "#3A96D0", "#D55E00", "#8C8500")
"""Okabe and Ito's hues for colour-blind readers, without black, the light ones darker than theirs.

Each has a contrast of 3 to 1 at least with a light page and with a dark one.
"""

PATTERNS = ("", "/", "x", ".", "-")
"""Hatching of the first seven formats, of the next seven, and so on."""

DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
"""Lines of the first seven formats, of the next seven, and so on."""

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "x")

OTHERS = "#8A8A85"
"""Libraries that we are measured against are grey: they are the background of the comparison."""

SEQUENTIAL = ((0.0, "#9ecae1"), (0.5, "#3182bd"), (1.0, "#08306b"))
"""Few to many on a light page; the browser replaces it by the theme's own."""

CIVIDIS = ("#fee838", "#e1cc55", "#c3b369", "#666970", "#3f4a6a", "#00224e")
"""From near to far, for colour-blind readers too: Nuñez, Anderton, Renslow, PLOS ONE 13 (2018), without its middle."""


@dataclass(frozen=True, slots=True)
class Style:
    """How a format is drawn: a fill, a hatching, a marker and a line, each enough to tell it from its neighbours."""

    color: str
    pattern: str
    symbol: str
    dash: str


_POSITIONS = {name: index for index, name in enumerate(dict.fromkeys(entry.name for entry in FORMATS))}
_BATCHED = {kernel.name: index for index, kernel in enumerate(KERNELS)}
_FORMAT_OF = {"auto": "jad", "sliced": "sellp"}
"""Formats of batches alone → the format whose looks they have: slices are those of SELL-P, and no batch is of JAD."""
_PARTITIONINGS = {partitioning.name: index for index, partitioning in enumerate(PARTITIONINGS)}


def style(format_name: str) -> Style:
    """The style of a format of FORMATS by its place there; any other name is grey and hatched by its letters."""
    return _style(_POSITIONS.get(format_name), format_name)


def batch_style(kernel: str) -> Style:
    """The style of the format of a kernel of batches; its further kernels differ from the first in marker and line.

    Any other kernel is grey and hatched by its letters.
    """
    if kernel not in _BATCHED:
        return _style(None, kernel)
    name = kernel.partition("/")[0]
    look = style(_FORMAT_OF.get(name, name))
    number = [other for other in _BATCHED if other.partition("/")[0] == name].index(kernel)
    if not number:
        return look
    pattern, symbol, dash = (
        _further(every, own, number)
        for every, own in ((PATTERNS, look.pattern), (SYMBOLS, look.symbol), (DASHES, look.dash))
    )
    return Style(look.color, pattern, symbol, dash)


def partitioning_style(name: str) -> Style:
    """The style of a partitioning by its place in PARTITIONINGS; any other is grey and hatched by its letters."""
    return _style(_PARTITIONINGS.get(name), name)


def position(format_name: str) -> tuple[int, str]:
    """A sort key: formats in the order of FORMATS, then libraries by name."""
    return _POSITIONS.get(format_name, len(_POSITIONS)), format_name


def batch_position(kernel: str) -> tuple[int, str]:
    """A sort key: kernels of batches in the order of their KERNELS, then libraries by name."""
    return _BATCHED.get(kernel, len(_BATCHED)), kernel


def _further(every: Sequence[str], own: str, number: int) -> str:
    return every[(every.index(own) + number) % len(every)]


def _style(index: int | None, name: str) -> Style:
    if index is None:
        place = zlib.crc32(name.encode())
        hatched = 1 + place % (len(PATTERNS) - 1)
        return Style(OTHERS, PATTERNS[hatched], SYMBOLS[place % len(SYMBOLS)], DASHES[hatched])
    turn = index // len(OKABE_ITO)
    return Style(
        OKABE_ITO[index % len(OKABE_ITO)],
        PATTERNS[turn % len(PATTERNS)],
        SYMBOLS[(index + turn) % len(SYMBOLS)],
        DASHES[turn % len(DASHES)],
    )
