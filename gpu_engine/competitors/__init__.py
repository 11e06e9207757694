"""COMPETITORS: other libraries that our kernels are measured against; never in FORMATS, never our result."""

from gpu_engine.competitors import cusparse, cusparse_bsr, cusparse_op
from gpu_engine.formats.base import Format

COMPETITORS: tuple[Format, ...] = (*cusparse.FORMATS, cusparse_op.FORMAT, cusparse_bsr.FORMAT)

BEST = "cusparse/best"
"""The fastest of cuSPARSE's algorithms on a matrix: derived from their measurements, not a kernel of its own."""


def competitor_names(backend: str) -> tuple[str, ...]:
    """`cusparse/algorithm` of everything that BEST chooses from on that backend."""
    return tuple(name for f in COMPETITORS for name, _ in f.kernels_on(backend))
