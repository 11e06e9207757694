"""Ranks on a GPU: the state of a run in device memory, for each way to store ranks and matrix values.

Used as those of cpu_ranks.py. An iteration is two launches: the pull with all that a page has to do for itself, and one
warp that turns the sums into γ and the base of the next iteration.
"""

from typing import Any

import numpy as np

from gpu_engine import cpms
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import POINTERS, max_row_length
from gpu_engine.formats.ell import fill_slots
from gpu_engine.pagerank.graph import PageRankParams, TransitionMatrix

FP64, FP32 = "Fp64", "Fp32"
STEPS = {segments: [(k, w) for k in range(1, segments) for w in (k, k + 1)] for segments in cpms.SEGMENTS}
"""(segments read, written) of the iterations in segments: at full precision everything is fp64."""


def head(segments: int, k: int) -> str:
    """The C++ type of values of which the first k segments are used."""
    return f"Head<{segments}, {k}>"


STORED = ((FP64, FP64), (FP32, FP32), *((head(s, k), head(s, w)) for s in STEPS for k, w in STEPS[s]))
"""(type that is read, type that is written)."""

WRITTEN = tuple(dict.fromkeys(head(s, w) for s in STEPS for k, w in STEPS[s] if w > k))
"""What a transition scales."""

SOURCE = CudaSource(
    __package__,
    "iterate.cu",
    (
        *(f"csr_thread<{pointer}, {read}, {read}, {write}>" for pointer in POINTERS for read, write in STORED),
        *(f"ell_thread<{read}, {read}, {write}>" for read, write in STORED),
        *(f"csr_free<{pointer}, {FP64}, {FP64}>" for pointer in POINTERS),
        *(f"{kernel}<{stored}>" for kernel in ("add_mass", "scale") for stored in WRITTEN),
        *("next_iteration", "set_factor", "set_base"),
    ),
)
BLOCK = 128
WARP = 32
SLOTS = 1024
"""As ranks.cuh has it."""

NORMS = {"L1": 0, "L2": 1, "Linf": 2}
STATE = ("base", "gamma", "factor", "finished", "done")
"""Fields of the State of ranks.cuh, 8 bytes each; the last two are integers."""


