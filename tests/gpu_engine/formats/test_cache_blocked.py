"""Blocks of a few columns: by hand, then the contract with widths that cut every matrix of the battery."""

import dataclasses
from functools import partial
from typing import Any

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.formats import cache_blocked, propagation_blocked
from gpu_engine.formats.base import Format
from gpu_engine.formats.cache_blocked import FIRST, FORMAT, CacheBlockedLayout, block_width
from tests.battery import BATTERY, coo, dense
from tests.gpu_engine.formats import contract

SMALL = dense([[1, 0, 2, 0, 0], [0, 0, 0, 0, 0], [3, 4, 5, 6, 7], [0, -8, 0, 0, 9]])


CUT: dict[str, tuple[Any, Any]] = {
    module.FORMAT.name: (module.FORMAT.from_csr, module._bytes_needed)
    for module in (cache_blocked, propagation_blocked)
}


def of_width(f: Format, width: int) -> Format:
    """The format with blocks of at most so many columns."""
    convert, needed = CUT[f.name]
    return dataclasses.replace(f, from_csr=partial(convert, width=width), bytes_needed=partial(needed, width=width))


both = pytest.mark.parametrize("f", [FORMAT, propagation_blocked.FORMAT], ids=lambda f: f.name)


def test_blocks_by_hand() -> None:
    """Row 1 is empty: it belongs to the first block; row 0 has nothing in the last one."""
    layout = CacheBlockedLayout.from_csr(SMALL, width=2)
    assert [block.rows.tolist() for block in layout.blocks] == [
        [FIRST, FIRST + 1, FIRST + 2, FIRST + 3],
        [0, 2],
        [2, 3],
    ]
    assert [block.packed.indptr.tolist() for block in layout.blocks] == [[0, 1, 1, 3, 4], [0, 1, 3], [0, 1, 2]]
    assert [block.packed.to_csr().indices.tolist() for block in layout.blocks] == [[0, 0, 1, 1], [2, 2, 3], [4, 4]]
    assert [block.packed.to_csr().values.tolist() for block in layout.blocks] == [[1, 3, 4, -8], [2, 5, 6], [7, 9]]
    assert layout.stored_bytes == sum(4 * block.rows.size + block.packed.stored_bytes for block in layout.blocks)


def test_a_row_is_first_where_its_first_nonzero_lies() -> None:
    layout = CacheBlockedLayout.from_csr(coo(3, 9, [0, 1, 1, 0], [4, 4, 8, 8], [1.0] * 4), width=3)
    assert [block.rows.tolist() for block in layout.blocks] == [[FIRST, FIRST + 1, FIRST + 2], [0, 1]]


@pytest.mark.parametrize(
    ("n_cols", "width", "expected"),
    [(10, 10, 10), (10, 9, 5), (10, 4, 4), (10, 3, 3), (11, 4, 4), (0, 4, 1), (7, 1, 1)],
)
def test_blocks_are_nearly_equal(n_cols: int, width: int, expected: int) -> None:
    assert block_width(coo(1, n_cols, [], [], []), width) == expected


def test_x_of_a_block_takes_a_share_of_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_blocked, "HOST_CACHE_BYTES", 800)
    assert block_width(coo(1, 60, [], [], [])) == 30
    assert block_width(coo(1, 61, [], [], [])) == 21


@both
@pytest.mark.parametrize("width", [1, 7, 100])
@pytest.mark.parametrize("name", [name for name in BATTERY if name != "wide"])
def test_the_contract_with_many_blocks(f: Format, name: str, width: int) -> None:
    matrix = BATTERY[name]()
    if matrix.n_cols > 400 * width:
        width = matrix.n_cols // 400
    expected = *contract.references(matrix), contract.not_finite(matrix)
    contract.check_format(of_width(f, width), "cpu", matrix, matrix, expected, np)


@pytest.mark.parametrize("width", [23, 3000])
def test_long_segments_are_cut_and_joined(width: int) -> None:
    """Rows of 3000 nonzeros: a segment longer than a tile is summed in parts, in every block."""
    matrix = BATTERY["long_row_first"]()
    layout = CacheBlockedLayout.from_csr(matrix, width)
    assert any(block.packed.tiles.cut_rows.size for block in layout.blocks) == (width == 3000)
    expected = contract.references(matrix)
    contract.check_products(FORMAT, FORMAT.kernels[0], "cpu", layout, expected, np)


def test_nothing_is_stored_of_blocks_without_nonzeros() -> None:
    matrix = coo(5, 1000, [1, 3], [999, 5], [1.0, 2.0])
    layout = CacheBlockedLayout.from_csr(matrix, width=10)
    assert [block.row_numbers.tolist() for block in layout.blocks] == [[0, 2, 3, 4], [1]]
    assert CacheBlockedLayout.from_csr(CsrMatrix(*matrix.shape, matrix.indptr * 0, *_empty())).blocks == ()


def _empty() -> tuple[Any, Any]:
    return np.empty(0, np.int32), np.empty(0)


def test_pieces_of_tiles_by_hand() -> None:
    """One tile, three blocks of two columns."""
    layout = propagation_blocked.PropagationBlockedLayout.from_csr(SMALL, width=2)
    assert (layout.n_blocks, layout.starts.tolist()) == (3, [0, 4, 7, 9])
    assert layout.columns.tolist() == [0, 0, 1, 1, 2, 2, 3, 4, 4]
    assert layout.table[layout.stored].tolist() == [1, 3, 4, -8, 2, 5, 6, 7, 9]
    assert layout.positions.tolist() == [0, 2, 3, 7, 1, 4, 5, 6, 8]


def test_pieces_of_several_tiles() -> None:
    matrix = BATTERY["one_dense_row"]()
    layout = propagation_blocked.PropagationBlockedLayout.from_csr(matrix, width=2500)
    assert (layout.tiles.count, layout.n_blocks, layout.tiles.cut_rows.tolist()) == (2, 2, [7])
    assert layout.starts[[0, 2, 4]].tolist() == layout.tiles.borders.tolist()
    assert (layout.columns[layout.starts[1] : layout.starts[2]] >= 2500).all()
    assert (layout.columns[layout.starts[2] : layout.starts[3]] < 2500).all()


@pytest.mark.parametrize("name", ["one_dense_row", "power_law", "tall"])
def test_pieces_of_one_tile_after_the_other(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(propagation_blocked, "ENTRIES_PER_BLOCK", propagation_blocked.TILE)
    matrix = BATTERY[name]()
    f = of_width(propagation_blocked.FORMAT, matrix.n_cols // 3)
    contract.check_format(f, "cpu", matrix, matrix, contract.references(matrix), np)
