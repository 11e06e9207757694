"""Ranks on a GPU: the state of a run in device memory, for all storages of ranks and matrix values.

Usage as in cpu_ranks.py. An iteration has two kernels: the pull, with all other work per page, and one block that
computes γ and the base of the next iteration from the sums.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpu_engine import cpms
from gpu_engine.formats.base import inverse
from gpu_engine.pagerank import cuda_pulls
from gpu_engine.pagerank.convergence_kernel import BETWEEN
from gpu_engine.pagerank.cuda_pulls import (
    FP32,
    FP64,
    NONE,
    NORMS,
    PULLS,
    SETTLE_BLOCK,
    SLOTS,
    Storage,
    head,
    pointer_of,
    source_of,
)
from gpu_engine.pagerank.graph import PageRankParams, TransitionMatrix

STATE = ("base", "gamma", "factor")
"""Fields of the State of ranks.cuh."""


@dataclass(frozen=True, slots=True)
class Stored:
    """State of the arrays; replaced, never modified, so that a captured run can be repeated.

    values   a plain array, Segmented, or None without values
    p, next  plain arrays, or the storage of segments
    kind     C++ type of the ranks in p
    raised   whether the last pull raised the precision
    """

    values: Any
    p: Any
    next: Any
    kind: str
    raised: bool = False


class Rewindable(ABC):
    """Ranks whose arrays are described by `_stored`, so that a run can be repeated."""

    _stored: Any

    @abstractmethod
    def reset(self, first: int = 1) -> None:
        """Set p := e/n in the first segments."""

    def rewinder(self, first: int = 1) -> Callable[[], None]:
        """Return a reset for repeating the run that has just ended, also as a CUDA graph.

        Replays of a graph change the device memory but no state on the host, which the reset restores.
        """
        end = self._stored

        def rewind() -> None:
            self._stored = end
            self.reset(first)

        return rewind


class CudaRanks(Rewindable):
    """Ranks in fp64, fp32 or segments; the matrix in a layout of PULLS, its values in the same storage or absent.

    Without values p over the out-degree is stored, so that all links of a page must have equal weights. At a change of
    precision the ranks are not modified: the pull computes their sum, and the next pull multiplies by its inverse. The
    pull that reaches full precision writes fp64.
    """

    scales = False

    def __init__(
        self,
        graph: TransitionMatrix,
        params: PageRankParams,
        layout: str,
        storage: Storage,
        xp: Any,
        free: bool = False,
        convert: bool = True,
        short: bool = False,
    ) -> None:
        """Store the graph on the device.

        convert  whether values become fp64 in place at full precision, or stay in segments
        short    whether segments have short exponents
        """
        self._xp, self._params, self._n, self._free = xp, params, graph.n, free
        self._segments = storage if isinstance(storage, int) else 0
        self._number = FP64 if isinstance(storage, int) else storage
        self._converts, self._short = convert, short
        self._pull = PULLS[layout](graph, xp, free)
        dangling = np.zeros(graph.n, np.uint8)
        dangling[graph.dangling] = 1
        self._degrees = self._placed(xp.asarray(graph.out_degrees))
        self._pages = self._degrees if free else self._placed(xp.asarray(dangling))
        self._count = int(graph.dangling.size)
        self._source = source_of(layout, storage, free, pointer_of(graph.pull), short)
        self._slots = int(self._pull.links.size)
        values = None if free else self._as_stored(self._pull.values)
        del self._pull.values
        room = cpms.padded_size(graph.n, self._segments) if self._segments else graph.n
        p, following = (xp.zeros(room, np.float32 if storage == FP32 else np.float64) for _ in range(2))
        self._stored = self._begun = Stored(values, p, following, self._number)
        self._sums = tuple(xp.zeros(SLOTS, np.uint64) for _ in range(3))
        self._state = xp.zeros(len(STATE), np.float64)

    @property
    def stored_bytes(self) -> int:
        """Bytes of the pattern, the values and two rank vectors."""
        s = self._stored
        values = 0 if s.values is None else int(self._units(s.values).nbytes)
        return self._pull.nbytes + values + int(s.p.nbytes + s.next.nbytes)

    def reset(self, first: int = 1) -> None:
        """Set p := e/n in the first segments and clear the sums."""
        value, n, s = 1.0 / max(self._n, 1), max(self._n, 1), self._stored
        start = self._xp.full(self._n, value)
        if self._free:
            start /= self._xp.maximum(self._degrees, 1)
        if self._segments > first:
            values, kind = self._segmented(s.values), self._head(first)
            cpms.write(self._in_segments(s.p), start, first)
            # A dangling page counts as degree 1, so that it starts at 1/n with and without values.
            value = self._cut(value, first)
        else:
            values, kind = s.values, self._number
            s.p[: self._n] = start
            value = float(np.float32(value)) if kind == FP32 else value
        self._stored = Stored(values, s.p, s.next, kind)
        if self._segments == first:
            self.convert()
        self._begun = self._stored
        for sums in self._sums:
            sums.fill(0)
        spread = self._params.dangling_factor * value * self._count
        self._state[:] = self._xp.asarray([(1.0 - self._params.damping + spread) / n, 0.0, 1.0])

    def pull(self, read: int, write: int) -> None:
        """Launch a pull that reads and writes the given numbers of segments."""
        s = self._stored
        written = self._number if write >= self._segments else self._head(write)
        self._stored = replace(s, p=s.next, next=s.p, kind=written, raised=write > read)
        if self._n == 0:
            return
        types = f"{self._values_kind(s)}, {s.kind}, {written}"
        sums = np.int32(NORMS[self._params.norm]), self._state, *self._sums
        ranks = self._pages, self._ranks(s.p, s.kind), self._ranks(s.next, written), np.float64(self._params.damping)
        self._pull.launch(self._source, types, self._values(s), (*ranks, *sums))

    def norm(self) -> None:
        """Launch the norm phase: γ and the base of the next iteration."""
        if self._n == 0:
            return
        arguments = (*self._norm_arguments, np.int32(self._stored.raised), self._state, *self._sums)
        BETWEEN.function("next_iteration")((1,), (SETTLE_BLOCK,), arguments)

    def norm_or_end(self, kernel: Any, rule: tuple[Any, ...]) -> None:
        """Launch a kernel of converge.cu in place of `norm`; rule: its last arguments."""
        kernel((1,), (SETTLE_BLOCK,), (*self._norm_arguments, self._state, *self._sums, *rule))

    @property
    def _norm_arguments(self) -> tuple[Any, ...]:
        """Return the kernel arguments of the norm phase: pages, damping, share of dangling pages, and norm."""
        rule = np.float64(self._params.damping), np.float64(self._params.dangling_factor)
        return np.int32(self._n), *rule, np.int32(NORMS[self._params.norm])

    def left(self, iterations: int, written: int) -> None:
        """Record the state of a run on the device: `iterations` since the reset, and the segments written last.

        After an odd number of iterations p and next are swapped.
        """
        s, full = self._begun, written >= self._segments
        p, following = (s.next, s.p) if iterations % 2 else (s.p, s.next)
        self._stored = Stored(s.values, p, following, self._number if full else self._head(written))
        if full:
            self._values_to_fp64()

    def gamma(self) -> float:
        """Wait for and return γ of the previous iteration, of the values as stored."""
        return float(self._state[1])

    def scale(self, k: int) -> None:
        """Do nothing, because `norm` computes the factor and the next pull applies it."""

    def convert(self) -> None:
        """Convert the values to fp64, in place, unless they stay in segments."""
        values = self._stored.values
        if self._values_to_fp64():
            cpms.to_ieee(values)

    def _values_to_fp64(self) -> bool:
        """Treat the storage of the values as fp64, unless they stay in segments; return whether it did."""
        s = self._stored
        turns = self._converts and isinstance(s.values, cpms.Segmented)
        if turns:
            self._stored = replace(s, values=s.values.storage)
        return turns

    def ranks(self) -> Any:
        """Return a copy of p: float64 [n], on the host."""
        s = self._stored
        if s.kind in (FP64, FP32):
            p = s.p[: self._n].astype(np.float64)
        else:
            k = next(k for k in range(1, self._segments) if s.kind == self._head(k))
            p = cpms.read(self._in_segments(s.p), k)
        if self._free:
            p = p * self._xp.maximum(self._degrees, 1)
        p = p * float(self._state[2])
        if self._pull.order is not None:
            p = p[inverse(self._pull.order)]
        return p if isinstance(p, np.ndarray) else p.get()

    def gather(self) -> Callable[[], None]:
        """Return a probe that streams the links and gathers p at the precision of the last reset, without row work."""
        s = self._stored
        kernel = self._source.function(f"gather_pages<{self._values_kind(s)}, {s.kind}>")
        blocks = -(-self._slots // (cuda_pulls.PROBE_BLOCK * cuda_pulls.PROBE_LINKS))
        arrays = self._pull.links, self._values(s), self._ranks(s.p, s.kind)
        arguments = np.int64(self._slots), *arrays, np.float64(cuda_pulls.NEVER), self._xp.empty(1)
        return lambda: kernel((blocks,), (cuda_pulls.PROBE_BLOCK,), arguments)

    def _placed(self, pages: Any) -> Any:
        """Return an array over pages in the order of the ranks."""
        return pages if self._pull.order is None else pages[self._pull.order]

    def _values_kind(self, s: Stored) -> str:
        """Return the C++ type of the values for the ranks in p."""
        if self._free:
            return NONE
        whole = isinstance(s.values, cpms.Segmented) and s.kind == self._number
        return self._head(self._segments) if whole else s.kind

    def _values(self, s: Stored) -> Any:
        """Return the values as kernels take them; without values an array that they do not read."""
        return self._state if s.values is None else self._units(s.values)

    def _ranks(self, storage: Any, kind: str) -> Any:
        """Return ranks as kernels take them."""
        return storage if kind == self._number else self._in_segments(storage).units

    def _as_stored(self, values: Any) -> Any:
        """Return the values in the storage of this state."""
        if self._segments:
            return cpms.to_cpms(cpms.padded(values, self._segments), values.size, self._segments, self._short)
        return values.astype(np.float32 if self._number == FP32 else np.float64, copy=False)

    def _segmented(self, values: Any) -> Any:
        """Return the values as segments again."""
        if values is None or isinstance(values, cpms.Segmented):
            return values
        return cpms.to_cpms(values, self._slots, self._segments, self._short)

    def _head(self, k: int) -> str:
        """Return the C++ type of values in the first k segments."""
        return head(self._segments, k, self._short)

    def _in_segments(self, storage: Any) -> cpms.Segmented:
        """Return the storage of ranks as segments."""
        return cpms.Segmented(storage, self._n, self._segments, short=self._short)

    def _cut(self, value: float, k: int) -> float:
        """Return a value truncated to its first k segments."""
        alone = cpms.allocate(1, self._segments, short=self._short)
        cpms.write(alone, np.array([value]), k)
        return float(cpms.read(alone, k)[0])

    @staticmethod
    def _units(stored: Any) -> Any:
        return stored.units if isinstance(stored, cpms.Segmented) else stored
