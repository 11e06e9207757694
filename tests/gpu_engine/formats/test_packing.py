"""Packed columns and values by hand: what they hold, and that nothing is lost."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gpu_engine.formats.packing import WIDE, PackedColumns, pack_values, unpack_values, value_bytes

BORDERS = [0, 2, 5, 5, 6]
"""Four parts; slot 4, of the second, is padding, and the third has no slot."""

SLOTS, COLUMNS = [0, 1, 2, 3, 5], [65635, 100, 7, 65543, 9]
"""The first part reaches 65535 columns far, which 16 bits hold; the second one more."""


def entries(block: int) -> Callable[[], Iterator[tuple[Any, Any]]]:
    """(slot, column) of so many entries at a time."""

    def blocks() -> Iterator[tuple[Any, Any]]:
        for first in range(0, len(SLOTS), block):
            inside = slice(first, first + block)
            yield np.array(SLOTS[inside]), np.array(COLUMNS[inside], dtype=np.int32)

    return blocks


@pytest.mark.parametrize("block", [1, 2, 3, 5])
def test_a_part_is_narrow_where_16_bits_reach(block: int) -> None:
    packed = PackedColumns.pack(np.array(BORDERS), entries(block))
    assert packed.bases.tolist() == [100, WIDE, 0, 9]
    assert packed.places.tolist() == [0, 0, 2, 2]
    assert packed.narrow.tolist() == [65535, 0, 0]
    assert packed.wide.tolist() == [7, 65543, 0]
    assert packed.nbytes == (4 + 8) * 4 + 2 * 3 + 4 * 3
    assert packed.at(np.array(SLOTS)).tolist() == COLUMNS


def test_the_largest_columns_fit() -> None:
    last = 2**31 - 2
    columns = np.array([last, last - 65535, 0, last], dtype=np.int32)
    packed = PackedColumns.pack(np.array([0, 2, 4]), lambda: [(np.arange(4), columns)])
    assert packed.bases.tolist() == [last - 65535, WIDE]
    assert packed.at(np.arange(4)).tolist() == columns.tolist()


def check_exact(values: Any, size: int) -> tuple[Any, Any]:
    """The values come back bit for bit from so many bytes each."""
    stored, table = pack_values(values)
    assert value_bytes(stored, table) == size
    assert stored.nbytes == size * values.size
    assert unpack_values(stored, table, values.size).view(np.int64).tolist() == values.view(np.int64).tolist()
    return stored, table


def test_one_value_is_stored_once() -> None:
    stored, table = check_exact(np.full(5, 0.1), 0)
    assert (stored.tolist(), table.tolist()) == ([], [0.1])


def test_few_values_are_codes() -> None:
    stored, table = check_exact(np.array([3.0, 0.1, 3.0, 0.7, 0.1]), 1)
    assert (stored.tolist(), table.tolist()) == ([2, 0, 2, 1, 0], [0.1, 0.7, 3.0])


def test_the_two_zeros_are_two_values() -> None:
    check_exact(np.array([0.0, -0.0, -0.0, 0.0]), 1)
    check_exact(np.array([-0.0, -0.0]), 0)
    check_exact(np.array([-0.0, *np.arange(300)]), 4)


@pytest.mark.parametrize(
    ("distinct", "step", "size"), [(256, 0.1, 1), (256, 0.5, 1), (257, 0.5, 4), (257, 0.1, 8)], ids=str
)
@pytest.mark.parametrize("block", [100, 2**22])
def test_kinds_by_the_distinct_values(
    monkeypatch: pytest.MonkeyPatch, distinct: int, step: float, size: int, block: int
) -> None:
    monkeypatch.setattr("gpu_engine.formats.base.ENTRIES_PER_BLOCK", block)
    check_exact(np.tile(np.arange(distinct) * step, 3), size)


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (1 + 2.0**-23, 4),
        (1 + 2.0**-24, 8),
        (2.0**-149, 4),
        (2.0**-150, 8),
        (float(np.finfo(np.float32).max), 4),
        (2.0**128, 8),
        (-1e300, 8),
    ],
    ids=str,
)
def test_fp32_only_where_it_holds_each_value(value: float, size: int) -> None:
    check_exact(np.array([*np.arange(300.0), value]), size)


def test_values_that_do_not_pack_are_shared() -> None:
    values = np.arange(300) * 0.1
    assert pack_values(values)[0] is values


def test_no_values() -> None:
    stored, table = pack_values(np.empty(0))
    assert unpack_values(stored, table, 0).tolist() == []
