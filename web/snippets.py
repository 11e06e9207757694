"""Code snippets that use the fastest Sparsight kernel of a `formats` finding."""

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
import cupy as cp
import cupyx.scipy.sparse
import scipy.io
import sparsight

matrix = scipy.io.mmread("matrix.mtx").tocsr()
matrix = cupyx.scipy.sparse.csr_matrix(matrix)
"""

SPMV = """\
# {time}
A = sparsight.operator(matrix, kernel="{kernel}")
y = A @ {arrays}.ones(A.shape[1])
print(A)
"""


def snippet(finding: Finding) -> str:
    """Return ten lines of Python with the fastest Sparsight kernel; empty if the finding has no timing of one."""
    best = _fastest(finding)
    return lines_of(best.kernel, best) if best is not None else ""


def lines_of(kernel: str, m: Measurement | None) -> str:
    """Return ten lines of Python with a Sparsight kernel; m: its measurement, None: it was predicted for a GPU."""
    on_cpu = m is not None and m.backend == "cpu"
    where = f"{'CPU' if on_cpu else m.device}, {m.cache}" if m else ""
    host = "" if on_cpu else "\n# without the time of the call on the host"
    time = f"{units.seconds(m.median_s)} per SpMV on {where}{host}" if m else f"{kernel} is predicted, not measured"
    return (ON_CPU if on_cpu else ON_GPU) + SPMV.format(time=time, kernel=kernel, arrays="np" if on_cpu else "cp")


def archive_of(finding: Finding) -> str:
    """Return the kernel of the snippet if it can be exported, as CUDA kernels can; else an empty string."""
    best = _fastest(finding)
    return best.kernel if best is not None and best.backend == "cuda" else ""


def _fastest(finding: Finding) -> Measurement | None:
    """Return the fastest measurement without library kernels and reordering, which would also permute x and y."""
    if finding.study != FormatsStudy.name:
        return None
    timed = [row.measurement for row in finding.rows if row.measurement.median_s is not None]
    ours = [m for m in timed if m.kernel in kernel_names(m.backend)]
    return min(ours, key=lambda m: m.median_s or 0.0, default=None)
