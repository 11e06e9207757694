"""What every format and kernel must do, by value, on either backend."""

from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import KernelError
from gpu_engine.formats.base import Format, Kernel
from gpu_engine.verify import POISON, check, reference


def to_host(array: Any) -> Any:
    return array if isinstance(array, np.ndarray) else array.get()


def check_round_trip(f: Format, matrix: CsrMatrix, host: CsrMatrix) -> None:
    """The layout converts back to the very same CSR: arrays, dtypes and shape."""
    back = f.from_csr(matrix).to_csr()
    assert back.shape == host.shape
    for name in ("indptr", "indices", "values"):
        expected, found = getattr(host, name), to_host(getattr(back, name))
        assert found.dtype == expected.dtype, name
        np.testing.assert_array_equal(found, expected, err_msg=name)


def check_bytes(f: Format, matrix: CsrMatrix) -> None:
    """What the format says it needs before conversion is what it then holds, or the most where it compresses."""
    layout = f.from_csr(matrix)
    assert layout.stored_bytes <= f.bytes_needed(matrix)
    assert f.compressed or layout.stored_bytes == f.bytes_needed(matrix)
    least = 2 if f.compressed else 12
    for kernel in f.kernels:
        assert least * matrix.nnz <= kernel.layout_bytes(layout) <= layout.stored_bytes


def product(f: Format, kernel: Kernel, backend: str, matrix: CsrMatrix, x: Any, xp: Any) -> Any:
    """y = A·x into a poisoned y, on the host."""
    y = xp.full(matrix.n_rows, POISON)
    run = kernel.product(backend)
    assert run is not None
    run(f.from_csr(matrix), xp.asarray(x), y)
    return to_host(y)


def check_product(f: Format, kernel: Kernel, backend: str, matrix: CsrMatrix, host: CsrMatrix, xp: Any) -> None:
    """The product is right within the rounding of two sums, twice: a kernel must not live on what y held before."""
    for seed in (0, 1):
        expected = reference(host, seed)
        check(expected, product(f, kernel, backend, matrix, expected.x, xp))


def finds_corruption(f: Format, kernel: Kernel, backend: str, matrix: CsrMatrix, host: CsrMatrix, xp: Any) -> bool:
    """Whether the check refuses a product of the matrix with one value changed by a millionth."""
    values = host.values.copy()
    values[values.size // 2] *= 1 + 1e-6
    changed = CsrMatrix(matrix.n_rows, matrix.n_cols, matrix.indptr, matrix.indices, xp.asarray(values))
    expected = reference(host)
    y = product(f, kernel, backend, changed, expected.x, xp)
    try:
        check(expected, y)
    except KernelError:
        return True
    return False
