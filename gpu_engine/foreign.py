"""Sparse matrices of other libraries, known by their attributes: this imports none of them, and not NumPy either."""

from typing import Any

from gpu_engine.errors import ParameterError

KNOWN = "CSR, CSC and COO of scipy.sparse, cupyx.scipy.sparse and torch.sparse, and a CsrMatrix"

TORCH = {
    "torch.sparse_csr": ("csr", ("crow_indices", "col_indices", "values")),
    "torch.sparse_csc": ("csc", ("ccol_indices", "row_indices", "values")),
    "torch.sparse_coo": ("coo", ("_indices", "_values")),
}
"""By the layout of a tensor: its format, and what gives its arrays."""


INDICES = {"csr": ("indptr", "indices"), "csc": ("indptr", "indices"), "coo": ("row", "col")}
"""What SciPy and CuPy call the two index arrays of each format."""


def parts(matrix: Any) -> tuple[str, tuple[int, ...], tuple[Any, ...]]:
    """(csr, csc or coo; shape; its two index arrays and its values); raises ParameterError for anything else."""
    kind, names = TORCH.get(str(getattr(matrix, "layout", "")), ("", ()))
    shape = tuple(int(extent) for extent in getattr(matrix, "shape", ()))
    if kind:
        first, *others = (getattr(matrix, name)() for name in names)
        return kind, shape, (*first, *others) if kind == "coo" else (first, *others)
    layout = getattr(matrix, "format", None)
    names = INDICES.get(str(layout), ())
    if not names or not all(hasattr(matrix, name) for name in (*names, "data")):
        raise ParameterError(f"{type(matrix).__name__} is no sparse matrix that is known here; known are {KNOWN}.")
    return str(layout), shape, tuple(getattr(matrix, name) for name in (*names, "data"))
