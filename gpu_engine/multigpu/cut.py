"""Where a matrix is cut: into parts of equal nonzeros, or of equal lines as the baseline does.

Cutting reads the arrays of the whole only at the borders, so that a memory-mapped matrix stays on its disk.
Source: MSREP paper, Algorithms 2, 4 and 6 with products of 64 bits; two steps after §4.2; the baseline of §5.3.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gpu_engine.errors import ParameterError
from gpu_engine.formats.base import array_module
from gpu_engine.multigpu.partition import SharedMatrix, Span


def borders(nnz: int, groups: Sequence[int]) -> tuple[int, ...]:
    """Where equal parts begin and the last one ends; cut first among groups by their sizes, then within each (§4.2).

    groups  number of parts of each group: those of the devices of a NUMA node; (parts,) cuts in one step
    """
    if not groups or min(groups) < 1:
        raise ParameterError(
            f"Groups of {list(groups)} parts cannot share a matrix; give each group at least one part."
        )
    # Python's integers: i · nnz does not fit 32 bits.
    total, numbers, before = sum(groups), [0], 0
    for group in groups:
        begin, end = before * nnz // total, (before + group) * nnz // total
        numbers += (begin + (i + 1) * (end - begin) // group for i in range(group))
        before += group
    return tuple(numbers)


def cut_by_entries(stored: SharedMatrix, groups: Sequence[int], slack: int = 0) -> tuple[Span, ...]:
    """Parts of equal nonzeros; O(parts · log lines), computed where the matrix lies.

    slack  lines of up to so many entries are not cut but begin a part: 0 cuts any line
    """
    return _cut_at(stored, borders(stored.nnz, groups), slack)


def cut_group(stored: SharedMatrix, groups: Sequence[int], number: int) -> tuple[Span, ...]:
    """The parts of one group alone, which a thread of its node finds while others find theirs."""
    before = sum(groups[:number])
    return _cut_at(stored, borders(stored.nnz, groups)[before : before + groups[number] + 1], first=number == 0)


def _cut_at(stored: SharedMatrix, at: Sequence[int], slack: int = 0, first: bool = True) -> tuple[Span, ...]:
    """The parts between these entries; first: whether empty lines in front are theirs."""
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
    """The baseline: parts of equal rows or columns, however many entries they have."""
    xp = array_module(stored.major)
    lines = xp.asarray(borders(stored.n_lines, (parts,)), dtype=np.int64)
    if stored.partitioning.compressed:
        entries = stored.major[lines].astype(np.int64)
    else:
        entries = xp.searchsorted(stored.major, lines.astype(stored.major.dtype), side="left")
    return tuple(_spans(entries, lines, xp.zeros(parts + 1, dtype=bool)))


def _compressed_lines(stored: SharedMatrix, entries: Any) -> tuple[Any, Any]:
    """(the line of each entry, whether that line began before it): int64, bool [entries]; past the end `n_lines`."""
    xp = array_module(entries)
    # Keys of another type would have all pointers read and cast.
    keys = entries.astype(stored.major.dtype)
    lines = xp.searchsorted(stored.major, keys, side="right") - 1
    return lines, stored.major[lines] < keys


def _lines(stored: SharedMatrix, entries: Any) -> tuple[Any, Any]:
    """The same where each entry has the number of its line."""
    xp = array_module(entries)
    if not stored.nnz:
        return xp.full(entries.size, stored.n_lines, dtype=np.int64), xp.zeros(entries.size, dtype=bool)
    inside = entries < stored.nnz
    lines = xp.where(inside, stored.major[xp.minimum(entries, stored.nnz - 1)].astype(np.int64), stored.n_lines)
    return lines, (entries > 0) & (stored.major[xp.maximum(entries - 1, 0)] == lines)


def _ends(stored: SharedMatrix, lines: Any) -> tuple[Any, Any]:
    """(first entry, entry past the last) of lines that have entries: int64 [lines]."""
    xp = array_module(lines)
    if stored.partitioning.compressed:
        return stored.major[lines].astype(np.int64), stored.major[lines + 1].astype(np.int64)
    keys = lines.astype(stored.major.dtype)
    return xp.searchsorted(stored.major, keys, side="left"), xp.searchsorted(stored.major, keys, side="right")


def _spans(entries: Any, lines: Any, cuts: Any) -> Iterator[Span]:
    """The parts between borders: the entry at which each lies, the line of that entry, whether the line is cut."""
    borders = zip(entries.tolist(), lines.tolist(), cuts.tolist(), strict=True)
    for (start, first, flag), (end, line, cut) in itertools.pairwise(borders):
        if flag and start == end:
            # Nothing of a line that goes on in the next part: such a part has no line at all.
            yield Span(start, end, first, first, start_flag=False)
        else:
            yield Span(start, end, first, line + cut, start_flag=flag)
