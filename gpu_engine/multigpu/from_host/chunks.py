"""y := A·x of a CSR matrix on the host in chunks: packed, copied, multiplied and sent back at the same time.

What one product costs that nobody repeats is the link between host and devices. Chunks keep it busy from the first on,
and packed ones are smaller. While a link has nothing packed to send it takes chunks as they are, from the other end.
"""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Condition
from typing import Any, NamedTuple

from gpu_engine.errors import ParameterError
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.chunk import ENTRY_BYTES, Chunk, whole_chunk
from gpu_engine.multigpu.from_host.device_chunks import DeviceChunks
from gpu_engine.multigpu.from_host.packer import Packer, Staging
from gpu_engine.multigpu.from_host.spmv import PACKING, Phases
from gpu_engine.multigpu.from_host.strategies import Strategy
from gpu_engine.multigpu.partition import Span, StoredMatrix

CHUNK_ENTRIES, CHUNKS_MAX = 2**22, 32
"""A chunk has about so many entries, which cross a link in a millisecond; of a larger part at most so many chunks are
made, for the interpreter launches all copies and products.
"""

AHEAD = 2
"""Chunks of a device on their way at once: its link always has one."""


class ChunkSpan(NamedTuple):
    """A chunk by its device, its number there, and where it lies."""

    device: int
    number: int
    span: Span


