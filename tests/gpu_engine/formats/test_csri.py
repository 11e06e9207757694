import pytest

from gpu_engine.formats import csri
from tests.battery import with_row_lengths


@pytest.mark.parametrize(
    ("lengths", "first_rows"),
    [
        ([600, 0, 0, 500, 400], [0, 0, 3]),
        ([0, 512, 0, 0, 512, 0], [1, 4]),
        ([511, 2, 0], [0, 0]),
        ([256, 1, 256], [0, 1]),
        ([0, 0], []),
    ],
)
def test_first_rows_hold_the_first_entry_of_each_part(lengths: list[int], first_rows: list[int]) -> None:
    layout = csri.FORMAT.from_csr(with_row_lengths(lengths, 700, 1))
    assert layout.first_rows.tolist() == first_rows
    assert layout.stored_bytes == layout.matrix.stored_bytes + 4 * len(first_rows)
