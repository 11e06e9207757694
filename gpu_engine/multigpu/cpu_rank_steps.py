"""RankSteps on a CPU, in one thread without the interpreter's lock."""

from typing import Any

import numba
import numpy as np

from gpu_engine import cpms
from gpu_engine.cpms import Segmented
from gpu_engine.multigpu.partition import Part
from gpu_engine.multigpu.rank_steps import Update

SUMS = 2


def finish(totals: Any, update: Update, sums: Any) -> None:
    """The new ranks of a device's pages."""
    new_ranks = update.damping * totals + update.base[0]
    change = -_own(update.p, update.own, update.read)
    _keep(update.new, update.own, update.write, new_ranks)
    change += new_ranks
    if update.norm == "L2":
        sums[0] = np.square(change).sum()
    else:
        sums[0] = np.abs(change).sum() if update.norm == "L1" else np.abs(change).max(initial=0.0)
    sums[1] = new_ranks[update.dangling].sum()


def scale_segments(p: Segmented, own: slice, dangling: Any, factor: float, k: int, totals: Any, sums: Any) -> None:
    """p := factor · p on a device's pages, truncated to k segments."""
    np.multiply(_own(p, own, k), factor, out=totals)
    _keep(p, own, k, totals)
    sums[:] = np.abs(totals).sum(), totals[dangling].sum()


def multiply_segments(links: Part, values: Segmented, p: Segmented, k: int, totals: Any) -> None:
    """What flows along the links to each page."""
    _multiply(links.major, links.minor, values.units, p.units, p.segments, k, totals)


def to_ieee(vector: Segmented) -> None:
    """Segments to fp64 in the same memory; unlike that of `cpms`, in one thread."""
    values = cpms.read(vector, vector.segments)
    vector.storage[: vector.n] = values
    vector.storage[vector.n :] = 0.0


def to_segments(vector: Segmented) -> None:
    """The inverse of `to_ieee`."""
    values = vector.storage[: vector.n].copy()
    vector.storage[:] = 0.0
    cpms.write(vector, values, vector.segments)


def copy_own(p: Any, own: slice, k: int, found: Any) -> None:
    """found := the ranks of a device's pages."""
    found[:] = _own(p, own, k)


def _own(p: Any, own: slice, k: int) -> Any:
    if not isinstance(p, Segmented):
        return p[own]
    values = np.empty(own.stop - own.start)
    _widen(p.units, own.start, p.segments, k, values)
    return values


def _keep(p: Any, own: slice, k: int, values: Any) -> None:
    """Writes ranks, and cuts the values to what was kept of them."""
    if isinstance(p, Segmented):
        _narrow(p.units, own.start, p.segments, k, values)
    else:
        p[own] = values


@numba.njit(cache=True, nogil=True)
def _load(units: Any, i: int, segments: int, k: int) -> Any:
    """Value i with its first k segments, the others zero."""
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
def _multiply(indptr: Any, indices: Any, values: Any, p: Any, segments: int, k: int, totals: Any) -> None:
    for row in range(totals.size):
        total = 0.0
        for entry in range(indptr[row], indptr[row + 1]):
            total += _load(values, entry, segments, k) * _load(p, indices[entry], segments, k)
        totals[row] = total