class ChunkedProduct:
    """Products of one matrix, every time anew from the host; a strategy says what is packed and what overlaps.

    sent_bytes, packed_bytes  of the last product in turn: what crossed the links of the matrix, what of it was packed
    """

    def __init__(
        self,
        stored: StoredMatrix,
        devices: Sequence[Device],
        strategy: Strategy,
        threads: Sequence[ThreadPoolExecutor],
        chunk_entries: int = CHUNK_ENTRIES,
    ) -> None:
        """Packs the matrix where it is kept packed, else nothing yet; threads: one of the host for each device.

        Raises ParameterError for parts that are not of CSR.
        """
        if stored.partitioning.name != "pCSR":
            raise ParameterError(
                f"{strategy.name} sends chunks of CSR, not of {stored.partitioning.name}; choose pCSR, or p*-opt."
            )
        self._stored, self._devices, self._strategy, self._threads = stored, tuple(devices), strategy, threads
        self._pieces = max(1, min(CHUNKS_MAX, -(-stored.nnz // (chunk_entries * len(devices)))))
        self._staging = Staging(devices[0].allocate_host)
        self.sent_bytes = self.packed_bytes = 0
        self._kept = self._pack(self._cut()) if strategy.kept else None

    def multiply(self, x: Any, y: Any) -> None:
        """y := A·x, float64 [n_cols], [n_rows] on the host, everything at the same time."""
        pieces = self._cut()
        feed = _Feed(pieces, self._kept)
        found = self._each(lambda i: self._drive(i, _of(pieces, i), feed, x, y))
        try:
            if self._strategy.packed and self._kept is None:
                self._pack_for(feed)
        finally:
            feed.end()
            wait(found)
        self._add_shares(y, _results(found))

    def multiply_in_turn(self, x: Any, y: Any, phases: Phases) -> None:
        """The same product, one phase after the other, each ended by all devices."""
        with phases.phase("partition"):
            pieces = self._cut()
        with phases.phase(PACKING):
            chunks = self._kept or (self._pack(pieces) if self._strategy.packed else list(map(_whole, pieces)))
        with phases.phase("distribute"):
            parts = _results(self._each(lambda i: self._filled(i, _of(pieces, i), chunks, x)))
        with phases.phase("compute"):
            for part in parts:
                part.multiply_all()
            for part in parts:
                part.synchronize()
        with phases.phase("merge"):
            _results(self._each(lambda i: parts[i].send_back(y)))
            self._add_shares(y, parts)
        self.packed_bytes = sum(int(chunk.packed.nbytes) for chunk in chunks)
        self.sent_bytes = int(self._stored.major.nbytes) + sum(chunk.nbytes for chunk in chunks)

    def bytes_of_phases(self) -> dict[str, int]:
        """What the phases of the last product in turn had to move, on all devices together."""
        vectors = 8 * self._stored.n_cols * len(self._devices), 8 * self._stored.n_rows
        found = {"distribute": self.sent_bytes + vectors[0], "compute": self.sent_bytes + sum(vectors)}
        if self._strategy.packed and not self._strategy.kept:
            found[PACKING] = ENTRY_BYTES * self._stored.nnz + self.packed_bytes
        return found | {"merge": vectors[1]}

    def _cut(self) -> list[ChunkSpan]:
        spans = self._strategy.cut(self._stored, self._devices, self._pieces)
        return [ChunkSpan(*divmod(at, self._pieces), span) for at, span in enumerate(spans)]

    def _each(self, function: Callable[[int], Any]) -> list[Future[Any]]:
        """Begins a function with the number of each device in its thread."""
        return [thread.submit(function, i) for i, thread in enumerate(self._threads)]

    def _pack(self, pieces: Sequence[ChunkSpan]) -> list[Chunk]:
        packer = Packer(self._stored, self._staging)
        return [packer.pack(at, piece.span) for at, piece in enumerate(pieces)]

    def _pack_for(self, feed: "_Feed") -> None:
        packer = Packer(self._stored, self._staging)
        while (piece := feed.begin()) is not None:
            feed.put(piece, packer.pack(piece.device * self._pieces + piece.number, piece.span))

    def _filled(self, i: int, pieces: Sequence[ChunkSpan], chunks: Sequence[Chunk], x: Any) -> DeviceChunks:
        part = DeviceChunks(self._devices[i], self._stored, [piece.span for piece in pieces], x)
        for piece in pieces:
            part.send(piece.number, chunks[i * self._pieces + piece.number])
        part.wait_for_copies()
        return part

    def _drive(self, i: int, pieces: Sequence[ChunkSpan], feed: "_Feed", x: Any, y: Any) -> DeviceChunks:
        """One device, from x to its rows of y."""
        part, marks = DeviceChunks(self._devices[i], self._stored, [piece.span for piece in pieces], x), deque[Any]()
        while (taken := feed.take(i)) is not None:
            number, chunk = taken
            marks.append(part.send(number, chunk))
            part.multiply(number)
            part.download(number, y)
            if len(marks) >= AHEAD:
                part.wait(marks.popleft())
        part.finish()
        return part

    def _add_shares(self, y: Any, parts: Sequence[DeviceChunks]) -> None:
        """Of rows that chunks cut: the chunk in which one begins wrote it, the others add, in their order."""
        for part in parts:
            for span, share in zip(part.spans, part.host_shares, strict=True):
                if span.start_flag:
                    y[span.first] += share


class _Feed:
    """Chunks on their way to their devices: whoever packs takes them from the front, links from the back."""

    def __init__(self, pieces: Sequence[ChunkSpan], kept: Sequence[Chunk] | None) -> None:
        count = pieces[-1].device + 1
        self._changed, self._packing = Condition(), -1
        self._todo = [deque(_of(pieces, i)) for i in range(count)]
        self._ready: list[deque[tuple[int, Chunk]]] = [deque() for _ in range(count)]
        for piece, chunk in zip(pieces, kept or (), strict=False):
            self._todo[piece.device].clear()
            self._ready[piece.device].append((piece.number, chunk))

    def begin(self) -> ChunkSpan | None:
        """The next one to pack, of the device that has the most left; None: there is none left."""
        with self._changed:
            most = max(self._todo, key=len)
            if not most:
                return None
            piece = most.popleft()
            self._packing = piece.device
            return piece

    def put(self, piece: ChunkSpan, chunk: Chunk) -> None:
        """What was begun is packed."""
        with self._changed:
            self._ready[piece.device].append((piece.number, chunk))
            self._packing = -1
            self._changed.notify_all()

    def take(self, device: int) -> tuple[int, Chunk] | None:
        """The next of a device, as it is if none is packed; None: there is none left."""
        with self._changed:
            self._changed.wait_for(lambda: self._ready[device] or self._todo[device] or self._packing != device)
            if self._ready[device]:
                return self._ready[device].popleft()
            if self._todo[device]:
                piece = self._todo[device].pop()
                return piece.number, _whole(piece)
            return None

    def end(self) -> None:
        """Nothing more will be put, whatever went wrong."""
        with self._changed:
            self._packing = -1
            self._changed.notify_all()


def _of(pieces: Sequence[ChunkSpan], device: int) -> list[ChunkSpan]:
    return [piece for piece in pieces if piece.device == device]


def _results(found: Sequence[Future[Any]]) -> list[Any]:
    return [future.result() for future in found]


def _whole(piece: ChunkSpan) -> Chunk:
    return whole_chunk(piece.span)
