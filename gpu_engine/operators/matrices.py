"""Wraps the arrays of matrices of SciPy, CuPy, and PyTorch; copies them only if their form requires it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import INDEX_LIMIT, CsrMatrix, check_csr
from gpu_engine.errors import DeviceError, ParameterError, TooLargeError
from gpu_engine.formats.base import array_module, pointers, row_of_entries, transpose
from gpu_engine.matrices.matrix_adapters import parts
from gpu_engine.matrices.whole_numbers import are_exact
from gpu_engine.operators import forks
from gpu_engine.operators.vectors import current_device, share_on_gpu


@dataclass(frozen=True, slots=True)
class WrappedMatrix:
    """A caller's matrix A as canonical arrays.

    stored      A, or Aᵀ if A is stored by columns, as canonical CSR on the host or on one GPU
    by_columns  whether `stored` is Aᵀ
    copied      why arrays were copied, in a few words; empty if they are the caller's arrays
    """

    stored: CsrMatrix
    by_columns: bool
    copied: str

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_cols) of A."""
        rows, columns = self.stored.shape
        return (columns, rows) if self.by_columns else (rows, columns)

    def by_rows(self) -> CsrMatrix:
        """Return A as canonical CSR, where `stored` lies; transposed if A is stored by columns."""
        return transpose(self.stored) if self.by_columns else self.stored


def wrap_arrays(matrix: Any) -> WrappedMatrix:
    """Return a matrix that shares the caller's arrays if these are canonical CSR or CSC (32-bit indices, fp64).

    Raises ParameterError for an unsupported or complex matrix, InputError if its arrays contradict each other,
    TooLargeError from 2³¹ rows or columns on, DeviceError if it lies on a GPU that does not respond.
    """
    if isinstance(matrix, CsrMatrix):
        return WrappedMatrix(matrix, False, "")
    layout, shape, arrays = parts(matrix)
    indices, minor, values = _located(arrays)
    if len(shape) != 2 or values.ndim != 1:
        raise ParameterError(f"The matrix has the shape {shape}; expected two dimensions and one value per nonzero.")
    if values.dtype.kind not in "fiub":
        raise ParameterError(f"The values are {values.dtype}; expected real numbers, which are converted to float64.")
    if max(shape) > INDEX_LIMIT:
        raise TooLargeError(
            f"The matrix is {shape[0]} × {shape[1]}; at most {INDEX_LIMIT} rows and columns are supported."
        )
    with current_device(values):
        return _wrap(layout, (shape[0], shape[1]), indices, minor, values)


def uploaded(wrapped: WrappedMatrix, ordinal: int) -> WrappedMatrix:
    """Copy a matrix from the host to a GPU, or to the current GPU if the number does not exist."""
    with _answering() as cupy:
        known = ordinal < cupy.cuda.runtime.getDeviceCount()
        with cupy.cuda.Device(ordinal if known else None):
            return replace(wrapped, stored=wrapped.stored.on(cupy))


def _wrap(layout: str, shape: tuple[int, int], indices: Any, minor: Any, values: Any) -> WrappedMatrix:
    if not are_exact(values):
        raise ParameterError(
            f"The matrix has an integer above 2^53 that fp64 cannot represent. Convert its {values.dtype} values to "
            "float64 if rounding is acceptable."
        )
    if layout == "coo":
        stored = _assembled(*shape, indices, minor, values)
        return WrappedMatrix(stored, False, "coordinates were sorted by row")
    by_columns = layout == "csc"
    n_major, n_minor = shape[::-1] if by_columns else shape
    stored, copied = _canonical(n_major, n_minor, indices, minor, values)
    return WrappedMatrix(stored, by_columns, copied)


