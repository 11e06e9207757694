"""Shared: sliced, with what problems have in common (sharing.py) stored once.

A unit is a problem, or some consecutive small ones of one size as one. Units of equal row lengths share slices, those
of one pattern columns, those of equal values or multiples of them values, with a factor each. Four units in a row that
are multiples of one matrix are multiplied at once, each entry loaded once: the sparse matrix-matrix product of §3.1.
Source of the cases: batched SpMV paper, §3.1.
"""

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from gpu_engine.batched.base import BatchKernel
from gpu_engine.batched.batch import Batch, problem_of_rows, problem_pointers, repeat, row_starts
from gpu_engine.batched.groups import SHARED
from gpu_engine.batched.sharing import Sharing
from gpu_engine.batched.sliced import COLUMNS, SOURCE, VECTORS, WARP, Slices
from gpu_engine.batched.units import Units, firsts_of_values, joined, shape_slots, shapes, stored_once, taken
from gpu_engine.features import NARROW_SPAN
from gpu_engine.formats.base import array_module, entry_blocks, pointers

THREADS = 128
TASK = (
    *("row", "rows", "column", "columns", "slice", "end", "words"),
    *("columns_on", "values_on", "unit", "unit_rows", "unit_columns"),
)
"""Fields of a task, as in the CUDA source."""


