"""Ranks of several seed sets on a CPU: SeededBlock, with an iteration that Numba compiles."""

from typing import Any, NamedTuple

import numpy as np

from gpu_engine.host.jit import numba
from gpu_engine.pagerank.cpu import L1, L2, parts
from gpu_engine.pagerank.cpu_ranks import NORMS
from gpu_engine.pagerank.extrapolation import PAIRS, TERMS
from gpu_engine.pagerank.graph import PageRankParams, TransitionMatrix
from gpu_engine.pagerank.run import PATIENCE
from gpu_engine.pagerank.seeded_block import (
    BASE,
    CONVERGED,
    GAMMA,
    ITERATIONS,
    LEAST,
    RUNS,
    SINCE,
    STALLED,
    STATUS,
    SeededBlock,
)
from gpu_engine.pagerank.seeds import Seeds


class Columns(NamedTuple):
    """Columns of a block, each array [width]: column of each set (−1: none) [k], base, base · uniform, and status."""

    places: Any
    base: Any
    share: Any
    runs: Any


class Teleport(NamedTuple):
    """Weights of the seeds by page, as in Seeds."""

    pages: Any
    firsts: Any
    sets: Any
    weights: Any


class CpuBlock(SeededBlock):
    """Block on the host, with one thread per part of the pages."""

    def __init__(self, graph: TransitionMatrix, params: PageRankParams, seeds: Seeds) -> None:
        super().__init__(graph, params, seeds, np)
        pull = graph.pull
        self._borders = parts(pull.indptr)
        self._matrix = pull.indptr, pull.indices, pull.values if self._valued else np.empty(0)
        self._sums = np.empty((2, self._borders.size - 1, self._k))

    def pull(self) -> None:
        """Compute the new ranks, and the sums of each part of the pages."""
        base, places = self._state[BASE, self._columns], np.full(self._k, -1, np.int32)
        places[self._columns] = np.arange(self.width)
        runs = self._state[STATUS, self._columns] == RUNS
        columns = Columns(places, base, base * self._uniform[self._columns], runs)
        ranks, rule = (self._ranks_in(0), self._ranks_in(1)), (self._params.damping, NORMS[self._params.norm])
        pull_columns(
            self._borders, *self._matrix, self._pages, *ranks, columns, Teleport(*self._teleport), rule, self._sums
        )
        self._room.reverse()

    def settle(self) -> None:
        """Add up the parts in their order."""
        state, live = self._state, self._state[STATUS, self._columns] == RUNS
        changes, lost = self._sums[:, :, : self.width][:, :, live]
        sets, norm = self._columns[live], self._params.norm
        gamma = changes.max(axis=0) if norm == "Linf" else changes.sum(axis=0)
        gamma = np.sqrt(gamma) if norm == "L2" else gamma
        state[BASE, sets] = 1.0 - self._params.damping + self._params.dangling_factor * lost.sum(axis=0)
        state[GAMMA, sets] = gamma
        state[ITERATIONS, sets] += 1.0
        state[SINCE, sets] = np.where(gamma < state[LEAST, sets], 0.0, state[SINCE, sets] + 1.0)
        state[LEAST, sets] = np.minimum(gamma, state[LEAST, sets])
        stalled = np.where(state[SINCE, sets] >= PATIENCE, STALLED, RUNS)
        state[STATUS, sets] = np.where(gamma < self._params.epsilon, CONVERGED, stalled)

    def _dots(self, iterates: tuple[Any, ...]) -> Any:
        sums = np.empty((self._borders.size - 1, len(PAIRS), self.width))
        add_dots(self._borders, iterates, sums)
        return sums.sum(axis=0)

    def _combine(self, combination: Any, iterates: tuple[Any, ...]) -> None:
        combine_columns(combination, iterates)

    def _move(self, ranks: Any, remaining: Any, targets: Any) -> None:
        links = np.maximum(np.where(self._pages < 0, ~self._pages, self._pages), 1)
        for column, target in enumerate(targets):
            if target < 0:
                self._out[:, ~target] = ranks[:, column] * links
            else:
                remaining[:, target] = ranks[:, column]

    def _prepare(self) -> None:
        """Do nothing."""

    def _on_host(self, array: Any) -> Any:
        return array.copy()


