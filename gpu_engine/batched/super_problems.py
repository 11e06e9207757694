"""Super-problems: the units of the shared layout, single matrices or several small ones, and what each stores."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.batched.batch import Batch, problem_of_rows, problem_pointers, row_starts
from gpu_engine.batched.deduplication import Duplicates
from gpu_engine.batched.groups import LaunchConfig, LaunchConfigs, on_host
from gpu_engine.batched.sliced import RowSlices
from gpu_engine.formats.base import array_module, entry_blocks, pointers
from gpu_engine.host.jit import numba

SUPER_ROWS = 64
"""Rows from which a matrix is a super-problem by itself; smaller ones of equal size are joined up to 4× as many."""

SUPER_COLUMNS = 1024
"""Most columns of a joined super-problem."""

SUPER_CONFIGS = LaunchConfigs((LaunchConfig(work=500 * 64, columns=-1),), row_work=64)
"""Launch configuration with at most 501 rows per group.

Four windows of 1,024 columns then fit into SHARED_ELEMENTS beside their y. Long rows give few parts, because each part
copies its windows.
"""


@dataclass(frozen=True, slots=True)
class SuperProblems:
    """Super-problems of a batch; int64 arrays on its device.

    starts      [super-problems + 1], first batch item of each
    rows, cols  [super-problems + 1], first row and column of each in the batch
    shapes      [super-problems], shape of each; a shape is a list of row lengths, for which slices are stored
    shape_rows  [shapes + 1], first row of each shape
    columns_on  [super-problems], offset of its columns from the slots of its shape
    values_on   [super-problems], offset of its values from the slots of its shape
    factors     float64 [super-problems], factor of its values
    """

    starts: Any
    rows: Any
    cols: Any
    shapes: Any
    shape_rows: Any
    columns_on: Any
    values_on: Any
    factors: Any

    @property
    def arrays(self) -> tuple[Any, ...]:
        """All arrays."""
        return tuple(getattr(self, name) for name in self.__dataclass_fields__)

    def of_rows(self) -> tuple[Any, Any]:
        """Return (super-problem, row of the slices) of each row of the batch: int64 [n_rows]."""
        xp = array_module(self.rows)
        super_problem = problem_of_rows(self.rows)
        return super_problem, self.shape_rows[self.shapes[super_problem]] + xp.arange(super_problem.size) - self.rows[
            super_problem
        ]


def join_problems(batch: Batch) -> tuple[Batch, Any]:
    """Return (batch of super-problems, first item of each and the end)."""
    xp = array_module(batch.values)
    starts = xp.asarray(_super_starts(on_host(batch.rows), on_host(batch.cols), SUPER_ROWS, SUPER_COLUMNS))
    if starts.size == batch.rows.size:
        return batch, starts
    begins, rows, cols = row_starts(batch), batch.rows[starts], batch.cols[starts]
    moved = (batch.cols[problem_of_rows(batch.rows)] - cols[problem_of_rows(rows)]).astype(np.int32)
    indices = xp.empty_like(batch.indices)
    for block, row, _ in entry_blocks(begins):
        indices[block] = batch.indices[block] + moved[row]
    entries, indptr = problem_pointers(begins, rows)
    return Batch(rows, cols, entries, indptr, indices, batch.values), starts


@numba.njit(cache=True)
def _super_starts(rows: Any, cols: Any, least: int, most: int) -> Any:
    """Return the first item of each and the end: `least` rows, or joined to 4·`least`, with at most `most` columns."""
    batch_size = rows.size - 1
    starts = np.empty(batch_size + 1, np.int64)
    count = 0
    for p in range(batch_size):
        if count > 0 and p > 0:
            first = starts[count - 1]
            n_rows, n_cols = rows[p + 1] - rows[p], cols[p + 1] - cols[p]
            equal_size = n_rows == rows[p] - rows[p - 1] and n_cols == cols[p] - cols[p - 1]
            fits = rows[p + 1] - rows[first] <= 4 * least and cols[p + 1] - cols[first] <= most
            if equal_size and 0 < n_rows < least and fits:
                continue
        starts[count] = p
        count += 1
    starts[count] = batch_size
    return starts[: count + 1]


def shapes(batch: Batch, begins: Any, duplicates: Duplicates) -> tuple[RowSlices, Any, Any]:
    """Return (slices of the shapes, shape of each super-problem, first row of each shape)."""
    xp = array_module(begins)
    firsts, member = xp.unique(duplicates.lengths, return_inverse=True)
    rows, cols = (pointers(xp.diff(starts)[firsts], np.int64) for starts in (batch.rows, batch.cols))
    shape = problem_of_rows(rows)
    source_rows = batch.rows[firsts][shape] + xp.arange(shape.size) - rows[shape]
    row_begins = pointers(xp.diff(begins)[source_rows], np.int64)
    return RowSlices.of(rows, cols, row_begins, SUPER_CONFIGS), member.astype(np.int64), rows


def shape_slots(slices: RowSlices, shape_rows: Any) -> Any:
    """Return the first slot of each shape, and the end of the last: int64 [shapes + 1]."""
    xp = array_module(shape_rows)
    slice_ = xp.append(slices.groups[:, 2], slices.headers.shape[0] - 1)
    return slices.headers[slice_[xp.searchsorted(slices.groups[:, 0], shape_rows)], 0].astype(np.int64)


def value_sources(duplicates: Duplicates) -> Any:
    """Return the super-problem that stores the values of each: one of which it is a multiple, or an equal one."""
    xp = array_module(duplicates.values)
    both = duplicates.lengths * duplicates.lengths.size + duplicates.values
    _, first, member = xp.unique(both, return_index=True, return_inverse=True)
    return first[member][duplicates.multiples]


def is_source(firsts: Any) -> Any:
    """Return whether each super-problem stores data for itself or others: bool [super-problems]."""
    sources = array_module(firsts).zeros(firsts.size, dtype=bool)
    sources[firsts] = True
    return sources


def slot_offsets(firsts: Any, shapes: Any, slots: Any) -> tuple[Any, int]:
    """Return (offset from the slots of its shape to its own, per super-problem; number of slots)."""
    xp = array_module(firsts)
    sizes = xp.where(is_source(firsts), xp.diff(slots)[shapes], 0)
    starts = pointers(sizes, np.int64)
    return starts[firsts] - slots[shapes], int(starts[-1])
