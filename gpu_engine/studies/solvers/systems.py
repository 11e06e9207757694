"""Systems A·x = b of the study: the matrix as it is or made solvable, and its right-hand side."""

from typing import Any, Literal

import numpy as np
import scipy.sparse

from gpu_engine.csr_matrix import CsrMatrix

SystemName = Literal["as-is", "definite", "dominant"]
RightHandSide = Literal["random", "ones", "point"]


def make_system(matrix: CsrMatrix, name: SystemName, excess: float) -> CsrMatrix:
    """Return the matrix of a system.

    `as-is`: unchanged. Otherwise no off-diagonal value is positive, and each diagonal value is 1 + excess times the sum
    of the others in its row. `definite`: symmetric, so positive definite; `dominant`: rows scaled to a diagonal of 1.
    """
    if name == "as-is":
        return matrix
    graph = abs(matrix.to_scipy())
    if name == "definite":
        graph = graph + graph.T
    graph = (graph - scipy.sparse.diags_array(graph.diagonal(), format="csr")).tocsr()
    graph.eliminate_zeros()
    sums = graph.sum(axis=1)
    diagonal = (1 + excess) * np.where(sums > 0, sums, 1.0)
    dominant = scipy.sparse.diags_array(diagonal) - graph
    return CsrMatrix.from_scipy(dominant if name == "definite" else scipy.sparse.diags_array(1 / diagonal) @ dominant)


def right_hand_side(name: RightHandSide, n: int, seed: int) -> Any:
    """Return b: random numbers from −1 to 1, all ones, or 1 in the middle row and 0 elsewhere; float64 [n]."""
    if name == "random":
        return np.random.default_rng(seed).uniform(-1.0, 1.0, n)
    b = np.full(n, 1.0 if name == "ones" else 0.0)
    b[n // 2] = 1.0
    return b
