"""The text of the CPMS PageRank paper in plain NumPy, which calls nothing of the product.

Algorithm 1 with δ·s/n, the mantissa segmentation of §IV.A by masking bits, and the precision change of §IV.B with the
switch rule of docs/pagerank.md, because the paper only says "close to the current working precision".
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

DAMPING, EPSILON = 0.85, 1e-10
"""δ and ε of §V."""

BITS, EXPONENT_AND_SIGN = 64, 12
NEAR, STALL = 16.0, 0.98
ITERATIONS_MAX = 1000


@dataclass(frozen=True, slots=True)
class Result:
    """Ranks, float64 [n], and the iterations by the segments that they wrote: the row of Table II."""

    ranks: Any
    counts: tuple[int, ...]


def strict_lower(sources: Any, targets: Any) -> tuple[Any, Any]:
    """Return the links of the lower triangle: the paper treats symmetric problems so."""
    below = sources > targets
    return sources[below], targets[below]


def first_bits(values: Any, bits: int) -> Any:
    """Return the values with all but their first `bits` bits set to zero."""
    mask = np.uint64(((1 << bits) - 1) << (BITS - bits))
    return (np.ascontiguousarray(values).view(np.uint64) & mask).view(np.float64)


def pagerank(n: int, sources: Any, targets: Any, segments: int) -> Result:
    """Return the result of a graph of n pages with links from sources to targets; one segment is fp64."""
    out_degrees = np.bincount(sources, minlength=n)
    dangling = np.flatnonzero(out_degrees == 0)
    links = 1.0 / out_degrees[sources]
    width = BITS // segments
    stored = [first_bits(links, width * k) for k in range(1, segments + 1)]
    # A change of precision goes over one iteration that reads the old precision and writes the new one.
    read = write = 1
    p = first_bits(np.full(n, 1.0 / n), width)
    counts, before = [0] * segments, np.inf
    for _ in range(ITERATIONS_MAX):
        s = p[dangling].sum()
        pulled = np.bincount(targets, weights=stored[read - 1] * p[sources], minlength=n)
        new = first_bits(DAMPING * pulled + (1.0 - DAMPING) / n + DAMPING * s / n, width * write)
        gamma = np.abs(new - p).sum()
        counts[write - 1] += 1
        raised = write > read
        p = first_bits(new / new.sum(), width * write) if raised else new
        read = write
        resolution = 2.0 ** (EXPONENT_AND_SIGN - width * read)
        stalls = not raised and gamma > STALL * before
        if read < segments and (gamma <= NEAR * resolution or stalls):
            write = read + 1
        elif gamma < EPSILON:
            break
        before = np.inf if raised else gamma
    return Result(p, tuple(counts))
