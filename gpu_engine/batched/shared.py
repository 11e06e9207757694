"""Shared: the sliced layout with equal row lengths, patterns and values stored once (deduplication.py).

A super-problem is one matrix, or several consecutive small matrices of equal size. Super-problems with equal row
lengths share slices, with equal patterns columns, and with equal values or multiples of them values, with one factor
each. Four consecutive multiples of one matrix are multiplied at once, so that each nonzero is loaded once: the SpMM of
§3.1.
Source of the cases: batched SpMV paper, §3.1.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.batched.base import BatchKernel
from gpu_engine.batched.batch import Batch, problem_of_rows, problem_pointers, repeat, row_starts
from gpu_engine.batched.deduplication import Duplicates
from gpu_engine.batched.groups import SHARED_ELEMENTS
from gpu_engine.batched.sliced import COLUMNS, SOURCE, VECTORS, RowSlices
from gpu_engine.batched.super_problems import (
    SuperProblems,
    is_source,
    join_problems,
    shape_slots,
    shapes,
    slot_offsets,
    value_sources,
)
from gpu_engine.formats.base import array_module, entry_blocks, pointers
from gpu_engine.host.jit import numba
from gpu_engine.matrices.features import NARROW_SPAN
from gpu_engine.matrices.pellr_counts import WARP

THREADS = 128
TASK = (
    *("row", "rows", "column", "columns", "slice", "end", "words"),
    *("columns_on", "values_on", "super_problem", "super_rows", "super_columns"),
)
"""Fields of a task, in the order of the CUDA source."""


@dataclass(frozen=True, slots=True)
class SharedLayout:
    """A batch in slices, with each distinct part stored once.

    rows, cols  those of the batch, which an SpMV does not read
    tasks       per number of super-problems multiplied at once (VECTORS): int64 [tasks, 12], the fields of TASK
    columns     uint16 [32·slots], within the super-problem; int32 if a super-problem has more than 65,536 columns
    values      float64 [32·slots]
    shared_elements  elements of shared memory per block, by the number of super-problems multiplied at once
    entries     numbers of stored columns and values, without padding
    """

    rows: Any
    cols: Any
    super_problems: SuperProblems
    slices: RowSlices
    tasks: tuple[Any, ...]
    columns: Any
    values: Any
    shared_elements: tuple[int, ...]
    entries: tuple[int, int]

    @staticmethod
    def from_batch(batch: Batch) -> "SharedLayout":
        """Return the deduplicated layout of a batch."""
        return SharedLayout.from_structure(batch, SharedStructure.of(batch))

    @staticmethod
    def from_structure(batch: Batch, structure: "SharedStructure") -> "SharedLayout":
        """Return the layout of a batch with a known structure; it stores columns and values once."""
        xp = array_module(batch.values)
        super_problems, slices, sizes = structure.super_problems, structure.slices, structure.sizes
        columns, values = xp.zeros(sizes[0] * WARP, dtype=structure.column_type), xp.zeros(sizes[1] * WARP)
        rows, (super_problem, row_of) = slices.rows(), super_problems.of_rows()
        for block, row, number in entry_blocks(row_starts(structure.batch)):
            places, owner = rows.of_entries(row_of[row], number), super_problem[row]
            for target, source, on, stored in zip(
                (columns, values),
                (structure.batch.indices, structure.batch.values),
                (super_problems.columns_on, super_problems.values_on),
                structure.stored,
                strict=True,
            ):
                mask = stored[owner]
                target[places[mask] + WARP * on[owner[mask]]] = source[block][mask]
        shared_elements = tuple(
            _shared_elements(part, vectors) for part, vectors in zip(structure.tasks, VECTORS, strict=True)
        )
        return SharedLayout(
            batch.rows,
            batch.cols,
            super_problems,
            slices,
            structure.tasks,
            columns,
            values,
            shared_elements,
            structure.entries,
        )

    def to_batch(self) -> Batch:
        """Return the batch of the layout, row by row, with each value times the factor of its super-problem."""
        xp = array_module(self.values)
        rows, (super_problem, row_of) = self.slices.rows(), self.super_problems.of_rows()
        begins = pointers(rows.lengths[row_of], np.int64)
        back = (self.cols[problem_of_rows(self.rows)] - self.super_problems.cols[super_problem]).astype(np.int32)
        indices, values = xp.empty(int(begins[-1]), dtype=np.int32), xp.empty(int(begins[-1]))
        for block, row, number in entry_blocks(begins):
            places, owner = rows.of_entries(row_of[row], number), super_problem[row]
            indices[block] = self.columns[places + WARP * self.super_problems.columns_on[owner]] - back[row]
            stored = self.values[places + WARP * self.super_problems.values_on[owner]]
            values[block] = stored * self.super_problems.factors[owner]
        entries, indptr = problem_pointers(begins, self.rows)
        return Batch(self.rows, self.cols, entries, indptr, indices, values)

    @property
    def stored_bytes(self) -> int:
        """Bytes of all arrays, including padding."""
        arrays = self.rows, self.cols, *self.super_problems.arrays, *self.tasks, self.columns, self.values
        return self.slices.nbytes + sum(int(array.nbytes) for array in arrays)


@dataclass(frozen=True, slots=True)
class SharedStructure:
    """Structure of the deduplicated layout, before columns and values are stored.

    batch   the batch of super-problems
    stored  bool [super-problems] twice: whether its columns, and whether its values are stored
    sizes   slots of columns and of values
    tasks   as in the layout
    """

    batch: Batch
    super_problems: SuperProblems
    slices: RowSlices
    stored: tuple[Any, Any]
    sizes: tuple[int, int]
    tasks: tuple[Any, ...]

    @staticmethod
    def of(batch: Batch) -> "SharedStructure":
        """Return the structure for a batch, from its duplicates."""
        joint, starts = join_problems(batch)
        duplicates = Duplicates.of(joint)
        slices, shape, shape_rows = shapes(joint, row_starts(joint), duplicates)
        slots, values_of = shape_slots(slices, shape_rows), value_sources(duplicates)
        columns_on, columns_size = slot_offsets(duplicates.patterns, shape, slots)
        values_on, values_size = slot_offsets(values_of, shape, slots)
        starts_of = starts, joint.rows, joint.cols
        super_problems = SuperProblems(*starts_of, shape, shape_rows, columns_on, values_on, duplicates.factors)
        tasks = tuple(_tasks(super_problems, slices, numbers) for numbers in _alone(values_of, duplicates.patterns))
        stored = is_source(duplicates.patterns), is_source(values_of)
        return SharedStructure(joint, super_problems, slices, stored, (columns_size, values_size), tasks)

    @property
    def column_type(self) -> Any:
        """Type of a column: uint16, or int32 if a super-problem has too many columns."""
        widths = array_module(self.super_problems.cols).diff(self.super_problems.cols)
        return np.int32 if widths.size and int(widths.max()) > NARROW_SPAN else np.uint16

    @property
    def entries(self) -> tuple[int, int]:
        """Numbers of columns and values to store, without padding."""
        nnz = array_module(self.batch.entries).diff(self.batch.entries)
        return int(nnz[self.stored[0]].sum()), int(nnz[self.stored[1]].sum())

    @property
    def share(self) -> float:
        """Bytes of columns and values after deduplication over those before; 1 for an empty batch."""
        narrow, (columns, values) = int(np.dtype(self.column_type).itemsize), self.entries
        return (narrow * columns + 8 * values) / ((narrow + 8) * self.batch.nnz) if self.batch.nnz else 1.0

    @property
    def nbytes(self) -> int:
        """Bytes of the layout."""
        slots = WARP * (int(np.dtype(self.column_type).itemsize) * self.sizes[0] + 8 * self.sizes[1])
        problem_bytes = 2 * 8 * int(self.super_problems.starts[-1] + 1)
        return (
            int(self.slices.nbytes)
            + slots
            + problem_bytes
            + sum(int(a.nbytes) for a in (*self.super_problems.arrays, *self.tasks))
        )


def _alone(values_of: Any, patterns: Any) -> tuple[Any, Any]:
    """Return (super-problems that are multiplied one at a time, first ones of four that are multiplied at once)."""
    xp = array_module(values_of)
    count = values_of.size
    begins = xp.ones(count, dtype=bool)
    begins[1:] = (values_of[1:] != values_of[:-1]) | (patterns[1:] != patterns[:-1])
    starts = xp.append(xp.flatnonzero(begins), count)
    run = begins.cumsum(dtype=np.int64) - 1
    within = xp.arange(count) - starts[run]
    together = within - within % VECTORS[1] + VECTORS[1] <= xp.diff(starts)[run]
    return xp.flatnonzero(~together), xp.flatnonzero(together & (within % VECTORS[1] == 0))


def _tasks(super_problems: SuperProblems, slices: RowSlices, numbers: Any) -> Any:
    """Return the tasks of super-problems, one per group: int64 [tasks, 12]."""
    xp = array_module(numbers)
    groups = slices.groups
    first = xp.searchsorted(groups[:, 0], super_problems.shape_rows)
    shape = super_problems.shapes[numbers]
    parts = xp.diff(first)[shape]
    number = repeat(xp.arange(numbers.size), parts)
    super_problem = numbers[number]
    group = first[shape][number] + xp.arange(number.size) - pointers(parts, np.int64)[number]
    widths, heights = xp.diff(super_problems.cols)[super_problem], xp.diff(super_problems.rows)[super_problem]
    tasks = xp.empty((super_problem.size, len(TASK)), dtype=np.int64)
    fields = {
        "row": super_problems.rows[super_problem]
        + groups[group, 0]
        - super_problems.shape_rows[super_problems.shapes[super_problem]],
        "rows": groups[group, 1],
        "column": super_problems.cols[super_problem],
        "columns": widths,
        "slice": groups[group, 2],
        "end": groups[group, 3],
        "words": groups[group, 0],
        "columns_on": super_problems.columns_on[super_problem],
        "values_on": super_problems.values_on[super_problem],
        "super_problem": super_problem,
        "super_rows": heights,
        "super_columns": widths,
    }
    for at, name in enumerate(TASK):
        tasks[:, at] = fields[name]
    return tasks


def _shared_elements(tasks: Any, vectors: int) -> int:
    """Return the elements of shared memory for tasks of `vectors` super-problems at once."""
    if not tasks.size:
        return 0
    xp = array_module(tasks)
    rows, columns = tasks[:, TASK.index("rows")], tasks[:, TASK.index("columns")]
    both = vectors * (rows + columns)
    return int(xp.maximum(vectors * rows, xp.where(both <= SHARED_ELEMENTS, both, 0)).max())


def remark(layout: SharedLayout) -> str:
    """Return a note with the numbers of stored columns and values."""
    columns, values = layout.entries
    lengths = layout.slices.rows().lengths[layout.super_problems.of_rows()[1]]
    total = int(lengths.sum())
    return f"Deduplication stores {columns} columns and {values} values for {total} nonzeros."


def moved_bytes(layout: SharedLayout) -> int:
    """Return the bytes that an SpMV reads, without padding."""
    columns, values = layout.entries
    tasks = sum(int(part.nbytes) for part in layout.tasks)
    entries = int(layout.columns.dtype.itemsize) * columns + 8 * values
    return int(layout.slices.nbytes) + entries + tasks + int(layout.super_problems.factors.nbytes)


def cuda(layout: SharedLayout, x: Any, y: Any, adds: bool) -> None:
    """Run the SpMV on a GPU: one launch for single super-problems, one for four at once."""
    column = COLUMNS[layout.columns.dtype.itemsize]
    for vectors, tasks, room in zip(VECTORS, layout.tasks, layout.shared_elements, strict=True):
        if blocks := tasks.shape[0]:
            arrays = tasks, layout.slices.headers, layout.slices.words, layout.columns, layout.values
            arguments = np.int32(room), *arrays, layout.super_problems.factors, x, y
            name = f"shared<{vectors}, {'true' if adds else 'false'}, {column}>"
            SOURCE.function(name)((blocks,), (THREADS,), arguments, shared_mem=8 * room)


@numba.njit(parallel=True, cache=True)
def _multiply(
    tasks: Any,
    vectors: int,
    headers: Any,
    words: Any,
    columns: Any,
    values: Any,
    factors: Any,
    x: Any,
    y: Any,
    adds: bool,
) -> None:
    """Multiply slot by slot over the lanes of a slice; the sums of all super-problems of a task stay in a buffer."""
    for number in numba.prange(tasks.shape[0]):
        task = tasks[number]
        row, _, column, _, first, end, word, columns_on, values_on, super_problem, super_rows, super_columns = task
        sums = np.empty((WARP, vectors))
        for slice_ in range(first, end):
            slot, shape = np.int64(headers[slice_, 0]), headers[slice_, 1]
            slots, shift = headers[slice_ + 1, 0] - slot, shape >> 16 & 7
            place, lanes = word + (shape & 0xFFFF), (shape >> 19) << shift
            sums[:] = 0.0
            for step in range(slots):
                for lane in range(lanes):
                    length = (slots << shift) - np.int64(words[place + (lane >> shift)] >> 16)
                    if (step << shift) + (lane & ((1 << shift) - 1)) < length:
                        at = np.int64(columns[WARP * (slot + step + columns_on) + lane])
                        value = values[WARP * (slot + step + values_on) + lane]
                        for vector in range(vectors):
                            sums[lane, vector] += value * x[column + vector * super_columns + at]
            for inside in range(lanes >> shift):
                to = row + np.int64(words[place + inside] & 0xFFFF)
                for vector in range(vectors):
                    total = (
                        factors[super_problem + vector] * sums[inside << shift : (inside + 1) << shift, vector].sum()
                    )
                    y[to + vector * super_rows] = y[to + vector * super_rows] + total if adds else total


def cpu(layout: SharedLayout, x: Any, y: Any, adds: bool) -> None:
    """Run the SpMV on a CPU, with tasks in parallel."""
    s = layout.slices
    for vectors, tasks in zip(VECTORS, layout.tasks, strict=True):
        arrays = s.headers, s.words, layout.columns, layout.values, layout.super_problems.factors
        _multiply(tasks, vectors, *arrays, x, y, adds)


SHARED_KERNEL = BatchKernel(
    name="sliced/shared",
    summary="sliced/lanes with deduplication: equal row lengths, columns and values (up to a factor) are stored once.",
    store=SharedLayout.from_batch,
    bytes_needed=lambda batch: SharedStructure.of(batch).nbytes,
    cpu=cpu,
    cuda=cuda,
    source=SOURCE,
    moved_bytes=moved_bytes,
    remark=remark,
)
KERNELS = (SHARED_KERNEL,)
