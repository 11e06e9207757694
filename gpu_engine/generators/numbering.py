"""Numbers of the points of a graph: they decide its lower triangle, where a point without smaller neighbor is empty."""

from typing import Any

import numpy as np

SHUFFLED = "Share of the points that exchange their numbers at random; the others keep the order of the generator."


def shuffled_numbers(rng: np.random.Generator, groups: Any, share: float) -> Any:
    """Return new numbers, int64 [n]: the points of a share of the groups exchange their numbers at random.

    groups  int64 [n], the group of each point, from 0 on
    """
    numbers = np.arange(groups.size, dtype=np.int64)
    chosen = np.flatnonzero((rng.random(int(groups.max(initial=0)) + 1) < share)[groups])
    numbers[chosen] = rng.permutation(chosen)
    return numbers


def lower_keys(n: int, one: Any, other: Any) -> Any:
    """Return the ascending keys row · n + column below the diagonal of edges between distinct points, int64 [edges]."""
    return np.sort(np.maximum(one, other) * n + np.minimum(one, other))
