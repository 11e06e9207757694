"""Units: problems as the shared layout takes them, one by one or small ones together, and what is stored of each."""

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from gpu_engine.batched.batch import Batch, problem_of_rows, problem_pointers, row_starts
from gpu_engine.batched.groups import Cut, Cuts, on_host
from gpu_engine.batched.sharing import Sharing
from gpu_engine.batched.sliced import Slices
from gpu_engine.formats.base import array_module, entry_blocks, pointers

UNIT_ROWS = 64
"""Rows from which a problem is a unit of its own; smaller ones of one size are joined up to four times as many."""

UNIT_COLUMNS = 1024
"""Columns of problems that are joined."""

UNIT_CUT = Cuts((Cut(work=500 * 64, columns=-1),), row_work=64)
"""At most 501 rows a group, so that four windows of 1,024 columns fit into SHARED beside their y; and few parts where
rows have many entries, since each copies its windows."""


@dataclass(frozen=True, slots=True)
class Units:
    """Consecutive problems as one; int64 arrays on the device of the batch.

    starts      [units + 1], their first problems
    rows, cols  [units + 1], where their rows and columns begin in the batch
    shapes      [units], the shape of each: shapes are the units of different row lengths, of which there are slices
    shape_rows  [shapes + 1], where the rows of each shape begin
    columns_on  [units], how many slots on from those of its shape its columns lie
    values_on   [units], the same of its values
    factors     float64 [units], of its values
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
        """All of them."""
        return tuple(getattr(self, name) for name in self.__dataclass_fields__)

    def of_rows(self) -> tuple[Any, Any]:
        """(unit, row of the slices) of each row of the batch: int64 [n_rows]."""
        xp = array_module(self.rows)
        unit = problem_of_rows(self.rows)
        return unit, self.shape_rows[self.shapes[unit]] + xp.arange(unit.size) - self.rows[unit]


def joined(batch: Batch) -> tuple[Batch, Any]:
    """(the batch of units, their first problems and the end)."""
    xp = array_module(batch.values)
    starts = xp.asarray(_unit_starts(on_host(batch.rows), on_host(batch.cols), UNIT_ROWS, UNIT_COLUMNS))
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
def _unit_starts(rows: Any, cols: Any, least: int, most: int) -> Any:
    """First problem of each unit, and the end: with `least` rows or joined to 4·`least`, of at most `most` columns."""
    problems = rows.size - 1
    starts = np.empty(problems + 1, np.int64)
    count = 0
    for p in range(problems):
        if count > 0 and p > 0:
            first = starts[count - 1]
            n_rows, n_cols = rows[p + 1] - rows[p], cols[p + 1] - cols[p]
            alike = n_rows == rows[p] - rows[p - 1] and n_cols == cols[p] - cols[p - 1]
            fits = rows[p + 1] - rows[first] <= 4 * least and cols[p + 1] - cols[first] <= most
            if alike and 0 < n_rows < least and fits:
                continue
        starts[count] = p
        count += 1
    starts[count] = problems
    return starts[: count + 1]


def shapes(joined: Batch, begins: Any, found: Sharing) -> tuple[Slices, Any, Any]:
    """(slices of the shapes, the shape of each unit, where the rows of each shape begin)."""
    xp = array_module(begins)
    firsts, member = xp.unique(found.lengths, return_inverse=True)
    rows, cols = (pointers(xp.diff(starts)[firsts], np.int64) for starts in (joined.rows, joined.cols))
    shape = problem_of_rows(rows)
    taken = joined.rows[firsts][shape] + xp.arange(shape.size) - rows[shape]
    return Slices.of(rows, cols, pointers(xp.diff(begins)[taken], np.int64), UNIT_CUT), member.astype(np.int64), rows


def shape_slots(slices: Slices, shape_rows: Any) -> Any:
    """Where the slots of each shape begin, and where the last end: int64 [shapes + 1]."""
    xp = array_module(shape_rows)
    slice_ = xp.append(slices.groups[:, 2], slices.heads.shape[0] - 1)
    return slices.heads[slice_[xp.searchsorted(slices.groups[:, 0], shape_rows)], 0].astype(np.int64)


def firsts_of_values(found: Sharing) -> Any:
    """The unit in whose slots the values of each lie: that of which it is a multiple, or an equal one before that."""
    xp = array_module(found.values)
    both = found.lengths * found.lengths.size + found.values
    _, first, member = xp.unique(both, return_index=True, return_inverse=True)
    return first[member][found.multiples]


def taken(firsts: Any) -> Any:
    """Whether others, or a unit itself, lie at each unit: bool [units]."""
    taken = array_module(firsts).zeros(firsts.size, dtype=bool)
    taken[firsts] = True
    return taken


def stored_once(firsts: Any, shapes: Any, slots: Any) -> tuple[Any, int]:
    """(slots from those of its shape to its own for each unit, slots of all) where the units taken lie end to end."""
    xp = array_module(firsts)
    sizes = xp.where(taken(firsts), xp.diff(slots)[shapes], 0)
    starts = pointers(sizes, np.int64)
    return starts[firsts] - slots[shapes], int(starts[-1])
