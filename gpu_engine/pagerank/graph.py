"""The transition matrix of PageRank: an adjacency matrix as an iteration pulls through it.

Source: CPMS PageRank paper, §III and Algorithm 1. A row of the adjacency matrix is a source, a column a target, an
empty row a dangling page.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse

from gpu_engine.csr_matrix import CsrMatrix, canonical
from gpu_engine.errors import ParameterError
from gpu_engine.parameters import parameter

Part = Literal["full", "lower"]


@dataclass(frozen=True, slots=True)
class PageRankParams:
    """What a rank is; the defaults are those of cuGraph and NetworkX with the paper's damping and ε.

    dangling  "teleport" spreads the rank s of dangling pages as δ·s/n and keeps ‖p‖₁ = 1; "ignore" loses it (GAP,
              GraphBLAST); "as printed" adds s/n, line 6 of Algorithm 1 to the letter: ‖p‖₁ then grows
    """

    damping: float = parameter(0.85, "Damping δ: the share of the surfers that follow a link.", ge=0, le=1)
    epsilon: float = parameter(1e-10, "Stop when γ, the norm of the last change, is under ε (absolute).", ge=0, le=2)
    iterations_max: int = parameter(1_000, "Stop after so many iterations at the latest.", ge=1, le=100_000)
    norm: Literal["L1", "L2", "Linf"] = parameter(
        "L1", "Norm of γ: the sum of the changes, the root of their squares, or the largest."
    )
    dangling: Literal["teleport", "ignore", "as printed"] = parameter(
        "teleport", "Rank of pages without links: δ·s/n to every page, lost, or s/n as Algorithm 1 prints it."
    )
    weights: Literal["ignore", "use"] = parameter(
        "ignore", "Every entry is one link, explicit zeros too, or weighs what its value says."
    )
    triangle: Literal["full", "lower"] = parameter(
        "full", "Of a symmetric matrix: all of it, or its strict lower triangle as in the paper."
    )
    self_loops: Literal["keep", "drop"] = parameter("keep", "Links of a page to itself.")

    @property
    def dangling_factor(self) -> float:
        """What s/n is multiplied by in line 6 of Algorithm 1."""
        return {"teleport": self.damping, "ignore": 0.0, "as printed": 1.0}[self.dangling]


@dataclass(frozen=True, slots=True)
class TransitionMatrix:
    """The transpose of the row-stochastic adjacency matrix, on the host.

    pull         Aᵀ: a row holds the links to a page, its columns are their sources, a value is the share of its source
                 that flows along the link; with weights ignored 1/out-degree, so that the pattern alone suffices
    out_degrees  int32 [n], links of each page
    dangling     int32 [pages without outgoing weight], ascending: the set S of Algorithm 1
    triangle     what was taken of the adjacency matrix
    undirected   whether every link goes both ways and counts alike, and no page is without one
    """

    pull: CsrMatrix
    out_degrees: Any
    dangling: Any
    triangle: Part
    undirected: bool = False

    @property
    def n(self) -> int:
        """Number of pages."""
        return self.pull.n_rows

    @property
    def link_counts(self) -> tuple[int, ...]:
        """Pages with 0, 1, 2 to 3, 4 to 7 … links to them, up to the most."""
        _, bins = np.frexp(np.diff(self.pull.indptr).astype(np.float64))
        return tuple(np.bincount(bins).tolist())


def not_a_graph(n_rows: int, n_cols: int) -> str:
    """Why a matrix of this shape is no adjacency matrix, and what to do; empty where it may be one."""
    if n_rows == n_cols:
        return ""
    return (
        f"The matrix is {n_rows} × {n_cols}; PageRank needs a square one, row and column i are page i. Choose an "
        "adjacency matrix, or give the two sides of a bipartite graph distinct numbers."
    )


def transition_matrix(adjacency: CsrMatrix, params: PageRankParams) -> TransitionMatrix:
    """That of a host matrix; `triangle` leaves a matrix with an unsymmetric pattern whole, as the paper does.

    Raises ParameterError where the matrix is not square or, with weights in use, a value is no weight.
    """
    if refusal := not_a_graph(adjacency.n_rows, adjacency.n_cols):
        raise ParameterError(refusal)
    triangle: Part = "lower" if params.triangle == "lower" and _symmetric(adjacency) else "full"
    links = _links(adjacency, triangle, params.self_loops)
    degrees = np.diff(links.indptr)
    weights = _weights(links) if params.weights == "use" else np.ones(links.nnz)
    totals = _row_sums(links.indptr, weights)
    shares = weights / np.repeat(np.where(totals > 0.0, totals, 1.0), degrees)
    # The columns of a matrix in CSC order are the rows of its transpose.
    pull = scipy.sparse.csr_array((shares, links.indices, links.indptr), shape=links.shape).tocsc()
    both_ways = np.array_equal(pull.indptr, links.indptr) and np.array_equal(pull.indices, links.indices)
    return TransitionMatrix(
        canonical(*adjacency.shape, pull.indptr, pull.indices, pull.data),
        degrees.astype(np.int32),
        np.flatnonzero(totals == 0.0).astype(np.int32),
        triangle,
        both_ways and params.weights == "ignore" and bool(degrees.all()),
    )


def _symmetric(matrix: CsrMatrix) -> bool:
    """Whether the pattern is."""
    columns = matrix.to_scipy().tocsc()
    return np.array_equal(columns.indptr, matrix.indptr) and np.array_equal(columns.indices, matrix.indices)


def _links(adjacency: CsrMatrix, triangle: Part, self_loops: str) -> Any:
    """The entries that are links, as a SciPy CSR array; explicit zeros stay."""
    if triangle == "full" and self_loops == "keep":
        return adjacency.to_scipy()
    entries = adjacency.to_scipy().tocoo()
    keep = entries.row > entries.col if triangle == "lower" else entries.row != entries.col
    links = entries.data[keep], (entries.row[keep], entries.col[keep])
    return scipy.sparse.coo_array(links, shape=adjacency.shape).tocsr()


def _weights(links: Any) -> Any:
    """The values; raises ParameterError at the first that is negative, infinite or not a number."""
    wrong = ~((links.data >= 0.0) & np.isfinite(links.data))
    if wrong.any():
        entry = int(np.argmax(wrong))
        row = int(np.searchsorted(links.indptr, entry, side="right")) - 1
        raise ParameterError(
            f"The link from {row} to {links.indices[entry]} (counted from 0) weighs {links.data[entry]}; a weight is "
            "finite and not negative. Take weights = ignore, or a matrix of weights."
        )
    return links.data


def _row_sums(indptr: Any, weights: Any) -> Any:
    """float64 [n], 0 for an empty row; raises ParameterError where a sum is over the range of fp64."""
    totals, filled = np.zeros(indptr.size - 1), np.diff(indptr) > 0
    with np.errstate(over="ignore"):
        totals[filled] = np.add.reduceat(weights, indptr[:-1][filled]) if filled.any() else 0.0
    if np.isinf(totals).any():
        raise ParameterError(
            f"The weights of row {int(np.argmax(np.isinf(totals)))} (counted from 0) add up to more than fp64 holds. "
            "Scale the matrix down."
        )
    return totals
