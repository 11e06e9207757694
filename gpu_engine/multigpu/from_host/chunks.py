"""SpMV in chunks from host memory: CSR chunks are packed, copied, multiplied, and returned at the same time.

The time of a single SpMV is that of the link between host and devices. Chunks keep it busy from the start, and packed
chunks are smaller. If nothing packed is ready, the link gets unpacked chunks from the other end of the matrix.
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
"""Nonzeros of a chunk, which take about a millisecond on a link; maximum number of chunks per device.

The interpreter launches all copies and SpMVs, so that more chunks would cost more time than they save.
"""

AHEAD = 2
"""Chunks in transfer per device, so that its link is always busy."""


class ChunkSpan(NamedTuple):
    """Position of a chunk: its device, its number on the device, and its span."""

    device: int
    number: int
    span: Span


class ChunkedProduct:
    """Repeated SpMV of one matrix in host memory; the strategy decides what is packed and what overlaps.

    sent_bytes, packed_bytes  bytes of the matrix sent by the last `multiply_in_turn`, and the packed part of them
    """

    def __init__(
        self,
        stored: StoredMatrix,
        devices: Sequence[Device],
        strategy: Strategy,
        threads: Sequence[ThreadPoolExecutor],
        chunk_entries: int = CHUNK_ENTRIES,
    ) -> None:
        """Pack the matrix if the strategy is prepacked; threads: one host thread per device.

        Raises ParameterError for a partitioning other than pCSR.
        """
        if stored.partitioning.name != "pCSR":
            raise ParameterError(
                f"{strategy.name} only supports pCSR, not {stored.partitioning.name}. Choose pCSR, or the strategy "
                "p*-opt."
            )
        self._stored, self._devices, self._strategy, self._threads = stored, tuple(devices), strategy, threads
        self._pieces = max(1, min(CHUNKS_MAX, -(-stored.nnz // (chunk_entries * len(devices)))))
        self._staging = Staging(devices[0].allocate_host)
        self.sent_bytes = self.packed_bytes = 0
        self._prepacked = self._pack(self._cut()) if strategy.prepacked else None

    def multiply(self, x: Any, y: Any) -> None:
        """Compute y := A·x, float64 [n_cols], [n_rows] on the host, with all phases overlapped."""
        pieces = self._cut()
        queue = _ChunkQueue(pieces, self._prepacked)
        futures = self._each(lambda i: self._drive(i, _of(pieces, i), queue, x, y))
        try:
            if self._strategy.packed and self._prepacked is None:
                self._pack_for(queue)
        finally:
            queue.end()
            wait(futures)
        self._add_shares(y, _results(futures))

    def multiply_in_turn(self, x: Any, y: Any, phases: Phases) -> None:
        """Compute y := A·x phase by phase; a phase ends when all devices have ended it."""
        with phases.phase("partition"):
            pieces = self._cut()
        with phases.phase(PACKING):
            chunks = self._prepacked or (self._pack(pieces) if self._strategy.packed else list(map(_whole, pieces)))
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
        """Return phase → bytes that the last `multiply_in_turn` moved, summed over all devices."""
        vectors = 8 * self._stored.n_cols * len(self._devices), 8 * self._stored.n_rows
        phase_bytes = {"distribute": self.sent_bytes + vectors[0], "compute": self.sent_bytes + sum(vectors)}
        if self._strategy.packed and not self._strategy.prepacked:
            phase_bytes[PACKING] = ENTRY_BYTES * self._stored.nnz + self.packed_bytes
        return phase_bytes | {"merge": vectors[1]}

    def _cut(self) -> list[ChunkSpan]:
        spans = self._strategy.cut(self._stored, self._devices, self._pieces)
        return [ChunkSpan(*divmod(at, self._pieces), span) for at, span in enumerate(spans)]

    def _each(self, function: Callable[[int], Any]) -> list[Future[Any]]:
        """Start a function in the thread of each device with the device number; return the futures."""
        return [thread.submit(function, i) for i, thread in enumerate(self._threads)]

    def _pack(self, pieces: Sequence[ChunkSpan]) -> list[Chunk]:
        packer = Packer(self._stored, self._staging)
        return [packer.pack(at, piece.span) for at, piece in enumerate(pieces)]

    def _pack_for(self, queue: "_ChunkQueue") -> None:
        packer = Packer(self._stored, self._staging)
        while (piece := queue.begin()) is not None:
            queue.put(piece, packer.pack(piece.device * self._pieces + piece.number, piece.span))

    def _filled(self, i: int, pieces: Sequence[ChunkSpan], chunks: Sequence[Chunk], x: Any) -> DeviceChunks:
        part = DeviceChunks(self._devices[i], self._stored, [piece.span for piece in pieces], x)
        for piece in pieces:
            part.send(piece.number, chunks[i * self._pieces + piece.number])
        part.wait_for_copies()
        return part

    def _drive(self, i: int, pieces: Sequence[ChunkSpan], queue: "_ChunkQueue", x: Any, y: Any) -> DeviceChunks:
        """Run all chunks of one device, from the copy of x to its rows of y."""
        part, marks = DeviceChunks(self._devices[i], self._stored, [piece.span for piece in pieces], x), deque[Any]()
        while (numbered_chunk := queue.take(i)) is not None:
            number, chunk = numbered_chunk
            marks.append(part.send(number, chunk))
            part.multiply(number)
            part.download(number, y)
            if len(marks) >= AHEAD:
                part.wait(marks.popleft())
        part.finish()
        return part

    def _add_shares(self, y: Any, parts: Sequence[DeviceChunks]) -> None:
        """Add the partial sums of cut rows to y, in chunk order; the chunk in which a row starts has written it."""
        for part in parts:
            for span, share in zip(part.spans, part.host_shares, strict=True):
                if span.start_flag:
                    y[span.first] += share


class _ChunkQueue:
    """Queue of the chunks per device: the packer takes them from the front, a waiting link from the back."""

    def __init__(self, pieces: Sequence[ChunkSpan], prepacked: Sequence[Chunk] | None) -> None:
        count = pieces[-1].device + 1
        self._changed, self._packing = Condition(), -1
        self._todo = [deque(_of(pieces, i)) for i in range(count)]
        self._ready: list[deque[tuple[int, Chunk]]] = [deque() for _ in range(count)]
        for piece, chunk in zip(pieces, prepacked or (), strict=False):
            self._todo[piece.device].clear()
            self._ready[piece.device].append((piece.number, chunk))

    def begin(self) -> ChunkSpan | None:
        """Return the next chunk to pack, of the device with the most chunks left, or None if no chunk is left."""
        with self._changed:
            longest = max(self._todo, key=len)
            if not longest:
                return None
            piece = longest.popleft()
            self._packing = piece.device
            return piece

    def put(self, piece: ChunkSpan, chunk: Chunk) -> None:
        """Add the packed form of a chunk from `begin`."""
        with self._changed:
            self._ready[piece.device].append((piece.number, chunk))
            self._packing = -1
            self._changed.notify_all()

    def take(self, device: int) -> tuple[int, Chunk] | None:
        """Return the next chunk of a device, unpacked if no packed one is ready, or None if no chunk is left."""
        with self._changed:
            self._changed.wait_for(lambda: self._ready[device] or self._todo[device] or self._packing != device)
            if self._ready[device]:
                return self._ready[device].popleft()
            if self._todo[device]:
                piece = self._todo[device].pop()
                return piece.number, _whole(piece)
            return None

    def end(self) -> None:
        """End packing, also after an error, so that no device waits for a packed chunk."""
        with self._changed:
            self._packing = -1
            self._changed.notify_all()


def _of(pieces: Sequence[ChunkSpan], device: int) -> list[ChunkSpan]:
    return [piece for piece in pieces if piece.device == device]


def _results(futures: Sequence[Future[Any]]) -> list[Any]:
    return [future.result() for future in futures]


def _whole(piece: ChunkSpan) -> Chunk:
    return whole_chunk(piece.span)
