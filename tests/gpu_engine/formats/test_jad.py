from gpu_engine.formats import jad
from tests.battery import dense


def test_diagonals_by_hand() -> None:
    layout = jad.FORMAT.from_csr(dense([[1, 0, 2, 0, 0], [0, 0, 0, 0, 0], [3, 4, 5, 6, 7], [0, -8, 0, 0, 9]]))
    assert layout.permutation.tolist() == [2, 0, 3, 1]
    assert layout.diagonals.tolist() == [0, 3, 6, 7, 8, 9]
    assert layout.columns.tolist() == [0, 0, 1, 1, 2, 4, 2, 3, 4]
    assert layout.values.tolist() == [3, 1, -8, 4, 2, 9, 5, 6, 7]
