"""Sliced: rows of a group sorted by length, one warp per slice, with 16-bit columns relative to the window of x.

Slices as in formats/sellp.py, after Kreutzer et al., SIAM J. Sci. Comput. 36 (2014), except that a row has 1 to 32
lanes, the fewest that need at most SLOTS_MAX slots: every slot has 32 positions, and every slice is short. A thread
block multiplies one group (groups.py): many small matrices or a part of a large one.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gpu_engine.batched.base import BatchKernel
from gpu_engine.batched.batch import Batch, problem_of_rows, problem_pointers, repeat, row_starts
from gpu_engine.batched.groups import ONE_CONFIG, SHARED_ELEMENTS, Groups, LaunchConfigs, on_host
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import array_module, entry_blocks, pointers
from gpu_engine.host.jit import numba
from gpu_engine.matrices.features import NARROW_SPAN
from gpu_engine.matrices.pellr_counts import WARP

SLOTS_MAX = 16
"""Most slots of a row with fewer than 32 lanes."""

THREADS = (64, 128, 256, 512)
VECTORS = (1, 4)
"""Numbers of matrices with shared columns and values that a block multiplies at once."""

COLUMNS = {2: "unsigned short", 4: "int"}
"""C++ type of a column, by its bytes."""

SOURCE = CudaSource(
    __package__,
    "sliced.cu",
    tuple(
        f"{kernel}, {adds}, {column}>"
        for kernel in (*(f"sliced<{threads}" for threads in THREADS), *(f"shared<{vectors}" for vectors in VECTORS))
        for adds in ("false", "true")
        for column in COLUMNS.values()
    ),
)


@dataclass(frozen=True, slots=True)
class RowSlices:
    """Positions of the rows of a batch; arrays on its device.

    groups   int64 [groups, 6]: first row, rows, first slice, slice after the last, first column of x, columns of x;
            sorted by launch
    kinds    int64 [configs + 1], first group of each configuration
    headers  int32 [slices + 1, 2]: first slot; and index in the group of the first row (16 bits), log₂ of the lanes per
            row (3), rows (6)
    words    uint32 [n_rows], rows in storage order: index in the group (16 bits), number of padding positions (16)

    With L lanes per row, slot s of a slice holds nonzero s·L + l of its row r at 32·(first slot + s) + r·L + l.
    """

    groups: Any
    kinds: Any
    headers: Any
    words: Any

    @staticmethod
    def of(rows: Any, cols: Any, begins: Any, configs: LaunchConfigs) -> "RowSlices":
        """Return the slices of the groups of `Groups.of` with these arguments."""
        xp = array_module(begins)
        parts = Groups.of(rows, cols, begins, configs)
        lengths = xp.diff(begins)
        group = repeat(xp.arange(parts.count), parts.ends - parts.begins)
        longest = int(lengths.max()) if lengths.size else 0
        order = xp.argsort(group * (longest + 1) + (longest - lengths), kind="stable")
        lengths = lengths[order]
        shift = sum((lengths > SLOTS_MAX << k).astype(np.int64) for k in range(5))
        first = _slice_begins(group, shift)
        place = xp.flatnonzero(first)
        slots = (lengths[place] + (1 << shift[place]) - 1) >> shift[place]
        counts = xp.diff(xp.append(place, lengths.size))
        headers = xp.zeros((place.size + 1, 2), dtype=np.int32)
        headers[:, 0] = pointers(slots, np.int64)
        headers[:-1, 1] = (place - parts.begins[group[place]]) | shift[place] << 16 | counts << 19
        lacking = repeat(slots << shift[place], counts) - lengths
        words = (order - parts.begins[group]) | lacking << 16
        ends = xp.searchsorted(place, parts.begins), xp.searchsorted(place, parts.ends)
        fields = parts.begins, parts.ends - parts.begins, *ends, parts.windows, parts.widths
        turn = parts.kinds
        if configs.largest_first:
            size = headers[ends[1], 0] - headers[ends[0], 0]
            turn = turn * (int(headers[-1, 0]) + 1) - size
        groups = xp.stack(fields, axis=1)[xp.argsort(turn, kind="stable")].astype(np.int64)
        kinds = np.searchsorted(np.sort(on_host(parts.kinds)), np.arange(len(configs.configs) + 1))
        return RowSlices(groups, kinds, headers, words.astype(np.uint32))

    @property
    def size(self) -> int:
        """Number of slots of all slices, each with 32 positions."""
        return int(self.headers[-1, 0])

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return int(self.groups.nbytes + self.headers.nbytes + self.words.nbytes)

    def rows(self) -> "Rows":
        """Return the position of each row of the batch."""
        xp = array_module(self.words)
        shape = self.headers[:-1, 1].astype(np.int64)
        slice_ = repeat(xp.arange(shape.size), shape >> 19)
        groups = self.groups[xp.argsort(self.groups[:, 0])]
        group = xp.searchsorted(groups[:, 2], slice_, side="right") - 1
        place = xp.arange(slice_.size) - groups[group, 0] - (shape[slice_] & 0xFFFF)
        shift, slots = shape[slice_] >> 16 & 7, xp.diff(self.headers[:, 0].astype(np.int64))[slice_]
        row = groups[group, 0] + (self.words & 0xFFFF)
        rows = Rows(*(xp.empty(row.size, dtype=np.int64) for _ in range(4)))
        rows.lengths[row] = (slots << shift) - (self.words >> 16)
        rows.places[row] = self.headers[slice_, 0].astype(np.int64) * WARP + (place << shift)
        rows.shifts[row] = shift
        rows.windows[row] = groups[group, 4]
        return rows


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a batch, int64 [n_rows] each: nonzeros, position of the first, log₂ of the lanes, start of the window."""

    lengths: Any
    places: Any
    shifts: Any
    windows: Any

    def of_entries(self, row: Any, number: Any) -> Any:
        """Return the positions of nonzeros, given by row and index in the row: int64."""
        shift = self.shifts[row]
        return self.places[row] + (number >> shift) * WARP + (number & ((1 << shift) - 1))


