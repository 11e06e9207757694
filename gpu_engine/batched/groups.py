"""Groups: the rows of a batch that one thread block multiplies, and the window of x that it needs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.errors import ParameterError
from gpu_engine.formats.base import array_module
from gpu_engine.host.jit import numba

ROW_WORK = 16
"""Work of a row in addition to its nonzeros, in nonzeros."""

SHARED_ELEMENTS = 6144
"""Elements of x and y in the shared memory of a block: 48 KiB, the default of every GPU."""


@dataclass(frozen=True, slots=True)
class LaunchConfig:
    """Limits of the groups of some matrices, and the threads of a block.

    work     most nonzeros plus `row_work` per row of a group; larger matrices are cut between rows
    columns  most elements of x of matrices that share a group; negative: no group is shared
    threads  64, 128, 256 or 512
    """

    work: int = 2**15
    columns: int = 1024
    threads: int = 256


@dataclass(frozen=True, slots=True)
class LaunchConfigs:
    """Launch configuration of each matrix.

    configs   all configurations, one launch each
    kinds     int64 [items] on the host, configuration of each matrix; None: the first
    largest_first  whether blocks with the most work start first, so that none runs alone at the end
    reasons   reason for each configuration; empty if not chosen automatically
    row_work  work of a row besides its nonzeros; a group has at most work / row_work + 1 rows

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
                raise ParameterError(
                    f"The work of a group is {config.work}; it must be 1 to {most} to fit into a block."
                )


ONE_CONFIG = LaunchConfigs()


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of consecutive rows of a batch, none empty, with their windows of x; int64 [groups] on its device.

    begins, ends  first row, and the row after the last
    windows       first column of the window of x
    widths        columns of the window: those of all matrices of the group
    kinds         configuration
    """

    begins: Any
    ends: Any
    windows: Any
    widths: Any
    kinds: Any

    @staticmethod
    def of(rows: Any, cols: Any, begins: Any, configs: LaunchConfigs) -> "Groups":
        """Return the groups: small matrices together, large ones in parts of equal work with one window.

        rows, cols  int64 [items + 1], of the batch
        begins      int64 [n_rows + 1], first nonzero of each row in the batch
        """
        xp = array_module(begins)
        work, cols = (on_host(starts) for starts in (begins[rows] + configs.row_work * rows, cols))
        kinds = np.zeros(work.size - 1, np.int64) if configs.kinds is None else configs.kinds
        limits = np.array([(config.work, config.columns) for config in configs.configs], np.int64)
        work_begins, first, last = _group_borders(work, cols, kinds, limits)
        # A group begins with the first row that the preceding work does not include.
        borders = xp.searchsorted(begins + configs.row_work * xp.arange(begins.size), xp.asarray(work_begins))
        fields = borders[:-1], borders[1:], *(xp.asarray(a) for a in (cols[first], cols[last] - cols[first]))
        nonempty = xp.flatnonzero(xp.diff(borders))
        return Groups(*(field[nonempty].astype(np.int64) for field in (*fields, xp.asarray(kinds[first]))))

    @property
    def count(self) -> int:
        """Number of groups."""
        return int(self.begins.size)


def on_host(array: Any) -> Any:
    """Return an array as a NumPy array."""
    return array if isinstance(array, np.ndarray) else array.get()


@numba.njit(cache=True)
def _group_borders(work: Any, cols: Any, kinds: Any, limits: Any) -> tuple[Any, Any, Any]:
    """Return the groups in order: (work before each group and after the last, first item, item after the last).

    work, cols  int64 [items + 1], ascending: sums over the preceding items
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
        item_work = work[p + 1] - work[p]
        parts = max(1, -(-item_work // most))
        for part in range(parts):
            begins[count], first[count], last[count] = work[p] + part * item_work // parts, p, p + 1
            count += 1
        is_open = parts == 1
    begins[count] = work[batch_size]
    return begins[: count + 1], first[:count], last[:count]
