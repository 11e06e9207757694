"""Palette: color, hatching, marker, and line by format; a format looks the same in all figures.

Pictures drawn by the server use `mark_of`: the hue is the family of the format, the form is the kernel.

Batched figures distinguish kernels: those of a format share its color, except BATCHED_HUES, and the first its line.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpu_engine import spmm
from gpu_engine.batched import KERNELS
from gpu_engine.findings.spmm.names import SPMV, spmvs_of
from gpu_engine.formats import FORMATS, csr
from gpu_engine.multigpu.partition import PARTITIONINGS

OKABE_ITO = ("#0072B2", "#B87A00", "#009E73", "#C9709F", "#3A96D0", "#D55E00", "#8C8500")
"""Hues of Okabe and Ito for color-blind readers, without black and with darker light hues.

Each has a contrast of at least 3:1 with a light page and with a dark one.
"""

PATTERNS = ("", "/", "x", ".", "-", "+")
"""Hatching of the members of a family in order."""

DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
"""Line styles of the members of a family in order."""

BATCHED_HUES = {
    "csr/vector": OKABE_ITO[5],
    "csr/smart": "#8A63D2",
    "csri/warp": OKABE_ITO[3],
    "auto/flexible": OKABE_ITO[6],
    "auto/shared": OKABE_ITO[6],
}
"""Batched kernel → its hue, if it is not that of its format: Figure 4 of the batched SpMV paper compares CSR kernels.

Kernels that choose among formats have one too. No other batched kernel has one of these hues.
Each has a contrast of at least 3:1 with a light page and with a dark one.
"""

SPMV_HUE = "#8A63D2"
"""Hue of k SpMVs, the alternative to one SpMM; their kernels differ by marker and line. No SpMM has it."""

SYMBOLS = ("circle", "diamond", "triangle-up", "cross", "star", "x", "triangle-down")
"""Markers in figures; squares are of libraries."""

OTHERS = "#8A8A85"
"""Gray of library kernels, the background of the comparison."""

SEQUENTIAL = ((0.0, "#9ecae1"), (0.5, "#3182bd"), (1.0, "#08306b"))
"""Color scale from few to many on a light page; the browser replaces it with that of the theme."""

HEAT = ("#0a4a63", "#2d7896", "#6ba6bd", "#a6cad7", "#d3e3ea", "#eef2f4")
"""Colors of slowdowns on a light page, the fastest kernel first: `--heat-0` … of the style sheet, as in the tables."""


@dataclass(frozen=True, slots=True)
class Style:
    """Look of a format: fill, hatching, marker, and line, each of which identifies it."""

    color: str
    pattern: str
    symbol: str
    dash: str


FAMILIES = {
    "of-csr": ("csr", "csri", "csc", "bcsr"),
    "of-tiles": ("split", "packed", "cache-blocked", "propagation-blocked"),
    "of-ell": ("ell", "ellr", "pellr", "jad", "biell", "bijad"),
    "of-sliced": ("sellp", "sellp-64", "sellp-sorted", "sellp-packed", "pellr-sliced", "symmetric", "sliced"),
    "of-coo": ("coo",),
    "of-hyb": ("hyb", "hyb-mean"),
    "of-none": ("auto", SPMV),
}
"""Class of the color of a family → its formats; a format that chooses among formats has no hue, nor have k SpMVs."""

FAMILY_NAMES = {
    "of-csr": "CSR",
    "of-tiles": "tiles",
    "of-ell": "ELL",
    "of-sliced": "sliced",
    "of-coo": "COO",
    "of-hyb": "HYB",
    "of-library": "libraries",
    "of-none": "choices",
}
"""Class of the color of a family → its name on pages."""

HUES = {
    "of-csr": "#2b7fd0",
    "of-tiles": "#d9570d",
    "of-ell": "#0f9f8a",
    "of-sliced": "#b5529c",
    "of-coo": "#94721a",
    "of-hyb": "#7a64d6",
}
"""Class of the color of a family → its color in figures, the same on a light page and on a dark one.

