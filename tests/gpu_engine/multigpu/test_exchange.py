"""Iterated products, by value against SciPy: bytes, overlap, and every order in which the streams may run."""

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import InputError, ParameterError
from gpu_engine.generators import generate
from gpu_engine.multigpu.cut import cut_by_entries, cut_by_lines
from gpu_engine.multigpu.exchange import (
    EXCHANGES,
    ExchangeName,
    Halo,
    Piece,
    Transfer,
    halo_of,
    listed_share,
    owners,
    places_of,
    plan_transfers,
)
from gpu_engine.multigpu.partition import PARTITIONINGS, Part, Span, find_partitioning
from gpu_engine.multigpu.resident import BATCH, ResidentMatrix
from tests.battery import BATTERY, coo, dense, with_row_lengths
from tests.gpu_engine.multigpu.devices import LoggingDevice, logging_devices
from tests.gpu_engine.multigpu.scheduled import Order, seeds

BY_ROWS = [partitioning.name for partitioning in PARTITIONINGS if partitioning.axis == "rows"]
names = pytest.mark.parametrize("name", BY_ROWS)
exchanges = pytest.mark.parametrize("exchange", EXCHANGES)
overlaps = pytest.mark.parametrize("overlap", [False, True], ids=["in turn", "overlap"])


SQUARES = ("zero_by_zero", "single_entry", "band", "every_row_one_entry", "all_explicit_zeros", "spread_of_magnitudes")
"""Of the battery: nothing, one part alone with something, neighbours, anyone, and sums that show their order."""


def scattered(n: int) -> CsrMatrix:
    """yᵢ = xᵢ + ½·(an element anywhere): of three equal parts each reads a third of what each other one owns."""
    columns = np.stack([np.arange(n), np.random.default_rng(3).permutation(n)], axis=1)
    return coo(n, n, np.repeat(np.arange(n), 2), columns.ravel(), np.tile([1.0, 0.5], n))


def squares() -> Iterator[Any]:
    for name in SQUARES:
        yield pytest.param(BATTERY[name](), id=name)
    yield pytest.param(generate("stencil", {"points": 5, "nx": 12, "ny": 11}), id="stencil")
    yield pytest.param(scattered(90), id="lists")
    yield pytest.param(with_row_lengths([0, 12, 0, 1, 12, 12, 0, 0, 1, 0, 3, 0], 12, 5), id="rows in many parts")


def scaled(matrix: CsrMatrix) -> CsrMatrix:
    """So that iterated products neither grow nor vanish."""
    norm = float(abs(matrix.to_scipy()).sum(axis=1).max()) if matrix.nnz else 1.0
    return CsrMatrix(matrix.n_rows, matrix.n_cols, matrix.indptr, matrix.indices, matrix.values / (norm or 1.0))


def iterated(matrix: CsrMatrix, x: Any, iterations: int) -> tuple[Any, Any]:
    """(Aᵏ·x, |A|ᵏ·|x|) with SciPy; the second is the scale of rounding errors."""
    a, scale = matrix.to_scipy(), abs(x)
    for _ in range(iterations):
        x, scale = a @ x, abs(a) @ scale
    return x, scale


def check(matrix: CsrMatrix, x: Any, iterations: int, found: Any) -> None:
    expected, scale = iterated(matrix, x, iterations)
    longest = int(np.diff(matrix.indptr).max(initial=0))
    assert (abs(found - expected) <= 2.0**-52 * iterations * (longest + 2) * scale).all()


@names
@exchanges
@overlaps
@pytest.mark.parametrize("matrix", list(squares()))
def test_products_in_any_order_of_the_streams(
    matrix: CsrMatrix, exchange: ExchangeName, overlap: bool, name: str
) -> None:
    """Poisoned memory shows a read before its fetch, a wrong value what is overwritten too early."""
    matrix = scaled(matrix)
    stored = find_partitioning(name).store(matrix)
    x = np.random.default_rng(1).uniform(-1.0, 1.0, matrix.n_rows)
    for count in (1, 3, 5) if matrix.nnz < 5000 else (3,):
        order = Order(count)
        devices = [order.device(f"virtual:{i}") for i in range(count)]
        for cut in (cut_by_entries(stored, (count,)), cut_by_lines(stored, count)):
            resident = ResidentMatrix(stored, cut, devices, exchange, overlap)
            resident.load(x)
            before, found = order.fetched_bytes, np.full(matrix.n_rows, np.nan)
            done = 0
            for iterations in (1, 3, 2 * BATCH + 1):
                resident.advance(iterations)
                resident.read(found)
                done += iterations
                check(matrix, x, done, found)
            assert order.fetched_bytes - before == done * resident.exchanged_bytes


