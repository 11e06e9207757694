"""What is counted on the borders of cases, by hand."""

from typing import Any

import pytest

from gpu_engine.advisor import work
from gpu_engine.advisor.model import MODELS
from gpu_engine.advisor.work import Work
from gpu_engine.formats import split
from gpu_engine.formats.packing import CODES
from tests.gpu_engine.advisor.samples import EVEN

N, NNZ = EVEN["n_rows"], EVEN["nnz"]


def counted(kernel: str, **changed: Any) -> Work:
    return MODELS[kernel][0]({**EVEN, **changed})


def test_passes_over_a_row_after_the_first_cost_less() -> None:
    assert counted("csr/vector", ave=96.0).lanes == 32 * N * (1.0 + 2 * work.NEXT_PASS)
    assert counted("csr/scalar", ave=96.0).lanes == N


@pytest.mark.parametrize(
    ("distinct", "floats", "value"), [(1, 1, 0), (2, 1, 1), (CODES, 0, 1), (CODES + 1, 1, 4), (CODES + 1, 0, 8)]
)
def test_values_take_the_bytes_that_tell_them_apart(distinct: int, floats: int, value: int) -> None:
    known = {"distinct_values": distinct, "float_values": bool(floats)}
    constant = {"distinct_values": 1}
    for kernel in ("packed/tile", "sellp-packed/t1"):
        assert counted(kernel, **known).stored_bytes - counted(kernel, **constant).stored_bytes == pytest.approx(
            value * NNZ
        )


def test_columns_are_narrow_by_runs_in_tiles_and_by_slices_in_slices() -> None:
    saved = {
        (kernel, narrow): counted(kernel).stored_bytes - counted(kernel, **{narrow: 1.0}).stored_bytes
        for kernel in ("packed/tile", "sellp-packed/t1")
        for narrow in ("narrow_runs", "narrow_slices")
    }
    assert saved == {
        ("packed/tile", "narrow_runs"): 2 * NNZ,
        ("packed/tile", "narrow_slices"): 0,
        ("sellp-packed/t1", "narrow_runs"): 0,
        ("sellp-packed/t1", "narrow_slices"): 2 * NNZ,
    }


def test_rows_over_an_eighth_of_a_tile_ask_for_a_second_kernel() -> None:
    assert [counted("split/tile", max=split.TILE // 8 + more).launches for more in (0, 1)] == [1, 2]


def test_padding_is_read_in_part_and_stored_in_full() -> None:
    plain, padded = counted("sellp/t1"), counted("sellp/t1", n_iter_ellr=2 * EVEN["n_iter_ellr"])
    assert padded.stored_bytes - plain.stored_bytes == 12 * NNZ
    assert padded.moved_bytes - plain.moved_bytes == pytest.approx(work.READ_PADDING * 12 * NNZ)
    assert (plain.padding, padded.padding) == (0.0, 0.5)


def test_sorted_slices_are_padded_as_sorted_rows_are() -> None:
    assert counted("sellp-sorted/t1", n_iter_ellr=2**30) == counted("sellp-sorted/t1")
    assert counted("sellp-sorted/t1", n_iter_sorted=2 * EVEN["n_iter_sorted"]).slots == 2 * NNZ


def test_x_is_read_and_y_written_once() -> None:
    plain, wide = counted("csr/vector"), counted("csr/vector", n_cols=3 * N)
    assert (wide.moved_bytes - plain.moved_bytes, wide.stored_bytes) == (16 * N, plain.stored_bytes)
