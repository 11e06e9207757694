"""Sparse matrices of other libraries, known by their attributes: this imports none of them, and not NumPy either."""

from typing import Any

from gpu_engine.errors import ParameterError

KNOWN = "matrices of scipy.sparse and cupyx.scipy.sparse, CSR, CSC and COO of torch.sparse, and what has tocsr()"

TORCH = {
    "torch.sparse_csr": ("csr", ("crow_indices", "col_indices", "values")),
    "torch.sparse_csc": ("csc", ("ccol_indices", "row_indices", "values")),
    "torch.sparse_coo": ("coo", ("_indices", "_values")),
}
"""By the layout of a tensor: its format, and what gives its arrays."""


INDICES = {"csr": ("indptr", "indices"), "csc": ("indptr", "indices"), "coo": ("row", "col")}
"""What SciPy and CuPy call the two index arrays of each format."""


def parts(matrix: Any) -> tuple[str, tuple[int, ...], tuple[Any, ...]]:
    """(csr, csc or coo; shape; its two index arrays and its values); raises ParameterError for anything else.

    Matrices of other formats are converted by their own `tocsr`.
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
            f"{type(matrix).__name__} has no conversion to CSR. Convert it to CSR, CSC or COO yourself."
        ) from error


def _refusal(matrix: Any, shape: tuple[int, ...]) -> str:
    """Why it is not taken, and what to give instead."""
    kind = type(matrix).__name__
    if hasattr(matrix, "tocsr") and len(shape) != 2:
        return f"{kind} has the shape {shape}; a matrix of two dimensions was expected."
    if str(getattr(matrix, "layout", "")).startswith("torch.sparse_"):
        return f"A tensor of the layout {matrix.layout} is not taken: give tensor.to_dense().to_sparse_csr()."
    if hasattr(matrix, "matvec"):
        return f"{kind} multiplies, and its entries are not known. Give the matrix behind it: {KNOWN}."
    if str(getattr(matrix, "layout", "")) == "torch.strided":
        return f"{kind} is dense. Give a sparse matrix: tensor.to_sparse_csr()."
    if hasattr(matrix, "__cuda_array_interface__"):
        return f"{kind} is dense. Give a sparse matrix: cupyx.scipy.sparse.csr_matrix(matrix)."
    if hasattr(matrix, "__array__") or hasattr(matrix, "__dlpack__") or isinstance(matrix, list | tuple):
        return f"{kind} is dense. Give a sparse matrix: scipy.sparse.csr_array(matrix)."
    return f"{kind} is not a sparse matrix that is known here; known are {KNOWN}."