def _slice_begins(group: Any, shift: Any) -> Any:
    """Return whether a slice begins at each row in storage order; its rows have one group and equal lanes."""
    xp = array_module(group)
    begins = xp.ones(group.size, dtype=bool)
    begins[1:] = (group[1:] != group[:-1]) | (shift[1:] != shift[:-1])
    number = xp.cumsum(begins, dtype=np.int64) - 1
    within = xp.arange(group.size) - xp.flatnonzero(begins)[number]
    return within & ((WARP >> shift) - 1) == 0


@dataclass(frozen=True, slots=True)
class SlicedLayout:
    """A batch in slices; padding holds 0 and is not multiplied.

    rows, cols, entries  those of the batch, which an SpMV does not read
    columns              uint16 [32·slots], relative to the window; int32 if a window is wider than 65,536
    values               float64 [32·slots]
    configs              configurations of the groups, one launch each
    shared_elements      elements of shared memory per block, by configuration
    """

    rows: Any
    cols: Any
    entries: Any
    slices: RowSlices
    columns: Any
    values: Any
    configs: LaunchConfigs
    shared_elements: tuple[int, ...]

    @staticmethod
    def from_batch(batch: Batch, configs: LaunchConfigs = ONE_CONFIG) -> "SlicedLayout":
        """Return the layout of a batch: each nonzero is scattered to its slot."""
        xp = array_module(batch.values)
        begins = row_starts(batch)
        slices = RowSlices.of(batch.rows, batch.cols, begins, configs)
        rows = slices.rows()
        back = batch.cols[problem_of_rows(batch.rows)] - rows.windows
        columns = xp.zeros(slices.size * WARP, dtype=_column_type(slices.groups))
        values = xp.zeros(slices.size * WARP)
        for block, row, number in entry_blocks(begins):
            places = rows.of_entries(row, number)
            columns[places], values[places] = batch.indices[block] + back[row], batch.values[block]
        shared_elements = tuple(
            _shared_elements(slices.groups[begin:end]) for begin, end in pairwise(slices.kinds.tolist())
        )
        return SlicedLayout(batch.rows, batch.cols, batch.entries, slices, columns, values, configs, shared_elements)

    def to_batch(self) -> Batch:
        """Return the batch of the layout, row by row."""
        xp = array_module(self.values)
        rows = self.slices.rows()
        begins = pointers(rows.lengths, np.int64)
        back = self.cols[problem_of_rows(self.rows)] - rows.windows
        indices, values = xp.empty(int(begins[-1]), dtype=np.int32), xp.empty(int(begins[-1]))
        for block, row, number in entry_blocks(begins):
            places = rows.of_entries(row, number)
            indices[block], values[block] = self.columns[places] - back[row], self.values[places]
        entries, indptr = problem_pointers(begins, self.rows)
        return Batch(self.rows, self.cols, entries, indptr, indices, values)

    @property
    def stored_bytes(self) -> int:
        """Bytes of all arrays, including padding."""
        arrays = self.rows, self.cols, self.entries, self.columns, self.values
        return self.slices.nbytes + sum(int(array.nbytes) for array in arrays)


