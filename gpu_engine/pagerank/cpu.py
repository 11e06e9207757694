"""One iteration of Algorithm 1 on a CPU, for ranks and matrix values in fp64, fp32 or segments, in CSR and ELL.

Arithmetic is fp64. γ and the rank of dangling pages are sums of the values as stored, per part of the rows, so that
they do not depend on the order of the threads. All functions that Numba compiles together are in this file, because its
cache checks only the file of a function.

Common arguments: `borders` int64 [parts + 1], rows; `sums` float64 [2, parts], output: γ (squared in L2) and the rank
of dangling pages.
"""

from typing import Any, NamedTuple

import numpy as np

from gpu_engine.host.jit import numba

STRIP = 1024
"""Rows whose sums fit into the L1 cache."""

PARTS_A_THREAD = 8
"""Parts of the rows per thread, so that no thread waits long for a part with long rows."""

L1, L2, LINF = 0, 1, 2


class Rule(NamedTuple):
    """Rule new := damping · Aᵀ·p + base, with γ in `norm`; dangling  bool [n]."""

    dangling: Any
    damping: float
    base: float
    norm: int


class Precision(NamedTuple):
    """Segments that are read of values and p, and written of new, in a code of gpu_engine/cpms/codes.py.

    shift  log₂ of a group: 5 for two segments, 6 for four
    """

    shift: int
    read: int
    write: int
    up: Any
    base: Any
    half: Any
    last: Any


@numba.njit(cache=True)
def _real(bits: Any) -> Any:
    return np.uint64(bits).view(np.float64)


@numba.njit(cache=True)
def _decoded(bits: Any, k: Any, precision: Any) -> Any:
    """Return the value of a code truncated to its first k segments."""
    dropped = np.uint64(64 - k * (64 >> precision.shift - 4))
    half = precision.half >> dropped << dropped
    return _real((np.uint64(bits) - half >> precision.up) + precision.base)


@numba.njit(cache=True)
def _load(units: Any, i: Any, precision: Any, k: Any) -> Any:
    """Return value i from its first k segments, with the others zero."""
    shift = precision.shift
    doublings = shift - 4
    width, group = 64 >> doublings, 1 << shift
    at = ((i >> shift) << (shift + doublings)) | (i & (group - 1))
    first = np.uint64(units[at]) << np.uint64(64 - width)
    if k == 1:
        return _decoded(first, k, precision)
    second = first | np.uint64(units[at + group]) << np.uint64(64 - 2 * width)
    if k == 2:
        return _decoded(second, k, precision)
    third = second | np.uint64(units[at + 2 * group]) << np.uint64(64 - 3 * width)
    if k == 3:
        return _decoded(third, k, precision)
    return _decoded(third | np.uint64(units[at + 3 * group]), k, precision)


@numba.njit(cache=True)
def _store(units: Any, i: Any, value: Any, precision: Any, k: Any) -> Any:
    """Write the first k segments of value i and return the stored value."""
    shift = precision.shift
    doublings = shift - 4
    width, group = 64 >> doublings, 1 << shift
    at = ((i >> shift) << (shift + doublings)) | (i & (group - 1))
    bits = min(max(np.float64(value).view(np.uint64), precision.base), precision.last)
    bits = (bits - precision.base << precision.up) + precision.half
    for segment in range(k):
        units[at + segment * group] = bits >> np.uint64(64 - (segment + 1) * width)
    dropped = np.uint64(64 - k * width)
    return _decoded(bits >> dropped << dropped, k, precision)


@numba.njit(cache=True)
def _widened(gamma: Any, change: Any, norm: Any) -> Any:
    """Return γ so far, extended by one change."""
    if norm == L1:
        return gamma + abs(change)
    return gamma + change * change if norm == L2 else max(gamma, abs(change))


@numba.njit(cache=True)
def _joined(one: Any, other: Any, norm: Any) -> Any:
    """Return (γ, rank of dangling pages) of two sets of rows together."""
    return (max(one[0], other[0]) if norm == LINF else one[0] + other[0]), one[1] + other[1]


@numba.njit(cache=True)
def _finish(totals: Any, begin: Any, end: Any, p: Any, new: Any, rule: Any) -> Any:
    """Write fp64 or fp32 ranks from the sums of rows begin to end; return their (γ, rank of dangling pages)."""
    gamma, lost = 0.0, 0.0
    for row in range(begin, end):
        new[row] = rule.damping * totals[row - begin] + rule.base
        new_rank = np.float64(new[row])
        gamma = _widened(gamma, new_rank - np.float64(p[row]), rule.norm)
        if rule.dangling[row]:
            lost += new_rank
    return gamma, lost


@numba.njit(cache=True)
def _finish_segments(totals: Any, begin: Any, end: Any, p: Any, new: Any, rule: Any, precision: Any) -> Any:
    """Write ranks in segments from the sums of rows begin to end; return their (γ, rank of dangling pages)."""
    gamma, lost = 0.0, 0.0
    for row in range(begin, end):
        value = rule.damping * totals[row - begin] + rule.base
        new_rank = _store(new, row, value, precision, precision.write)
        gamma = _widened(gamma, new_rank - _load(p, row, precision, precision.read), rule.norm)
        if rule.dangling[row]:
            lost += new_rank
    return gamma, lost


