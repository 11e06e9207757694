"""csr/segments: a group of lanes per segment of a row, for rows of very different length."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import POINTERS
from gpu_engine.formats.csr.layout import CsrLayout
from gpu_engine.spmm.base import SpmmKernel, SpmmLaunch
from gpu_engine.spmm.cuts import SEGMENT, Cuts, cut_bytes
from gpu_engine.spmm.groups import VECTORS, groups_for
from gpu_engine.spmm.launches import launch_groups
from gpu_engine.spmm.operands import vector_of

SOURCE = CudaSource(
    __package__,
    "segments.cu",
    tuple(f"spmm_segments<{vector}, {pointer}>" for vector in VECTORS for pointer in POINTERS),
)


@dataclass(frozen=True, slots=True)
class CsrSegments:
    """CSR and the segments of its rows."""

    csr: CsrLayout
    cuts: Cuts

    @staticmethod
    def from_csr(matrix: CsrMatrix) -> "CsrSegments":
        """Cut the rows; the arrays of the matrix are not copied."""
        return CsrSegments(CsrLayout(matrix), Cuts.of(matrix))

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_cols)."""
        return self.csr.shape

    @property
    def stored_bytes(self) -> int:
        """Bytes of all arrays."""
        return self.csr.stored_bytes + self.cuts.nbytes


def _cuda(layout: CsrSegments, k: int) -> SpmmLaunch:
    cuts = layout.cuts
    sums, mean = cuts.room(k), cuts.mean
    arrays = (np.int32(cuts.count), cuts.begins, cuts.targets, *layout.csr.arrays[1:])

    def launch(x: Any, y: Any, alpha: float, beta: float) -> None:
        groups = groups_for(k, cuts.count, mean, vector_of(x, y, sums))
        kernel = f"spmm_segments<{groups.vector}, {cuts.pointer}>"
        launch_groups(SOURCE, kernel, groups, cuts.count, arrays, (x, y, alpha, beta), (sums,))
        cuts.launch_join(sums, y, alpha, beta)

    return launch


KERNEL = SpmmKernel(
    "csr/segments",
    f"A group of lanes per {SEGMENT} nonzeros of a row.",
    CsrSegments.from_csr,
    lambda matrix: matrix.stored_bytes + cut_bytes(matrix),
    cuda=_cuda,
    source=SOURCE,
)
