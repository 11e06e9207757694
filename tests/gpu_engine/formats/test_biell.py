"""BiELL and BiJAD: strips, groups and lines by hand."""

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.formats import biell, bijad
from tests.battery import coo


def numbered(lengths: list[int]) -> CsrMatrix:
    """Rows of these lengths; entry s of row r lies in column s and is 100·r + s + 1."""
    rows = np.repeat(np.arange(len(lengths)), lengths)
    slots = np.concatenate([np.arange(length) for length in lengths])
    return coo(len(lengths), max(lengths), rows, slots, 100 * rows + slots + 1)


def test_groups_halve_the_strip() -> None:
    """16 rows of 1, 8 of 2, 4 of 3, 2 of 4, one of 5 and one of 9: each group but the last has one column."""
    lengths = [1] * 16 + [2] * 8 + [3] * 4 + [4] * 2 + [5] + [9]
    layout = biell.FORMAT.from_csr(numbered(lengths))
    order = [31, 30, 28, 29, 24, 25, 26, 27, *range(16, 24), *range(16)]
    assert layout.permutation.tolist() == order
    assert layout.lines.tolist() == [0, 1, 2, 3, 4, 5, 6]
    groups = layout.values.reshape(6, 32)
    for group in range(5):
        height = 32 >> group
        assert groups[group].tolist() == [100 * row + group + 1 for row in order[:height]] + [0] * (32 - height)
    assert groups[5].tolist() == [3106, 3107, 3108, 3109] + [0] * 28
    assert (layout.columns.reshape(6, 32)[5] == [5, 6, 7, 8] + [-1] * 28).all()
    assert layout.stored_bytes == 12 * 6 * 32 + 4 * 7 + 4 * 32


def test_a_group_is_stored_column_by_column_in_whole_lines() -> None:
    """Nine rows of 3 in a strip of 12 rows: c = 0, 3, so 16 × 3 entries in the second group, two lines."""
    layout = biell.FORMAT.from_csr(numbered([3] * 9 + [1] * 3))
    assert layout.lines.tolist() == [0, 0, 2, 2, 2, 2, 2]
    column = [100 * row for row in range(9)]
    first = [value + 1 for value in column] + [901, 1001, 1101, 0, 0, 0, 0]
    rest = [[value + slot for value in column] + [0] * 7 for slot in (2, 3)]
    assert layout.values.tolist() == [*first, *rest[0], *rest[1], *[0] * 16]


def test_biell_sorts_inside_strips_and_bijad_all_rows() -> None:
    matrix = numbered([1, 9] * 32)
    inside, whole = biell.FORMAT.from_csr(matrix), bijad.FORMAT.from_csr(matrix)
    odd, even = list(range(1, 64, 2)), list(range(0, 64, 2))
    assert inside.permutation.tolist() == odd[:16] + even[:16] + odd[16:] + even[16:]
    assert inside.lines.tolist() == [0, 1, 5, 5, 5, 5, 5, 6, 10, 10, 10, 10, 10]
    assert whole.permutation.tolist() == odd + even
    assert whole.lines.tolist() == [0, 9, 9, 9, 9, 9, 9, 10, 10, 10, 10, 10, 10]
