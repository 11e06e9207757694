"""Names of the study `spmm`: its axes, and its kernels that multiply one vector at a time."""

K, ORDER = "k", "order"
"""Axes of a case: number of columns, and order of X and Y."""

ORDER_NAMES = {"row": "row major", "column": "column major"}

SPMV = "spmv"
"""Format, in records, of k SpMVs: `spmv/csr-vector` multiplies with `csr/vector` k times."""


def spmvs_of(kernel: str) -> str:
    """Return the name of k SpMVs with a kernel: `spmv/csr-vector` of `csr/vector`."""
    return f"{SPMV}/{kernel.replace('/', '-')}"


def label(kernel: str) -> str:
    """Return the name of a kernel on pages: `k × csr/vector` for k SpMVs, and any other as it is."""
    prefix, _, name = kernel.partition("/")
    return f"k × {name.replace('-', '/', 1)}" if prefix == SPMV else kernel
