"""Groups of lanes: how the kernels of SpMM spread the columns and the nonzeros of a row over the lanes of a warp.

A group computes one row of Y, or a part of one. Each of its `width` lanes has `vector` neighboring columns; `split`
such sets of lanes share the nonzeros. Splitting pays if k is small: with k = 2 and one lane per row, an SpMM with a
27-point grid took 552 µs on an H100, and 164 µs with eight.
"""

from dataclasses import dataclass

from gpu_engine.formats.base import power_of_two

BLOCK, WARP = 256, 32
"""Threads of a block and of a warp."""

TILE = 32
"""Columns that a group computes at most; more columns are further groups, which read the matrix again."""

ALIGNMENT = 16
"""Bytes of the two columns that a lane loads at once."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Division of the lanes, all powers of two: vector 1 or 2; width · split ≤ WARP."""

    vector: int
    width: int
    split: int

    def grid(self, rows: int, k: int) -> tuple[int, int]:
        """Return the blocks along the rows and along the columns."""
        return -(-rows * self.width * self.split // BLOCK), -(-k // (self.width * self.vector))


def groups_for(k: int, mean: float, paired: bool) -> Groups:
    """Return the division for k columns and rows of `mean` nonzeros.

    paired  whether each two columns of X and Y are aligned to ALIGNMENT, so that a lane may load both at once
    """
    vector = 2 if paired else 1
    columns = min(k, TILE)
    width = power_of_two(-(-columns // vector))
    # The fewer columns a row has, the more of its nonzeros must be loaded at once to hide the latency.
    most = 8 if columns <= 4 else 4 if columns <= 8 else 2 if columns <= 16 or mean >= WARP else 1
    return Groups(vector, width, min(most, power_of_two(max(round(mean / 2), 1)), WARP // width))
