"""State of iterative refinement on a GPU: fp64 ranks, corrections in 32 or 64 bits, and no matrix values."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import inverse
from gpu_engine.pagerank.cuda_pulls import PULLS, SETTLE_BLOCK, SLOTS, pointer_of
from gpu_engine.pagerank.graph import PageRankParams, TransitionMatrix

NUMBERS = {32: ("float", np.float32), 64: ("double", np.float64)}
"""C++ type and dtype of a correction, by its bits."""

BLOCK = 256


def source_of(layout: str, bits: int, pointer: str) -> CudaSource:
    """Return all kernels of iterative refinement in a layout of PULLS, with corrections in `bits` bits."""
    number, _ = NUMBERS[bits]
    passes = (f"Residual<{number}>", f"Sweep<{number}, false>", f"Sweep<{number}, true>")
    names = [name for kind in passes for name in PULLS[layout].names(pointer, kind)]
    return CudaSource(__package__, "refine.cu", (*dict.fromkeys(names), f"correct<{number}>", "settle"))


class CudaRefined:
    """State of a run: p float64 [n], and in `bits` r and two corrections [n]; all except r over the out-degree."""

    def __init__(
        self, graph: TransitionMatrix, params: PageRankParams, layout: str, bits: Literal[32, 64], xp: Any
    ) -> None:
        self._n, self._xp, self._params = graph.n, xp, params
        self.undirected = graph.undirected
        self._pull = PULLS[layout](graph, xp, True)
        del self._pull.values
        order = self._pull.order
        degrees = xp.asarray(graph.out_degrees)
        self._degrees = degrees if order is None else degrees[order]
        self._count = int(graph.dangling.size)
        self._source = source_of(layout, bits, pointer_of(graph.pull))
        self._number, dtype = NUMBERS[bits]
        self._p = xp.zeros(graph.n)
        self._rest, *pair = (xp.zeros(graph.n, dtype) for _ in range(3))
        self._read, self._write = pair
        self._sums = tuple(xp.zeros(SLOTS, np.uint64) for _ in range(2))
        self._state = xp.zeros(3, np.float64)

    @property
    def stored_bytes(self) -> int:
        """Bytes of the pattern, the out-degrees, the ranks and the corrections."""
        arrays = self._degrees, self._p, self._rest, self._read, self._write
        return self._pull.nbytes + sum(int(array.nbytes) for array in arrays)

    def reset(self, first: int = 1) -> None:  # noqa: ARG002 (as State)
        """Set p := e/n and clear the sums."""
        n = max(self._n, 1)
        self._p[:] = 1.0 / n / self._xp.maximum(self._degrees, 1)
        for sums in self._sums:
            sums.fill(0)
        spread = self._params.dangling_factor * self._count / n
        self._state[:] = self._xp.asarray([(1.0 - self._params.damping + spread) / n, 0.0, 1.0])

    def rewinder(self, first: int = 1) -> Callable[[], None]:  # noqa: ARG002 (as State)
        """Return a reset for repeating the run that has just ended, also as a CUDA graph."""
        pair = self._read, self._write

        def rewind() -> None:
            self._read, self._write = pair
            self.reset()

        return rewind

    def residual(self) -> None:
        """Launch r := G(p) − p and d := r."""
        self._pass(f"Residual<{self._number}>", self._p, self._read, 1.0)

    def sweep(self, weight: float) -> None:
        """Launch the next correction, which overwrites the one before the last."""
        accelerated = "false" if weight == 1.0 else "true"
        self._pass(f"Sweep<{self._number}, {accelerated}>", self._read, self._write, weight)
        self._read, self._write = self._write, self._read

    def norm(self) -> None:
        """Launch the norm phase: γ and the base of the next correction."""
        self._norm_phase(0.0)

    def correct(self) -> None:
        """Launch p := p + d and the base of the next residual."""
        if self._n == 0:
            return
        arguments = np.int32(self._n), self._degrees, self._read, self._p, self._sums[1]
        kernel = self._source.function(f"correct<{self._number}>")
        kernel((-(-self._n // BLOCK),), (BLOCK,), arguments)
        self._norm_phase(1.0 - self._params.damping)

    def gamma(self) -> float:
        """Wait for and return the norm of the last residual or change."""
        return float(self._state[1])

    def ranks(self) -> Any:
        """Return a copy of p: float64 [n], on the host."""
        p = self._p * self._xp.maximum(self._degrees, 1)
        if self._pull.order is not None:
            p = p[inverse(self._pull.order)]
        return p if isinstance(p, np.ndarray) else p.get()

    def gather(self) -> None:
        """Return None, because there is no gather probe."""
        return

    def _pass(self, kind: str, read: Any, write: Any, weight: float) -> None:
        if self._n == 0:
            return
        factors = np.float64(self._params.damping), np.float64(weight)
        arguments = (self._degrees, read, write, self._rest, *factors, self._state, *self._sums)
        self._pull.launch(self._source, kind, self._state, arguments)

    def _norm_phase(self, teleport: float) -> None:
        if self._n == 0:
            return
        numbers = np.int32(self._n), np.float64(teleport), np.float64(self._params.dangling_factor)
        self._source.function("settle")((1,), (SETTLE_BLOCK,), (*numbers, self._state, *self._sums))
