"""Algorithm 1 with mantissa segmentation in NumPy: slow, masks bits by itself, and says how many iterations to expect.

Source: CPMS PageRank paper, §IV. Arithmetic is fp64; matrix values and ranks hold only the bits of the segments read.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from gpu_engine.pagerank.graph import PageRankParams, TransitionMatrix
from gpu_engine.pagerank.schedule import Schedule, advance, ends, start
from tests.gpu_engine.cpms.bits import rounded


@dataclass(frozen=True, slots=True)
class Run:
    """p float64 [n]; per iteration γ, and the segments written."""

    p: Any
    gammas: tuple[float, ...]
    written: tuple[int, ...]


def cut(values: Any, bits: int) -> Any:
    """The values with only their first `bits` bits, the others zero: rounded towards zero."""
    mask = np.uint64((2**bits - 1) << (64 - bits))
    return (np.ascontiguousarray(values, dtype=np.float64).view(np.uint64) & mask).view(np.float64)


def kept(values: Any, schedule: Schedule, k: int) -> Any:
    """The values as k segments of this schedule have them."""
    if not schedule.short:
        return cut(values, 64 // schedule.segments * k)
    # A rounded head has one bit less than those that it is right to.
    return values if k == schedule.segments else rounded(values, schedule.mantissa_bits(k) - 1)


def emulate(graph: TransitionMatrix, params: PageRankParams, schedule: Schedule) -> Run:
    """A run as the kernels do it; `norm` must be L1 and `dangling` teleport, for which the schedule is made."""
    pull = graph.pull.to_scipy()
    pulls = {
        k: scipy.sparse.csr_array((kept(pull.data, schedule, k), pull.indices, pull.indptr), shape=pull.shape)
        for k in range(1, schedule.segments + 1)
    }
    n, step = max(graph.n, 1), start(schedule)
    p = kept(np.full(graph.n, 1.0 / n), schedule, step.read)
    gammas: list[float] = []
    written: list[int] = []
    while len(gammas) < params.iterations_max:
        s = p[graph.dangling].sum()
        new = params.damping * (pulls[step.read] @ p) + (1.0 - params.damping + params.damping * s) / n
        new = kept(new, schedule, step.write)
        gammas.append(float(np.abs(new - p).sum()))
        written.append(step.write)
        p = kept(new / new.sum(), schedule, step.write) if step.transition and graph.n else new
        step = advance(schedule, step, gammas[-1])
        if ends(step, params.epsilon):
            break
    return Run(p, tuple(gammas), tuple(written))
