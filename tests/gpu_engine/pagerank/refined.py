"""A refinement in NumPy: the state that its procedure drives, with corrections in 32 or 64 bits."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gpu_engine.pagerank.graph import PageRankParams, TransitionMatrix
from gpu_engine.pagerank.kernels import RankKernel


class Refined:
    """p float64 [n]; rest and corrections as the kernel keeps them, corrections over the out-degree."""

    stored_bytes = 0

    def __init__(self, graph: TransitionMatrix, params: PageRankParams, kernel: RankKernel) -> None:
        self.undirected, self._graph, self._params = graph.undirected, graph, params
        self._number: Any = np.float32 if kernel.refined == 32 else np.float64
        self._pull, self._degrees = graph.pull.to_scipy(), np.maximum(graph.out_degrees, 1)

    def reset(self, first: int = 1) -> None:
        assert first == 1
        self._before: Any = None
        self.p = np.full(self._graph.n, 1.0 / max(self._graph.n, 1))

    def residual(self) -> None:
        self._rest = self._iterated(self.p, 1.0 - self._params.damping) - self.p
        self._gamma = float(np.abs(self._rest).sum())
        self._rest = self._rest.astype(self._number).astype(np.float64)
        self._correction = (self._rest / self._degrees).astype(self._number)

    def sweep(self, weight: float) -> None:
        old = self._correction.astype(np.float64) * self._degrees
        new = self._iterated(old, 0.0) + self._rest
        self._gamma = float(np.abs(new - old).sum())
        if weight != 1.0:
            before = self._before.astype(np.float64) * self._degrees
            new = before + weight * (new - before)
        self._before, self._correction = self._correction, (new / self._degrees).astype(self._number)

    def correct(self) -> None:
        self.p = self.p + self._correction.astype(np.float64) * self._degrees

    def norm(self) -> None: ...

    def gamma(self) -> float:
        return self._gamma

    def ranks(self) -> Any:
        return self.p

    def rewinder(self, first: int = 1) -> Callable[[], None]:
        return lambda: self.reset(first)

    def gather(self) -> None: ...

    def _iterated(self, p: Any, teleport: float) -> Any:
        s = p[self._graph.dangling].sum()
        spread = teleport + self._params.dangling_factor * s
        return self._params.damping * (self._pull @ p) + spread / max(self._graph.n, 1)
