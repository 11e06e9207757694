"""KERNELS × BATTERY on the CPU; the layout of segments; the choice of a kernel."""

import dataclasses

import numpy as np
import pytest

from gpu_engine import spmm
from gpu_engine.errors import KernelError, ParameterError
from gpu_engine.spmm import SpmmKernel, blocks, cuts, packed, rows, segments, slices
from tests.battery import BATTERY, with_row_lengths
from tests.gpu_engine.spmm import contract

CASES = [pytest.param(*case, id=f"{case[0].name}, {case[1]}") for case in contract.CASES if case[0].runs_on("cpu")]


@pytest.mark.parametrize(("kernel", "name"), CASES)
def test_products(kernel: SpmmKernel, name: str) -> None:
    matrix = contract.matrix_of(name)
    contract.check_kernel(kernel, "cpu", matrix, matrix, np)
    contract.check_not_finite(kernel, "cpu", matrix, matrix, np)


@pytest.mark.parametrize(
    ("kernel", "name"),
    [(rows.KERNEL, "band"), (blocks.KERNEL, "blocks of 3"), (packed.KERNEL, "one_dense_row"), (slices.KERNEL, "band")],
)
def test_corrupted_value_is_found(kernel: SpmmKernel, name: str) -> None:
    assert contract.finds_corruption(kernel, "cpu", contract.matrix_of(name), np, lambda matrix: matrix)


@pytest.mark.parametrize("name", BATTERY)
def test_segments_cover_each_nonzero_once_and_in_order(name: str) -> None:
    matrix = BATTERY[name]()
    layout = cuts.Cuts.of(matrix)
    sizes = np.diff(layout.begins)
    assert layout.begins.dtype == matrix.indptr.dtype
    assert (layout.begins[0], layout.begins[-1]) == (0, matrix.nnz)
    assert ((sizes >= 0) & (sizes <= cuts.SEGMENT)).all()
    assert layout.nbytes <= cuts.cut_bytes(matrix)
    parts = layout.targets < 0
    np.testing.assert_array_equal(~layout.targets[parts], np.arange(layout.firsts[-1]))
    row = np.empty(sizes.size, dtype=np.int64)
    row[~parts] = layout.targets[~parts]
    row[parts] = np.repeat(layout.rows, np.diff(layout.firsts))
    np.testing.assert_array_equal(np.bincount(row, sizes, matrix.n_rows), np.diff(matrix.indptr))
    np.testing.assert_array_equal(np.unique(row), np.arange(matrix.n_rows))
    assert (np.diff(row) >= 0).all()


def test_segments_of_a_row_have_similar_lengths() -> None:
    layout = cuts.Cuts.of(with_row_lengths([64, 65, 150, 0], 400, seed=1))
    np.testing.assert_array_equal(np.diff(layout.begins), [64, 32, 33, 50, 50, 50, 0])
    np.testing.assert_array_equal(layout.targets, [0, -1, -2, -3, -4, -5, 3])


def test_a_kernel_of_another_backend_is_refused() -> None:
    with pytest.raises(KernelError):
        segments.KERNEL.bound("cpu", None, 2)


def test_an_order_that_a_kernel_does_not_support_is_refused() -> None:
    kernel = dataclasses.replace(rows.KERNEL, orders=("row",))
    with pytest.raises(KernelError):
        kernel.bound("cpu", None, 2, "column")


def test_nonzeros_without_blocks_are_refused() -> None:
    with pytest.raises(ParameterError):
        blocks.KERNEL.store(BATTERY["band"]())


def test_names_are_distinct() -> None:
    assert len({kernel.name for kernel in spmm.KERNELS}) == len(spmm.KERNELS)
