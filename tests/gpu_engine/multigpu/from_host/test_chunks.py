"""Products in chunks by value against SciPy, packed or not; who sends what."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event
from time import sleep
from typing import Any

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.multigpu.chunk import Chunk, whole_chunk
from gpu_engine.multigpu.from_host import chunks
from gpu_engine.multigpu.from_host.chunks import ChunkedProduct, ChunkSpan, _ChunkQueue
from gpu_engine.multigpu.from_host.spmv import COLD_PHASES, PACKING, Phases
from gpu_engine.multigpu.from_host.strategies import STRATEGIES, Strategy, find_strategy
from gpu_engine.multigpu.partition import Span, find_partitioning
from gpu_engine.verify import POISON, check, reference
from tests.battery import BATTERY
from tests.gpu_engine.multigpu.devices import LoggingDevice, logging_devices
from tests.gpu_engine.multigpu.from_host.packable import PACKABLE

IN_CHUNKS = [strategy for strategy in STRATEGIES if strategy.in_chunks]
strategies = pytest.mark.parametrize("strategy", IN_CHUNKS, ids=lambda s: s.name)
CSR = find_partitioning("pCSR")
MOST_DEVICES = 3


@pytest.fixture(scope="module")
def devices() -> Iterator[tuple[LoggingDevice, ...]]:
    with logging_devices(MOST_DEVICES) as found:
        yield found


@contextmanager
def chunked(
    matrix: CsrMatrix, strategy: Strategy, devices: Sequence[Any], entries: int = chunks.CHUNK_ENTRIES
) -> Iterator[ChunkedProduct]:
    threads = strategy.start_threads(devices)
    try:
        yield ChunkedProduct(CSR.store(matrix), devices, strategy, threads, entries)
    finally:
        for thread in threads:
            thread.shutdown()


def products(product: ChunkedProduct, x: Any, n_rows: int) -> list[Any]:
    """All at once, twice, and phase by phase."""
    found = [np.full(n_rows, POISON) for _ in range(3)]
    for y in found[:2]:
        product.multiply(x, y)
    product.multiply_in_turn(x, found[2], Phases(lambda: 0.0, COLD_PHASES))
    return found


@strategies
@pytest.mark.parametrize("name", BATTERY)
def test_products(devices: Sequence[LoggingDevice], name: str, strategy: Strategy) -> None:
    """One chunk, and so small ones that rows lie in many of them."""
    matrix = BATTERY[name]()
    expected = reference(matrix)
    for count, entries in ((1, chunks.CHUNK_ENTRIES), (MOST_DEVICES, 3)):
        with chunked(matrix, strategy, devices[:count], entries) as product:
            for y in products(product, expected.x, matrix.n_rows):
                check(expected, y)


@pytest.mark.parametrize("name", PACKABLE)
def test_packed_products_have_the_same_bits(devices: Sequence[LoggingDevice], name: str) -> None:
    matrix = PACKABLE[name]()
    x = np.random.default_rng(2).uniform(-1.0, 1.0, matrix.n_cols)
    bits, sent = [], []
    for strategy in IN_CHUNKS:
        with chunked(matrix, strategy, devices[:2], -(-matrix.nnz // 4)) as product:
            bits += [y.view(np.int64) for y in products(product, x, matrix.n_rows)]
            sent.append(product.sent_bytes)
    assert all((found == bits[0]).all() for found in bits)
    whole = CSR.store(matrix)
    assert sent[0] == 12 * matrix.nnz + whole.major.nbytes
    assert max(sent[1:]) < (0.95 if "different" in name else 0.75) * sent[0], "all but the first pack"


def test_values_that_are_no_numbers_stay_where_they_are(devices: Sequence[LoggingDevice]) -> None:
    matrix = PACKABLE["values that are not finite"]()
    with chunked(matrix, find_strategy("p*-packed"), devices[:1]) as product:
        y = products(product, np.ones(matrix.n_cols), matrix.n_rows)[0]
    with np.errstate(invalid="ignore"):
        expected = matrix.to_scipy() @ np.ones(matrix.n_cols)
    np.testing.assert_array_equal(np.isnan(y), np.isnan(expected))
    np.testing.assert_array_equal(np.isposinf(y), np.isposinf(expected))


def test_what_the_phases_move(devices: Sequence[LoggingDevice]) -> None:
    matrix = PACKABLE["two values"]()
    x, y = np.ones(matrix.n_cols), np.empty(matrix.n_rows)
    moved = {}
    for strategy in IN_CHUNKS:
        with chunked(matrix, strategy, devices[:2]) as product:
            product.multiply_in_turn(x, y, Phases(lambda: 0.0, COLD_PHASES))
            moved[strategy.name] = product.bytes_of_phases()
    sent = 12 * matrix.nnz + 4 * (matrix.n_rows + 1)
    both = 2 * 8 * matrix.n_cols
    assert moved["p*-pipelined"] == {
        "distribute": sent + both,
        "compute": sent + both + 8 * matrix.n_rows,
        "merge": 8 * matrix.n_rows,
    }
    packed = moved["p*-packed"].pop(PACKING) - 12 * matrix.nnz
    assert moved["p*-packed"]["distribute"] == packed + 4 * (matrix.n_rows + 1) + both
    assert 3 * matrix.nnz < packed < 3.1 * matrix.nnz
    assert moved["p*-prepacked"] == moved["p*-packed"]


def test_each_phase_has_its_own_time(devices: Sequence[LoggingDevice]) -> None:
    matrix, reads = BATTERY["band"](), iter(range(100))
    with chunked(matrix, find_strategy("p*-packed"), devices[:2]) as product:
        phases = Phases(lambda: float(next(reads)), COLD_PHASES)
        product.multiply_in_turn(np.ones(matrix.n_cols), np.empty(matrix.n_rows), phases)
    assert phases.seconds == dict.fromkeys(COLD_PHASES, 1.0)


@pytest.mark.parametrize(("entries", "number"), [(10**9, 1), (50, 4), (49, 5), (1, chunks.CHUNKS_MAX)])
def test_a_chunk_has_so_many_entries_and_a_part_no_more_than_so_many_chunks(
    devices: Sequence[LoggingDevice], entries: int, number: int
) -> None:
    matrix = CsrMatrix(1, 400, np.array([0, 400], np.int32), np.arange(400, dtype=np.int32), np.ones(400))
    with chunked(matrix, find_strategy("p*-pipelined"), devices[:2], entries) as product:
        assert len(product._cut()) == 2 * number


def pieces(count: int, devices: int = 1) -> list[ChunkSpan]:
    span = Span(0, 1, 0, 1, start_flag=False)
    return [ChunkSpan(device, number, span) for device in range(devices) for number in range(count)]


def test_packed_chunks_come_first_and_whole_ones_from_the_other_end() -> None:
    feed = _ChunkQueue(pieces(4), None)
    first = feed.begin()
    assert first is not None
    last = feed.take(0)
    assert last is not None
    assert (last[0], last[1].is_whole) == (3, True)
    packed = Chunk(first.span, 2, 1, np.ones(16, np.uint8), (0,) * 7)
    feed.put(first, packed)
    taken = feed.take(0)
    assert taken is not None
    assert (taken[0], taken[1] is packed) == (0, True)
    assert [found and found[0] for found in (feed.take(0), feed.take(0))] == [2, 1]
    assert (feed.begin(), feed.take(0)) == (None, None)


def test_the_device_with_the_most_left_is_packed_for_next() -> None:
    feed = _ChunkQueue(pieces(3, 2), None)
    feed.take(0)
    begun = [feed.begin() for _ in range(3)]
    assert [(piece.device, piece.number) for piece in begun if piece] == [(1, 0), (0, 0), (1, 1)]


def test_kept_chunks_are_all_there() -> None:
    kept = [whole_chunk(piece.span) for piece in pieces(2)]
    feed = _ChunkQueue(pieces(2), kept)
    assert feed.begin() is None
    taken = [feed.take(0), feed.take(0)]
    assert [found is not None and found[1] is chunk for found, chunk in zip(taken, kept, strict=True)] == [True, True]
    assert feed.take(0) is None


def test_what_fails_is_raised(devices: Sequence[LoggingDevice], monkeypatch: pytest.MonkeyPatch) -> None:
    """On a device, and where chunks are packed: no thread waits for what does not come."""
    matrix = PACKABLE["two values"]()
    x, y = np.ones(matrix.n_cols), np.empty(matrix.n_rows)

    packing, take = Event(), _ChunkQueue.take

    def fail(*_arguments: Any) -> None:
        packing.set()
        raise ZeroDivisionError

    def take_late(feed: _ChunkQueue, device: int) -> tuple[int, Chunk] | None:
        # The links of a busy host have taken everything before the first chunk is packed.
        packing.wait(60)
        return take(feed, device)

    with chunked(matrix, find_strategy("p*-packed-pipelined"), devices[:2], 10_000) as product:
        with monkeypatch.context() as patch:
            patch.setattr("gpu_engine.multigpu.cpu_chunks.multiply", fail)
            with pytest.raises(ZeroDivisionError):
                product.multiply(x, y)
        with monkeypatch.context() as patch:
            packing.clear()
            patch.setattr("gpu_engine.multigpu.from_host.chunks.Packer.pack", fail)
            patch.setattr(_ChunkQueue, "take", take_late)
            with pytest.raises(ZeroDivisionError):
                product.multiply(x, y)
        check(reference(matrix), products(product, reference(matrix).x, matrix.n_rows)[0])


def test_what_fails_while_packing_is_raised_once_no_device_writes(
    devices: Sequence[LoggingDevice], monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix, ended = PACKABLE["two values"](), list[int]()

    def fail(*_arguments: Any) -> None:
        raise ZeroDivisionError

    def drive(_product: Any, i: int, _pieces: Any, feed: _ChunkQueue, *_vectors: Any) -> None:
        while feed.take(i) is not None:
            pass
        # A device that still multiplies: too short a time could hide the fault, and never make one up.
        sleep(0.2)
        ended.append(i)

    monkeypatch.setattr("gpu_engine.multigpu.from_host.chunks.Packer.pack", fail)
    monkeypatch.setattr(ChunkedProduct, "_drive", drive)
    monkeypatch.setattr(_ChunkQueue, "begin", lambda feed: ChunkSpan(0, 0, Span(0, 1, 0, 1, start_flag=False)))
    with chunked(matrix, find_strategy("p*-packed-pipelined"), devices[:2], 10_000) as product:
        with pytest.raises(ZeroDivisionError):
            product.multiply(np.ones(matrix.n_cols), np.empty(matrix.n_rows))
        assert sorted(ended) == [0, 1]


def test_only_csr_is_sent_in_chunks(devices: Sequence[LoggingDevice]) -> None:
    stored = find_partitioning("pCOO").store(BATTERY["band"]())
    with pytest.raises(ParameterError, match="only supports pCSR, not pCOO"):
        ChunkedProduct(stored, devices[:1], find_strategy("p*-packed"), [])
