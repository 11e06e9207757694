"""Libraries of SpMM: their kernels have names of their own, and SciPy's keeps the contract."""

import numpy as np
import pytest

from gpu_engine import spmm
from gpu_engine.competitors.spmm import LIBRARIES, LIBRARY_KERNELS, SCIPY, library_kernels
from tests.battery import BATTERY


def test_every_kernel_belongs_to_a_library() -> None:
    names = [kernel.name for kernel in LIBRARY_KERNELS]
    assert len(set(names)) == len(names)
    assert set(LIBRARIES) == {"scipy", "cusparse"}
    assert not LIBRARIES & {kernel.name.partition("/")[0] for kernel in spmm.KERNELS}
    assert library_kernels("cpu") == (SCIPY,)
    assert {kernel.name.partition("/")[0] for kernel in library_kernels("cuda")} == {"cusparse"}


@pytest.mark.parametrize("order", spmm.ORDERS)
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (-2.0, 0.0), (1.0, 1.0), (0.5, -3.0)])
def test_scipy_scales_and_adds(order: spmm.Order, alpha: float, beta: float) -> None:
    matrix = BATTERY["band"]()
    layout = SCIPY.store(matrix)
    x = np.random.default_rng(1).uniform(-1, 1, (matrix.n_cols, 3)).copy(order="C" if order == "row" else "F")
    y = np.full((matrix.n_rows, 3), np.nan if beta == 0.0 else 2.0, order="C" if order == "row" else "F")
    SCIPY.bound("cpu", layout, 3, order)(x, y, alpha, beta)
    assert np.allclose(y, alpha * (matrix.to_scipy() @ x) + (2.0 * beta if beta else 0.0))
    assert layout.stored_bytes == matrix.stored_bytes
