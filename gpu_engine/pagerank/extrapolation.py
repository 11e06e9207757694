"""Extrapolation of ranks: a combination of five successive iterates whose change is as small as possible.

After a few iterations only the slowest components of the error are left. Each differs from one iterate to the next by
a factor, so that a combination of iterates with sum 1 can cancel the four slowest ones. The combination that minimizes
the Euclidean norm of the combined changes is reduced rank extrapolation. Kamvar, Haveliwala, Manning, and Golub
cancel two components of PageRank in a similar way (Extrapolation Methods for Accelerating PageRank Computations, WWW
2003).

The changes are those of the stored values, rank over out-degree: any weights of the pages give a valid combination.
The next iteration checks γ as always, so that a bad combination costs iterations, not accuracy.
"""

from typing import Any

import numpy as np

TERMS = 5
"""Iterates of a combination, and changes that it minimizes."""

WINDOW = 8
"""Iterations between two extrapolations, more than TERMS.

The document docs/pagerank.md compares other numbers.
"""

REMEMBERED = range(WINDOW - TERMS, WINDOW - 1)
"""Iterations since the last extrapolation whose ranks are stored for the next; the block has those of the last two."""

PAIRS = tuple((i, j) for i in range(TERMS) for j in range(i, TERMS))
"""Pairs of changes whose dot products are computed."""

REGULARIZATION = 1e-12
"""Share of the trace that is added to the diagonal, because nearly parallel changes make the system singular."""

FACTOR_MAX = 1e3
"""Largest factor of a combination; larger ones amplify rounding."""


def factors(dots: Any, running: Any) -> Any:
    """Return the factors of the iterates, float64 [TERMS, k], each column with sum 1.

    dots     dot products of the changes by PAIRS: float64 [pairs, k]
    running  columns to extrapolate: bool [k]; the others, and those without a valid combination, keep the last iterate
    """
    combination = np.zeros((TERMS, running.size))
    combination[-1] = 1.0
    for column in np.flatnonzero(running):
        gram = np.empty((TERMS, TERMS))
        for (i, j), dot in zip(PAIRS, dots[:, column], strict=True):
            gram[i, j] = gram[j, i] = dot
        scale = np.trace(gram)
        if not (scale > 0.0 and np.isfinite(scale)):
            continue
        weights = np.linalg.solve(gram / scale + REGULARIZATION * np.eye(TERMS), np.ones(TERMS))
        weights /= weights.sum()
        if np.abs(weights).max() <= FACTOR_MAX:
            combination[:, column] = weights
    return combination
