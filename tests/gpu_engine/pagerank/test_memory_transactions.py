"""What the loads of warps are, and the sectors and lines that they touch, by hand."""

import numpy as np
import pytest

from gpu_engine.cpms.layout import SEPARATE
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.pagerank.memory_transactions import LINE_BYTES, SECTOR_BYTES, loads_of_warps, transactions_per_load
from tests.battery import coo

CONSECUTIVE = np.arange(32)[None, :]
APART = 1000 * np.arange(32)[None, :]


def lower(n: int) -> CsrMatrix:
    """Row i has i entries."""
    rows, columns = np.tril_indices(n, -1)
    return coo(n, n, rows, columns, np.ones(rows.size))


def test_a_thread_goes_along_its_row() -> None:
    entries, slots = loads_of_warps(lower(34))
    # 31 steps of the first warp, then rows 32 and 33 of the second.
    assert entries.shape == slots.shape == (31 + 33, 32)
    assert entries[0].tolist() == [-1, *(row * (row - 1) // 2 for row in range(1, 32))]
    assert entries[30].tolist() == [-1] * 31 + [31 * 30 // 2 + 30]
    assert entries[31].tolist() == [32 * 31 // 2, 33 * 32 // 2] + [-1] * 30
    assert entries[63].tolist() == [-1, 33 * 32 // 2 + 32] + [-1] * 30
    # In ELLPACK threads load padding too.
    assert slots[30].tolist() == [30 * 34 + row for row in range(32)]
    assert slots[31].tolist() == [32, 33] + [-1] * 30


def test_of_many_loads_some_are_looked_at() -> None:
    entries, slots = loads_of_warps(lower(200), sample=10)
    assert entries.shape == slots.shape == (10, 32)
    assert entries[0].tolist() == loads_of_warps(lower(200))[0][0].tolist()


@pytest.mark.parametrize("matrix", [coo(0, 0, [], [], []), coo(3, 3, [], [], [])])
def test_without_entries_nothing_is_loaded(matrix: CsrMatrix) -> None:
    entries, slots = loads_of_warps(matrix)
    assert entries.shape == slots.shape == (0, 32)
    assert transactions_per_load(entries, 2, 1, 128, SECTOR_BYTES) == 0.0


@pytest.mark.parametrize("block", [32, 64, 128, 256, SEPARATE])
@pytest.mark.parametrize(("segments", "read"), [(2, 1), (2, 2), (4, 1), (4, 3), (4, 4)])
def test_sectors_are_those_of_the_segments_whatever_the_block(segments: int, read: int, block: int) -> None:
    # 32 values are 8 sectors of fp64; each of the four segments of 16 bits is two of them.
    assert transactions_per_load(CONSECUTIVE, 0, 0, 128, SECTOR_BYTES) == 8.0
    assert transactions_per_load(CONSECUTIVE, segments, read, block, SECTOR_BYTES) == 8 / segments * read
    assert transactions_per_load(APART, segments, read, block, SECTOR_BYTES) == 32.0 * read


@pytest.mark.parametrize(
    ("block", "read", "lines"),
    [(32, 1, 1), (32, 4, 1), (64, 2, 1), (64, 3, 2), (128, 1, 1), (128, 3, 3), (SEPARATE, 3, 3)],
)
def test_segments_of_small_blocks_share_lines(block: int, read: int, lines: int) -> None:
    one = np.full((1, 32), 5)
    assert transactions_per_load(one, 4, read, block, LINE_BYTES) == lines


def test_threads_that_load_nothing_touch_nothing() -> None:
    idle = np.full((1, 32), -1)
    assert (
        transactions_per_load(np.concatenate([idle, np.where(CONSECUTIVE < 3, 4 * CONSECUTIVE, -1)]), 0, 0, 128, 32)
        == 3.0
    )
