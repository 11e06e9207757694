"""Partition borders: equal nonzeros per partition, or equal lines as in the baseline.

Only the array elements at the borders are read, so that a memory-mapped matrix stays on disk.
Source: MSREP paper, Algorithms 2, 4, and 6 with 64-bit products; two steps as in §4.2; baseline of §5.3.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gpu_engine.errors import ParameterError
from gpu_engine.formats.base import array_module
from gpu_engine.multigpu.partition import SharedMatrix, Span


def borders(nnz: int, groups: Sequence[int]) -> tuple[int, ...]:
    """Return the first nonzero of each partition and the end of the last one.

    The nonzeros are divided among the groups by size, then within each group (§4.2).

    groups  number of partitions per group, such as the devices of a NUMA node; (parts,) divides in one step
    """
    if not groups or min(groups) < 1:
        raise ParameterError(f"Invalid partition groups {list(groups)}. Give each group at least one partition.")
    # Python integers, because i · nnz can exceed 32 bits.
    total, numbers, n_previous = sum(groups), [0], 0
    for group in groups:
        begin, end = n_previous * nnz // total, (n_previous + group) * nnz // total
        numbers += (begin + (i + 1) * (end - begin) // group for i in range(group))
        n_previous += group
    return tuple(numbers)


def cut_by_entries(stored: SharedMatrix, groups: Sequence[int], slack: int = 0) -> tuple[Span, ...]:
    """Return partitions with equal nonzeros in O(partitions · log lines), computed on the device of the matrix.

    slack  lines with at most this many nonzeros are not cut but start a partition; 0: any line may be cut
    """
    return _cut_at(stored, borders(stored.nnz, groups), slack)


def cut_group(stored: SharedMatrix, groups: Sequence[int], number: int) -> tuple[Span, ...]:
    """Return the partitions of one group, so that one thread per NUMA node can compute its group."""
    n_previous = sum(groups[:number])
    entries = borders(stored.nnz, groups)[n_previous : n_previous + groups[number] + 1]
    return _cut_at(stored, entries, first=number == 0)


def _cut_at(stored: SharedMatrix, at: Sequence[int], slack: int = 0, first: bool = True) -> tuple[Span, ...]:
    """Return the partitions between these nonzeros; `first`: leading empty lines belong to the first one."""
    xp = array_module(stored.major)
    entries = xp.asarray(at, dtype=np.int64)
    lines, cuts = _compressed_lines(stored, entries) if stored.partitioning.compressed else _lines(stored, entries)
    if first:
        lines[0] = 0
    if slack:
        begins, ends = _ends(stored, lines[cuts])
        short = ends - begins <= slack
        entries[cuts] = xp.where(short, begins, entries[cuts])
        cuts[cuts] = ~short
    return tuple(_spans(entries, lines, cuts))


def cut_by_lines(stored: SharedMatrix, parts: int) -> tuple[Span, ...]:
    """Return the partitions of the baseline: equal rows or columns, regardless of their nonzeros."""
    xp = array_module(stored.major)
    lines = xp.asarray(borders(stored.n_lines, (parts,)), dtype=np.int64)
    if stored.partitioning.compressed:
        entries = stored.major[lines].astype(np.int64)
    else:
        entries = xp.searchsorted(stored.major, lines.astype(stored.major.dtype), side="left")
    return tuple(_spans(entries, lines, xp.zeros(parts + 1, dtype=bool)))


def _compressed_lines(stored: SharedMatrix, entries: Any) -> tuple[Any, Any]:
    """Return (line of each nonzero, whether the line starts before it): int64, bool; `n_lines` past the end."""
    xp = array_module(entries)
    # Keys of another type would make searchsorted read and cast all pointers.
    keys = entries.astype(stored.major.dtype)
    lines = xp.searchsorted(stored.major, keys, side="right") - 1
    return lines, stored.major[lines] < keys


def _lines(stored: SharedMatrix, entries: Any) -> tuple[Any, Any]:
    """Return the result of `_compressed_lines` if each nonzero stores the number of its line."""
    xp = array_module(entries)
    if not stored.nnz:
        return xp.full(entries.size, stored.n_lines, dtype=np.int64), xp.zeros(entries.size, dtype=bool)
    inside = entries < stored.nnz
    lines = xp.where(inside, stored.major[xp.minimum(entries, stored.nnz - 1)].astype(np.int64), stored.n_lines)
    return lines, (entries > 0) & (stored.major[xp.maximum(entries - 1, 0)] == lines)


def _ends(stored: SharedMatrix, lines: Any) -> tuple[Any, Any]:
    """Return (first nonzero, nonzero past the last) of nonempty lines: int64 [lines]."""
    xp = array_module(lines)
    if stored.partitioning.compressed:
        return stored.major[lines].astype(np.int64), stored.major[lines + 1].astype(np.int64)
    keys = lines.astype(stored.major.dtype)
    return xp.searchsorted(stored.major, keys, side="left"), xp.searchsorted(stored.major, keys, side="right")


def _spans(entries: Any, lines: Any, cuts: Any) -> Iterator[Span]:
    """Yield the partitions between borders, each given by a nonzero, its line, and whether the line is cut."""
    borders = zip(entries.tolist(), lines.tolist(), cuts.tolist(), strict=True)
    for (start, first, flag), (end, line, cut) in itertools.pairwise(borders):
        if flag and start == end:
            # A partition without nonzeros inside a cut line has no line at all.
            yield Span(start, end, first, first, start_flag=False)
        else:
            yield Span(start, end, first, line + cut, start_flag=flag)