def _column_type(groups: Any) -> Any:
    return np.int32 if groups.size and int(groups[:, 5].max()) > NARROW_SPAN else np.uint16


def _shared_elements(groups: Any) -> int:
    """Return the elements of shared memory: y of the largest group, and x of every group that fits beside its y."""
    if not groups.size:
        return 0
    xp = array_module(groups)
    rows, both = groups[:, 1], groups[:, 1] + groups[:, 5]
    return int(xp.maximum(rows, xp.where(both <= SHARED_ELEMENTS, both, 0)).max())


def bytes_needed(batch: Batch, configs: LaunchConfigs = ONE_CONFIG) -> int:
    """Return the bytes of the layout, computed from its slices only."""
    slices = RowSlices.of(batch.rows, batch.cols, row_starts(batch), configs)
    entry = 8 + int(np.dtype(_column_type(slices.groups)).itemsize)
    return int(slices.nbytes) + 3 * 8 * (batch.count + 1) + entry * WARP * slices.size


def moved_bytes(layout: SlicedLayout) -> int:
    """Return the bytes of columns and values without padding, and of the slices."""
    entry = 8 + int(layout.columns.dtype.itemsize)
    return entry * int(layout.entries[-1]) + int(layout.slices.nbytes)


def cuda(layout: SlicedLayout, x: Any, y: Any, adds: bool) -> None:
    """Run the SpMV on a GPU, with one launch per configuration."""
    s, column = layout.slices, COLUMNS[layout.columns.dtype.itemsize]
    for config, room, (begin, end) in zip(
        layout.configs.configs, layout.shared_elements, pairwise(s.kinds.tolist()), strict=True
    ):
        if begin < end:
            name = f"sliced<{config.threads}, {'true' if adds else 'false'}, {column}>"
            arrays = s.groups[begin:end], s.headers, s.words, layout.columns, layout.values
            SOURCE.function(name)(
                (end - begin,), (config.threads,), (np.int32(room), *arrays, x, y), shared_mem=8 * room
            )


@numba.njit(parallel=True, cache=True)
def _slices(groups: Any, headers: Any, words: Any, columns: Any, values: Any, x: Any, y: Any, adds: bool) -> None:
    """Multiply slot by slot over the 32 lanes of a slice, with the sums in a buffer."""
    for group in numba.prange(groups.shape[0]):
        sums = np.empty(WARP)
        row, _, begin, end, window, _ = groups[group]
        for number in range(begin, end):
            slot, shape = headers[number, 0], headers[number, 1]
            slots, shift = headers[number + 1, 0] - slot, shape >> 16 & 7
            first, lanes = row + (shape & 0xFFFF), (shape >> 19) << shift
            sums[:] = 0.0
            for step in range(slots):
                at = WARP * (np.int64(slot) + step)
                for lane in range(lanes):
                    length = (slots << shift) - np.int64(words[first + (lane >> shift)] >> 16)
                    if (step << shift) + (lane & ((1 << shift) - 1)) < length:
                        sums[lane] += values[at + lane] * x[window + columns[at + lane]]
            for place in range(lanes >> shift):
                to = row + np.int64(words[first + place] & 0xFFFF)
                total = sums[place << shift : (place + 1) << shift].sum()
                y[to] = y[to] + total if adds else total


def cpu(layout: SlicedLayout, x: Any, y: Any, adds: bool) -> None:
    """Run the SpMV on a CPU, with groups in parallel."""
    s = layout.slices
    _slices(s.groups, s.headers, s.words, layout.columns, layout.values, x, y, adds)


LANES = BatchKernel(
    name="sliced/lanes",
    summary="Rows of a block sorted by length, 1 to 32 lanes per row, 16-bit columns.",
    store=SlicedLayout.from_batch,
    bytes_needed=bytes_needed,
    cpu=cpu,
    cuda=cuda,
    source=SOURCE,
    moved_bytes=moved_bytes,
)
KERNELS = (LANES,)