Each has a contrast of at least 3:1 with both. The style sheet has a shade for each page.
"""

FORMS = ("circle", "diamond", "triangle", "cross", "ring")
"""Forms of the marks of a family, in the order of its kernels; libraries are always squares."""

SYMBOL_OF_FORM = {"triangle": "triangle-up", "ring": "circle-open"}
"""Form of a mark → its marker in figures, if they have different names."""

_FAMILY_OF = {name: color for color, names in FAMILIES.items() for name in names}
_POSITIONS = {name: index for index, name in enumerate(dict.fromkeys(entry.name for entry in FORMATS))}
_BATCHED = {kernel.name: index for index, kernel in enumerate(KERNELS)}
_SPMM = {kernel.name: index for index, kernel in enumerate(spmm.KERNELS)}
_SPMVS = {spmvs_of(csr.FORMAT.name_of(kernel)): index for index, kernel in enumerate(csr.FORMAT.kernels)}
_FORMAT_OF = {"auto": "jad", "sliced": "sellp"}
"""Format that only batches have → format whose look it uses: SELL-P for slices; no batched kernel uses JAD."""
_MEMBERS = {
    name: index
    for color in FAMILIES
    for index, name in enumerate(
        dict.fromkeys(
            kernel
            for kernel in (*(entry.name_of(k) for entry in FORMATS for k in entry.kernels), *_BATCHED, *_SPMM)
            if _FAMILY_OF.get(kernel.partition("/")[0]) == color
        )
    )
}
"""Kernel → its position in its family."""
_PARTITIONINGS = {partitioning.name: index for index, partitioning in enumerate(PARTITIONINGS)}


def style(format_name: str) -> Style:
    """Return the style of a format: the color of its family; any other name is gray, hatched by its hash."""
    if format_name not in _POSITIONS or family(format_name) not in HUES:
        return _style(None, format_name)
    place = [name for name in _POSITIONS if family(name) == family(format_name)].index(format_name)
    return Style(
        HUES[family(format_name)],
        PATTERNS[place % len(PATTERNS)],
        SYMBOLS[place % len(SYMBOLS)],
        DASHES[place % len(DASHES)],
    )


def family(format_name: str) -> str:
    """Return the class of the color of a format or a library."""
    return _FAMILY_OF.get(format_name, "of-library")


def mark_of(kernel: str) -> tuple[str, str]:
    """Return the color class and the form of the mark of `format/variant`, a batched kernel, or a library kernel."""
    color = family(kernel.partition("/")[0])
    if color == "of-library":
        return color, "square"
    return color, FORMS[_MEMBERS.get(kernel, 0) % len(FORMS)]


def symbol_of(kernel: str) -> str:
    """Return the marker of a kernel in figures: the form of its mark in tables."""
    form = mark_of(kernel)[1]
    return SYMBOL_OF_FORM.get(form, form)


def batch_style(kernel: str) -> Style:
    """Return the style of a batched kernel: that of its format, with another marker and line for further kernels.

    Kernels of BATCHED_HUES have a color of their own. Any other kernel is gray, hatched by its hash.
    """
    if kernel not in _BATCHED:
        return _style(None, kernel)
    name = kernel.partition("/")[0]
    look = style(_FORMAT_OF.get(name, name))
    number = [other for other in _BATCHED if other.partition("/")[0] == name].index(kernel)
    if not number:
        return replace(look, color=BATCHED_HUES.get(kernel, look.color))
    pattern, symbol, dash = (
        _further(options, first, number)
        for options, first in ((PATTERNS, look.pattern), (SYMBOLS, look.symbol), (DASHES, look.dash))
    )
    return Style(BATCHED_HUES.get(kernel, look.color), pattern, symbol, dash)


def spmm_style(kernel: str) -> Style:
    """Return the style of a kernel of SpMM by its position in KERNELS, or of k SpMVs.

    Any other kernel is gray, hatched by its hash.
    """
    place = _SPMVS.get(kernel)
    if place is None:
        return _style(_SPMM.get(kernel), kernel)
    return Style(SPMV_HUE, *(options[place % len(options)] for options in (PATTERNS, SYMBOLS, DASHES)))


def partitioning_style(name: str) -> Style:
    """Return the style of a partitioning by its position in PARTITIONINGS; any other is gray, hatched by its hash."""
    return _style(_PARTITIONINGS.get(name), name)


def position(format_name: str) -> tuple[int, str]:
    """Return a sort key: formats in the order of FORMATS, then libraries by name."""
    return _POSITIONS.get(format_name, len(_POSITIONS)), format_name


def batch_position(kernel: str) -> tuple[int, str]:
    """Return a sort key: batched kernels in the order of KERNELS, then libraries by name."""
    return _BATCHED.get(kernel, len(_BATCHED)), kernel


def spmm_position(kernel: str) -> tuple[int, str]:
    """Return a sort key: kernels of SpMM in the order of KERNELS, then library kernels by name, then k SpMVs."""
    if kernel in _SPMVS:
        return len(_SPMM) + 1 + _SPMVS[kernel], kernel
    return _SPMM.get(kernel, len(_SPMM)), kernel


def _further(options: Sequence[str], first: str, number: int) -> str:
    return options[(options.index(first) + number) % len(options)]


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
