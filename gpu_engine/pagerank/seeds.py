"""Seeds: the teleport vectors of personalized PageRank, k of them, from seed sets or their text.

A surfer of column j jumps to a page of seed set j, and not to any page: p_j = (1 − δ)·v_j + δ·(Pᵀ·p_j + d_j·v_j), where
v_j is the teleport vector and d_j the rank of the dangling pages.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.errors import ParameterError, quote

SETS_MAX = 64
"""Most seed sets of a run."""

SeedSet = tuple[tuple[int, float], ...]
"""Pages with their weights; a page may occur several times. An empty set means every page, with equal weights."""

RANDOM_PAGES = 10
"""Pages of a random seed set."""

_SEED = re.compile(r"(?P<page>-?[0-9]{1,18})\s*(:\s*(?P<weight>\S+))?")


@dataclass(frozen=True, slots=True)
class Seeds:
    """The teleport vectors v_j, ‖v_j‖₁ = 1, by page: v_j is uniform[j] on all pages, plus the weights of its seeds.

    n        pages of the graph
    pages    int32 [seed pages], ascending: all pages with a weight in any set
    firsts   int32 [seed pages + 1], first weight of each seed page
    sets     int32 [weights], set of each weight, ascending within a page
    weights  float64 [weights]
    uniform  float64 [k]: 1/n for an empty set, otherwise 0
    """

    n: int
    pages: Any
    firsts: Any
    sets: Any
    weights: Any
    uniform: Any

    @property
    def k(self) -> int:
        """Number of seed sets."""
        return int(self.uniform.size)

    @property
    def entry_pages(self) -> Any:
        """Page of each weight: int32 [weights]."""
        return np.repeat(self.pages, np.diff(self.firsts))

    def vectors(self) -> Any:
        """Return all teleport vectors: float64 [n, k]."""
        dense = np.tile(self.uniform, (self.n, 1))
        dense[self.entry_pages, self.sets] = self.weights
        return dense

    def mass_on(self, pages: Any) -> Any:
        """Return the sum of each teleport vector over distinct pages: float64 [k]."""
        inside = np.isin(self.entry_pages, pages)
        sums = np.bincount(self.sets[inside], self.weights[inside], minlength=self.k)
        return sums + self.uniform * len(pages)

    def only(self, number: int) -> "Seeds":
        """Return one of the sets, counted from 0."""
        chosen, first = self.sets == number, np.int32(0)
        weights = self.entry_pages[chosen], self.sets[chosen] * first, self.weights[chosen]
        return _by_page(self.n, *weights, self.uniform[number : number + 1])

    @staticmethod
    def of(sets: Sequence[SeedSet], n: int) -> "Seeds":
        """Return the teleport vectors of seed sets of a graph with n pages; the weights of a set are scaled to sum 1.

        Raise ParameterError for no set or too many, a page out of range, or a weight that is not positive and finite.
        """
        _check_count(len(sets))
        pages, numbers, weights, uniform = list[int](), list[int](), list[float](), np.zeros(len(sets))
        for number, seeds in enumerate(sets):
            for page, weight in seeds:
                _check_seed(number, page, weight, n)
            shares = _shares(seeds)
            pages += shares.keys()
            weights += shares.values()
            numbers += [number] * len(shares)
            uniform[number] = 0.0 if seeds else 1.0 / max(n, 1)
        return _by_page(n, np.array(pages, np.int32), np.array(numbers, np.int32), np.array(weights), uniform)


def parse_sets(text: str) -> tuple[SeedSet, ...]:
    """Return the seed sets of a text: sets separated by `;`, pages by `,`, a weight after `:`, as in `12; 5, 9:0.5`.

    Pages count from 0, a weight is 1 by default, an empty set means every page. Raise ParameterError for other text.
    """
    parts = text.split(";")
    _check_count(len(parts))
    return tuple(
        tuple(_seed(number, piece.strip()) for piece in part.split(",")) if part.strip() else ()
        for number, part in enumerate(parts)
    )


def parse_seeds(text: str, n: int) -> Seeds:
    """Return the teleport vectors of a text (see `parse_sets`) for a graph with n pages."""
    return Seeds.of(parse_sets(text), n)


def random_sets(count: int, n: int) -> tuple[SeedSet, ...]:
    """Return seed sets of RANDOM_PAGES distinct pages with equal weights; set j is the same for every count.

    n  pages of the graph; smaller graphs have smaller sets
    """
    pages = (np.random.default_rng(number).choice(n, min(n, RANDOM_PAGES), replace=False) for number in range(count))
    return tuple(tuple((int(page), 1.0) for page in chosen) for chosen in pages)


def _seed(number: int, piece: str) -> tuple[int, float]:
    match = _SEED.fullmatch(piece)
    if match is None:
        raise ParameterError(
            f"Seed set {number + 1}: {quote(piece)} is not a page. Write a page number, or page:weight, as in 9:0.5."
        )
    try:
        return int(match["page"]), float(match["weight"] or 1.0)
    except ValueError as error:
        raise ParameterError(
            f"Seed set {number + 1}, page {match['page']}: the weight {quote(match['weight'])} is not a number."
        ) from error


def _check_count(count: int) -> None:
    if not 1 <= count <= SETS_MAX:
        raise ParameterError(f"There are {count} seed sets; give 1 to {SETS_MAX}, separated by semicolons.")


def _check_seed(number: int, page: int, weight: float, n: int) -> None:
    """Raise ParameterError that names set and page; sets count from 1, pages from 0."""
    if not 0 <= page < n:
        where = f"the pages are 0 to {n - 1}" if n else "the graph has no pages"
        raise ParameterError(f"Seed set {number + 1}: there is no page {page}; {where}.")
    if not (weight > 0.0 and math.isfinite(weight)):
        raise ParameterError(
            f"Seed set {number + 1}, page {page}: the weight is {weight}; it must be positive and finite."
        )


def _shares(seeds: SeedSet) -> dict[int, float]:
    """Return the weight of each page of a set, with sum 1; scaled first, so that no sum overflows."""
    largest, sums = max((weight for _, weight in seeds), default=1.0), dict[int, float]()
    for page, weight in seeds:
        sums[page] = sums.get(page, 0.0) + weight / largest
    total = math.fsum(sums.values())
    return {page: weight / total for page, weight in sums.items()}


def _by_page(n: int, pages: Any, sets: Any, weights: Any, uniform: Any) -> Seeds:
    """Return seeds from weights in any order."""
    order = np.lexsort((sets, pages))
    distinct, firsts = np.unique(pages[order], return_index=True)
    ends = np.append(firsts, pages.size).astype(np.int32)
    return Seeds(n, distinct.astype(np.int32), ends, sets[order], weights[order], uniform)
