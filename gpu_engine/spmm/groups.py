"""Groups of lanes: how the kernels of SpMM spread the columns and the nonzeros of a row over the lanes of a warp.

A group computes one row of Y, or a part of one. Each of its `width` lanes has `vector` neighboring columns; `split`
such sets of lanes share the nonzeros. Splitting pays if k is small: with k = 2 and one lane per row, an SpMM with a
27-point grid took 552 µs on an H100, and 164 µs with eight. Four columns per lane pay from k = 4 on: with k = 128, the
same SpMM took 1,600 µs with two columns per lane, and 1,121 µs with four.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from gpu_engine.formats.base import power_of_two

BLOCK, WARP = 256, 32
"""Threads of a block and of a warp."""

VECTORS = (1, 2, 4)
"""Columns of a lane."""

ALIGNMENT = 16
"""Bytes of the two columns that a lane loads at once."""

LANES = 1 << 18
"""Lanes that fill a GPU; a matrix with fewer is split further."""


@dataclass(frozen=True, slots=True)
class Split:
    """How many nonzeros of a row a lane should add up, and the most sets of lanes that share a row."""

    nonzeros: float
    most: int


Splits = Mapping[int, Split]
"""The split by width; a width without one is not split."""

ROWS: Splits = {1: Split(3, 8), 2: Split(3, 4), 4: Split(5, 4), 8: Split(8, 2), 16: Split(16, 2)}
"""For nonzeros row by row: neighboring lanes read neighboring nonzeros only if they share a row."""

SLICES: Splits = {1: Split(9, 4), 2: Split(13, 2)}
"""For nonzeros by slices, where lanes of neighboring rows read neighboring nonzeros."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Division of the lanes, all powers of two: vector 1, 2 or 4; width · split ≤ WARP."""

    vector: int
    width: int
    split: int

    def grid(self, rows: int, k: int) -> tuple[int, int]:
        """Return the blocks along the rows and along the columns."""
        return -(-rows * self.width * self.split // BLOCK), -(-k // (self.width * self.vector))


def groups_for(k: int, rows: int, mean: float, vector: int, splits: Splits = ROWS, columns: int = 128) -> Groups:
    """Return the division for k columns and `rows` rows, or segments, of `mean` nonzeros.

    vector   columns of a lane, as `vector_of` returns them
    columns  most columns of a group; more columns are further groups, which read the matrix again
    """
    width = min(power_of_two(-(-min(k, columns) // vector)), WARP)
    split = splits.get(width, Split(math.inf, 1))
    sets = min(nearest_power_of_two(mean / split.nonzeros), split.most)
    if rows * width * sets < LANES:
        sets *= 2
    return Groups(vector, width, min(sets, WARP // width, power_of_two(max(round(mean / 2), 1))))


def nearest_power_of_two(ratio: float) -> int:
    """Return the power of two with the nearest logarithm, at least 1."""
    return 1 << round(math.log2(ratio)) if ratio > 1 else 1
