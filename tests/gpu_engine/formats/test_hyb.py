import pytest

from gpu_engine.formats import hyb
from gpu_engine.formats.hyb import mean_rule, third_rule
from tests.battery import BATTERY, dense, with_row_lengths


@pytest.mark.parametrize(
    ("lengths", "third", "mean"),
    [
        ([2, 0, 5, 2], 2, 2),
        ([1, 1, 9, 1, 1, 9, 1, 1, 9], 9, 4),
        ([1, 1, 9, 1, 1, 9, 1, 1, 1], 1, 3),
        ([0, 0, 0, 0, 6], 0, 1),
        ([1, 2], 2, 2),
        ([4], 4, 4),
        ([0, 0], 0, 1),
    ],
)
def test_widths_by_hand(lengths: list[int], third: int, mean: int) -> None:
    matrix = with_row_lengths(lengths, 9, 1)
    assert (third_rule(matrix), mean_rule(matrix)) == (third, mean)


@pytest.mark.parametrize("name", [name for name in BATTERY if BATTERY[name]().n_rows])
def test_the_third_rule_by_its_definition(name: str) -> None:
    matrix = BATTERY[name]()
    lengths = matrix.indptr[1:] - matrix.indptr[:-1]
    filled = [k for k in range(int(lengths.max()) + 1) if 3 * int((lengths >= k).sum()) >= matrix.n_rows]
    assert third_rule(matrix) == max(filled)


def test_each_row_is_cut_after_the_head() -> None:
    layout = hyb.FORMAT.from_csr(dense([[1, 0, 2, 0, 0], [0, 0, 0, 0, 0], [3, 4, 5, 6, 7], [0, -8, 0, 0, 9]]))
    assert layout.ell_part.columns.tolist() == [[0, -1, 0, 1], [2, -1, 1, 4]]
    assert layout.ell_part.values.tolist() == [[1, 0, 3, -8], [2, 0, 4, 9]]
    assert layout.coo_part.rows.tolist() == [2, 2, 2]
    assert layout.coo_part.columns.tolist() == [2, 3, 4]
    assert layout.coo_part.values.tolist() == [5, 6, 7]
    assert hyb.KERNEL.layout_bytes(layout) == 4 * 8 + 8 * 6 + 16 * 3
