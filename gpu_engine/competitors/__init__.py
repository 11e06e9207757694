"""COMPETITORS: library kernels that Sparsight kernels are compared with; they are not part of FORMATS."""

from gpu_engine.competitors import cusparse, cusparse_bsr, cusparse_op
from gpu_engine.formats.base import Format

COMPETITORS: tuple[Format, ...] = (*cusparse.FORMATS, cusparse_op.FORMAT, cusparse_bsr.FORMAT)

BEST = "cusparse/best"
"""Name of the fastest cuSPARSE algorithm on a matrix; it is derived from measurements, not a kernel."""

BEST_IN_WORDS = "cuSPARSE’s best algorithm"
"""BEST in a sentence."""


def competitor_names(backend: str) -> tuple[str, ...]:
    """Return `cusparse/algorithm` of all algorithms on a back end; BEST is the fastest of them."""
    return tuple(name for f in COMPETITORS for name, _ in f.kernels_on(backend))
