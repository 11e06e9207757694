"""Steps of CG on one of several GPUs; see solve.py. Sums have the same bits in every run."""

from collections.abc import Sequence
from typing import Any

import cupy

from gpu_engine.cuda.load import CudaSource
from gpu_engine.multigpu.base import SolveRows

BLOCK, BLOCKS_MAX = 256, 1024
"""SOLVE_BLOCK and SOLVE_BLOCKS_MAX of solve.cuh."""

N_PARTIALS = 4 * BLOCKS_MAX
"""Numbers that the blocks of a device write: SUMS per block."""

SOURCE = CudaSource(
    __package__,
    "solve_steps.cu",
    ("advance_cg", "project_residual<false>", "project_residual<true>", "join_projections"),
)


def advance(rows: SolveRows, sums: Any, before: Any, after: Any) -> None:
    """Launch the update of p, s, x, and r."""
    devices = cupy.int32(sums.size // 2)
    vectors = (rows.p, rows.s, rows.w, rows.x, rows.r)
    _over_rows("advance_cg", rows, (devices, sums, before, after, *vectors, rows.partials))


def targets(arrays: Sequence[Any]) -> Any:
    """Return the addresses of the arrays: uint64, on the current device."""
    return cupy.array([array.data.ptr for array in arrays], cupy.uint64)


def project(rows: SolveRows, targets: Any, squares: bool) -> None:
    """Launch r·r and r·w, written to all targets; squares: also r·r, which `advance` computes otherwise."""
    _over_rows(f"project_residual<{str(squares).lower()}>", rows, (rows.w, rows.r, rows.partials))
    arguments = (cupy.int32(_blocks(rows)), rows.partials, cupy.int32(targets.size), targets)
    SOURCE.function("join_projections")((1,), (BLOCK,), arguments)


def _over_rows(kernel: str, rows: SolveRows, arguments: tuple[Any, ...]) -> None:
    SOURCE.function(kernel)((_blocks(rows),), (BLOCK,), (cupy.int32(rows.r.size), *arguments))


def _blocks(rows: SolveRows) -> int:
    return max(1, min(BLOCKS_MAX, -(-int(rows.r.size) // BLOCK)))
