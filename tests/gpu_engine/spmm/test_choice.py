"""The choice of a kernel by rows, columns, and room, and the layouts that it makes."""

import numpy as np
import pytest

from gpu_engine.generators import generate
from gpu_engine.spmm import Layouts, blocks, choice, kernel_for, rows, segments, slices
from gpu_engine.spmm.groups import LANES
from tests.battery import dense, with_row_lengths

PLENTY = 1e12


def test_long_rows_are_cut_on_a_gpu_only() -> None:
    short, long = dense([[1, 2], [0, 3]]), with_row_lengths([3, choice.LONG + 1], 200, seed=2)
    assert kernel_for(short, "cuda") is rows.KERNEL
    assert kernel_for(long, "cuda", 8, PLENTY) is segments.KERNEL
    assert kernel_for(long, "cpu", 8, PLENTY) is rows.KERNEL


@pytest.mark.parametrize(
    ("k", "room", "expected"),
    [(1, PLENTY, rows.KERNEL), (2, PLENTY, slices.KERNEL), (16, PLENTY, slices.KERNEL), (17, PLENTY, rows.KERNEL),
     (8, 0.0, rows.KERNEL), (8, 1e6, rows.KERNEL)],
)  # fmt: skip
def test_many_similar_rows_become_slices(k: int, room: float, expected: object) -> None:
    matrix = generate("stencil", {"points": 5, "nx": 600, "ny": 500})
    assert kernel_for(matrix, "cuda", k, room) is expected


def test_few_rows_and_rows_of_different_length_do_not() -> None:
    few = generate("stencil", {"points": 5, "nx": 60, "ny": 50})
    lengths = np.where(np.arange(LANES) % 32, 2, 20)
    for matrix in (few, with_row_lengths(lengths, LANES, seed=3)):
        assert kernel_for(matrix, "cuda", 8, PLENTY) is rows.KERNEL


def test_dense_blocks_are_stored_once_and_only_for_several_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "free_bytes", lambda backend: PLENTY)
    fem, plain = generate("fem", {"block": 3, "nx": 4, "ny": 3, "nz": 3}), dense([[1, 2], [0, 3]])
    layouts = Layouts(fem, "cuda")
    assert [layouts.kernel(k) for k in (2, 8, 1, 200)] == [blocks.KERNEL, blocks.KERNEL, rows.KERNEL, blocks.KERNEL]
    assert Layouts(plain, "cuda").kernel(4) is rows.KERNEL
    monkeypatch.setattr(choice, "free_bytes", lambda backend: 0)
    assert Layouts(fem, "cuda").kernel(4) is rows.KERNEL
