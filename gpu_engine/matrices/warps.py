"""What a warp that gives each row a thread has to do: the arithmetic of the PELLR paper, §3, by row lengths alone.

`lengths` are the row lengths in the order of storage, integers [n_rows]; the last warp is filled up with empty rows.
"""

from typing import Any

import numpy as np

WARP = 32


def iterations(lengths: Any, warp: int = WARP) -> int:
    """n_iter, equation (1): a warp iterates as often as its longest row has entries; the sum over the warps."""
    if lengths.size == 0:
        return 0
    return int(np.maximum.reduceat(lengths, np.arange(0, lengths.size, warp)).sum(dtype=np.int64))


def computations(lengths: Any, warp: int = WARP) -> int:
    """n_p, equation (2) as printed: 2·length − 1 for each thread of each warp, so −1 where a row is empty or absent."""
    warps = -(-int(lengths.size) // warp)
    return 2 * int(lengths.sum(dtype=np.int64)) - warp * warps
