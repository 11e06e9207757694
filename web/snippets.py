"""What to write to multiply by the kernel that a finding of `formats` puts first, in one's own code."""

from gpu_engine.findings.finding import Finding
from gpu_engine.formats import kernel_names
from gpu_engine.records import Measurement
from gpu_engine.studies.formats import FormatsStudy
from gpu_engine.text import units

ON_CPU = """\
import numpy as np
import scipy.io
import sparsight

matrix = scipy.io.mmread("matrix.mtx").tocsr()
"""

ON_GPU = """\
import cupy as np
import cupyx.scipy.sparse
import scipy.io
import sparsight

matrix = cupyx.scipy.sparse.csr_matrix(scipy.io.mmread("matrix.mtx").tocsr())
"""

PRODUCT = """\
# {said}
A = sparsight.operator(matrix, kernel="{kernel}")
y = A @ np.ones(A.shape[1])
print(A)
"""


def snippet(finding: Finding) -> str:
    """Ten lines of Python with the fastest of our kernels; empty where the finding has no time of one on its own."""
    best = _fastest(finding)
    if best is None:
        return ""
    said = f"{units.seconds(best.median_s)} a product on {finding.device}, {finding.cache}"
    return (ON_CPU if best.backend == "cpu" else ON_GPU) + PRODUCT.format(said=said, kernel=best.kernel)


def archive_of(finding: Finding) -> str:
    """The kernel of the snippet where it can be taken away alone, which those of a GPU can; empty elsewhere."""
    best = _fastest(finding)
    return best.kernel if best is not None and best.backend == "cuda" else ""


def _fastest(finding: Finding) -> Measurement | None:
    """A competitor is no kernel of ours, nor is one in a new order, which x and y would have to be in too."""
    if finding.study != FormatsStudy.name:
        return None
    timed = [row.measurement for row in finding.rows if row.measurement.median_s is not None]
    ours = [m for m in timed if m.kernel in kernel_names(m.backend)]
    return min(ours, key=lambda m: m.median_s or 0.0, default=None)