@numba.njit(parallel=True, cache=True)
def csr_step(borders: Any, indptr: Any, indices: Any, values: Any, p: Any, new: Any, rule: Any, sums: Any) -> None:
    """Make an iteration with ranks and values in fp64, or both in fp32."""
    for part in numba.prange(borders.size - 1):
        totals, norms = np.empty(STRIP), (0.0, 0.0)
        for begin in range(borders[part], borders[part + 1], STRIP):
            end = min(begin + STRIP, borders[part + 1])
            for row in range(begin, end):
                total = 0.0
                for entry in range(indptr[row], indptr[row + 1]):
                    total += np.float64(values[entry]) * np.float64(p[indices[entry]])
                totals[row - begin] = total
            norms = _joined(norms, _finish(totals, begin, end, p, new, rule), rule.norm)
        sums[0, part], sums[1, part] = norms


@numba.njit(parallel=True, cache=True)
def csr_step_free(
    borders: Any, indptr: Any, indices: Any, shares: Any, p: Any, new: Any, scaled: Any, rule: Any, sums: Any
) -> None:
    """Make an iteration with fp64 ranks and no values; scaled is (p, new) · shares, 1/out-degree; writes the second."""
    old, following = scaled
    for part in numba.prange(borders.size - 1):
        totals, norms = np.empty(STRIP), (0.0, 0.0)
        for begin in range(borders[part], borders[part + 1], STRIP):
            end = min(begin + STRIP, borders[part + 1])
            for row in range(begin, end):
                total = 0.0
                for entry in range(indptr[row], indptr[row + 1]):
                    total += old[indices[entry]]
                totals[row - begin] = total
            norms = _joined(norms, _finish(totals, begin, end, p, new, rule), rule.norm)
            for row in range(begin, end):
                following[row] = new[row] * shares[row]
        sums[0, part], sums[1, part] = norms


@numba.njit(parallel=True, cache=True)
def csr_step_segments(
    borders: Any, indptr: Any, indices: Any, values: Any, p: Any, new: Any, precision: Any, rule: Any, sums: Any
) -> None:
    """Make an iteration with values, p and new as units of segments."""
    for part in numba.prange(borders.size - 1):
        totals, norms = np.empty(STRIP), (0.0, 0.0)
        for begin in range(borders[part], borders[part + 1], STRIP):
            end = min(begin + STRIP, borders[part + 1])
            for row in range(begin, end):
                total = 0.0
                for entry in range(indptr[row], indptr[row + 1]):
                    rank = _load(p, np.int64(indices[entry]), precision, precision.read)
                    total += _load(values, np.int64(entry), precision, precision.read) * rank
                totals[row - begin] = total
            norms = _joined(norms, _finish_segments(totals, begin, end, p, new, rule, precision), rule.norm)
        sums[0, part], sums[1, part] = norms


@numba.njit(parallel=True, cache=True)
def ell_step(borders: Any, columns: Any, values: Any, p: Any, new: Any, rule: Any, sums: Any) -> None:
    """Do `csr_step` in ELL: columns and values [width · n], slot by slot; padding has column 0 and value 0."""
    n = rule.dangling.size
    for part in numba.prange(borders.size - 1):
        totals, norms = np.empty(STRIP), (0.0, 0.0)
        for begin in range(borders[part], borders[part + 1], STRIP):
            end = min(begin + STRIP, borders[part + 1])
            totals[: end - begin] = 0.0
            for slot in range(begin, columns.size, n):
                for row in range(end - begin):
                    totals[row] += np.float64(values[slot + row]) * np.float64(p[columns[slot + row]])
            norms = _joined(norms, _finish(totals, begin, end, p, new, rule), rule.norm)
        sums[0, part], sums[1, part] = norms


@numba.njit(parallel=True, cache=True)
def ell_step_segments(
    borders: Any, columns: Any, values: Any, p: Any, new: Any, precision: Any, rule: Any, sums: Any
) -> None:
    """Do `csr_step_segments` in ELL: columns and values [width · n], slot by slot."""
    n = rule.dangling.size
    for part in numba.prange(borders.size - 1):
        totals, norms = np.empty(STRIP), (0.0, 0.0)
        for begin in range(borders[part], borders[part + 1], STRIP):
            end = min(begin + STRIP, borders[part + 1])
            totals[: end - begin] = 0.0
            for slot in range(begin, columns.size, n):
                for row in range(end - begin):
                    rank = _load(p, np.int64(columns[slot + row]), precision, precision.read)
                    totals[row] += _load(values, np.int64(slot + row), precision, precision.read) * rank
            norms = _joined(norms, _finish_segments(totals, begin, end, p, new, rule, precision), rule.norm)
        sums[0, part], sums[1, part] = norms


@numba.njit(parallel=True, cache=True)
def mass_of_segments(borders: Any, p: Any, precision: Any, mass: Any) -> None:
    """Write mass [parts]: Σ|p| of the ranks in the segments that are read."""
    for part in numba.prange(borders.size - 1):
        total = 0.0
        for row in range(borders[part], borders[part + 1]):
            total += abs(_load(p, row, precision, precision.read))
        mass[part] = total


@numba.njit(parallel=True, cache=True)
def scale_segments(borders: Any, dangling: Any, p: Any, factor: float, precision: Any, lost: Any) -> None:
    """Scale p by a factor in the segments that are read; write lost [parts], the rank of dangling pages afterwards."""
    for part in numba.prange(borders.size - 1):
        total = 0.0
        for row in range(borders[part], borders[part + 1]):
            new_rank = _store(p, row, factor * _load(p, row, precision, precision.read), precision, precision.read)
            if dangling[row]:
                total += new_rank
        lost[part] = total


def parts(indptr: Any) -> Any:
    """Return row borders of the parts, int64 [parts + 1], with nearly equal numbers of links plus rows."""
    n = indptr.size - 1
    count = max(1, min(n, numba.get_num_threads() * PARTS_A_THREAD))
    work = indptr.astype(np.int64) + np.arange(n + 1)
    return np.searchsorted(work, work[-1] * np.arange(count + 1) // count, side="left")
