"""Ranks on a GPU as in the CPMS PageRank paper: every step of an iteration is a separate kernel.

Usage as in cuda_ranks.py, which fuses the steps into two kernels. Here the SpMV, each norm in two steps, the scaling of
p, and the conversion of values and ranks run one after the other, so that each can be timed.
Source: CPMS PageRank paper, §IV.B and §IV.C.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpu_engine import cpms
from gpu_engine.cpms.convert import CODES
from gpu_engine.cuda.load import CudaSource
from gpu_engine.pagerank.cuda_pulls import FP64, NORMS, PULLS, SETTLE_BLOCK, head, pointer_of
from gpu_engine.pagerank.cuda_ranks import Rewindable
from gpu_engine.pagerank.graph import PageRankParams, TransitionMatrix

PARTS = 1024
"""Most blocks of the first step of a norm; no current GPU runs more of them at once."""

GAMMA, LOST, MASS = range(3)
"""Indices of the norms: of the change, of the dangling pages, and of all ranks."""


@dataclass(frozen=True, slots=True)
class Stored:
    """State of the arrays; replaced, never modified, so that a captured run can be repeated.

    values, p, next  storage: float64 arrays, in segments or not
    read             segments used of the values and of p; 0: no segments
    previous         segments used of the ranks in next, which the last SpMV read
    """

    values: Any
    p: Any
    next: Any
    read: int
    previous: int


class UnfusedRanks(Rewindable):
    """Ranks and values in fp64 or in segments, with the matrix in a layout of the paper.

    The rank of the dangling pages is summed at the end of an iteration, for the next one.
    """

    scales = True

    def __init__(
        self,
        graph: TransitionMatrix,
        params: PageRankParams,
        layout: str,
        segments: int,
        xp: Any,
        convert: bool = True,
        short: bool = False,
    ) -> None:
        """Store the graph on the device.

        convert  whether values and ranks become fp64 in place at full precision, or stay in segments
        short    whether segments have short exponents
        """
        self._xp, self._params, self._n, self._segments, self._short = xp, params, graph.n, segments, short
        self._converts = convert and bool(segments)
        self._pull = PULLS[layout](graph, xp, free=False)
        self._source = source_of(layout, segments, pointer_of(graph.pull), short)
        self._dangling = xp.asarray(graph.dangling)
        self._slots, values = int(self._pull.values.size), self._pull.values
        del self._pull.values
        if segments:
            values = cpms.to_cpms(cpms.padded(values, segments), self._slots, segments, short).storage
        room = cpms.padded_size(graph.n, segments) if segments else graph.n
        first = min(1, segments)
        self._stored = Stored(values, xp.zeros(room), xp.zeros(room), first, first)
        self._parts, self._norms = xp.zeros(PARTS), xp.zeros(3)

    @property
    def stored_bytes(self) -> int:
        """Bytes of the pattern, the values and two rank vectors."""
        s = self._stored
        return self._pull.nbytes + int(s.values.nbytes + s.p.nbytes + s.next.nbytes)

    def reset(self, first: int = 1) -> None:
        """Set p := e/n in the first segments, and s, the rank of its dangling pages."""
        s = self._stored
        if self._segments and not s.read:
            cpms.to_cpms(s.values, self._slots, self._segments, self._short)
        # Cleared, because the other segments would be joined with the ranks at the end.
        s.p.fill(0.0), s.next.fill(0.0)
        read = min(first, self._segments)
        start = self._xp.full(self._n, 1.0 / max(self._n, 1))
        if read:
            cpms.write(self._in_segments(s.p, self._n), start, read)
        else:
            s.p[:] = start
        self._stored = replace(s, read=read, previous=read)
        if read and read == self._segments:
            self.convert()
        self._norms.fill(0.0)
        self._select()

    def pull(self, read: int, write: int) -> None:  # noqa: ARG002 (the state has the segments that are read)
        """Launch the SpMV, with teleport and the rank of dangling pages, that writes the given number of segments."""
        s = self._stored
        written = write if s.read else 0
        self._stored = replace(s, p=s.next, next=s.p, read=written, previous=s.read)
        if self._n == 0:
            return
        kind, params = self._kind(s.read), self._params
        ranks = self._units(s.p, self._n, s.read), self._units(s.next, self._n, written)
        rule = params.damping, (1.0 - params.damping) / self._n, params.dangling_factor / self._n
        arguments = (*ranks, *map(np.float64, rule), self._norm(LOST))
        types, values = f"{kind}, {kind}, {self._kind(written)}", self._units(s.values, self._slots, s.read)
        self._pull.launch(self._source, types, values, arguments)

    def norm(self) -> None:
        """Launch the norm of the change and, if p is not scaled first, that of its dangling pages."""
        s = self._stored
        old, new = self._units(s.next, self._n, s.previous), self._units(s.p, self._n, s.read)
        norm = NORMS[self._params.norm]
        kernel = f"norm_of_change<{self._kind(s.previous)}, {self._kind(s.read)}>"
        self._reduce(kernel, self._n, (old, new, np.int32(norm)), norm, GAMMA)
        if s.previous == s.read:
            self._select()

    def gamma(self) -> float:
        """Wait for and return γ of the previous iteration, of the values as stored."""
        gamma = float(self._norms[GAMMA])
        return gamma**0.5 if self._params.norm == "L2" else gamma

    def scale(self, k: int) -> None:
        """Launch ‖p‖₁, the scaling of p in its first k segments, and the norm of its dangling pages."""
        p = self._units(self._stored.p, self._n, k)
        self._reduce(f"norm_of_ranks<{self._kind(k)}>", self._n, (p,), NORMS["L1"], MASS)
        if self._n:
            kernel = self._source.function(f"scale_ranks<{self._segments}, {k}, {CODES[self._short]}>")
            kernel((-(-self._n // SETTLE_BLOCK),), (SETTLE_BLOCK,), (np.int32(self._n), p, self._norm(MASS)))
        self._select()

    def convert(self) -> None:
        """Convert values and ranks to fp64, in place, unless they stay in segments."""
        s = self._stored
        if self._converts:
            for storage, size in ((s.values, self._slots), (s.p, self._n)):
                cpms.to_ieee(self._in_segments(storage, size))
            self._stored = replace(s, read=0, previous=0)

    def ranks(self) -> Any:
        """Return a copy of p: float64 [n], on the host."""
        s = self._stored
        p = cpms.read(self._in_segments(s.p, self._n), s.read) if s.read else s.p[: self._n].copy()
        return p if isinstance(p, np.ndarray) else p.get()

    def gather(self) -> None:
        """Return None, because only the fused kernels have a gather probe."""
        return

    def _select(self) -> None:
        """Launch Σ p over the dangling pages, line 5 of Algorithm 1."""
        s, count = self._stored, int(self._dangling.size)
        p = self._units(s.p, self._n, s.read)
        self._reduce(f"norm_of_selected<{self._kind(s.read)}>", count, (self._dangling, p), NORMS["L1"], LOST)

    def _reduce(self, first: str, count: int, arguments: tuple[Any, ...], norm: int, place: int) -> None:
        """Launch a norm of `count` ranks in two steps; nothing for no ranks."""
        if not count:
            return
        blocks = min(-(-count // SETTLE_BLOCK), PARTS)
        self._source.function(first)((blocks,), (SETTLE_BLOCK,), (np.int64(count), *arguments, self._parts))
        step = np.int64(blocks), self._parts, np.int32(norm), self._norm(place)
        self._source.function("join_blocks")((1,), (SETTLE_BLOCK,), step)

    def _norm(self, place: int) -> Any:
        """Return the result of a norm, on the device."""
        return self._norms[place : place + 1]

    def _kind(self, read: int) -> str:
        return head(self._segments, read, self._short) if read else FP64

    def _in_segments(self, storage: Any, size: int) -> cpms.Segmented:
        """Return storage as segments."""
        return cpms.Segmented(storage, size, self._segments, short=self._short)

    def _units(self, storage: Any, size: int, read: int) -> Any:
        """Return storage as kernels take it."""
        return self._in_segments(storage, size).units if read else storage


def source_of(layout: str, segments: int, pointer: str, short: bool = False) -> CudaSource:
    """Return all kernels of runs in a layout of PULLS; segments: per value, 0 for fp64; short: short exponents."""
    names: list[str] = ["join_blocks"]
    for read, write in _steps(segments, short):
        names += PULLS[layout].names(pointer, f"{read}, {read}, {write}")
        names.append(f"norm_of_change<{read}, {write}>")
    kinds = dict.fromkeys(write for _, write in _steps(segments, short))
    names += [f"{kernel}<{kind}>" for kernel in ("norm_of_ranks", "norm_of_selected") for kind in kinds]
    names += [f"scale_ranks<{segments}, {k}, {CODES[short]}>" for k in range(2, segments + 1)]
    return CudaSource(__package__, "unfused.cu", tuple(names))


def _steps(segments: int, short: bool) -> Iterator[tuple[str, str]]:
    """Yield the types that iterations read and write: each number of segments, each change to one more, and fp64."""
    for k in range(1, segments + 1):
        kind = head(segments, k, short)
        yield kind, kind
        if k < segments:
            yield kind, head(segments, k + 1, short)
    yield FP64, FP64