ORDERED = [
    dense([[0, 1, 0, 0, 1], [1, 1, 1, 1, 1], [0, 0, 0, 0, 1], [1, 0, 0, 0, 0], [0, 0, 1, 1, 0]]),
    dense([[0, 1, 0, 0, 0], [1, 0, 1, 0, 0], [0, 1, 0, 1, 0], [0, 0, 1, 0, 1], [0, 0, 0, 1, 0]]),
    dense([[1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, 1], [0, 0, 0, 0, 1]]),
]
"""Row 1 lies in many parts; neighbours read each other; each reads the next, which does not wait for it."""


@overlaps
@pytest.mark.parametrize("seed", seeds(90))
def test_many_orders_of_the_streams(seed: int, overlap: bool) -> None:
    """All numbers are small integers: the sums are exact, whatever their order."""
    matrix = ORDERED[seed % 3]
    order = Order(seed)
    stored = find_partitioning("pCSR").store(matrix)
    devices = [order.device(f"virtual:{i}") for i in range(4)]
    exchange: ExchangeName = "halo" if seed % 2 else "all-gather"
    resident = ResidentMatrix(stored, cut_by_entries(stored, (4,)), devices, exchange, overlap)
    x, found = np.arange(1.0, 6.0), np.empty(5)
    resident.load(x)
    resident.advance(9)
    resident.advance(10)
    resident.read(found)
    np.testing.assert_array_equal(found, iterated(matrix, x, 19)[0])


@names
@exchanges
@overlaps
def test_threads_find_the_same(name: str, exchange: ExchangeName, overlap: bool) -> None:
    """And a second vector after the first."""
    matrix = scaled(BATTERY["band"]())
    stored = find_partitioning(name).store(matrix)
    with logging_devices(5) as devices:
        resident = ResidentMatrix(stored, cut_by_entries(stored, (3, 2)), devices, exchange, overlap)
        for seed, iterations in ((1, 7), (2, 4)):
            x, found = np.random.default_rng(seed).uniform(-1.0, 1.0, matrix.n_rows), np.empty(matrix.n_rows)
            resident.load(x)
            resident.advance(iterations)
            resident.read(found)
            check(matrix, x, iterations, found)


def test_the_local_part_is_multiplied_while_the_rest_arrives() -> None:
    """No fetch begins before every device has multiplied what it has: in turn nobody would get there."""
    gate = threading.Event()
    multiplied = threading.Semaphore(0)

    class Held(LoggingDevice):
        def fetch(self, peer: Any, array: Any) -> None:
            self._launch(gate.wait)
            super().fetch(peer, array)

        def call(self, function: Any, *arguments: Any) -> None:
            super().call(function, *arguments)
            if function is self.operations.multiply:
                self._launch(multiplied.release)

    matrix = scaled(BATTERY["band"]())
    stored, devices = find_partitioning("pCSR").store(matrix), [Held(f"virtual:{i}") for i in range(3)]
    x, found = np.ones(matrix.n_rows), np.empty(matrix.n_rows)
    try:
        resident = ResidentMatrix(stored, cut_by_lines(stored, 3), devices, overlap=True)
        resident.load(x)
        resident.advance(2)
        reached = all(multiplied.acquire(timeout=60.0) for _ in devices)
        gate.set()
        resident.read(found)
    finally:
        gate.set()
        for device in devices:
            device.close()
    assert reached
    check(matrix, x, 2, found)


def spans(*lines: tuple[int, int, bool]) -> list[Span]:
    return [Span(0, 0, *line) for line in lines]


def reading(columns: list[int]) -> Part:
    """A part of one row with these entries."""
    return Part(
        Span(0, 0, 0, 1, False), np.array([0, len(columns)]), np.array(columns, np.int32), np.ones(len(columns))
    )


