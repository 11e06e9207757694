"""KERNELS of SpMM × BATTERY on a GPU, and the copies between the orders."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gpu_engine.generators import generate
from gpu_engine.measure import Bench, open_bench
from gpu_engine.records import DeviceInfo
from gpu_engine.spmm import SpmmKernel, blocks, order, packed, rows, segments, slices
from gpu_engine.verify import POISON
from tests.gpu_engine.spmm import contract

CASES = [pytest.param(*case, id=f"{case[0].name}, {case[1]}") for case in contract.CASES if case[0].runs_on("cuda")]
ANY = {
    rows.KERNEL: "band",
    segments.KERNEL: "one_dense_row",
    blocks.KERNEL: "blocks of 3",
    packed.KERNEL: "band",
    slices.KERNEL: "band",
    slices.PACKED_KERNEL: "band",
}
"""Kernel → a matrix for it."""


@pytest.fixture(scope="module")
def bench(gpu: DeviceInfo) -> Iterator[Bench]:
    with open_bench(gpu) as opened:
        yield opened


@pytest.mark.parametrize(("kernel", "name"), CASES)
def test_products(bench: Bench, kernel: SpmmKernel, name: str) -> None:
    host = contract.matrix_of(name)
    matrix = bench.stopwatch.upload(host)
    contract.check_kernel(kernel, "cuda", matrix, host, bench.xp)
    contract.check_not_finite(kernel, "cuda", matrix, host, bench.xp)


@pytest.mark.parametrize("kernel", ANY, ids=lambda kernel: kernel.name)
def test_corrupted_value_is_found(bench: Bench, kernel: SpmmKernel) -> None:
    host = contract.matrix_of(ANY[kernel])
    assert contract.finds_corruption(kernel, "cuda", host, bench.xp, bench.stopwatch.upload)


@pytest.mark.parametrize("kernel", [rows.KERNEL, segments.KERNEL, packed.KERNEL], ids=lambda kernel: kernel.name)
def test_row_pointers_of_64_bits(bench: Bench, kernel: SpmmKernel) -> None:
    host = generate("rmat", {"scale": 9, "edge_factor": 40})
    matrix = bench.stopwatch.upload(host)
    object.__setattr__(matrix, "indptr", matrix.indptr.astype(np.int64))
    contract.check_kernel(kernel, "cuda", matrix, host, bench.xp)


@pytest.mark.parametrize("k", [1, 2, 3, 8, 17, 32, 33, 70])
@pytest.mark.parametrize("n", [1, 31, 1000, 4097])
def test_copies_between_the_orders(bench: Bench, n: int, k: int) -> None:
    xp: Any = bench.xp
    host = contract.dense_matrix(n, k, seed=k)
    columns = xp.asfortranarray(xp.asarray(host))
    rows = xp.full((n, k + 3), POISON)[:, 1 : k + 1]
    order.to_rows(columns, rows)
    np.testing.assert_array_equal(rows.get(), host)
    back = xp.asfortranarray(xp.full((n, k), POISON))
    order.to_columns(rows, back, 0.0)
    np.testing.assert_array_equal(back.get(), host)
    order.to_columns(rows, back, -0.5)
    np.testing.assert_array_equal(back.get(), 0.5 * host)
