"""BATCHES: the named hostile batches on which every batched kernel is tested."""

from collections.abc import Callable

from gpu_engine.batched.blocks import DEFAULT_BYTES, HOST_BLOCK_BYTES
from gpu_engine.batched.composition import Composition
from gpu_engine.csr_matrix import CsrMatrix
from tests.battery import BATTERY, WARP, with_row_lengths

UNASKED_COLUMNS, MOST_COLUMNS = DEFAULT_BYTES // 8, HOST_BLOCK_BYTES // 8
"""Columns whose x a block has shared memory for: without asking, and at most, on an H200."""


def _of(*names: str) -> Composition:
    return Composition.of([BATTERY[name]() for name in names])


def _everything() -> Composition:
    """All of BATTERY with at most some thousand rows and an x that fits 48 KB; no two neighbours are alike."""
    matrices = [build() for build in BATTERY.values()]
    return Composition.of([m for m in matrices if m.n_rows <= 5000 and m.n_cols <= UNASKED_COLUMNS])


def _wide(n_cols: int) -> CsrMatrix:
    """Few rows of few entries, the last of them in the last column."""
    narrow = with_row_lengths([5, 0, 40, 1], n_cols - 1, 30)
    indices = narrow.indices.copy()
    indices[-1] = n_cols - 1
    return CsrMatrix(narrow.n_rows, n_cols, narrow.indptr, indices, narrow.values)


BATCHES: dict[str, Callable[[], Composition]] = {
    "empty_batch": lambda: Composition.of([]),
    "one_problem": lambda: _of("band"),
    "all_problems_empty": lambda: _of("zero_by_zero", "zero_by_n", "n_by_zero", "all_rows_empty", "zero_by_zero"),
    "empty_problems_around_others": lambda: _of("n_by_zero", "small_by_hand", "zero_by_n", "single_entry", "n_by_zero"),
    "everything": _everything,
    "uniform": lambda: Composition.copies(BATTERY["small_by_hand"](), 40),
    "mixed": lambda: Composition.mixed(
        [BATTERY[n]() for n in ("small_by_hand", "around_a_warp", "fully_dense")], 50, 1
    ),
    "thirty_three_rows": lambda: Composition.copies(with_row_lengths([3, *[2] * (WARP - 1), 40], 50, 31), 3),
    "one_dense_row": lambda: _of("small_by_hand", "one_dense_row", "one_row"),
    "explicit_zeros": lambda: _of("all_explicit_zeros", "explicit_zeros", "duplicates_summed"),
    "x_just_fits_unasked": lambda: Composition.of([_wide(UNASKED_COLUMNS), BATTERY["small_by_hand"]()]),
    "x_is_asked_for": lambda: Composition.of([BATTERY["small_by_hand"](), _wide(UNASKED_COLUMNS + 1)]),
    "x_just_fits_all": lambda: Composition.of([_wide(MOST_COLUMNS), BATTERY["small_by_hand"]()]),
    "x_just_too_long": lambda: Composition.of([BATTERY["small_by_hand"](), _wide(MOST_COLUMNS + 1), _wide(99)]),
    "one_long_x_among_many": lambda: Composition.of([BATTERY["band"](), _wide(UNASKED_COLUMNS + 1), _wide(50)]),
    "more_rows_than_a_block_and_a_long_x": lambda: _of("tall", "wide", "small_by_hand", "every_row_one_entry"),
}
"""Name → what the batch is made of, built anew by each call and the same each time."""
