"""Groups: which rows of a batch one thread block multiplies, and which part of x it needs for them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.errors import ParameterError
from gpu_engine.formats.base import array_module
from gpu_engine.host.jit import numba

ROW_WORK = 16
"""What a row costs a block beside its entries, in entries."""

SHARED_ELEMENTS = 6144
"""Elements of x and y that a block keeps in shared memory: 48 KiB, what every GPU gives a block unasked."""


@dataclass(frozen=True, slots=True)
class LaunchConfig:
    """How large the groups of some problems may be, and how many threads a block of them has.

    work     entries, and `row_work` a row: fewer problems share a group, and larger ones are cut between rows
    columns  x of problems that share a group; negative: none share one
    threads  64, 128, 256 or 512
    """

    work: int = 2**15
    columns: int = 1024
    threads: int = 256


@dataclass(frozen=True, slots=True)
class LaunchConfigs:
    """The launch configuration of each problem.

    configs   all that there are, one launch each
    kinds     int64 [problems] on the host, which of them a problem takes; None: the first
    largest_first  blocks with much to do start first, so that none is left for the end
    reasons   why each configuration is as it is; empty where nobody chose
    row_work  what a row counts beside its entries: no group has more rows than its work over this, and one

    Raises ParameterError for work whose rows of y may not fit into SHARED_ELEMENTS.
    """

    configs: tuple[LaunchConfig, ...] = (LaunchConfig(),)
    kinds: Any = None
    largest_first: bool = False
    reasons: tuple[str, ...] = ()
    row_work: int = ROW_WORK

    def __post_init__(self) -> None:
        most = self.row_work * (SHARED_ELEMENTS - 1)
        for config in self.configs:
            if not 0 < config.work <= most:
                raise ParameterError(f"A group of {config.work} in work does not fit a block; take 1 to {most}.")


ONE_CONFIG = LaunchConfigs()


@dataclass(frozen=True, slots=True)
class Groups:
    """Consecutive rows of a batch with their window of x, none empty; int64 [groups] on the device of the batch.

    begins, ends  rows
    windows       first column of the window
    widths        columns of the window: those of all its problems
    kinds         its configuration
    """

    begins: Any
    ends: Any
    windows: Any
    widths: Any
    kinds: Any

    @staticmethod
    def of(rows: Any, cols: Any, begins: Any, configs: LaunchConfigs) -> "Groups":
        """Small problems together, large ones in parts of equal work that share a window.

        rows, cols  int64 [problems + 1], of the batch
        begins      int64 [n_rows + 1], where the entries of each row begin in the batch
        """
        xp = array_module(begins)
        work, cols = (on_host(starts) for starts in (begins[rows] + configs.row_work * rows, cols))
        kinds = np.zeros(work.size - 1, np.int64) if configs.kinds is None else configs.kinds
        limits = np.array([(config.work, config.columns) for config in configs.configs], np.int64)
        work_begins, first, last = _group_borders(work, cols, kinds, limits)
        # A group begins with the first row that the work before it does not reach.
        borders = xp.searchsorted(begins + configs.row_work * xp.arange(begins.size), xp.asarray(work_begins))
        fields = borders[:-1], borders[1:], *(xp.asarray(a) for a in (cols[first], cols[last] - cols[first]))
        nonempty = xp.flatnonzero(xp.diff(borders))
        return Groups(*(field[nonempty].astype(np.int64) for field in (*fields, xp.asarray(kinds[first]))))

    @property
    def count(self) -> int:
        """Number of groups."""
        return int(self.begins.size)


def on_host(array: Any) -> Any:
    """The array as one of NumPy."""
    return array if isinstance(array, np.ndarray) else array.get()


@numba.njit(cache=True)
def _group_borders(work: Any, cols: Any, kinds: Any, limits: Any) -> tuple[Any, Any, Any]:
    """Groups of problems, in order: (work before each group and after the last, its first problem, the one after).

    work, cols  int64 [problems + 1], ascending: sums over the problems before
    limits      int64 [kinds, 2], most work and most columns of a group
    """
    batch_size = work.size - 1
    size = 0
    for p in range(batch_size):
        size += max(1, -(-(work[p + 1] - work[p]) // limits[kinds[p], 0]))
    begins, first, last = (np.empty(size + 1, np.int64), np.empty(size, np.int64), np.empty(size, np.int64))
    count, is_open = 0, False
    for p in range(batch_size):
        most, window = limits[kinds[p]]
        if is_open and kinds[p] == kinds[p - 1]:
            begin = first[count - 1]
            if work[p + 1] - work[begin] <= most and cols[p + 1] - cols[begin] <= window:
                last[count - 1] = p + 1
                continue
        own = work[p + 1] - work[p]
        parts = max(1, -(-own // most))
        for part in range(parts):
            begins[count], first[count], last[count] = work[p] + part * own // parts, p, p + 1
            count += 1
        is_open = parts == 1
    begins[count] = work[batch_size]
    return begins[: count + 1], first[:count], last[:count]
