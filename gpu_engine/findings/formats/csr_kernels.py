"""Kernels that read the arrays of CSR, and the fastest of them: the baseline of what needs a conversion."""

from collections.abc import Sequence

from gpu_engine.formats import kernel_names
from gpu_engine.records import BACKENDS, Measurement

CSR = "csr"
CSR_VARIANTS = ("csr", "op_")
"""Beginnings of the variants of library kernels that read the arrays of CSR."""

FASTEST_CSR = "csr/fastest"
"""Name of a baseline that is the fastest CSR kernel of each matrix, if that is not the same kernel everywhere."""

FASTEST_CSR_IN_WORDS = "the fastest CSR kernel"

_OURS = frozenset(kernel for backend in BACKENDS for kernel in kernel_names(backend))


def keeps_csr(kernel: str) -> bool:
    """Return whether a kernel reads the arrays of CSR, so that a matrix in CSR needs no other layout."""
    name = kernel.partition("+")[0]
    format_name, _, variant = name.partition("/")
    return format_name == CSR or (name not in _OURS and variant.startswith(CSR_VARIANTS))


def fastest_csr(timed: Sequence[Measurement]) -> Measurement | None:
    """Return the fastest kernel of one facet that reads CSR; None without one. `timed`: with times."""
    csr = [m for m in timed if keeps_csr(m.kernel)]
    return min(csr, key=lambda m: (m.median_s or 0.0, m.kernel), default=None)