@numba.njit(cache=True)
def _add_seeds(row: Any, ranks: Any, columns: Any, teleport: Any) -> None:
    """Add the weights of a seed page, times the base of their columns, to its ranks."""
    place = np.searchsorted(teleport.pages, row)
    for entry in range(teleport.firsts[place], teleport.firsts[place + 1]):
        j = columns.places[teleport.sets[entry]]
        if j >= 0:
            ranks[j] += columns.base[j] * teleport.weights[entry]


@numba.njit(cache=True)
def _finish(row: Any, code: Any, ranks: Any, q: Any, new: Any, runs: Any, norm: Any, changed: Any, lost: Any) -> None:
    """Write the new ranks of a page, and widen the changes and the rank of dangling pages by it."""
    degree = ~code if code < 0 else code
    links = max(degree, 1)
    part = 1.0 / links
    for j in range(ranks.size):
        old = q[row, j]
        stored = ranks[j] * part if runs[j] else old
        new[row, j] = stored
        change = abs(stored - old) * links
        if norm == L1:
            changed[j] += change
        elif norm == L2:
            changed[j] += change * change
        else:
            changed[j] = max(changed[j], change)
        if degree == 0:
            lost[j] += stored


@numba.njit(parallel=True, cache=True)
def pull_columns(
    borders: Any,
    indptr: Any,
    indices: Any,
    values: Any,
    pages: Any,
    q: Any,
    new: Any,
    columns: Any,
    teleport: Any,
    rule: Any,
    sums: Any,
) -> None:
    """Make an iteration; `values` is empty if links need none, rule is (damping, norm), sums [2, parts, k] are written.

    pages  int32 [n], see `page_codes`
    """
    damping, norm = rule
    for part in numba.prange(borders.size - 1):
        width = q.shape[1]
        ranks, changed, lost = np.empty(width), np.zeros(width), np.zeros(width)
        for row in range(borders[part], borders[part + 1]):
            ranks[:] = 0.0
            if values.size:
                for entry in range(indptr[row], indptr[row + 1]):
                    value, source = values[entry], indices[entry]
                    for j in range(width):
                        ranks[j] += value * q[source, j]
            else:
                for entry in range(indptr[row], indptr[row + 1]):
                    source = indices[entry]
                    for j in range(width):
                        ranks[j] += q[source, j]
            for j in range(width):
                ranks[j] = damping * ranks[j] + columns.share[j]
            if pages[row] < 0:
                _add_seeds(row, ranks, columns, teleport)
            _finish(row, pages[row], ranks, q, new, columns.runs, norm, changed, lost)
        sums[0, part, :width], sums[1, part, :width] = changed, lost


@numba.njit(cache=True, parallel=True)
def add_dots(borders: Any, iterates: Any, sums: Any) -> None:
    """Sum up the dot products of the changes for each part of the pages and each column, in the order of PAIRS.

    iterates  [TERMS + 1, n, width], as a tuple of arrays
    """
    for part in numba.prange(borders.size - 1):
        width = sums.shape[2]
        total, change = np.zeros((sums.shape[1], width)), np.empty((TERMS, width))
        for row in range(borders[part], borders[part + 1]):
            for i in range(TERMS):
                before, after = iterates[i], iterates[i + 1]
                for j in range(width):
                    change[i, j] = after[row, j] - before[row, j]
            pair = 0
            for i in range(TERMS):
                for other in range(i, TERMS):
                    for j in range(width):
                        total[pair, j] += change[i, j] * change[other, j]
                    pair += 1
        sums[part] = total


@numba.njit(cache=True, parallel=True)
def combine_columns(combination: Any, iterates: Any) -> None:
    """Set the last iterate to the combination, and negative ranks to 0; a factor of 1 keeps a column."""
    last = iterates[TERMS - 1]
    for row in numba.prange(last.shape[0]):
        for j in range(last.shape[1]):
            if combination[TERMS - 1, j] != 1.0:
                rank = 0.0
                for i in range(TERMS):
                    rank += combination[i, j] * iterates[i][row, j]
                last[row, j] = max(rank, 0.0)
