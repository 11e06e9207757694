"""SeededBlock: the ranks of several seed sets in one block of columns, on either backend.

Usage: `reset`, then `pull` and `settle` in each iteration. `settle` ends columns; their ranks no longer change.
`finished` tells which, `compact` removes them from the block, and `ranks` returns all of them.

`remember` stores the ranks of an iteration, and `extrapolate` replaces the present ones by a combination of the last.

A block stores the ranks over the out-degrees (a dangling page counts as of degree 1), so that links need no values.
With weights it stores the ranks, and every page counts as of degree 1.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from gpu_engine.pagerank.extrapolation import TERMS, factors
from gpu_engine.pagerank.graph import PageRankParams, TransitionMatrix
from gpu_engine.pagerank.seeds import Seeds

BASE, GAMMA, LEAST, ITERATIONS, SINCE, STATUS = range(6)
"""Rows of the state of all sets, float64 [6, k], as in seeded.cu.

BASE        what v_j is multiplied by in the next iteration: teleport and the rank of dangling pages
GAMMA       γ of the last iteration
LEAST       the least γ so far
ITERATIONS  iterations that changed the ranks
SINCE       iterations since the least γ
STATUS      RUNS, CONVERGED or STALLED
"""

RUNS, CONVERGED, STALLED = range(3)
"""Status of a set: its ranks change, γ < ε was reached, or γ stopped falling."""


class SeededBlock(ABC):
    """Common state of a run. The block has `width` columns of the k sets; column j belongs to set sets[j]."""

    def __init__(self, graph: TransitionMatrix, params: PageRankParams, seeds: Seeds, xp: Any) -> None:
        """Store what both backends need on the device of the module `xp`, NumPy or CuPy."""
        self._n, self._k, self._params, self._seeds, self._xp = graph.n, seeds.k, params, seeds, xp
        self._valued, self._dangling = params.weights == "use", graph.dangling
        self._pages = xp.asarray(page_codes(graph, seeds, self._valued))
        self._teleport = tuple(map(xp.asarray, (seeds.pages, seeds.firsts, seeds.sets, seeds.weights)))
        self._uniform = xp.asarray(seeds.uniform)
        self._room = [xp.empty(self._n * self._k) for _ in range(2)]
        self._out = xp.empty((self._n, self._k))
        self._state, self._sets = xp.empty((6, self._k)), xp.empty(self._k, np.int32)
        self._targets = xp.empty(self._k, np.int32)
        self._columns = np.arange(self._k, dtype=np.int32)
        self._past: list[Any] = []
        self._memory: list[Any] = []
        self._lost_pages = xp.asarray(graph.dangling)

    @property
    def width(self) -> int:
        """Number of columns of the block."""
        return int(self._columns.size)

    def reset(self, start: Any = None) -> None:
        """Set the ranks to `start`, float64 [n, k] on the host, or to the teleport vectors."""
        self._past = []
        self._columns = np.arange(self._k, dtype=np.int32)
        xp, q = self._xp, self._ranks_in(0)
        links = xp.maximum(xp.where(self._pages < 0, ~self._pages, self._pages), 1)[:, None]
        if start is None:
            xp.divide(self._uniform, links, out=q)
            pages = self._seeds.entry_pages
            q[xp.asarray(pages), self._teleport[2]] = self._teleport[3] / links[xp.asarray(pages), 0]
            lost = self._seeds.mass_on(self._dangling)
        else:
            xp.divide(xp.asarray(start), links, out=q)
            lost = start[self._dangling].sum(axis=0)
        state = np.zeros((6, self._k))
        state[BASE] = 1.0 - self._params.damping + self._params.dangling_factor * lost
        state[GAMMA] = state[LEAST] = np.inf
        self._fill(self._state, state)
        self._place()

    def finished(self) -> Any:
        """Wait for the iterations so far; return which columns of the block have ended: bool [width]."""
        return self.state()[STATUS, self._columns] != RUNS

    def compact(self, finished: Any) -> None:
        """Move the ranks of the columns that have ended out of the block, and the others together."""
        self._past = []
        targets = np.where(finished, ~self._columns, np.cumsum(~finished) - 1).astype(np.int32)
        self._fill(self._targets[: self.width], targets)
        remaining = self._columns[~finished]
        self._move(self._ranks_in(0), self._ranks_in(1, remaining.size), self._targets[: self.width])
        self._room.reverse()
        self._columns = remaining
        self._place()

    def remember(self) -> None:
        """Store the ranks of this iteration, one of the last before `extrapolate`."""
        q, number = self._ranks_in(0), len(self._past)
        if number == len(self._memory):
            self._memory.append(self._xp.empty(self._n * self._k))
        stored = self._memory[number][: q.size].reshape(q.shape)
        stored[...] = q
        self._past.append(stored)

    def extrapolate(self) -> None:
        """Combine the ranks of the last iterations; those of REMEMBERED must have been stored.

        Without them, because the block has been compacted since, it does nothing.
        """
        iterates = (*self._past, self._ranks_in(1), self._ranks_in(0))
        self._past = []
        if len(iterates) != TERMS + 1:
            return
        running = self.state()[STATUS, self._columns] == RUNS
        q, rule = iterates[-1], self._params
        self._combine(factors(self._dots(iterates), running), iterates[1:])
        base = 1.0 - rule.damping + rule.dangling_factor * q[self._lost_pages].sum(axis=0)
        self._state[BASE][self._sets[: self.width]] = base

    def ranks(self) -> Any:
        """Return the ranks of all sets: float64 [n, k], on the host; the block is empty afterwards."""
        self.compact(np.ones(self.width, bool))
        return self._on_host(self._out)

    def state(self) -> Any:
        """Wait for and return the state of all sets: float64 [6, k], on the host."""
        return self._on_host(self._state)

    @abstractmethod
    def pull(self) -> None:
        """Compute the new ranks, and partial sums of their changes and of the rank of dangling pages."""

    @abstractmethod
    def settle(self) -> None:
        """Compute γ and the base of each column from the partial sums, and end columns that converged or stalled."""

    @abstractmethod
    def _dots(self, iterates: tuple[Any, ...]) -> Any:
        """Return the dot products of the changes between successive iterates: float64 [pairs, width], on the host."""

    @abstractmethod
    def _combine(self, combination: Any, iterates: tuple[Any, ...]) -> None:
        """Set the last of the iterates to their combination, and negative ranks to 0."""

    @abstractmethod
    def _move(self, ranks: Any, remaining: Any, targets: Any) -> None:
        """Copy column j to column targets[j] of `remaining`, or as ranks to column ~targets[j] of all sets."""

    @abstractmethod
    def _prepare(self) -> None:
        """Prepare the iterations of a block of this width."""

    @abstractmethod
    def _on_host(self, array: Any) -> Any:
        """Return a copy of an array on the host."""

    def _fill(self, array: Any, values: Any) -> None:
        """Set an array of the device to host values."""
        array[...] = self._xp.asarray(values)

    def _place(self) -> None:
        self._fill(self._sets[: self.width], self._columns)
        if self.width:
            self._prepare()

    def _ranks_in(self, room: int, width: int | None = None) -> Any:
        """Return the block in one of two places: [n, width], row major."""
        columns = self.width if width is None else width
        return self._room[room][: self._n * columns].reshape(self._n, columns)


def page_codes(graph: TransitionMatrix, seeds: Seeds, valued: bool) -> Any:
    """Return int32 [n]: 0 for a dangling page, otherwise what its rank is divided by; ~ of that for a seed page."""
    codes = np.ones(graph.n, np.int32) if valued else graph.out_degrees.astype(np.int32)
    codes[graph.dangling] = 0
    codes[seeds.pages] = ~codes[seeds.pages]
    return codes
