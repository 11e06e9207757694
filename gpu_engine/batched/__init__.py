"""Batched SpMV: many small matrices in one launch. KERNELS is the list of its kernels.

Source: batched SpMV paper.
"""

from collections.abc import Sequence

from gpu_engine.batched import auto, coo, csr, csri, ell, shared, sliced
from gpu_engine.batched.base import BatchKernel
from gpu_engine.errors import ParameterError, quote

KERNELS: tuple[BatchKernel, ...] = (
    *coo.KERNELS,
    *csr.KERNELS,
    *csri.KERNELS,
    *ell.KERNELS,
    *sliced.KERNELS,
    *shared.KERNELS,
    *auto.KERNELS,
)


def kernels_on(backend: str, names: Sequence[str] = ()) -> tuple[BatchKernel, ...]:
    """Return the kernels of a backend with these names, or all; raise ParameterError for an unknown name."""
    known = tuple(kernel for kernel in KERNELS if kernel.product(backend) is not None)
    for name in names:
        if all(name != kernel.name for kernel in known):
            listed = ", ".join(kernel.name for kernel in known)
            raise ParameterError(f"Unknown batched kernel {quote(name)} on {backend}. Known kernels: {listed}.")
    return tuple(kernel for kernel in known if not names or kernel.name in names)
