"""Iterated SpMM, X := A·X on several devices: by value against SciPy, with the bytes of k vectors, in any order."""

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import InputError, ParameterError
from gpu_engine.multigpu.cut import cut_by_entries, cut_by_lines
from gpu_engine.multigpu.exchange import ExchangeName, Transfer, widened
from gpu_engine.multigpu.partition import find_partitioning
from gpu_engine.multigpu.resident import BATCH, ResidentMatrix
from tests.battery import BATTERY
from tests.gpu_engine.multigpu.devices import logging_devices
from tests.gpu_engine.multigpu.scheduled import Order, scheduled_devices, seeds
from tests.gpu_engine.multigpu.test_exchange import ORDERED, check, exchanges, iterated, overlaps, scaled, squares


@exchanges
@overlaps
@pytest.mark.parametrize("matrix", list(squares()))
def test_columns_in_any_order_of_the_streams(matrix: CsrMatrix, exchange: ExchangeName, overlap: bool) -> None:
    matrix = scaled(matrix)
    stored = find_partitioning("pCSR").store(matrix)
    for count, k in ((1, 2), (3, 1), (3, 4), (4, 3)):
        order = Order(count)
        devices = [order.device(f"virtual:{i}") for i in range(count)]
        x = np.random.default_rng(k).uniform(-1.0, 1.0, (matrix.n_rows, k))
        for cut in (cut_by_entries(stored, (count,)), cut_by_lines(stored, count)):
            alone = ResidentMatrix(stored, cut, devices, exchange, overlap)
            resident = ResidentMatrix(stored, cut, devices, exchange, overlap, k)
            assert resident.exchanged_bytes == k * alone.exchanged_bytes
            assert resident.vector_bytes == tuple(k * size for size in alone.vector_bytes)
            resident.load(x)
            before, computed = order.fetched_bytes, np.full_like(x, np.nan)
            done = 0
            for iterations in (1, BATCH + 1):
                resident.advance(iterations)
                resident.read(computed)
                done += iterations
                for j in range(k):
                    check(matrix, x[:, j], done, computed[:, j])
            assert order.fetched_bytes - before == done * resident.exchanged_bytes
            resident.multiply(2)
            product = np.empty_like(x)
            resident.exchange()
            resident.multiply()
            resident.read_product(product)
            np.testing.assert_allclose(product, matrix.to_scipy() @ computed, atol=1e-12)


@pytest.mark.parametrize("seed", seeds(60, always=12))
def test_many_orders_of_the_streams(seed: int) -> None:
    """All numbers are small integers: the sums are exact, whatever their order."""
    matrix, order = ORDERED[seed % 3], Order(seed)
    stored = find_partitioning("pCSR").store(matrix)
    devices = [order.device(f"virtual:{i}") for i in range(4)]
    resident = ResidentMatrix(stored, cut_by_entries(stored, (4,)), devices, "halo", overlap=bool(seed % 2), k=2)
    x = np.arange(1.0, 11.0).reshape(5, 2)
    computed = np.empty_like(x)
    resident.load(x)
    resident.advance(11)
    resident.read(computed)
    np.testing.assert_array_equal(computed, iterated(matrix, x, 11)[0])


def test_threads_give_the_same() -> None:
    matrix = scaled(BATTERY["band"]())
    stored = find_partitioning("pCSR").store(matrix)
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (matrix.n_rows, 5))
    with logging_devices(3) as devices:
        resident = ResidentMatrix(stored, cut_by_lines(stored, 3), devices, k=5)
        computed = np.empty_like(x)
        resident.load(x)
        resident.advance(6)
        resident.read(computed)
    np.testing.assert_allclose(computed, iterated(matrix, x, 6)[0], atol=1e-12)


def test_transfers_of_rows() -> None:
    whole, listed = Transfer(0, 1, 3, 5, 7), Transfer(1, 0, 2, 6, 1, np.array([2, 5], np.int32))
    wide = widened((whole, listed), 3)
    assert (wide[0].begin, wide[0].end, wide[0].place, wide[0].elements) == (9, 15, 21, 6)
    np.testing.assert_array_equal(wide[1].positions, [6, 7, 8, 15, 16, 17])
    assert wide[1].positions.dtype == np.int32
    assert (wide[1].place, wide[1].elements) == (3, 6)


@pytest.mark.parametrize(("name", "k"), [("pCOO", 2), ("pCSR", 0)])
def test_columns_that_do_not_exist_are_refused(name: str, k: int) -> None:
    stored = find_partitioning(name).store(ORDERED[0])
    with pytest.raises(ParameterError):
        ResidentMatrix(stored, cut_by_entries(stored, (2,)), scheduled_devices(2), k=k)


@pytest.mark.parametrize("x", [np.ones(5), np.ones((5, 3)), np.ones((5, 2), np.float32), np.ones((5, 2), order="F")])
def test_another_matrix_is_refused(x: np.ndarray) -> None:
    stored = find_partitioning("pCSR").store(ORDERED[0])
    resident = ResidentMatrix(stored, cut_by_entries(stored, (2,)), scheduled_devices(2), k=2)
    with pytest.raises(InputError):
        resident.load(x)
    with pytest.raises(InputError):
        resident.read(x)