def test_a_device_has_what_it_owns_and_what_its_part_reads() -> None:
    """Row 2 began in the first part, whose share of it has room of its own; the third owns nothing."""
    cut = spans((0, 3, False), (2, 5, True), (5, 5, False), (5, 8, False))
    read = [[0, 4, 5], [2], [0, 1, 2, 3], [5, 7]]
    halos = [halo_of(cut, i, reading(columns), 8, "halo") for i, columns in enumerate(read)]
    assert halos == [
        Halo(5, slice(0, 3), slice(0, 3), {1: (Piece(4, 5), 3), 3: (Piece(5, 6), 4)}),
        Halo(4, slice(2, 4), slice(1, 4), {0: (Piece(2, 3), 0)}),
        Halo(4, slice(4, 4), slice(4, 4), {0: (Piece(0, 3), 0), 1: (Piece(3, 4), 3)}),
        Halo(3, slice(0, 3), slice(0, 3), {}),
    ]
    assert places_of(halos[1], cut[1].owned, 8).tolist() == [-1, -1, 0, 2, 3, -1, -1, -1]
    assert plan_transfers(cut, halos) == (
        *(Transfer(1, 0, 3, 4, 3), Transfer(3, 0, 0, 1, 4)),
        *(Transfer(0, 1, 2, 3, 0),),
        *(Transfer(0, 2, 0, 3, 0), Transfer(1, 2, 2, 3, 3)),
    )
    assert [transfer.elements for transfer in plan_transfers(cut, halos)] == [1, 1, 1, 3, 1]


def test_pieces_lie_as_in_the_whole_but_for_whole_groups() -> None:
    cut = spans((0, 40, False), (40, 75, False), (75, 200, False))
    halo = halo_of(cut, 1, reading([7, 8, 9, *range(130, 134)]), 200, "halo", align=32)
    assert halo.pieces == {0: (Piece(7, 10), 7), 2: (Piece(130, 134), 66 + 32)}
    assert (halo.owned, halo.size) == (slice(40, 75), 102)
    assert halo_of(cut, 1, reading([41]), 200, "all-gather").size == 200


@pytest.mark.parametrize(
    ("columns", "fetched"), [([0, 9], 2), ([0, 1, 2, 3, 5, 6, 7, 9], 10), ([0, 1, 2, 5, 6, 7, 9], 7), ([4], 1)]
)
def test_less_than_four_fifths_of_a_range_is_a_list(columns: list[int], fetched: int) -> None:
    """The source owns 10 elements, from its second place on; the target begins with what it fetches."""
    cut = spans((0, 10, False), (10, 12, False))
    part = reading([10, *columns])
    halo = halo_of(cut, 1, part, 12, "halo")
    assert halo.size == fetched + 2
    places = places_of(halo, cut[1].owned, 12)
    assert (places[10:].tolist(), (places[columns] >= 0).all()) == ([fetched, fetched + 1], True)
    source = Halo(11, slice(1, 11), slice(1, 11), {})
    (transfer,) = plan_transfers(cut, [source, halo])
    taken = np.arange(transfer.begin, transfer.end) if transfer.positions is None else transfer.positions
    assert (transfer.elements, (transfer.positions is None)) == (fetched, fetched in (10, 1))
    assert (transfer.here, places[taken - 1].tolist()) == (slice(0, fetched), list(range(fetched)))


@pytest.mark.parametrize(("link", "memory"), [(0.395, 4.27), (0.05, 4.27), (1.0, 2.0), (6.0, 11.0), (1.0, 1.0)])
def test_at_the_share_a_list_takes_as_long_as_its_range(link: float, memory: float) -> None:
    share = listed_share(link, memory)
    packing = (4 * share + min(32 * share, 8) + 8 * share) / memory
    assert 8 * share / link + packing == pytest.approx(8 / link)


