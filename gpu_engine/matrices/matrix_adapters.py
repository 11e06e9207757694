"""Adapters for sparse matrices of other libraries, recognized by their attributes, without importing any library."""

from typing import Any

from gpu_engine.errors import ParameterError

KNOWN = "scipy.sparse, cupyx.scipy.sparse, torch.sparse (CSR, CSC, and COO), and objects with tocsr()"

TORCH = {
    "torch.sparse_csr": ("csr", ("crow_indices", "col_indices", "values")),
    "torch.sparse_csc": ("csc", ("ccol_indices", "row_indices", "values")),
    "torch.sparse_coo": ("coo", ("_indices", "_values")),
}
"""Layout of a tensor → its format, and the methods that return its arrays."""


INDICES = {"csr": ("indptr", "indices"), "csc": ("indptr", "indices"), "coo": ("row", "col")}
"""Format → names of the two index arrays in SciPy and CuPy."""


def parts(matrix: Any) -> tuple[str, tuple[int, ...], tuple[Any, ...]]:
    """Return (csr, csc, or coo; shape; two index arrays and values); raises ParameterError for other objects.

    Matrices of other formats are converted by their method `tocsr`.
    """
    kind, names = TORCH.get(str(getattr(matrix, "layout", "")), ("", ()))
    shape = tuple(int(extent) for extent in getattr(matrix, "shape", ()))
    if kind:
        first, *others = (getattr(matrix, name)() for name in names)
        return kind, shape, (*first, *others) if kind == "coo" else (first, *others)
    layout = str(getattr(matrix, "format", None))
    if layout not in INDICES and hasattr(matrix, "tocsr") and len(shape) == 2:
        matrix, layout = _by_rows(matrix), "csr"
    names = INDICES.get(layout, ())
    if not names or not all(hasattr(matrix, name) for name in (*names, "data")):
        raise ParameterError(_refusal(matrix, shape))
    return layout, shape, tuple(getattr(matrix, name) for name in (*names, "data"))


def _by_rows(matrix: Any) -> Any:
    try:
        return matrix.tocsr()
    except NotImplementedError as error:
        raise ParameterError(
            f"{type(matrix).__name__} has no conversion to CSR. Convert it to CSR, CSC, or COO."
        ) from error


def _refusal(matrix: Any, shape: tuple[int, ...]) -> str:
    """Return why an object is not supported, and what to pass instead."""
    kind = type(matrix).__name__
    if hasattr(matrix, "tocsr") and len(shape) != 2:
        return f"{kind} has the shape {shape}; expected a matrix with two dimensions."
    if str(getattr(matrix, "layout", "")).startswith("torch.sparse_"):
        return f"Tensors of the layout {matrix.layout} are not supported. Pass tensor.to_dense().to_sparse_csr()."
    if hasattr(matrix, "matvec"):
        return f"{kind} is an operator whose nonzeros are unknown. Pass its matrix. Supported: {KNOWN}."
    if str(getattr(matrix, "layout", "")) == "torch.strided":
        return f"{kind} is dense. Pass a sparse matrix: tensor.to_sparse_csr()."
    if hasattr(matrix, "__cuda_array_interface__"):
        return f"{kind} is dense. Pass a sparse matrix: cupyx.scipy.sparse.csr_matrix(matrix)."
    if hasattr(matrix, "__array__") or hasattr(matrix, "__dlpack__") or isinstance(matrix, list | tuple):
        return f"{kind} is dense. Pass a sparse matrix: scipy.sparse.csr_array(matrix)."
    return f"Unsupported matrix type {kind}. Supported: {KNOWN}."
