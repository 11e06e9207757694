"""Workspace: the memory of a solve on a GPU, and launches of its kernels."""

from typing import Any

import numpy as np

from gpu_engine.cuda.load import CudaSource

BLOCK = 256
"""Threads per block of every kernel of a solver (SOLVE_BLOCK in cuda/solve.cuh)."""

BLOCKS_MAX = 1024
"""Most blocks; it depends on n only, so that sums have the same bits on every GPU."""

SCALARS, SUMS = 16, 4
"""Scalars of a recurrence in its state, and sums that it may have at a time."""

STATE = np.dtype(
    {
        "names": [
            *("bound", "norm", "least", "scalars", "iterations", "iterations_max", "checks", "checks_max"),
            *("status", "active", "replacements", "improved", "continues", "unused"),
        ],
        "formats": [*("f8",) * 3, ("f8", (SCALARS,)), *("i8",) * 4, *("i4",) * 6],
    },
    align=True,
)
"""`Solve` of cuda/solve.cuh."""


class Workspace:
    """Vectors, partial sums, and state of one solve at a time on the current GPU.

    n, blocks    rows, and blocks of a kernel that goes over them
    b, x, r      right-hand side, iterate, and residual: float64 [n]
    best         the iterate with the least true residual
    partials     float64 [sums, BLOCKS_MAX]; norms: one norm of the recurrence per check
    """

    def __init__(self, n: int, xp: Any, checks_max: int, sums: int = SUMS) -> None:
        self.n, self.xp, self.blocks = n, xp, max(1, min(-(-n // BLOCK), BLOCKS_MAX))
        self.b, self.x, self.r, self.best = (self.vector() for _ in range(4))
        self.partials = xp.zeros((sums, BLOCKS_MAX), np.float64)
        self.norms = xp.zeros(checks_max, np.float64)
        self.state = xp.zeros(STATE.itemsize, np.uint8)

    def vector(self) -> Any:
        """Return a new vector: float64 [n]."""
        return self.xp.zeros(self.n, np.float64)

    def over_rows(self, source: CudaSource, name: str, *arguments: Any) -> None:
        """Launch a kernel over all rows, with n as its first argument."""
        source.bound(name, self.blocks, BLOCK, (np.int32(self.n), *arguments), follows=True)()

    def over_blocks(self, source: CudaSource, name: str, *arguments: Any, blocks: int = 1) -> None:
        """Launch a kernel of few blocks, without n."""
        source.bound(name, blocks, BLOCK, arguments, follows=True)()

    def begin(self, bound: float, iterations_max: int) -> None:
        """Write the state of a solve that has not started."""
        state = np.zeros((), STATE)
        state["bound"], state["iterations_max"] = bound, iterations_max
        state["least"], state["checks_max"] = np.inf, self.norms.size
        self.write(state)

    def write(self, state: Any) -> None:
        """Copy a state to the GPU, on the current stream."""
        self.state.set(np.frombuffer(state.tobytes(), np.uint8))

    def read(self) -> Any:
        """Wait for the current stream and return the state."""
        return self.state.get().view(STATE)[0]
