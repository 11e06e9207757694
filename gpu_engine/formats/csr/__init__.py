"""CSR, compressed sparse rows: the arrays of CsrMatrix as they are; one kernel per module.

Source: papers on every format measure against it; kernels after Bell and Garland, as the PELLR paper (§2) names them.
"""

from gpu_engine.formats.base import Format
from gpu_engine.formats.csr import scalar, smart, vector
from gpu_engine.formats.csr.layout import CsrLayout

FORMAT = Format(
    name="csr",
    title="Compressed sparse rows",
    summary="Row pointers, column indices and values; no padding, no preprocessing.",
    bytes_needed=lambda matrix: matrix.stored_bytes,
    from_csr=CsrLayout.from_csr,
    kernels=(scalar.KERNEL, vector.KERNEL, vector.HALF_WARP_KERNEL, smart.KERNEL),
)
