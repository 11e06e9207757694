"""Deduplication: what problems of a batch have in common: the five special cases of the batched SpMV paper, §3.1.

Exact: hashes and approximate invariants only propose pairs of problems; what is shared was compared entry by entry.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.batched.batch import Batch
from gpu_engine.formats.base import array_module, blocks, pointers

ROUNDS = 16
"""Comparisons with ever later problems, after which a problem that equals none of those proposed stands for itself."""

NEAR = 1e-9
"""Invariants that differ by less, in relation, are proposed as equal."""

PLACES = 1024
"""A sum over a problem is kept in so many parts at most, by the place of a term."""

STEPS = (0, 1, -1, 2, -2)
"""A factor is a quotient of two entries, each rounded, or a double so many steps beside it."""

MULTIPLIERS = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""Odd constants of splitmix64 (Steele, Lea and Flood, OOPSLA 2014), which mixes bits well."""


@dataclass(frozen=True, slots=True)
class Duplicates:
    """For each problem the first one with which it shares something, itself where there is none: int64 [problems].

    sizes      the same rows and columns
    lengths    the same row lengths
    patterns   the same size, row lengths and columns of the entries
    values     the same values, bit for bit, in whatever pattern
    multiples  the same pattern, and each value exactly `factors` times the other, rounded once
    factors    float64 [problems]; 1 where a problem is its own first
    """

    sizes: Any
    lengths: Any
    patterns: Any
    values: Any
    multiples: Any
    factors: Any

    @staticmethod
    def of(batch: Batch) -> "Duplicates":
        """What the problems of a batch share, found where it lies."""
        xp = array_module(batch.values)
        starts = batch.rows + xp.arange(batch.count + 1)
        pointer, column = _Slices(batch.indptr, starts), _Slices(batch.indices, batch.entries)
        bits = _Slices(batch.values.view(np.int64), batch.entries)
        n_rows, n_cols = xp.diff(batch.rows), xp.diff(batch.cols)
        sizes = _firsts(_both(n_rows, n_cols), lambda batch_size, _: xp.ones(batch_size.size, dtype=bool))
        lengths = _firsts(_both(n_rows, pointer.hashes()), pointer.equal)
        patterns = _firsts(_both(_both(sizes, lengths), column.hashes()), column.equal)
        values = _firsts(_both(xp.diff(batch.entries), bits.hashes()), bits.equal)
        multiples, factors = _multiples(batch, patterns)
        return Duplicates(sizes, lengths, patterns, values, multiples, factors)

    def summary(self) -> dict[str, int]:
        """How many different sizes, row lengths, patterns, values, and matrices up to a factor there are."""
        xp = array_module(self.sizes)
        kinds = "sizes", "lengths", "patterns", "values", "multiples"
        batch_size = xp.arange(self.sizes.size)
        return {kind: int((getattr(self, kind) == batch_size).sum()) for kind in kinds}


@dataclass(frozen=True, slots=True)
class _Slices:
    """An array of integers that has a part for each problem; starts int64 [problems + 1]."""

    array: Any
    starts: Any

    def hashes(self) -> Any:
        """A hash of each part, of its elements and their places: uint64 [problems]."""
        xp = array_module(self.array)
        sums = xp.zeros(self.starts.size - 1, dtype=np.uint64)
        for block in blocks(self.array.size):
            problem = xp.searchsorted(self.starts, xp.arange(block.start, block.stop), side="right") - 1
            place = xp.arange(block.start, block.stop) - self.starts[problem]
            mixed = _mix(self.array[block].astype(np.uint64) + _mix(place.astype(np.uint64)))
            # Sums modulo 2⁶⁴ are exact: those of a part are a difference of those of the block.
            reached = _sums(mixed)
            inside = xp.clip(self.starts, block.start, block.stop) - block.start
            sums += xp.diff(reached[inside])
        return sums

    def equal(self, batch_size: Any, firsts: Any) -> Any:
        """Whether the parts of these problems equal those of the others, which are as long: bool [pairs]."""
        same = array_module(self.array).ones(batch_size.size, dtype=bool)
        for pair, mine, other in self.pairs(batch_size, firsts, same):
            same[pair[self.array[mine] != self.array[other]]] = False
        return same

    def pairs(self, batch_size: Any, firsts: Any, wanted: Any) -> Any:
        """(pair, element of its problem, element of its first) of all wanted pairs of equal size, block by block."""
        xp = array_module(self.array)
        compared = xp.flatnonzero(wanted & (batch_size != firsts))
        borders = pointers(xp.diff(self.starts)[batch_size[compared]], np.int64)
        for block in blocks(int(borders[-1])):
            places = xp.arange(block.start, block.stop)
            number = xp.searchsorted(borders, places, side="right") - 1
            pair, within = compared[number], places - borders[number]
            yield pair, self.starts[batch_size[pair]] + within, self.starts[firsts[pair]] + within


def _sums(values: Any) -> Any:
    """Sums of the uint64 values before each, modulo 2⁶⁴, and of all: [values + 1]."""
    sums = array_module(values).zeros(values.size + 1, dtype=np.uint64)
    sums[1:] = values.cumsum(dtype=np.uint64)
    return sums


