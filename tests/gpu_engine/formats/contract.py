"""What every format and kernel must do, by value, on either backend."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import KernelError
from gpu_engine.formats.base import Format, Kernel
from gpu_engine.verify import POISON, Reference, check, reference
from tests.battery import mirrored


def to_host(array: Any) -> Any:
    return array if isinstance(array, np.ndarray) else array.get()


def suited(f: Format, matrix: CsrMatrix) -> CsrMatrix:
    """A matrix of the same kind to which the format applies."""
    return mirrored(matrix) if f.symmetric_only else matrix


def check_format(
    f: Format, backend: str, matrix: CsrMatrix, host: CsrMatrix, expected: Sequence[Reference], xp: Any
) -> None:
    """One layout of the matrix: it converts back, holds the bytes it says, and every kernel's products are right."""
    layout = f.from_csr(matrix)
    check_round_trip(layout, host)
    check_bytes(f, matrix, layout)
    for kernel in f.kernels:
        if kernel.product(backend):
            check_products(f, kernel, backend, layout, expected, xp)


def check_round_trip(layout: Any, host: CsrMatrix) -> None:
    """The layout converts back to the very same CSR: arrays, dtypes and shape."""
    back = layout.to_csr()
    assert back.shape == host.shape
    for name in ("indptr", "indices", "values"):
        expected, found = getattr(host, name), to_host(getattr(back, name))
        assert found.dtype == expected.dtype, name
        np.testing.assert_array_equal(found, expected, err_msg=name)


def check_bytes(f: Format, matrix: CsrMatrix, layout: Any) -> None:
    """What the format says it needs before conversion is what it then holds, or the most where it compresses."""
    assert layout.stored_bytes <= f.bytes_needed(matrix)
    assert f.compressed or layout.stored_bytes == f.bytes_needed(matrix)
    least = 2 if f.compressed else 12
    for kernel in f.kernels:
        assert least * matrix.nnz <= kernel.layout_bytes(layout) <= layout.stored_bytes


def product(kernel: Kernel, backend: str, layout: Any, expected: Reference, xp: Any) -> Any:
    """y = A·x into a poisoned y, on the host."""
    y = xp.full(expected.y.size, POISON)
    run = kernel.product(backend)
    assert run is not None
    # ∞ − ∞ is what some of the products are.
    with np.errstate(invalid="ignore"):
        run(layout, xp.asarray(expected.x), y)
    return to_host(y)


def check_products(
    f: Format, kernel: Kernel, backend: str, layout: Any, expected: Sequence[Reference], xp: Any
) -> None:
    """Each product is right within the rounding of two sums: a kernel must not live on what y held before.

    What is not finite is the same in the same rows: padding gathers no x.
    """
    for each in expected:
        try:
            y, finite = product(kernel, backend, layout, each, xp), np.isfinite(each.y)
            np.testing.assert_array_equal(np.where(finite, 0.0, y), np.where(finite, 0.0, each.y))
            rows = (array[finite] for array in (each.y, each.scale, each.limit))
            check(Reference(each.x, *rows), y[finite])
        except Exception as error:
            error.add_note(f.name_of(kernel))
            raise


def references(matrix: CsrMatrix) -> tuple[Reference, ...]:
    """The products of the host matrix with two vectors."""
    return reference(matrix, 0), reference(matrix, 1)


def not_finite(matrix: CsrMatrix) -> Reference:
    """The product with an x of which the first element, a middle one and the last are ∞, NaN and −∞."""
    expected = reference(matrix)
    places = [place for place in (0, matrix.n_cols // 2, matrix.n_cols - 1) if 0 <= place < matrix.n_cols]
    expected.x[places] = [np.inf, np.nan, -np.inf][: len(places)]
    return replace(expected, y=matrix.to_scipy() @ expected.x)


def finds_corruption(f: Format, kernel: Kernel, backend: str, matrix: CsrMatrix, host: CsrMatrix, xp: Any) -> bool:
    """Whether the check refuses a product of the matrix with one value changed by a millionth."""
    values = host.values.copy()
    values[_place(f, host)] *= 1 + 1e-6
    changed = CsrMatrix(matrix.n_rows, matrix.n_cols, matrix.indptr, matrix.indices, xp.asarray(values))
    expected = reference(host)
    y = product(kernel, backend, f.from_csr(changed), expected, xp)
    try:
        check(expected, y)
    except KernelError:
        return True
    return False


def _place(f: Format, host: CsrMatrix) -> int:
    """A nonzero in the middle; one on the diagonal, where the matrix has to stay symmetric."""
    if not f.symmetric_only:
        return host.nnz // 2
    rows = np.repeat(np.arange(host.n_rows), np.diff(host.indptr))
    diagonal = np.flatnonzero(rows == host.indices)
    return int(diagonal[diagonal.size // 2])
