"""SELL-P and its kin: slices of two rows by hand, then the slices that each format has."""

import dataclasses

import numpy as np
import pytest

from gpu_engine.formats import sellp
from gpu_engine.formats.base import Format
from gpu_engine.formats.packing import WIDE
from gpu_engine.formats.sellp import PackedSellpLayout, SellpLayout, Slices
from gpu_engine.verify import POISON, check, reference
from tests.battery import BATTERY, coo, dense, with_row_lengths

SMALL = dense([[1, 0, 2, 0, 0], [0, 0, 0, 0, 0], [3, 4, 5, 6, 7], [0, -8, 0, 0, 9]])


def test_slices_lie_column_by_column() -> None:
    layout = SellpLayout.from_csr(SMALL, rows=2, sigma=1)
    assert layout.slices.offsets.tolist() == [0, 4, 14]
    assert layout.slices.lengths.tolist() == [2, 0, 5, 2]
    assert layout.slices.order is None
    assert layout.values.tolist() == [1, 0, 2, 0, 3, -8, 4, 9, 5, 0, 6, 0, 7, 0]
    assert layout.columns.tolist() == [0, 0, 2, 0, 0, 1, 1, 4, 2, 0, 3, 0, 4, 0]
    assert layout.stored_bytes == 12 * 14 + 8 * 3 + 4 * 4


def test_sorted_slices_hold_rows_of_like_length() -> None:
    layout = SellpLayout.from_csr(SMALL, rows=2, sigma=4)
    assert layout.slices.order.tolist() == [2, 0, 3, 1]
    assert layout.slices.lengths.tolist() == [5, 2, 2, 0]
    assert layout.slices.offsets.tolist() == [0, 10, 14]
    assert layout.values.tolist() == [3, 1, 4, 2, 5, 0, 6, 0, 7, 0, -8, 0, 9, 0]
    assert layout.columns.tolist() == [0, 0, 1, 2, 2, 0, 3, 0, 4, 0, 1, 0, 4, 0]
    assert layout.stored_bytes == 12 * 14 + 8 * 3 + 4 * 4 + 4 * 4


@pytest.mark.parametrize(
    ("lengths", "sigma", "order", "offsets"),
    [
        ([1, 3, 0, 2, 5], 1, None, [0, 6, 10, 20]),
        ([1, 3, 0, 2, 5], 4, [1, 3, 0, 2, 4], [0, 6, 8, 18]),
        ([1, 3, 0, 2, 5], 2, [1, 0, 3, 2, 4], [0, 6, 10, 20]),
        ([1, 3, 0, 2, 5], 8, [4, 1, 3, 0, 2], [0, 10, 14, 14]),
        ([2, 2, 3, 2, 3], 8, [2, 4, 0, 1, 3], [0, 6, 10, 14]),
        ([0, 0, 0], 4, [0, 1, 2], [0, 0, 0]),
    ],
)
def test_rows_are_sorted_within_windows(
    lengths: list[int], sigma: int, order: list[int] | None, offsets: list[int]
) -> None:
    slices = Slices.of(with_row_lengths(lengths, 9, 1), 2, sigma)
    assert (slices.order if order is None else slices.order.tolist()) == order
    assert slices.lengths.tolist() == [lengths[row] for row in order or range(len(lengths))]
    assert slices.offsets.tolist() == offsets


def test_packed_slices_by_hand() -> None:
    layout = PackedSellpLayout.from_csr(SMALL, rows=2, sigma=1)
    assert layout.columns.bases.tolist() == [0, 0]
    assert layout.columns.narrow.tolist() == [0, 0, 2, 0, 0, 1, 1, 4, 2, 0, 3, 0, 4, 0]
    assert layout.table.tolist() == [-8, 1, 2, 3, 4, 5, 6, 7, 9]
    assert layout.stored.tolist() == [1, 0, 2, 0, 3, 0, 4, 8, 5, 0, 6, 0, 7, 0]
    assert layout.stored_bytes == (2 + 1) * 14 + 8 * 9 + (4 + 8) * 2 + 8 * 3 + 4 * 4


def test_a_slice_is_wide_where_its_columns_are_far_apart() -> None:
    layout = PackedSellpLayout.from_csr(coo(4, 70000, [0, 1, 2, 3], [0, 65536, 4465, 70000 - 1], [5.0] * 4), 2, 1)
    assert layout.columns.bases.tolist() == [WIDE, 4465]
    assert layout.columns.wide.tolist() == [0, 65536]
    assert layout.columns.narrow.tolist() == [0, 65534]
    assert (layout.stored.size, layout.table.tolist()) == (0, [5.0])


@pytest.mark.parametrize(
    ("f", "offsets", "first"),
    [
        (sellp.SELLP, [0, 32 * 32, 32 * 96, 32 * 192], 0),
        (sellp.SLICE_64, [0, 64 * 64, 64 * 160], 0),
        (sellp.SORTED, [0, 32 * 96, 32 * 160, 32 * 192], 95),
        (sellp.PACKED, [0, 32 * 32, 32 * 96, 32 * 192], 0),
    ],
    ids=lambda value: value.name if isinstance(value, Format) else "",
)
def test_slices_of_each_format(f: Format, offsets: list[int], first: int) -> None:
    """96 rows of 1 … 96 entries."""
    slices = f.from_csr(with_row_lengths(range(1, 97), 96, 1)).slices
    assert slices.offsets.tolist() == offsets
    assert slices.lengths[0] == first + 1


def test_the_sorted_format_sorts_within_256_rows() -> None:
    slices = sellp.SORTED.from_csr(with_row_lengths([*range(256), *range(44)], 300, 1)).slices
    assert slices.order.tolist() == [*range(255, -1, -1), *range(299, 255, -1)]


def test_padding_is_not_read() -> None:
    matrix = BATTERY["around_a_warp"]()
    layout = sellp.SELLP.from_csr(matrix)
    ones = dataclasses.replace(matrix, values=np.ones(matrix.nnz))
    padding = sellp.SELLP.from_csr(ones).values == 0
    assert padding.any()
    values = np.where(padding, np.nan, layout.values)
    expected = reference(matrix)
    y = np.full(matrix.n_rows, POISON)
    kernel = sellp.SELLP.kernels[0]
    assert kernel.cpu is not None
    kernel.cpu(dataclasses.replace(layout, values=values), expected.x, y)
    check(expected, y)
    assert kernel.layout_bytes(layout) == layout.slices.nbytes + 12 * matrix.nnz
