"""Drawings of the CPMS PageRank paper: CSR and ELL (Figure 1), and the layout in two segments (Figure 2)."""

from functools import cache
from typing import Any

import numpy as np
from markupsafe import Markup

from gpu_engine.cpms.layout import BLOCK_BYTES, Segmented, allocate, read, write
from web.papers.drawings import formats
from web.papers.drawings.example import BORROWED
from web.papers.drawings.shapes import CELL, RECT, join, legend, sentence, svg, table

SEGMENTS = 2
PRIMES = tuple(n for n in range(2, 132) if all(n % divisor for divisor in range(2, n)))
"""Numbers whose square roots are the values of the group."""

EXAMPLES = (0, 1, 2, 31)
"""Values of a group that the table and the lines of Figure 2 show."""

LINE = Markup('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>')


@cache
def figure_1() -> Markup:
    """Return the example matrix and its arrays in CSR and ELL."""
    return join((formats.matrix(), formats.csr(), formats.ell(), sentence(BORROWED)))


@cache
def figure_2() -> Markup:
    """Return one group of values as fp64 and as two segments, and where the segments of a value lie."""
    values = group()
    segmented = allocate(values.size, SEGMENTS)
    write(segmented, values, SEGMENTS)
    return join(
        (
            sentence(
                f"A group has {values.size} values. Above: its {8 * values.size} bytes as fp64. Below: the same bytes "
                f"as {SEGMENTS} blocks of {BLOCK_BYTES} bytes. Lines lead from the two halves of a value to its "
                "segments. Each group is reordered in place, independently of the others. Sparsight uses this layout "
                "and also measures other block sizes."
            ),
            _units(values, segmented),
            legend({"segment-0": "first segment (upper 32 bits)", "segment-1": "second segment (lower 32 bits)"}),
            _offsets(values, segmented),
        )
    )


def group() -> Any:
    """Return the values of one group, √2, √3, √5, …, whose halves all differ: float64 [values of a group]."""
    return np.sqrt(np.array(PRIMES, dtype=np.float64))


def unit_moves(values: Any, segmented: Segmented) -> list[tuple[int, int, int]]:
    """Return (unit in fp64, unit in segments, segment) of each unit, found by the contents."""
    halves = [(bits >> 32, bits & 0xFFFFFFFF) for bits in map(int, values.view(np.uint64))]
    order = (1, 0)  # Position of the upper and lower half in memory: little-endian.
    units = segmented.units.tolist()
    return [
        (SEGMENTS * value + order[segment], _index(units, half, segment), segment)
        for value, pair in enumerate(halves)
        for segment, half in enumerate(pair)
    ]


def _index(units: list[int], half: int, segment: int) -> int:
    """Return the unit with these bits in the block of a segment; equal bits exist only in other blocks."""
    size = len(units) // SEGMENTS
    return units.index(half, segment * size, (segment + 1) * size)


def _units(values: Any, segmented: Segmented) -> Markup:
    """Return both arrays as rows of cells, with lines for the shown values."""
    moves, height = unit_moves(values, segmented), 7 * CELL
    side = CELL - 1
    shapes = []
    for before, after, segment in moves:
        name = f"segment-{segment}"
        shapes += [RECT.format(name, CELL * before, 0, side, CELL), RECT.format(name, CELL * after, height, side, CELL)]
        if before // SEGMENTS in EXAMPLES:
            shapes.append(LINE.format(name, CELL * before + side / 2, CELL, CELL * after + side / 2, height))
    label = f"{values.size} values as fp64 and as {SEGMENTS} segments in blocks of {BLOCK_BYTES} bytes"
    return svg(label, CELL * SEGMENTS * values.size, height + CELL, join(shapes))


def _offsets(values: Any, segmented: Segmented) -> Markup:
    """Return the bytes of the shown values, and what the first segment alone represents."""
    moves = unit_moves(values, segmented)
    first = read(segmented, 1)
    rows = []
    for value in EXAMPLES:
        places = [4 * after for before, after, _ in moves if before // SEGMENTS == value]
        bits = int(values.view(np.uint64)[value])
        texts = (
            f"{bits >> 32:08x}",
            f"{places[0]}",
            f"{bits & 0xFFFFFFFF:08x}",
            f"{places[1]}",
            f"{first[value]:.10f}",
        )
        rows.append((f"√{PRIMES[value]}", [(text, "") for text in texts]))
    heads = ("value", "first segment", "at byte", "second segment", "at byte", "read from the first")
    return table("Segments of four values as hexadecimal numbers, and their positions", heads, rows)
