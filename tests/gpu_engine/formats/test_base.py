"""What the conversions share."""

import dataclasses

import numpy as np
import pytest

from gpu_engine.formats import coo, ell, hyb
from gpu_engine.formats.base import entry_blocks, inverse, lanes_for, longest_first, pointers, row_of_entries
from tests.battery import dense

SMALL = [[1, 0, 2, 0, 0], [0, 0, 0, 0, 0], [3, 4, 5, 6, 7], [0, -8, 0, 0, 9]]


def test_blocks_name_the_row_and_slot_of_each_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpu_engine.formats.base.ENTRIES_PER_BLOCK", 4)
    blocks = [(e.start, e.stop, row.tolist(), slot.tolist()) for e, row, slot in entry_blocks(dense(SMALL).indptr)]
    assert blocks == [
        (0, 4, [0, 0, 2, 2], [0, 1, 0, 1]),
        (4, 8, [2, 2, 2, 3], [2, 3, 4, 0]),
        (8, 9, [3], [1]),
    ]
    assert row_of_entries(dense(SMALL)).tolist() == [0, 0, 2, 2, 2, 2, 2, 3, 3]


def test_longest_first_is_stable() -> None:
    order = longest_first(np.array([2, 0, 5, 2, 5], np.int32))
    assert order.tolist() == [2, 4, 0, 3, 1]
    assert inverse(order).tolist() == [2, 4, 0, 3, 1]
    assert inverse(np.array([1, 2, 0], np.int32)).tolist() == [2, 0, 1]


def test_pointers_are_as_wide_as_asked() -> None:
    lengths = np.array([2**30, 2**30, 2**30], np.int32)
    assert pointers(lengths, np.int64).tolist() == [0, 2**30, 2**31, 3 * 2**30]
    assert pointers(lengths[:0], np.int32).tolist() == [0]


@pytest.mark.parametrize(
    ("entries", "groups", "lanes"),
    [
        (0, 0, 1),
        (0, 9, 1),
        (10, 10, 1),
        (11, 10, 2),
        (20, 10, 2),
        (21, 10, 4),
        (40, 10, 4),
        (41, 10, 8),
        (9999, 10, 32),
    ],
)
def test_lanes_are_the_power_of_two_from_the_mean_up(entries: int, groups: int, lanes: int) -> None:
    assert lanes_for(entries, groups) == lanes


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_the_hash_of_a_kernel_made_of_parts_changes_with_each_part(backend: str) -> None:
    hashes = {
        dataclasses.replace(hyb.KERNEL, parts=parts).source_hash(backend)
        for parts in ((ell.KERNEL, coo.KERNEL), (ell.KERNEL, ell.KERNEL), (coo.KERNEL, coo.KERNEL))
    }
    assert len(hashes) == 3
