"""Deduplication: finds equal row lengths, patterns and values in a batch, as in the batched SpMV paper, §3.1.

Exact: hashes and approximate invariants only propose pairs of items, which are then compared nonzero by nonzero.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.batched.batch import Batch
from gpu_engine.formats.base import array_module, blocks, pointers

ROUNDS = 16
"""Number of proposed items that an item is compared with before it counts as unique."""

NEAR = 1e-9
"""Relative difference below which two invariants are proposed as equal."""

PARTIAL_SUMS = 1024
"""Most partial sums per item, by the index of a term."""

STEPS = (0, 1, -1, 2, -2)
"""Candidates for a factor: the rounded quotient of two values, and doubles this many steps away."""

MULTIPLIERS = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""Odd constants of splitmix64 (Steele, Lea and Flood, OOPSLA 2014), a mixing function."""


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Index of the first equal item, by kind of equality; the index of the item itself if it is unique: int64 [items].

    sizes      equal rows and columns
    lengths    equal row lengths
    patterns   equal size, row lengths and columns of the nonzeros
    values     bitwise equal values, in any pattern
    multiples  equal pattern, and each value is exactly `factors` times the other, rounded once
    factors    float64 [items]; 1 if an item is its own first
    """

    sizes: Any
    lengths: Any
    patterns: Any
    values: Any
    multiples: Any
    factors: Any

    @staticmethod
    def of(batch: Batch) -> "Duplicates":
        """Return the duplicates of a batch, computed on its device."""
        xp = array_module(batch.values)
        starts = batch.rows + xp.arange(batch.count + 1)
        pointer, column = _Slices(batch.indptr, starts), _Slices(batch.indices, batch.entries)
        bits = _Slices(batch.values.view(np.int64), batch.entries)
        n_rows, n_cols = xp.diff(batch.rows), xp.diff(batch.cols)
        sizes = _firsts(_both(n_rows, n_cols), lambda items, _: xp.ones(items.size, dtype=bool))
        lengths = _firsts(_both(n_rows, pointer.hashes()), pointer.equal)
        patterns = _firsts(_both(_both(sizes, lengths), column.hashes()), column.equal)
        values = _firsts(_both(xp.diff(batch.entries), bits.hashes()), bits.equal)
        multiples, factors = _multiples(batch, patterns)
        return Duplicates(sizes, lengths, patterns, values, multiples, factors)

    def summary(self) -> dict[str, int]:
        """Return the numbers of different sizes, row lengths, patterns, values, and matrices up to a factor."""
        xp = array_module(self.sizes)
        kinds = "sizes", "lengths", "patterns", "values", "multiples"
        items = xp.arange(self.sizes.size)
        return {kind: int((getattr(self, kind) == items).sum()) for kind in kinds}


@dataclass(frozen=True, slots=True)
class _Slices:
    """An array of integers with one part per item; starts int64 [items + 1]."""

    array: Any
    starts: Any

    def hashes(self) -> Any:
        """Return a hash of each part, over its elements and their indices: uint64 [items]."""
        xp = array_module(self.array)
        sums = xp.zeros(self.starts.size - 1, dtype=np.uint64)
        for block in blocks(self.array.size):
            problem = xp.searchsorted(self.starts, xp.arange(block.start, block.stop), side="right") - 1
            place = xp.arange(block.start, block.stop) - self.starts[problem]
            mixed = _mix(self.array[block].astype(np.uint64) + _mix(place.astype(np.uint64)))
            # Sums modulo 2⁶⁴ are exact, so that the sum of a part is a difference of prefix sums of the block.
            reached = _sums(mixed)
            inside = xp.clip(self.starts, block.start, block.stop) - block.start
            sums += xp.diff(reached[inside])
        return sums

    def equal(self, items: Any, firsts: Any) -> Any:
        """Return whether the parts of two lists of items, of equal lengths, are pairwise equal: bool [pairs]."""
        same = array_module(self.array).ones(items.size, dtype=bool)
        for pair, mine, other in self.pairs(items, firsts, same):
            same[pair[self.array[mine] != self.array[other]]] = False
        return same

    def pairs(self, items: Any, firsts: Any, selected: Any) -> Any:
        """Yield (pair, element of the item, element of its first) of the selected pairs, block by block."""
        xp = array_module(self.array)
        compared = xp.flatnonzero(selected & (items != firsts))
        borders = pointers(xp.diff(self.starts)[items[compared]], np.int64)
        for block in blocks(int(borders[-1])):
            places = xp.arange(block.start, block.stop)
            number = xp.searchsorted(borders, places, side="right") - 1
            pair, within = compared[number], places - borders[number]
            yield pair, self.starts[items[pair]] + within, self.starts[firsts[pair]] + within


def _sums(values: Any) -> Any:
    """Return the prefix sums of uint64 values modulo 2⁶⁴: [values + 1]."""
    sums = array_module(values).zeros(values.size + 1, dtype=np.uint64)
    sums[1:] = values.cumsum(dtype=np.uint64)
    return sums


def _mix(values: Any) -> Any:
    """Return splitmix64 of each uint64."""
    xp = array_module(values)
    first, second, third = (xp.asarray(multiplier, dtype=np.uint64) for multiplier in MULTIPLIERS)
    shift = [xp.asarray(bits, dtype=np.uint64) for bits in (30, 27, 31)]
    values = values + first
    values = (values ^ (values >> shift[0])) * second
    values = (values ^ (values >> shift[1])) * third
    return values ^ (values >> shift[2])


def _classes(keys: Any) -> Any:
    """Return the index of each key among the distinct keys: int64, equal for equal keys."""
    return array_module(keys).unique(keys, return_inverse=True)[1].astype(np.int64)


def _both(keys: Any, others: Any) -> Any:
    """Return a class for each pair of keys."""
    first, second = _classes(keys), _classes(others)
    return first * (second.size + 1) + second


def _firsts(classes: Any, same: Callable[[Any, Any], Any]) -> Any:
    """Return the first item of its class that equals each item according to `same`: int64 [items].

    classes  int64 [items], equal if two items may be equal
    same     (items, others) → bool per pair
    """
    xp = array_module(classes)
    firsts = xp.arange(classes.size)
    left = firsts.copy()
    for _ in range(ROUNDS):
        _, first, member = xp.unique(classes[left], return_index=True, return_inverse=True)
        proposed = left[first[member]]
        equal = same(left, proposed)
        firsts[left[equal]] = proposed[equal]
        left = left[~equal]
        if not left.size:
            break
    return firsts


def _multiples(batch: Batch, patterns: Any) -> tuple[Any, Any]:
    """Return (first item of which each item is a multiple, the factor)."""
    xp = array_module(batch.values)
    pivots, scaled = _invariants(batch)
    order = xp.argsort(scaled, kind="stable")
    order = order[xp.argsort(patterns[order], kind="stable")]
    near = xp.abs(xp.diff(scaled[order])) <= NEAR * xp.abs(scaled[order][1:])
    classes = xp.zeros(batch.count, dtype=np.int64)
    classes[order[1:]] = (~(near & (xp.diff(patterns[order]) == 0))).cumsum(dtype=np.int64)
    factors = xp.ones(batch.count)
    values = _Slices(batch.values, batch.entries)

    def same(items: Any, firsts: Any) -> Any:
        empty = xp.diff(batch.entries)[items] == 0
        quotients = xp.where(empty, 1.0, _quotients(batch.values, pivots[items], pivots[firsts]))
        selected = pivots[items] - batch.entries[items] == pivots[firsts] - batch.entries[firsts]
        equal = selected & (items == firsts)
        for step in STEPS:
            factor = _beside(quotients, step)
            tried = selected & ~equal
            exact = tried.copy()
            for pair, mine, other in values.pairs(items, firsts, tried):
                with np.errstate(all="ignore"):
                    product = factor[pair] * batch.values[other]
                exact[pair[product.view(np.int64) != batch.values[mine].view(np.int64)]] = False
            factors[items[exact]] = factor[exact]
            equal |= exact
        return equal

    return _firsts(classes, same), factors


def _invariants(batch: Batch) -> tuple[Any, Any]:
    """Return per item (index of its pivot, weighted sum of its values divided by the pivot)."""
    xp = array_module(batch.values)
    weights = xp.asarray(np.random.default_rng(0).uniform(0.5, 1.5, 1021))
    pivots, sums = _pivots(batch), xp.zeros(batch.count)
    for entries, problem, place in _numbered(batch):
        over = _quotients(batch.values, xp.arange(entries.start, entries.stop), pivots[problem])
        with np.errstate(all="ignore"):
            terms = over * weights[place % weights.size]
            first, last = int(problem[0]), int(problem[-1])
            sums[first : last + 1] += _sums_by(problem - first, terms, last + 1 - first)
    return pivots, xp.where(xp.isfinite(sums), sums, 0.0)


def _pivots(batch: Batch) -> Any:
    """Return the index of the first value ≠ 0 of each item, or the begin of the item: int64 [items]."""
    xp = array_module(batch.values)
    begins, ends = batch.entries[:-1].astype(np.int64), batch.entries[1:]
    pivots = xp.full(batch.count, batch.nnz, dtype=np.int64)
    for block in blocks(batch.nnz):
        nonzero = block.start + xp.flatnonzero(batch.values[block])
        following = xp.append(nonzero, batch.nnz)[xp.searchsorted(nonzero, begins)]
        pivots = xp.minimum(pivots, following)
    return xp.where(pivots < ends, pivots, begins)


def _sums_by(problem: Any, terms: Any, count: int) -> Any:
    """Return the sum of the terms of each item: float64 [count]."""
    xp = array_module(terms)
    # Several partial sums per item, because the threads of a GPU would otherwise serialize on one sum.
    places = max(1, min(PARTIAL_SUMS, terms.size // count))
    spread = problem * places + xp.arange(terms.size) % places
    return xp.bincount(spread, weights=terms, minlength=count * places).reshape(count, places).sum(axis=1)


def _numbered(batch: Batch) -> Any:
    """Yield (indices, item, index in the item) of all nonzeros, block by block."""
    xp = array_module(batch.values)
    for block in blocks(batch.nnz):
        entries = xp.arange(block.start, block.stop)
        problem = xp.searchsorted(batch.entries, entries, side="right") - 1
        yield block, problem, entries - batch.entries[problem]


def _quotients(values: Any, entries: Any, others: Any) -> Any:
    """Return values[entries] / values[others]; 1 if both are 0 or an index is past the end."""
    xp = array_module(values)
    if not values.size:
        return xp.ones(entries.size)
    over, under = (values[xp.minimum(at, values.size - 1)] for at in (entries, others))
    with np.errstate(all="ignore"):
        return xp.where(under == 0, 1.0, over / under)


def _beside(values: Any, steps: int) -> Any:
    """Return the doubles `steps` steps above each value (below if negative)."""
    xp = array_module(values)
    for _ in range(abs(steps)):
        values = xp.nextafter(values, xp.full(values.size, np.copysign(np.inf, steps)))
    return values
