"""The reference of batches so large that copies of a matrix share their vectors."""

import numpy as np
import pytest

from gpu_engine.batched.composition import VECTORS, Composition
from tests.battery import dense

A = dense([[1, 0, 2], [0, 0, 0], [3, 4, 0]])
B = dense([[0, 5, 0, 0, 0]])


@pytest.mark.parametrize("adds", [False, True])
def test_each_copy_has_its_product_and_every_so_manyth_the_same_x(adds: bool) -> None:
    composition = Composition((B, A), np.tile([1, 0], VECTORS + 40))
    assert (composition.n_rows, composition.n_cols) == (4 * (VECTORS + 40), 8 * (VECTORS + 40))
    expected = composition.reference(seed=3, adds=adds)
    # A pair of problems, A before B, has 8 elements of x and 4 of y.
    x, y = expected.x.reshape(-1, 8), expected.y.reshape(-1, 4)
    before = composition.start(seed=3).reshape(-1, 4) if adds else np.zeros_like(y)
    products = np.hstack([x[:, :3] @ A.to_scipy().T.toarray(), x[:, 3:] @ B.to_scipy().T.toarray()])
    np.testing.assert_allclose(y, products + before, atol=1e-14)
    sums = [np.abs(x[:, :3]) @ A.to_scipy().T.toarray(), np.abs(x[:, 3:]) @ B.to_scipy().T.toarray()]
    np.testing.assert_allclose(expected.scale.reshape(-1, 4), np.hstack(sums) + np.abs(before), atol=1e-14)
    # 2 · (entries + 1), one term more where y is one.
    assert set(map(tuple, expected.limit.reshape(-1, 4))) == {(8, 4, 8, 6) if adds else (6, 2, 6, 4)}
    np.testing.assert_array_equal(x[VECTORS:], x[:40])
    assert len(np.unique(x[:VECTORS])) == 8 * VECTORS
    assert np.abs(x).max() < 1.0
