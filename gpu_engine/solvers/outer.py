"""Kernels of the loop around a method on a GPU: true residual, end of the solve, best iterate, and check."""

from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import POINTERS

LANES = (1, 4, 32)
"""Threads per row of the true residual."""

SOURCE = CudaSource(
    __package__,
    "outer.cu",
    (
        *(f"true_residual<{pointer}, {lanes}>" for pointer in POINTERS for lanes in LANES),
        *("square_right", "begin_solve", "judge<false>", "judge<true>", "keep_best", "check"),
    ),
)
