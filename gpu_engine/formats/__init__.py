"""FORMATS: the one list of storage formats; the contract tests, studies, CLI, API, pages and docs read it."""

from gpu_engine.errors import ParameterError
from gpu_engine.formats import (
    biell,
    bijad,
    cache_blocked,
    coo,
    csc,
    csr,
    csri,
    ell,
    ellr,
    hyb,
    jad,
    packed,
    pellr,
    propagation_blocked,
    sellp,
    split,
    symmetric,
)
from gpu_engine.formats.base import Format, Kernel

FORMATS: tuple[Format, ...] = (
    csr.FORMAT,
    csri.FORMAT,
    split.FORMAT,
    packed.FORMAT,
    csc.FORMAT,
    coo.FORMAT,
    ell.FORMAT,
    ellr.FORMAT,
    *pellr.FORMATS,
    *sellp.FORMATS,
    hyb.FORMAT,
    hyb.MEAN_FORMAT,
    jad.FORMAT,
    biell.FORMAT,
    bijad.FORMAT,
    cache_blocked.FORMAT,
    symmetric.FORMAT,
    propagation_blocked.FORMAT,
)
"""Storage formats in a fixed order. The index of a format decides its color on all pages, so new ones go to the end."""


def kernel_names(backend: str) -> tuple[str, ...]:
    """Return `format/variant` of every kernel of that backend (`cpu` or `cuda`), in the order of FORMATS."""
    return tuple(name for f in FORMATS for name, _ in f.kernels_on(backend))


def find_kernel(name: str) -> tuple[Format, Kernel]:
    """Return the format and kernel behind `format/variant`; raises ParameterError naming the known kernels."""
    for candidate in FORMATS:
        for kernel in candidate.kernels:
            if name == candidate.name_of(kernel):
                return candidate, kernel
    known = ", ".join(f.name_of(k) for f in FORMATS for k in f.kernels)
    raise ParameterError(f"There is no kernel {name!r}; known kernels: {known}.")
