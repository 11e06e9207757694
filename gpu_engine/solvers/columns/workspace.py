"""ColumnWorkspace: the memory of a solve with several right-hand sides on a GPU, and launches of its kernels."""

from typing import Any

import numpy as np

from gpu_engine.cuda.load import CudaSource
from gpu_engine.solvers.workspace import BLOCK, BLOCKS_MAX, SUMS

COLUMN = np.dtype(
    {
        "names": [
            *("bound", "norm", "least", "gamma", "alpha", "beta", "iterations"),
            *("status", "ended", "goes_on", "active", "starts", "best", "step", "again"),
        ],
        "formats": [*("f8",) * 6, "i8", *("i4",) * 8],
    },
    align=True,
)
"""`Column` of cuda/column_solve.cuh."""

COLUMNS = np.dtype(
    {
        "names": ["iterations_max", "checks", "checks_max", "active", "continues", "step"],
        "formats": [*("i8",) * 3, *("i4",) * 3],
    },
    align=True,
)
"""`Columns` of cuda/column_solve.cuh."""

CHECKED_NORMS_MAX = 2**16
"""Most norms of checks that are kept, of all columns together."""


class ColumnWorkspace:
    """Blocks, partial sums, and state of one solve at a time on the current GPU.

    n, k, blocks  rows, right-hand sides, and thread blocks of a kernel that goes over the rows
    b, x, r       right-hand sides, iterates, and residuals: float64 [n, k], row major
    best          the iterates with the least true residual
    partials      float64 [sums, k, BLOCKS_MAX]; norms: float64 [checks, k]
    state         COLUMN [k], as bytes; columns: COLUMNS, as bytes
    """

    def __init__(self, n: int, k: int, xp: Any, sums: int = SUMS) -> None:
        self.n, self.k, self.xp = n, k, xp
        # The number of blocks depends on n and k only, so that sums have the same bits on every GPU.
        self.blocks = max(1, min(-(-n // (BLOCK // k)), BLOCKS_MAX))
        self.b, self.x, self.r, self.best = (self.block() for _ in range(4))
        self.partials = xp.zeros((sums, k, BLOCKS_MAX), np.float64)
        self.norms = xp.zeros((CHECKED_NORMS_MAX // k, k), np.float64)
        self.state = xp.zeros(k * COLUMN.itemsize, np.uint8)
        self.columns = xp.zeros(COLUMNS.itemsize, np.uint8)

    def block(self) -> Any:
        """Return a new block: float64 [n, k]."""
        return self.xp.zeros((self.n, self.k), np.float64)

    def over_rows(self, source: CudaSource, name: str, *arguments: Any) -> None:
        """Launch a kernel over all rows, with n and k as its first arguments."""
        shape = np.int32(self.n), np.int32(self.k)
        source.bound(name, self.blocks, BLOCK, (*shape, *arguments), follows=True)()

    def over_columns(self, source: CudaSource, name: str, *arguments: Any) -> None:
        """Launch a kernel with a block per column, which reads the partial sums of a kernel over all rows."""
        source.bound(name, self.k, BLOCK, (*self.sums, *arguments), follows=True)()

    @property
    def sums(self) -> tuple[Any, ...]:
        """Arguments of a kernel that reads partial sums: the thread blocks that wrote them, and where."""
        return np.int32(self.blocks), self.partials

    def over_blocks(self, source: CudaSource, name: str, *arguments: Any, blocks: int = 1) -> None:
        """Launch a kernel of so many blocks, with k as its first argument."""
        source.bound(name, blocks, BLOCK, (np.int32(self.k), *arguments), follows=True)()

    def begin(self, bounds: np.ndarray, iterations_max: int) -> None:
        """Write the state of a solve that has not started."""
        state, columns = np.zeros(self.k, COLUMN), np.zeros((), COLUMNS)
        state["bound"], state["least"] = bounds, np.inf
        columns["iterations_max"], columns["checks_max"] = iterations_max, self.norms.shape[0]
        self.state.set(np.frombuffer(state.tobytes(), np.uint8))
        self.columns.set(np.frombuffer(columns.tobytes(), np.uint8))

    def read(self) -> Any:
        """Wait for the current stream and return the state of each column: COLUMN [k]."""
        return self.state.get().view(COLUMN)

    def read_all(self) -> Any:
        """Wait for the current stream and return the state of all columns together: COLUMNS."""
        return self.columns.get().view(COLUMNS)[0]