def _mix(values: Any) -> Any:
    """splitmix64 of each uint64."""
    xp = array_module(values)
    first, second, third = (xp.asarray(multiplier, dtype=np.uint64) for multiplier in MULTIPLIERS)
    shift = [xp.asarray(bits, dtype=np.uint64) for bits in (30, 27, 31)]
    values = values + first
    values = (values ^ (values >> shift[0])) * second
    values = (values ^ (values >> shift[1])) * third
    return values ^ (values >> shift[2])


def _classes(keys: Any) -> Any:
    """The number of each key among the different ones: int64, the same for equal keys."""
    return array_module(keys).unique(keys, return_inverse=True)[1].astype(np.int64)


def _both(keys: Any, others: Any) -> Any:
    """A class for each pair of keys."""
    first, second = _classes(keys), _classes(others)
    return first * (second.size + 1) + second


def _firsts(classes: Any, same: Callable[[Any, Any], Any]) -> Any:
    """The first problem of its class that `same` finds each problem equal to: int64 [problems].

    classes  int64 [problems], equal where two problems may be equal
    same     (problems, others) → bool for each pair
    """
    xp = array_module(classes)
    found = xp.arange(classes.size)
    left = found.copy()
    for _ in range(ROUNDS):
        _, first, member = xp.unique(classes[left], return_index=True, return_inverse=True)
        proposed = left[first[member]]
        equal = same(left, proposed)
        found[left[equal]] = proposed[equal]
        left = left[~equal]
        if not left.size:
            break
    return found


def _multiples(batch: Batch, patterns: Any) -> tuple[Any, Any]:
    """(first problem of which each is a multiple, the factor)."""
    xp = array_module(batch.values)
    pivots, scaled = _invariants(batch)
    order = xp.argsort(scaled, kind="stable")
    order = order[xp.argsort(patterns[order], kind="stable")]
    near = xp.abs(xp.diff(scaled[order])) <= NEAR * xp.abs(scaled[order][1:])
    classes = xp.zeros(batch.count, dtype=np.int64)
    classes[order[1:]] = (~(near & (xp.diff(patterns[order]) == 0))).cumsum(dtype=np.int64)
    factors = xp.ones(batch.count)
    values = _Slices(batch.values, batch.entries)

    def same(batch_size: Any, firsts: Any) -> Any:
        empty = xp.diff(batch.entries)[batch_size] == 0
        quotients = xp.where(empty, 1.0, _quotients(batch.values, pivots[batch_size], pivots[firsts]))
        wanted = pivots[batch_size] - batch.entries[batch_size] == pivots[firsts] - batch.entries[firsts]
        equal = wanted & (batch_size == firsts)
        for step in STEPS:
            factor = _beside(quotients, step)
            tried = wanted & ~equal
            exact = tried.copy()
            for pair, mine, other in values.pairs(batch_size, firsts, tried):
                with np.errstate(all="ignore"):
                    product = factor[pair] * batch.values[other]
                exact[pair[product.view(np.int64) != batch.values[mine].view(np.int64)]] = False
            factors[batch_size[exact]] = factor[exact]
            equal |= exact
        return equal

    return _firsts(classes, same), factors


def _invariants(batch: Batch) -> tuple[Any, Any]:
    """(entry of the first nonzero, or where the problem begins; a weighted sum of the values over it) per problem."""
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
    """Entry of the first nonzero of each problem, or where the problem begins: int64 [problems]."""
    xp = array_module(batch.values)
    begins, ends = batch.entries[:-1].astype(np.int64), batch.entries[1:]
    found = xp.full(batch.count, batch.nnz, dtype=np.int64)
    for block in blocks(batch.nnz):
        nonzero = block.start + xp.flatnonzero(batch.values[block])
        following = xp.append(nonzero, batch.nnz)[xp.searchsorted(nonzero, begins)]
        found = xp.minimum(found, following)
    return xp.where(found < ends, found, begins)


def _sums_by(problem: Any, terms: Any, count: int) -> Any:
    """The sum of the terms of each problem: float64 [count]."""
    xp = array_module(terms)
    # A GPU adds the terms of a warp to as many sums at once as there are places: one sum a problem would take turns.
    places = max(1, min(PLACES, terms.size // count))
    spread = problem * places + xp.arange(terms.size) % places
    return xp.bincount(spread, weights=terms, minlength=count * places).reshape(count, places).sum(axis=1)


def _numbered(batch: Batch) -> Any:
    """(entries, problem, place in the problem) of all entries, block by block."""
    xp = array_module(batch.values)
    for block in blocks(batch.nnz):
        entries = xp.arange(block.start, block.stop)
        problem = xp.searchsorted(batch.entries, entries, side="right") - 1
        yield block, problem, entries - batch.entries[problem]


def _quotients(values: Any, entries: Any, others: Any) -> Any:
    """values[entries] / values[others]; 1 where both are 0 or an entry lies past the end."""
    xp = array_module(values)
    if not values.size:
        return xp.ones(entries.size)
    over, under = (values[xp.minimum(at, values.size - 1)] for at in (entries, others))
    with np.errstate(all="ignore"):
        return xp.where(under == 0, 1.0, over / under)


def _beside(values: Any, steps: int) -> Any:
    """The doubles so many steps above (below, where negative) each."""
    xp = array_module(values)
    for _ in range(abs(steps)):
        values = xp.nextafter(values, xp.full(values.size, np.copysign(np.inf, steps)))
    return values
