"""Matrices of SciPy, CuPy and PyTorch as the arrays that they are: known by attributes, copied where they must be."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import INDEX_LIMIT, CsrMatrix, check_csr
from gpu_engine.errors import DeviceError, ParameterError, TooLargeError
from gpu_engine.formats.base import array_module, pointers, row_of_entries
from gpu_engine.matrices.foreign import parts
from gpu_engine.matrices.whole_numbers import are_exact
from gpu_engine.operators import forks
from gpu_engine.operators.vectors import current_device, share_on_gpu


@dataclass(frozen=True, slots=True)
class Adopted:
    """A matrix A of somebody else.

    stored      A, or Aᵀ where A is stored by columns: as canonical CSR, on the host or on one GPU
    by_columns  whether `stored` is Aᵀ
    copied      why arrays had to be copied, in a few words; empty where they are the caller's own
    """

    stored: CsrMatrix
    by_columns: bool
    copied: str

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_cols) of A."""
        rows, columns = self.stored.shape
        return (columns, rows) if self.by_columns else (rows, columns)


def adopt(matrix: Any) -> Adopted:
    """The matrix with its own arrays where they are canonical CSR or CSC with 32-bit indices and fp64 values.

    Raises ParameterError for what is no such matrix or is not real, InputError where its arrays contradict each other,
    TooLargeError from 2³¹ rows or columns on, DeviceError where it lies on a GPU that does not answer.
    """
    if isinstance(matrix, CsrMatrix):
        return Adopted(matrix, False, "")
    layout, shape, arrays = parts(matrix)
    indices, minor, values = _located(arrays)
    if len(shape) != 2 or values.ndim != 1:
        raise ParameterError(f"The matrix has the shape {shape}; two dimensions and one value an entry were expected.")
    if values.dtype.kind not in "fiub":
        raise ParameterError(f"The values are {values.dtype}; real numbers were expected, which become float64.")
    if max(shape) > INDEX_LIMIT:
        raise TooLargeError(f"The matrix is {shape[0]} × {shape[1]}; at most {INDEX_LIMIT} rows and columns fit.")
    with current_device(values):
        return _adopted(layout, (shape[0], shape[1]), indices, minor, values)


def uploaded(adopted: Adopted, ordinal: int) -> Adopted:
    """Return a matrix of the host on the GPU of that number, on the current one where there are not so many."""
    with _answering() as cupy:
        known = ordinal < cupy.cuda.runtime.getDeviceCount()
        with cupy.cuda.Device(ordinal if known else None):
            return replace(adopted, stored=adopted.stored.on(cupy))


def _adopted(layout: str, shape: tuple[int, int], indices: Any, minor: Any, values: Any) -> Adopted:
    if not are_exact(values):
        raise ParameterError(
            f"The matrix has a whole number beyond 2^53 that fp64 does not hold. Convert its {values.dtype} values to "
            "float64 if rounded ones will do."
        )
    if layout == "coo":
        stored = _assembled(*shape, indices, minor, values)
        return Adopted(stored, False, "coordinates were sorted into rows")
    by_columns = layout == "csc"
    n_major, n_minor = shape[::-1] if by_columns else shape
    stored, copied = _canonical(n_major, n_minor, indices, minor, values)
    return Adopted(stored, by_columns, copied)


def _located(arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arrays as those of NumPy, or all of CuPy and on one GPU; not copied."""
    arrays = tuple(map(_untracked, arrays))
    on_gpu = {hasattr(array, "__cuda_array_interface__") for array in arrays}
    if on_gpu == {False}:
        return tuple(np.asarray(array) for array in arrays)
    if on_gpu != {True}:
        raise ParameterError("Some arrays of the matrix lie on a GPU and some on the host; all have to lie on one.")
    with _answering() as cupy:
        cupy.cuda.runtime.getDeviceCount()
        native = tuple(share_on_gpu(array) for array in arrays)
    if len({array.data.device_id for array in native if array.nbytes}) > 1:
        raise ParameterError("The arrays of the matrix lie on several GPUs; all have to lie on one.")
    return native


def _untracked(array: Any) -> Any:
    """An array as it is; a tensor in a dtype that NumPy knows, unless it is one that wants a gradient."""
    if getattr(array, "requires_grad", False):
        raise ParameterError("The matrix wants a gradient; an operator gives only that of x. Give matrix.detach().")
    if str(array.dtype).startswith(("torch.bfloat16", "torch.float8")):
        return array.double()
    return array


@contextmanager
def _answering() -> Iterator[Any]:
    """CuPy; raises DeviceError where it is missing or no GPU answers."""
    try:
        import cupy
    except ImportError as error:
        raise DeviceError("The matrix lies on a GPU, and CuPy is missing: pip install 'sparsight[cuda13]'.") from error
    try:
        yield cupy
    except cupy.cuda.runtime.CUDARuntimeError as error:
        if forks.FORKS.count:
            advice = f"This process was forked: {error}. {forks.ADVICE}"
            raise DeviceError(f"The matrix lies on a GPU, which does not answer. {advice}") from error
        raise DeviceError(f"The matrix lies on a GPU, and no GPU answers: {error}. Bring it to the host.") from error


def _canonical(n_rows: int, n_cols: int, indptr: Any, indices: Any, values: Any) -> tuple[CsrMatrix, str]:
    """The arrays as a CsrMatrix, and why they had to be copied."""
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
    """Whether columns ascend within each row, none twice."""
    xp = array_module(matrix.indices)
    follows = matrix.indices[1:] > matrix.indices[:-1]
    starts = xp.zeros(matrix.nnz + 1, dtype=bool)
    starts[matrix.indptr] = True
    return bool((follows | starts[1:-1]).all())


def _assembled(n_rows: int, n_cols: int, rows: Any, columns: Any, values: Any) -> CsrMatrix:
    """Coordinates in any order as a CsrMatrix: duplicates are summed, zeros stay entries."""
    xp = array_module(values)
    for name, found, limit in (("row", rows, n_rows), ("column", columns, n_cols)):
        if found.size and not 0 <= int(found.min()) <= int(found.max()) < limit:
            raise ParameterError(f"A {name} index lies outside 0 … {limit - 1}.")
    keys = rows.astype(np.int64) * n_cols + columns
    order = xp.argsort(keys, kind="stable")
    keys, data = keys[order], values[order].astype(np.float64)
    starts = xp.ones(keys.size, dtype=bool)
    starts[1:] = keys[1:] != keys[:-1]
    kept = keys[starts]
    if kept.size < keys.size:
        data = xp.bincount(xp.cumsum(starts) - 1, weights=data)
    lengths = xp.bincount(kept // max(n_cols, 1), minlength=n_rows)
    return _cast(n_rows, n_cols, pointers(lengths, np.int64), kept % max(n_cols, 1), data)