@dataclass(frozen=True, slots=True)
class SharedLayout:
    """A batch in slices, each different part once.

    rows, cols  those of the batch, which no product reads
    tasks       of VECTORS units at once: int64 [tasks, 12] each, the fields of TASK
    columns     uint16 [32·slots], counted in the unit; int32 where a unit has more than 65,536
    values      float64 [32·slots]
    rooms       elements of shared memory that a block gets, by units at once
    entries     stored columns and values without what is padded
    """

    rows: Any
    cols: Any
    units: Units
    slices: Slices
    tasks: tuple[Any, ...]
    columns: Any
    values: Any
    rooms: tuple[int, ...]
    entries: tuple[int, int]

    @staticmethod
    def from_batch(batch: Batch) -> "SharedLayout":
        """Looks for what problems share, and stores it once."""
        return SharedLayout.from_plan(batch, Plan.of(batch))

    @staticmethod
    def from_plan(batch: Batch, plan: "Plan") -> "SharedLayout":
        """Scatters the entries of the units whose columns or values are stored."""
        xp = array_module(batch.values)
        units, slices, sizes = plan.units, plan.slices, plan.sizes
        columns, values = xp.zeros(sizes[0] * WARP, dtype=plan.column_type), xp.zeros(sizes[1] * WARP)
        rows, (unit, row_of) = slices.rows(), units.of_rows()
        for block, row, number in entry_blocks(row_starts(plan.joined)):
            places, owner = rows.of_entries(row_of[row], number), unit[row]
            for target, source, on, stored in zip(
                (columns, values),
                (plan.joined.indices, plan.joined.values),
                (units.columns_on, units.values_on),
                plan.stored,
                strict=True,
            ):
                kept = stored[owner]
                target[places[kept] + WARP * on[owner[kept]]] = source[block][kept]
        rooms = tuple(_room(part, vectors) for part, vectors in zip(plan.tasks, VECTORS, strict=True))
        return SharedLayout(batch.rows, batch.cols, units, slices, plan.tasks, columns, values, rooms, plan.entries)

    def to_batch(self) -> Batch:
        """Gathers the entries row by row, each value times its unit's factor."""
        xp = array_module(self.values)
        rows, (unit, row_of) = self.slices.rows(), self.units.of_rows()
        begins = pointers(rows.lengths[row_of], np.int64)
        back = (self.cols[problem_of_rows(self.rows)] - self.units.cols[unit]).astype(np.int32)
        indices, values = xp.empty(int(begins[-1]), dtype=np.int32), xp.empty(int(begins[-1]))
        for block, row, number in entry_blocks(begins):
            places, owner = rows.of_entries(row_of[row], number), unit[row]
            indices[block] = self.columns[places + WARP * self.units.columns_on[owner]] - back[row]
            stored = self.values[places + WARP * self.units.values_on[owner]]
            values[block] = stored * self.units.factors[owner]
        entries, indptr = problem_pointers(begins, self.rows)
        return Batch(self.rows, self.cols, entries, indptr, indices, values)

    @property
    def stored_bytes(self) -> int:
        """All arrays, padding included."""
        arrays = self.rows, self.cols, *self.units.arrays, *self.tasks, self.columns, self.values
        return self.slices.nbytes + sum(int(array.nbytes) for array in arrays)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is stored of a batch, before the entries are.

    joined  the batch of units
    stored  bool [units] twice: whose columns and whose values are stored
    sizes   slots of columns and of values
    tasks   as those of the layout
    """

    joined: Batch
    units: Units
    slices: Slices
    stored: tuple[Any, Any]
    sizes: tuple[int, int]
    tasks: tuple[Any, ...]

    @staticmethod
    def of(batch: Batch) -> "Plan":
        """Looks for what units share."""
        together, starts = joined(batch)
        found = Sharing.of(together)
        slices, shape, shape_rows = shapes(together, row_starts(together), found)
        slots, values_of = shape_slots(slices, shape_rows), firsts_of_values(found)
        columns_on, columns_size = stored_once(found.patterns, shape, slots)
        values_on, values_size = stored_once(values_of, shape, slots)
        starts_of = starts, together.rows, together.cols
        units = Units(*starts_of, shape, shape_rows, columns_on, values_on, found.factors)
        tasks = tuple(_tasks(units, slices, chosen) for chosen in _alone(values_of, found.patterns))
        stored = taken(found.patterns), taken(values_of)
        return Plan(together, units, slices, stored, (columns_size, values_size), tasks)

    @property
    def column_type(self) -> Any:
        """uint16, or int32 where a unit has too many columns for it."""
        widths = array_module(self.units.cols).diff(self.units.cols)
        return np.int32 if widths.size and int(widths.max()) > NARROW_SPAN else np.uint16

    @property
    def entries(self) -> tuple[int, int]:
        """Columns and values to store, without what is padded."""
        nnz = array_module(self.joined.entries).diff(self.joined.entries)
        return int(nnz[self.stored[0]].sum()), int(nnz[self.stored[1]].sum())

    @property
    def share(self) -> float:
        """Bytes of the columns and values to store over those of all; 1 for none."""
        narrow, (columns, values) = int(np.dtype(self.column_type).itemsize), self.entries
        return (narrow * columns + 8 * values) / ((narrow + 8) * self.joined.nnz) if self.joined.nnz else 1.0

    @property
    def nbytes(self) -> int:
        """Stored bytes of the layout."""
        slots = WARP * (int(np.dtype(self.column_type).itemsize) * self.sizes[0] + 8 * self.sizes[1])
        kept = 2 * 8 * int(self.units.starts[-1] + 1)
        return int(self.slices.nbytes) + slots + kept + sum(int(a.nbytes) for a in (*self.units.arrays, *self.tasks))


def _alone(values_of: Any, patterns: Any) -> tuple[Any, Any]:
    """(units that are multiplied alone, units that are multiplied with the three after them)."""
    xp = array_module(values_of)
    count = values_of.size
    begins = xp.ones(count, dtype=bool)
    begins[1:] = (values_of[1:] != values_of[:-1]) | (patterns[1:] != patterns[:-1])
    starts = xp.append(xp.flatnonzero(begins), count)
    run = begins.cumsum(dtype=np.int64) - 1
    within = xp.arange(count) - starts[run]
    together = within - within % VECTORS[1] + VECTORS[1] <= xp.diff(starts)[run]
    return xp.flatnonzero(~together), xp.flatnonzero(together & (within % VECTORS[1] == 0))


def _tasks(units: Units, slices: Slices, chosen: Any) -> Any:
    """The tasks of these units, one a group: int64 [tasks, 12]."""
    xp = array_module(chosen)
    groups = slices.groups
    first = xp.searchsorted(groups[:, 0], units.shape_rows)
    shape = units.shapes[chosen]
    parts = xp.diff(first)[shape]
    number = repeat(xp.arange(chosen.size), parts)
    unit = chosen[number]
    group = first[shape][number] + xp.arange(number.size) - pointers(parts, np.int64)[number]
    widths, heights = xp.diff(units.cols)[unit], xp.diff(units.rows)[unit]
    tasks = xp.empty((unit.size, len(TASK)), dtype=np.int64)
    fields = {
        "row": units.rows[unit] + groups[group, 0] - units.shape_rows[units.shapes[unit]],
        "rows": groups[group, 1],
        "column": units.cols[unit],
        "columns": widths,
        "slice": groups[group, 2],
        "end": groups[group, 3],
        "words": groups[group, 0],
        "columns_on": units.columns_on[unit],
        "values_on": units.values_on[unit],
        "unit": unit,
        "unit_rows": heights,
        "unit_columns": widths,
    }
    for at, name in enumerate(TASK):
        tasks[:, at] = fields[name]
    return tasks


def _room(tasks: Any, vectors: int) -> int:
    """Elements of shared memory for tasks of so many units at once."""
    if not tasks.size:
        return 0
    xp = array_module(tasks)
    rows, columns = tasks[:, TASK.index("rows")], tasks[:, TASK.index("columns")]
    both = vectors * (rows + columns)
    return int(xp.maximum(vectors * rows, xp.where(both <= SHARED, both, 0)).max())


def remark(layout: SharedLayout) -> str:
    """How much is stored of the columns and values that there are."""
    columns, values = layout.entries
    lengths = layout.slices.rows().lengths[layout.units.of_rows()[1]]
    total = int(lengths.sum())
    return f"Of {total} entries {columns} columns and {values} values are stored."


def moved_bytes(layout: SharedLayout) -> int:
    """What is stored, without what is padded and what no product reads."""
    columns, values = layout.entries
    tasks = sum(int(part.nbytes) for part in layout.tasks)
    entries = int(layout.columns.dtype.itemsize) * columns + 8 * values
    return int(layout.slices.nbytes) + entries + tasks + int(layout.units.factors.nbytes)


def cuda(layout: SharedLayout, x: Any, y: Any, adds: bool) -> None:
    """The product on a GPU: a launch for units alone, one for four at once."""
    column = COLUMNS[layout.columns.dtype.itemsize]
    for vectors, tasks, room in zip(VECTORS, layout.tasks, layout.rooms, strict=True):
        if blocks := tasks.shape[0]:
            arrays = tasks, layout.slices.heads, layout.slices.words, layout.columns, layout.values
            arguments = np.int32(room), *arrays, layout.units.factors, x, y
            name = f"shared<{vectors}, {'true' if adds else 'false'}, {column}>"
            SOURCE.function(name)((blocks,), (THREADS,), arguments, shared_mem=8 * room)


@numba.njit(parallel=True, cache=True)
def _multiply(
    tasks: Any,
    vectors: int,
    heads: Any,
    words: Any,
    columns: Any,
    values: Any,
    factors: Any,
    x: Any,
    y: Any,
    adds: bool,
) -> None:
    """Slot by slot over the lanes of a slice; each entry meets one x of every unit, whose sums stay in a buffer."""
    for number in numba.prange(tasks.shape[0]):
        row, _, column, _, first, end, word, columns_on, values_on, unit, unit_rows, unit_columns = tasks[number]
        sums = np.empty((WARP, vectors))
        for slice_ in range(first, end):
            slot, shape = np.int64(heads[slice_, 0]), heads[slice_, 1]
            slots, shift = heads[slice_ + 1, 0] - slot, shape >> 16 & 7
            place, lanes = word + (shape & 0xFFFF), (shape >> 19) << shift
            sums[:] = 0.0
            for step in range(slots):
                for lane in range(lanes):
                    length = (slots << shift) - np.int64(words[place + (lane >> shift)] >> 16)
                    if (step << shift) + (lane & ((1 << shift) - 1)) < length:
                        at = np.int64(columns[WARP * (slot + step + columns_on) + lane])
                        value = values[WARP * (slot + step + values_on) + lane]
                        for vector in range(vectors):
                            sums[lane, vector] += value * x[column + vector * unit_columns + at]
            for inside in range(lanes >> shift):
                to = row + np.int64(words[place + inside] & 0xFFFF)
                for vector in range(vectors):
                    total = factors[unit + vector] * sums[inside << shift : (inside + 1) << shift, vector].sum()
                    y[to + vector * unit_rows] = y[to + vector * unit_rows] + total if adds else total


def cpu(layout: SharedLayout, x: Any, y: Any, adds: bool) -> None:
    """The product on a CPU, tasks in parallel."""
    s = layout.slices
    for vectors, tasks in zip(VECTORS, layout.tasks, strict=True):
        arrays = s.heads, s.words, layout.columns, layout.values, layout.units.factors
        _multiply(tasks, vectors, *arrays, x, y, adds)


SHARED_KERNEL = BatchKernel(
    name="sliced/shared",
    summary="As sliced/lanes; row lengths, columns and values that problems share, up to a factor, are stored once.",
    store=SharedLayout.from_batch,
    bytes_needed=lambda batch: Plan.of(batch).nbytes,
    cpu=cpu,
    cuda=cuda,
    source=SOURCE,
    moved_bytes=moved_bytes,
    remark=remark,
)
KERNELS = (SHARED_KERNEL,)
