"""Operations on a CPU, each in one thread without the interpreter lock."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gpu_engine import cpms
from gpu_engine.cpms import Segmented
from gpu_engine.cpms.layout import group_size
from gpu_engine.host.jit import numba
from gpu_engine.multigpu import cpu_chunks, cpu_solve
from gpu_engine.multigpu.base import Operations, Update
from gpu_engine.multigpu.merge import combine
from gpu_engine.multigpu.partition import Part, Partitioning, rewrite


def prepare(partitioning: Partitioning, part: Part, n_cols: int) -> Part:  # noqa: ARG001 (nothing to prepare)
    """Return the partition unchanged."""
    return part


def multiply(partitioning: Partitioning, part: Part, x: Any, partial: Any) -> None:
    """Compute partial := A_i·x."""
    by_rows = partitioning.axis == "rows"
    if not partitioning.compressed:
        rows, columns = (part.major, part.minor) if by_rows else (part.minor, part.major)
        _entries(rows, columns, part.values, x, partial)
    elif by_rows:
        _rows(part.major, part.minor, part.values, x, partial)
    else:
        _columns(part.major, part.minor, part.values, x, partial)


def bind_columns(part: Part, n_cols: int, k: int) -> Callable[[Any, Any], None]:  # noqa: ARG001 (x has the size)
    """Return the SpMM of a CSR partition for k columns."""

    def multiply_columns(x: Any, partial: Any) -> None:
        _row_columns(part.major, part.minor, part.values, x.reshape(-1, k), partial.reshape(-1, k))

    return multiply_columns


def add(total: Any, summand: Any, lines: Any) -> None:
    """Compute total[lines] += summand; lines = None: all lines."""
    if lines is None:
        np.add(total, summand, total)
    else:
        total[lines] += summand


def gather(vector: Any, positions: Any, k: int | None, packed: Any) -> None:
    """Pack elements by position; of a vector in segments, the leading k, one segment after the other."""
    if k is None:
        np.take(vector, positions, out=packed, mode="clip")
    else:
        _pack(vector.units, positions, group_size(vector.segments), vector.segments, k, packed)


def unpack(packed: Any, values: slice, k: int, vector: Segmented) -> None:
    """Unpack the leading k segments of a range of values; the other segments stay unchanged."""
    _unpack(packed, values.start, values.stop, group_size(vector.segments), vector.segments, k, vector.units)


def copy(peer: Segmented, values: slice, k: int, vector: Segmented, place: int) -> None:
    """Copy the leading k segments of a range of values to another vector, starting at `place`."""
    size = group_size(vector.segments)
    _copy(peer.units, values.start, values.stop, size, vector.segments, k, vector.units, place)


def fill(p: Any, value: float, k: int) -> None:
    """Set all ranks to a value."""
    if isinstance(p, Segmented):
        cpms.write(p, np.full(p.n, value), k)
    else:
        p.fill(value)


def finish_ranks(totals: Any, update: Update, sums: Any) -> None:
    """Compute the new ranks of the owned pages, and γ and the dangling rank as sums."""
    new_ranks = update.damping * totals + update.base[0]
    change = -_owned_ranks(update.p, update.owned, update.read)
    _store_ranks(update.new, update.owned, update.write, new_ranks)
    change += new_ranks
    if update.norm == "L2":
        sums[0] = np.square(change).sum()
    else:
        sums[0] = np.abs(change).sum() if update.norm == "L1" else np.abs(change).max(initial=0.0)
    sums[1] = new_ranks[update.dangling].sum()


def scale(p: Segmented, owned: slice, dangling: Any, factor: float, k: int, totals: Any, sums: Any) -> None:
    """Compute p := factor · p on the owned pages, truncated to k segments."""
    np.multiply(_owned_ranks(p, owned, k), factor, out=totals)
    _store_ranks(p, owned, k, totals)
    sums[:] = np.abs(totals).sum(), totals[dangling].sum()


def sum_in_links(links: Part, values: Segmented, p: Segmented, k: int, totals: Any) -> None:
    """Compute the weighted sum over the in-links of each page."""
    _sum_in_links(links.major, links.minor, values.units, p.units, p.segments, k, totals)


def to_ieee(vector: Segmented) -> None:
    """Convert segments to fp64 in place, in one thread (unlike `cpms.to_ieee`)."""
    values = cpms.read(vector, vector.segments)
    vector.storage[: vector.n] = values
    vector.storage[vector.n :] = 0.0


def to_segments(vector: Segmented) -> None:
    """Convert fp64 to segments in place."""
    values = vector.storage[: vector.n].copy()
    vector.storage[:] = 0.0
    cpms.write(vector, values, vector.segments)


def copy_owned(p: Any, owned: slice, k: int, ranks: Any) -> None:
    """Copy the ranks of the owned pages to `ranks`."""
    ranks[:] = _owned_ranks(p, owned, k)


def _owned_ranks(p: Any, owned: slice, k: int) -> Any:
    if not isinstance(p, Segmented):
        return p[owned]
    values = np.empty(owned.stop - owned.start)
    _widen(p.units, owned.start, p.segments, k, values)
    return values


def _store_ranks(p: Any, owned: slice, k: int, values: Any) -> None:
    """Store ranks, and truncate `values` to the stored precision."""
    if isinstance(p, Segmented):
        _narrow(p.units, owned.start, p.segments, k, values)
    else:
        p[owned] = values


@numba.njit(cache=True, nogil=True)
def _load(units: Any, i: int, segments: int, k: int) -> Any:
    """Return value i with its leading k segments; the others are zero."""
    group, width = 16 * segments, 64 // segments
    place = i // group * group * segments + i % group
    bits = np.uint64(0)
    for segment in range(k):
        bits |= np.uint64(units[place + segment * group]) << np.uint64(64 - (segment + 1) * width)
    return np.uint64(bits).view(np.float64)


@numba.njit(cache=True, nogil=True)
def _widen(units: Any, begin: int, segments: int, k: int, values: Any) -> None:
    for i in range(values.size):
        values[i] = _load(units, begin + i, segments, k)


@numba.njit(cache=True, nogil=True)
def _narrow(units: Any, begin: int, segments: int, k: int, values: Any) -> None:
    group, width = 16 * segments, 64 // segments
    for i in range(values.size):
        place = (begin + i) // group * group * segments + (begin + i) % group
        bits = np.float64(values[i]).view(np.uint64)
        for segment in range(k):
            units[place + segment * group] = bits >> np.uint64(64 - (segment + 1) * width)
        values[i] = _load(units, begin + i, segments, k)


@numba.njit(cache=True, nogil=True)
def _sum_in_links(indptr: Any, indices: Any, values: Any, p: Any, segments: int, k: int, totals: Any) -> None:
    for row in range(totals.size):
        total = 0.0
        for entry in range(indptr[row], indptr[row + 1]):
            total += _load(values, entry, segments, k) * _load(p, indices[entry], segments, k)
        totals[row] = total


@numba.njit(cache=True, nogil=True)
def _rows(indptr: Any, indices: Any, values: Any, x: Any, y: Any) -> None:
    for row in range(y.size):
        total = 0.0
        for entry in range(indptr[row], indptr[row + 1]):
            total += values[entry] * x[indices[entry]]
        y[row] = total


@numba.njit(cache=True, nogil=True)
def _row_columns(indptr: Any, indices: Any, values: Any, x: Any, y: Any) -> None:
    y[:] = 0.0
    for row in range(y.shape[0]):
        for entry in range(indptr[row], indptr[row + 1]):
            for j in range(y.shape[1]):
                y[row, j] += values[entry] * x[indices[entry], j]


@numba.njit(cache=True, nogil=True)
def _columns(indptr: Any, rows: Any, values: Any, x: Any, y: Any) -> None:
    y[:] = 0.0
    for column in range(x.size):
        for entry in range(indptr[column], indptr[column + 1]):
            y[rows[entry]] += values[entry] * x[column]


@numba.njit(cache=True, nogil=True)
def _entries(rows: Any, columns: Any, values: Any, x: Any, y: Any) -> None:
    y[:] = 0.0
    for entry in range(values.size):
        y[rows[entry]] += values[entry] * x[columns[entry]]


@numba.njit(cache=True, nogil=True)
def _pack(units: Any, positions: Any, group: int, segments: int, k: int, packed: Any) -> None:
    for segment in range(k):
        for i in range(positions.size):
            place = positions[i] // group * group * segments + segment * group + positions[i] % group
            packed[segment * positions.size + i] = units[place]


@numba.njit(cache=True, nogil=True)
def _unpack(packed: Any, begin: int, end: int, group: int, segments: int, k: int, units: Any) -> None:
    for segment in range(k):
        for value in range(begin, end):
            place = value // group * group * segments + segment * group + value % group
            units[place] = packed[segment * (end - begin) + value - begin]


@numba.njit(cache=True, nogil=True)
def _copy(units: Any, begin: int, end: int, group: int, segments: int, k: int, target: Any, first: int) -> None:
    for segment in range(k):
        for value in range(begin, end):
            source = value // group * group * segments + segment * group + value % group
            place = first + value - begin
            target[place // group * group * segments + segment * group + place % group] = units[source]


OPERATIONS = Operations(
    prepare=prepare,
    multiply=multiply,
    bind_columns=bind_columns,
    rewrite=rewrite,
    add=add,
    combine=combine,
    gather=gather,
    unpack=unpack,
    copy=copy,
    fill=fill,
    finish_ranks=finish_ranks,
    scale=scale,
    sum_in_links=sum_in_links,
    to_ieee=to_ieee,
    to_segments=to_segments,
    copy_owned=copy_owned,
    chunks=cpu_chunks,
    solve=cpu_solve,
    n_sums=2,
)
