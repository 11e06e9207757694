"""Sectors and lines that the threads of a warp touch together when each loads a value in segments.

Source: CPMS PageRank paper, §IV.A, which chooses blocks by the size of a cache line.
"""

from typing import Any

import numpy as np

from gpu_engine.cpms.layout import UNITS, group_size
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.formats.base import array_module

SECTOR_BYTES, LINE_BYTES, WARP = 32, 128, 32

SAMPLE = 4096
"""Loads that are looked at, evenly spread over warps and their steps."""


def loads_of_warps(pull: CsrMatrix, sample: int = SAMPLE) -> tuple[Any, Any]:
    """What the values are that a warp loads at once, with one thread a row: all loads of a small matrix, else a sample.

    Returns int64 [loads, 32] for CSR, entries, and for ELLPACK, slots in columns one after the other; −1 is a thread
    without a row or, in CSR, with none of its entries left.
    """
    starts = np.arange(0, pull.n_rows, WARP)
    steps = np.maximum.reduceat(np.diff(pull.indptr), starts).astype(np.int64) if starts.size else starts
    ends = np.cumsum(steps)
    taken = _spread(int(steps.sum()), sample)
    warp = np.searchsorted(ends, taken, side="right")
    step = (taken - (ends - steps)[warp])[:, None]
    rows = warp[:, None] * WARP + np.arange(WARP)
    exists, kept = rows < pull.n_rows, np.minimum(rows, pull.n_rows - 1)
    first = pull.indptr[kept].astype(np.int64)
    lengths = np.where(exists, pull.indptr[kept + 1] - first, 0)
    return np.where(step < lengths, first + step, -1), np.where(exists, step * pull.n_rows + rows, -1)


def granules_per_load(places: Any, segments: int, read: int, block_bytes: int, granule_bytes: int) -> float:
    """How many aligned pieces of so many bytes a load touches in the mean; 0 without a load.

    places       int64 [loads, 32] on any device, the value of each thread, −1 for none
    read         segments of each value; 0: numbers of fp64
    block_bytes  as `cpms.Segmented` has it
    """
    loads = places[(places >= 0).any(axis=1)]
    if not loads.size:
        return 0.0
    if not read:
        return _distinct(loads, [loads * 8], granule_bytes)
    unit = np.dtype(UNITS[segments]).itemsize
    if not block_bytes:
        # Arrays of their own share nothing.
        return read * _distinct(loads, [loads * unit], granule_bytes)
    size = group_size(segments, block_bytes)
    heads = loads // size * size * segments + loads % size
    return _distinct(loads, [(heads + segment * size) * unit for segment in range(read)], granule_bytes)


def _distinct(loads: Any, addresses: list[Any], granule_bytes: int) -> float:
    xp = array_module(loads)
    touched = xp.concatenate([xp.where(loads >= 0, each // granule_bytes, -1) for each in addresses], axis=1)
    touched.sort(axis=1)
    first, others = touched[:, :1] >= 0, touched[:, 1:]
    return float((first.sum() + ((others >= 0) & (others != touched[:, :-1])).sum()) / len(loads))


def _spread(count: int, most: int) -> Any:
    """At most so many of 0 … count − 1, evenly: int64 ascending."""
    return np.unique(np.linspace(0, max(count - 1, 0), min(count, most), dtype=np.int64))