def test_no_two_devices_begin_with_the_same_source() -> None:
    cut = spans((0, 2, False), (2, 4, False), (4, 6, False), (6, 8, False))
    found = plan_transfers(cut, [halo_of(cut, i, reading([]), 8, "all-gather") for i in range(4)])
    assert [[t.source for t in found if t.target == target] for target in range(4)] == [
        *([1, 2, 3], [2, 3, 0], [3, 0, 1], [0, 1, 2]),
    ]


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_vectors_are_as_long_as_what_a_device_owns_and_reads(count: int) -> None:
    """A stencil of 16 × 64 points: a device reads one line of 16 beyond each of its borders."""
    matrix = generate("stencil", {"points": 5, "nx": 16, "ny": 64})
    stored = find_partitioning("pCSR").store(matrix)
    with logging_devices(count) as devices:
        cut = cut_by_lines(stored, count)
        halo = [16 * ((i > 0) + (i < count - 1)) for i in range(count)]
        resident = ResidentMatrix(stored, cut, devices)
        assert resident.vector_bytes == tuple(8 * (1024 // count + more) for more in halo)
        assert ResidentMatrix(stored, cut, devices, "all-gather").vector_bytes == (8 * 1024,) * count


def test_a_cut_row_belongs_to_the_part_in_which_it_begins() -> None:
    """Row 1 goes through a part that has no row, and one that ends with it; row 3 begins in the fourth."""
    cut = spans((0, 2, False), (1, 1, False), (1, 2, True), (1, 4, True), (3, 5, True))
    assert list(owners(cut)) == [None, None, 0, 0, 3]


@exchanges
def test_bytes_of_a_tridiagonal_matrix(exchange: ExchangeName) -> None:
    """Of 12 rows on 3 devices neighbours fetch one element over each border; all-gather fetches 8 on each."""
    matrix = dense((np.eye(12) + np.eye(12, k=1) + np.eye(12, k=-1)).tolist())
    stored = find_partitioning("pCSR").store(matrix)
    with logging_devices(3) as devices:
        resident = ResidentMatrix(stored, cut_by_lines(stored, 3), devices, exchange)
        assert resident.exchanged_bytes == 8 * {"all-gather": 3 * 8, "halo": 4}[exchange]
        if exchange == "halo":
            assert {(t.source, t.target) for t in resident.transfers} == {(0, 1), (1, 0), (1, 2), (2, 1)}


def test_each_share_of_a_cut_row_is_one_element_more() -> None:
    """Four parts of a matrix with all its entries in row 1: the first owns that row, three send their shares to it."""
    stored = find_partitioning("pCSR").store(dense([[0] * 8, [1] * 8, *[[0] * 8] * 6]))
    with logging_devices(4) as devices:
        resident = ResidentMatrix(stored, cut_by_entries(stored, (4,)), devices, "halo")
        # The first owns rows 0 and 1, the last all others: 2 + 2 elements of x for the middle, 2 of those that the
        # last reads are its own.
        assert resident.exchanged_bytes == 8 * (2 + 2 + 0 + 3)


def test_matrices_that_cannot_be_iterated_are_refused() -> None:
    square, wide = dense([[1, 2], [3, 4]]), dense([[1, 2, 3], [4, 5, 6]])
    with logging_devices(2) as devices:
        for matrix, name, count, words in (
            (wide, "pCSR", 2, r"not square \(2 × 3\)"),
            (square, "pCSC", 2, "pCSC partitions by columns"),
            (square, "pCSR", 1, "1 partitions for 2 devices"),
        ):
            stored = find_partitioning(name).store(matrix)
            with pytest.raises(ParameterError, match=words):
                ResidentMatrix(stored, cut_by_entries(stored, (count,)), devices)


@pytest.mark.parametrize("x", [np.ones(3), np.ones(2, np.float32)])
def test_vectors_that_do_not_fit_are_refused(x: Any) -> None:
    stored = find_partitioning("pCSR").store(dense([[1, 2], [3, 4]]))
    with logging_devices(2) as devices:
        resident = ResidentMatrix(stored, cut_by_entries(stored, (2,)), devices)
        for call in (resident.load, resident.read):
            with pytest.raises(InputError, match=r"needs float64 \(2,\)"):
                call(x)


@overlaps
@pytest.mark.parametrize("seed", seeds(60))
def test_the_parts_of_an_iteration_by_themselves(seed: int, overlap: bool) -> None:
    """Products of the same x as often as one likes, exchanges in between, iterations before and after."""
    matrix, order = ORDERED[seed % 3], Order(seed)
    stored = find_partitioning("pCSR").store(matrix)
    devices = [order.device(f"virtual:{i}") for i in range(4)]
    resident = ResidentMatrix(stored, cut_by_entries(stored, (4,)), devices, "halo", overlap)
    x, found, draw = np.arange(1.0, 6.0), np.empty(5), np.random.default_rng(seed)
    resident.load(x)
    before, exchanges = order.fetched_bytes, 0
    for iterations in (0, 1, 3):
        resident.advance(iterations - (iterations > 1))
        for times in draw.integers(1, 2 * BATCH, 3):
            resident.exchange(int(times))
            resident.multiply(1)
            resident.multiply(BATCH)
            exchanges += times
        resident.read_product(found)
        np.testing.assert_array_equal(found, iterated(matrix, x, iterations + 1)[0])
        resident.read(found)
        np.testing.assert_array_equal(found, iterated(matrix, x, iterations)[0])
    # Shares of cut rows cross in products, everything else in exchanges.
    cut = 8 * sum(span.start_flag for span in cut_by_entries(stored, (4,)))
    products, elements = 3 * 3 * (1 + BATCH) + 3, resident.exchanged_bytes - cut
    assert order.fetched_bytes - before == products * cut + (exchanges + 3) * elements