def _located(arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arrays as NumPy arrays, or as CuPy arrays on one GPU, without copies."""
    arrays = tuple(map(_untracked, arrays))
    on_gpu = {hasattr(array, "__cuda_array_interface__") for array in arrays}
    if on_gpu == {False}:
        return tuple(np.asarray(array) for array in arrays)
    if on_gpu != {True}:
        raise ParameterError(
            "Some arrays of the matrix lie on a GPU and some on the host. Move all of them to one device."
        )
    with _answering() as cupy:
        cupy.cuda.runtime.getDeviceCount()
        native = tuple(share_on_gpu(array) for array in arrays)
    if len({array.data.device_id for array in native if array.nbytes}) > 1:
        raise ParameterError("The arrays of the matrix lie on several GPUs. Move all of them to one GPU.")
    return native


def _untracked(array: Any) -> Any:
    """Return the array, or a tensor in a dtype that NumPy knows; raises ParameterError if it requires a gradient."""
    if getattr(array, "requires_grad", False):
        raise ParameterError("The matrix requires a gradient, which operators do not compute. Pass matrix.detach().")
    if str(array.dtype).startswith(("torch.bfloat16", "torch.float8")):
        return array.double()
    return array


@contextmanager
def _answering() -> Iterator[Any]:
    """Yield CuPy; raises DeviceError if it is missing or no GPU responds."""
    try:
        import cupy
    except ImportError as error:
        raise DeviceError(
            "The matrix lies on a GPU, but CuPy is not installed: pip install 'sparsight[cuda13]'."
        ) from error
    try:
        yield cupy
    except cupy.cuda.runtime.CUDARuntimeError as error:
        if forks.FORKS.count:
            advice = f"This process was forked: {error}. {forks.ADVICE}"
            raise DeviceError(f"The matrix lies on a GPU that does not respond. {advice}") from error
        raise DeviceError(
            f"The matrix lies on a GPU, but no GPU responds: {error}. Copy the matrix to the host."
        ) from error


def _canonical(n_rows: int, n_cols: int, indptr: Any, indices: Any, values: Any) -> tuple[CsrMatrix, str]:
    """Return the arrays as a CsrMatrix, and the reason if they were copied."""
    check_csr(n_rows, n_cols, indptr, indices, values)
    cast = _cast(n_rows, n_cols, indptr, indices, values)
    pairs = zip((indptr, indices, values), (cast.indptr, cast.indices, cast.values), strict=True)
    changed = [f"{before.dtype} to {after.dtype}" for before, after in pairs if before.dtype != after.dtype]
    if _is_ascending(cast):
        return cast, f"cast from {', '.join(dict.fromkeys(changed))}" if changed else ""
    return _assembled(n_rows, n_cols, row_of_entries(cast), indices, values), "columns were sorted within the rows"


def _cast(n_rows: int, n_cols: int, indptr: Any, indices: Any, values: Any) -> CsrMatrix:
    xp = array_module(values)
    pointer = np.int32 if indices.size <= INDEX_LIMIT else np.int64
    kinds = (indptr, pointer), (indices, np.int32), (values, np.float64)
    return CsrMatrix(n_rows, n_cols, *(xp.ascontiguousarray(array, dtype=dtype) for array, dtype in kinds))


def _is_ascending(matrix: CsrMatrix) -> bool:
    """Return whether columns ascend within each row, none twice."""
    xp = array_module(matrix.indices)
    follows = matrix.indices[1:] > matrix.indices[:-1]
    starts = xp.zeros(matrix.nnz + 1, dtype=bool)
    starts[matrix.indptr] = True
    return bool((follows | starts[1:-1]).all())


def _assembled(n_rows: int, n_cols: int, rows: Any, columns: Any, values: Any) -> CsrMatrix:
    """Return coordinates in any order as a CsrMatrix; sum duplicates, keep explicit zeros."""
    xp = array_module(values)
    for name, coordinates, limit in (("row", rows, n_rows), ("column", columns, n_cols)):
        if coordinates.size and not 0 <= int(coordinates.min()) <= int(coordinates.max()) < limit:
            raise ParameterError(f"A {name} index lies outside 0 … {limit - 1}.")
    keys = rows.astype(np.int64) * n_cols + columns
    order = xp.argsort(keys, kind="stable")
    keys, data = keys[order], values[order].astype(np.float64)
    starts = xp.ones(keys.size, dtype=bool)
    starts[1:] = keys[1:] != keys[:-1]
    distinct = keys[starts]
    if distinct.size < keys.size:
        data = xp.bincount(xp.cumsum(starts) - 1, weights=data)
    lengths = xp.bincount(distinct // max(n_cols, 1), minlength=n_rows)
    return _cast(n_rows, n_cols, pointers(lengths, np.int64), distinct % max(n_cols, 1), data)
