"""What every kernel of SpMM must do, by value, on either backend."""

from functools import partial
from typing import Any

import numpy as np

from gpu_engine import spmm
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.formats.dense_blocks import SIZES
from gpu_engine.generators import generate
from gpu_engine.spmm import ORDERS, Order, SpmmKernel
from gpu_engine.verify import EPSILON, POISON
from tests.battery import BATTERY

COLUMNS = {"cpu": (0, 1, 2, 5, 33), "cuda": (0, 1, 2, 3, 4, 6, 8, 9, 16, 17, 32, 33, 100, 132)}
"""Numbers of columns by backend; on a GPU they decide how the columns are spread over the lanes."""
SCALES = ((1.0, 0.0), (-2.5, 0.0), (1.0, 1.0), (0.5, -0.75), (0.0, 0.0), (0.0, 2.0))
"""Values of α and β."""

BLOCKED = {f"blocks of {size}": partial(generate, "fem", {"block": size, "nx": 4, "ny": 3, "nz": 3}) for size in SIZES}
"""Matrices for `bcsr`, which needs dense blocks."""

CASES = [
    (kernel, name) for kernel in spmm.KERNELS for name in (BLOCKED if kernel.name.startswith("bcsr/") else BATTERY)
]


def matrix_of(name: str) -> CsrMatrix:
    matrix: CsrMatrix = BLOCKED[name]() if name in BLOCKED else BATTERY[name]()
    return matrix


def to_host(array: Any) -> Any:
    return array if isinstance(array, np.ndarray) else array.get()


def dense_matrix(rows: int, columns: int, seed: int) -> Any:
    """Numbers of both signs."""
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (rows, columns))


def within(xp: Any, array: Any, before: int, after: int, order: Order = "row") -> Any:
    """The array on the device, between further columns of POISON; column major, between further rows."""
    if order == "column":
        return within(xp, array.T, before, after).T
    rows, columns = array.shape
    room = xp.full((rows, before + columns + after), POISON)
    room[:, before : before + columns] = xp.asarray(array)
    return room[:, before : before + columns]


def check_kernel(kernel: SpmmKernel, backend: str, matrix: CsrMatrix, host: CsrMatrix, xp: Any) -> None:
    """A layout holds the bytes it says, and its products are right for all columns, orders, strides, α and β."""
    layout = kernel.store(matrix)
    assert 2 * host.nnz <= layout.stored_bytes <= kernel.bytes_needed(matrix)
    for k in COLUMNS[backend]:
        x = dense_matrix(host.n_cols, k, seed=k)
        for order in ORDERS:
            launch = kernel.bound(backend, layout, k, order)
            for before, after in ((0, 0), (0, 1), (1, 1), (2, 2)):
                check_product(launch, host, x, (1.0, 0.0), xp, before, after, order)
            for scale in SCALES:
                check_product(launch, host, x, scale, xp, order=order)


def check_product(
    launch: Any,
    host: CsrMatrix,
    x: Any,
    scale: tuple[float, float],
    xp: Any,
    before: int = 0,
    after: int = 0,
    order: Order = "row",
    repeats: bool = True,
) -> None:
    """Y is right, has the same bits in a second run if it `repeats`, and nothing beside it is written."""
    (alpha, beta), k = scale, x.shape[1]
    start = dense_matrix(host.n_rows, k, seed=1000 + k) if beta else np.full((host.n_rows, k), POISON)
    # What α = 0 does not read may be anything.
    read = np.full_like(x, POISON) if alpha == 0.0 else x
    y = within(xp, start, before, after, order)
    launch(within(xp, read, before, after, order), y, alpha, beta)
    again = within(xp, start, before, after, order)
    launch(within(xp, read, before, after, order), again, alpha, beta)
    found, room = to_host(y), to_host(y.base if y.base is not None else y)
    assert not repeats or found.tobytes() == to_host(again).tobytes()
    written = slice(before, before + y.shape[1 if order == "row" else 0])
    assert np.isnan(np.delete(room, written, axis=1)).all()
    csr, lengths = host.to_scipy(), np.diff(host.indptr)
    expected = (alpha * (csr @ x) if alpha else 0.0 * (csr @ x)) + (beta * start if beta else 0.0)
    size = abs(alpha) * (abs(csr) @ abs(x)) + (abs(beta * start) if beta else 0.0)
    assert (abs(found - expected) <= 2.0 * (lengths[:, None] + 3.0) * EPSILON * size).all()


def check_not_finite(kernel: SpmmKernel, backend: str, matrix: CsrMatrix, host: CsrMatrix, xp: Any) -> None:
    """∞ and NaN of one column stay in it, and in the rows that read them."""
    x = dense_matrix(host.n_cols, 6, seed=6)
    places = [place for place in (0, host.n_cols // 2, host.n_cols - 1) if 0 <= place < host.n_cols]
    x[places, 3] = [np.inf, np.nan, -np.inf][: len(places)]
    y = xp.full((host.n_rows, 6), POISON)
    with np.errstate(invalid="ignore"):
        kernel.bound(backend, kernel.store(matrix), 6)(xp.asarray(x), y, 1.0, 0.0)
        expected = host.to_scipy() @ x
    found, finite = to_host(y), np.isfinite(expected)
    np.testing.assert_array_equal(np.where(finite, 0.0, found), np.where(finite, 0.0, expected))
    np.testing.assert_allclose(found[finite], expected[finite], rtol=1e-9, atol=1e-9)


def finds_corruption(kernel: SpmmKernel, backend: str, host: CsrMatrix, xp: Any, upload: Any) -> bool:
    """Whether `check_product` refuses the products of a matrix with one value changed by a millionth."""
    values = host.values.copy()
    values[values.size // 2] *= 1 + 1e-6
    changed = CsrMatrix(host.n_rows, host.n_cols, host.indptr, host.indices, values)
    launch = kernel.bound(backend, kernel.store(upload(changed)), 4)
    try:
        check_product(launch, host, dense_matrix(host.n_cols, 4, seed=4), (1.0, 0.0), xp)
    except AssertionError:
        return True
    return False