class CudaRanks:
    """Ranks in fp64, fp32 or segments with the matrix in CSR or ELL, or in fp64 and CSR without values ("free")."""

    def __init__(
        self,
        graph: TransitionMatrix,
        params: PageRankParams,
        layout: str,
        storage: str | int,
        xp: Any,
    ) -> None:
        """layout  "csr", "ell" or "free"; storage  FP64, FP32 or a number of segments; xp  CuPy"""
        self._xp, self._params, self._n = xp, params, graph.n
        self._layout = layout
        self._segments = storage if isinstance(storage, int) else 0
        self._storage = FP64 if self._segments else storage
        dangling = np.zeros(graph.n, np.uint8)
        dangling[graph.dangling] = 1
        self._dangling, self._count = xp.asarray(dangling), int(graph.dangling.size)
        self._degrees = xp.asarray(graph.out_degrees)
        self._pattern, values = self._matrix(graph)
        self._entries = values.size
        self._values = self._stored(values)
        self._p, self._next = self._stored(xp.zeros(graph.n)), self._stored(xp.zeros(graph.n))
        self._changes, self._lost = xp.zeros(SLOTS, np.uint64), xp.zeros(SLOTS, np.uint64)
        self._state = xp.zeros(len(STATE), np.float64)
        self._history = xp.zeros(params.iterations_max)
        self._plain = not self._segments
        self._read = 0

    def reset(self, first: int = 1) -> None:
        """p := e/n in the first segments; the sums are empty and no iteration is finished."""
        value, n = 1.0 / max(self._n, 1), max(self._n, 1)
        if self._segments and self._plain:
            self._values = cpms.to_cpms(self._values, self._entries, self._segments)
            self._p, self._next = (cpms.to_cpms(a, self._n, self._segments) for a in (self._p, self._next))
            self._plain = False
        if self._plain:
            self._p.fill(value)
            if self._layout == "free":
                self._p /= self._xp.maximum(self._degrees, 1)
            kept = float(np.asarray(value, np.float32)) if self._storage == FP32 else value
        else:
            cpms.write(self._p, self._xp.full(self._n, value), first)
            kept = float(cpms.read(self._p, first)[0]) if self._n else 0.0
        self._read = first
        for sums in (self._changes, self._lost, self._state):
            sums.fill(0)
        spread = self._params.dangling_factor * kept * self._count
        self._state[0] = (1.0 - self._params.damping + spread) / n
        if self._segments and first == self._segments:
            self._convert()

    def step(self, read: int, write: int) -> float:
        """One iteration; waits for it and returns γ of the values as stored."""
        self.launch(read, write)
        return float(self._state[1])

    def launch(self, read: int, write: int, may_end: bool = False) -> None:
        """One iteration, launched on the current stream; `may_end`: iterations after γ < ε do nothing."""
        if self._n == 0:
            return
        kinds = (self._storage,) * 2 if self._plain else (head(self._segments, read), head(self._segments, write))
        sums = np.int32(NORMS[self._params.norm]), self._state, self._changes, self._lost
        ranks = self._array(self._p), self._array(self._next), np.float64(self._params.damping), *sums
        pointer = POINTERS[self._pattern[0].dtype.itemsize == 8]
        if self._layout == "free":
            self._pages(f"csr_free<{pointer}, {kinds[0]}, {kinds[1]}>", *self._pattern, self._degrees, *ranks)
        else:
            types = f"{kinds[0]}, {kinds[0]}, {kinds[1]}"
            name = f"csr_thread<{pointer}, {types}>" if self._layout == "csr" else f"ell_thread<{types}>"
            self._pages(name, *self._pattern, self._array(self._values), self._dangling, *ranks)
        self._p, self._next, self._read = self._next, self._p, write
        damping, epsilon = np.float64(self._params.damping), np.float64(self._params.epsilon)
        spread, ends = np.float64(self._params.dangling_factor), np.int32(may_end)
        history = self._history, np.int32(self._history.size)
        arguments = np.int32(self._n), damping, spread, epsilon, sums[0], ends, *sums[1:], *history
        SOURCE.function("next_iteration")((1,), (WARP,), arguments)

    def raise_precision(self, k: int) -> None:
        """Scales the ranks, written in k segments, to ‖p‖₁ = 1; with all segments, turns everything into fp64."""
        if not self._segments or self._n == 0:
            return
        kind, p = head(self._segments, k), self._array(self._p)
        self._pages(f"add_mass<{kind}>", p, self._lost)
        SOURCE.function("set_factor")((1,), (WARP,), (self._state, self._lost))
        self._pages(f"scale<{kind}>", p, self._dangling, self._state, self._lost)
        damping, spread = np.float64(self._params.damping), np.float64(self._params.dangling_factor)
        SOURCE.function("set_base")((1,), (WARP,), (np.int32(self._n), damping, spread, self._state, self._lost))
        if k == self._segments:
            self._convert()

    def ranks(self) -> Any:
        """A copy of p: float64 [n], on the host."""
        p = self._p[: self._n].astype(np.float64) if self._plain else cpms.read(self._p, self._read)
        if self._layout == "free":
            p = p * self._xp.maximum(self._degrees, 1)
        return p if isinstance(p, np.ndarray) else p.get()

    def _pages(self, kernel: str, *arguments: Any) -> None:
        """A launch of one thread a page, the number of pages first."""
        SOURCE.function(kernel)((-(-self._n // BLOCK),), (BLOCK,), (np.int32(self._n), *arguments))

    def _matrix(self, graph: TransitionMatrix) -> tuple[tuple[Any, ...], Any]:
        """The pattern as the kernel of the layout takes it, and the values, on the device."""
        pull, xp = graph.pull, self._xp
        if self._layout == "ell":
            columns, values = fill_slots(pull, max_row_length(pull), None, 0)
            return (np.int32(columns.shape[0]), xp.asarray(columns.ravel())), xp.asarray(values.ravel())
        return (xp.asarray(pull.indptr), xp.asarray(pull.indices)), xp.asarray(pull.values)

    def _stored(self, values: Any) -> Any:
        """The values as the storage has them."""
        if self._segments:
            return cpms.to_cpms(cpms.padded(values, self._segments), values.size, self._segments)
        return values.astype(np.float32 if self._storage == FP32 else np.float64)

    def _convert(self) -> None:
        """Everything into fp64, in place: plain kernels take over."""
        for segmented in (self._values, self._p, self._next):
            cpms.to_ieee(segmented)
        self._values, self._p, self._next = (a.storage for a in (self._values, self._p, self._next))
        self._plain = True

    @staticmethod
    def _array(stored: Any) -> Any:
        return stored.units if isinstance(stored, cpms.Segmented) else stored
