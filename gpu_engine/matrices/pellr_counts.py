"""Counts of the PELLR paper, §3: work of warps with one thread per row, computed from the row lengths.

`lengths` are the row lengths in storage order, integers [n_rows]; empty rows fill the last warp.
"""

from typing import Any

import numpy as np

WARP = 32


def warp_iterations(lengths: Any, warp: int = WARP) -> int:
    """Return n_iter, equation (1): the sum over all warps of the length of their longest row."""
    if lengths.size == 0:
        return 0
    return int(np.maximum.reduceat(lengths, np.arange(0, lengths.size, warp)).sum(dtype=np.int64))


def warp_operations(lengths: Any, warp: int = WARP) -> int:
    """Return n_p, equation (2) as printed: 2·length − 1 per thread of each warp, so −1 for an empty or absent row."""
    warps = -(-int(lengths.size) // warp)
    return 2 * int(lengths.sum(dtype=np.int64)) - warp * warps
