from gpu_engine.formats import csc
from tests.battery import dense


def test_columns_by_hand() -> None:
    layout = csc.FORMAT.from_csr(dense([[1, 0, 2, 0, 0], [0, 0, 0, 0, 0], [3, 4, 5, 6, 7], [0, -8, 0, 0, 9]]))
    assert layout.indptr.tolist() == [0, 2, 4, 6, 7, 9]
    assert layout.rows.tolist() == [0, 2, 2, 3, 0, 2, 2, 2, 3]
    assert layout.values.tolist() == [1, 3, 4, -8, 2, 5, 6, 7, 9]
