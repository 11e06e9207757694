"""A run on a GPU that ends by itself: the test of convergence is a condition of the CUDA graph that the run is.

A condition that the graph looks at costs as long as a small iteration. γ falls by about the same factor in every
iteration, so most of them are made in chunks of which γ says that they are all needed, and only the last ones in pairs
with a look after each.
"""

from typing import Any

import numpy as np

from gpu_engine.cuda.conditional import if_true, new_handle, supported, while_true
from gpu_engine.pagerank.cuda_pulls import CHUNKS, CONVERGE
from gpu_engine.pagerank.cuda_ranks import CudaRanks
from gpu_engine.pagerank.graph import PageRankParams
from gpu_engine.pagerank.run import PLAIN

FIRST = 4
"""Iterations without a look: of two γ the factor is not known well."""

FULL = PLAIN.segments


def converging(ranks: CudaRanks, iterations: int, params: PageRankParams, xp: Any) -> "Converging | None":
    """A run that ends by itself where the driver has conditional nodes and it takes more than FIRST iterations."""
    return Converging(ranks, params, xp) if iterations > FIRST and supported() else None


class Converging:
    """A run of ranks in numbers, not segments, from where they are until γ < ε or iterations_max; at least FIRST."""

    def __init__(self, ranks: CudaRanks, params: PageRankParams, xp: Any) -> None:
        self._ranks, self._params, self._iterations = ranks, params, xp.zeros(1, np.int32)

    def ended(self) -> int:
        """Iterations of the last run, from which on the ranks are those that it left; waits for it."""
        iterations = int(self._iterations[0])
        self._ranks.turned(iterations)
        return iterations

    def launch(self) -> None:
        """Launches the run on the current stream, which must be captured: the graph is the run."""
        self._iterations.data.memset_async(0, self._iterations.nbytes)
        many, some, pair = (new_handle(0) for _ in range(3))
        self._chunk(FIRST, many, some, pair)
        for handle, length in zip((many, some), CHUNKS, strict=True):
            with while_true(handle):
                self._chunk(length, many, some, pair)
        with while_true(pair):
            second = new_handle(0)
            self._chunk(1, 0, 0, pair, second)
            with if_true(second):
                self._chunk(1, 0, 0, pair)

    def _chunk(self, length: int, *conditions: int) -> None:
        for _ in range(length - 1):
            self._ranks.pull(FULL, FULL)
            self._ranks.settle()
        self._ranks.pull(FULL, FULL)
        rule = np.float64(self._params.epsilon), np.int32(self._params.iterations_max), np.int32(length)
        handles = (np.uint64(handle) for handle in (*conditions, 0)[:4])
        self._ranks.settle_or_end(CONVERGE.function(CONVERGE.instantiations[0]), (*rule, self._iterations, *handles))
