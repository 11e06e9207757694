"""Sectors and cache lines that a warp touches when each of its threads loads a value in segments.

Source: CPMS PageRank paper, §IV.A, which chooses blocks by the size of a cache line.
"""

from typing import Any

import numpy as np

from gpu_engine.cpms.layout import UNITS, group_size
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.formats.base import array_module

SECTOR_BYTES, LINE_BYTES, WARP = 32, 128, 32

SAMPLE = 4096
"""Number of sampled loads, evenly spread over warps and their steps."""


def loads_of_warps(pull: CsrMatrix, sample: int = SAMPLE) -> tuple[Any, Any]:
    """Return the indices of the values that a warp loads at once, with one thread per row; a sample for large matrices.

    Two arrays int64 [loads, 32]: for CSR, indices of nonzeros, and for ELLPACK, of slots, column by column; −1 for a
    thread without a row or, in CSR, without remaining nonzeros.
    """
    starts = np.arange(0, pull.n_rows, WARP)
    steps = np.maximum.reduceat(np.diff(pull.indptr), starts).astype(np.int64) if starts.size else starts
    ends = np.cumsum(steps)
    loads = _spread(int(steps.sum()), sample)
    warp = np.searchsorted(ends, loads, side="right")
    step = (loads - (ends - steps)[warp])[:, None]
    rows = warp[:, None] * WARP + np.arange(WARP)
    exists, valid = rows < pull.n_rows, np.minimum(rows, pull.n_rows - 1)
    first = pull.indptr[valid].astype(np.int64)
    lengths = np.where(exists, pull.indptr[valid + 1] - first, 0)
    return np.where(step < lengths, first + step, -1), np.where(exists, step * pull.n_rows + rows, -1)


def transactions_per_load(indices: Any, segments: int, read: int, block_bytes: int, transaction_bytes: int) -> float:
    """Return the mean number of aligned pieces of `transaction_bytes` bytes that a load touches; 0 without loads.

    indices      int64 [loads, 32] on any device, the value that each thread loads, −1 for none
    read         segments of each value; 0: fp64
    block_bytes  as in `cpms.Segmented`
    """
    loads = indices[(indices >= 0).any(axis=1)]
    if not loads.size:
        return 0.0
    if not read:
        return _distinct(loads, [loads * 8], transaction_bytes)
    unit = np.dtype(UNITS[segments]).itemsize
    if not block_bytes:
        # Separate arrays share no sectors.
        return read * _distinct(loads, [loads * unit], transaction_bytes)
    size = group_size(segments, block_bytes)
    heads = loads // size * size * segments + loads % size
    return _distinct(loads, [(heads + segment * size) * unit for segment in range(read)], transaction_bytes)


def _distinct(loads: Any, addresses: list[Any], transaction_bytes: int) -> float:
    xp = array_module(loads)
    touched = xp.concatenate([xp.where(loads >= 0, each // transaction_bytes, -1) for each in addresses], axis=1)
    touched.sort(axis=1)
    first, others = touched[:, :1] >= 0, touched[:, 1:]
    return float((first.sum() + ((others >= 0) & (others != touched[:, :-1])).sum()) / len(loads))


def _spread(count: int, most: int) -> Any:
    """Return at most `most` of 0 … count − 1, evenly spread: int64, ascending."""
    return np.unique(np.linspace(0, max(count - 1, 0), min(count, most), dtype=np.int64))
