"""The parameters of PageRank, and its transition matrix, through which an iteration pulls the ranks.

Source: CPMS PageRank paper, §III and Algorithm 1. A row of the adjacency matrix is a source, a column a target, an
empty row a dangling page; `row=target` reads files in which a row holds the links to a page.
"""

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
import scipy.sparse

from gpu_engine.csr_matrix import CsrMatrix, canonical
from gpu_engine.errors import ParameterError
from gpu_engine.parameters import parameter

Part = Literal["full", "lower"]


@dataclass(frozen=True, slots=True)
class PageRankParams:
    """Parameters that define the ranks; defaults as in cuGraph and NetworkX, with damping and ε of the paper.

    dangling  "teleport" spreads the rank s of dangling pages as δ·s/n and keeps ‖p‖₁ = 1; "ignore" loses it (GAP,
              GraphBLAST); "as printed" adds s/n, line 6 of Algorithm 1 to the letter: ‖p‖₁ then grows
    """

    damping: float = parameter(0.85, "Damping factor δ: the share of surfers that follow a link.", ge=0, le=1)
    epsilon: float = parameter(
        1e-10, "Tolerance ε: stop when γ, the norm of the last change, is below it (absolute).", ge=0, le=2
    )
    iterations_max: int = parameter(1_000, "Maximum number of iterations.", ge=1, le=100_000)
    norm: Literal["L1", "L2", "Linf"] = parameter(
        "L1", "Norm of γ over the changes of all ranks: sum (L1), Euclidean (L2), or maximum (Linf)."
    )
    dangling: Literal["teleport", "ignore", "as printed"] = parameter(
        "teleport", "Rank s of dangling pages: δ·s/n to every page, dropped, or s/n as printed in Algorithm 1."
    )
    weights: Literal["ignore", "use"] = parameter(
        "ignore", "Every nonzero is a link of weight 1 (explicit zeros too), or its value is the weight."
    )
    triangle: Literal["full", "lower"] = parameter(
        "full", "For a symmetric matrix: all of it, or its strict lower triangle, as in the paper."
    )
    self_loops: Literal["keep", "drop"] = parameter("keep", "Links of a page to itself: keep or drop.")
    row: Literal["source", "target"] = parameter(
        "source", "A row holds the links from its page (source) or the links to it (target), as in Kamvar/Stanford."
    )

    @property
    def dangling_factor(self) -> float:
        """Factor of s/n in line 6 of Algorithm 1."""
        return {"teleport": self.damping, "ignore": 0.0, "as printed": 1.0}[self.dangling]


def changed_parameters(params: PageRankParams) -> tuple[tuple[str, str], ...]:
    """Return the parameters of PageRank that differ from the default; they distinguish runs of different problems."""
    known = fields(PageRankParams)
    return tuple((f.name, f"{getattr(params, f.name)}") for f in known if getattr(params, f.name) != f.default)


@dataclass(frozen=True, slots=True)
class TransitionMatrix:
    """The transpose of the row-stochastic adjacency matrix, on the host.

    pull         Aᵀ: a row has the links to a page, its columns are their sources, and a value is the share of the
                 source's rank that flows along the link; without weights 1/out-degree, so that the pattern suffices
    out_degrees  int32 [n], links of each page
    dangling     int32 [pages without outgoing weight], ascending: the set S of Algorithm 1
    triangle     part of the adjacency matrix that is used
    undirected   whether every link exists in both directions with equal weight, and every page has a link
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
        """Numbers of pages with 0, 1, 2 to 3, 4 to 7 … incoming links."""
        _, bins = np.frexp(np.diff(self.pull.indptr).astype(np.float64))
        return tuple(np.bincount(bins).tolist())


def not_a_graph(n_rows: int, n_cols: int) -> str:
    """Return why a matrix of this shape is not an adjacency matrix, and what to do; empty if it may be one."""
    if n_rows == n_cols:
        return ""
    return (
        f"The matrix is {n_rows} × {n_cols}, but PageRank needs a square one (row and column i are page i). Choose an "
        "adjacency matrix, or give the two sides of a bipartite graph distinct numbers."
    )


def transition_matrix(adjacency: CsrMatrix, params: PageRankParams) -> TransitionMatrix:
    """Return the transition matrix of a host matrix; `triangle` leaves an unsymmetric pattern whole, as in the paper.

    Raise ParameterError if the matrix is not square or, with weights, if a value is not a valid weight.
    """
    if refusal := not_a_graph(adjacency.n_rows, adjacency.n_cols):
        raise ParameterError(refusal)
    if params.row == "target":
        reverse = adjacency.to_scipy().T.tocsr()
        adjacency = canonical(*reverse.shape, reverse.indptr, reverse.indices, reverse.data)
    triangle: Part = "lower" if params.triangle == "lower" and _symmetric(adjacency) else "full"
    links = _links(adjacency, triangle, params.self_loops)
    degrees = np.diff(links.indptr)
    weights = _weights(links) if params.weights == "use" else np.ones(links.nnz)
    totals = _row_sums(links.indptr, weights)
    shares = weights / np.repeat(np.where(totals > 0.0, totals, 1.0), degrees)
    # The columns of a matrix in CSC order are the rows of its transpose in CSR order.
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
    """Return whether the pattern is symmetric."""
    columns = matrix.to_scipy().tocsc()
    return np.array_equal(columns.indptr, matrix.indptr) and np.array_equal(columns.indices, matrix.indices)


def _links(adjacency: CsrMatrix, triangle: Part, self_loops: str) -> Any:
    """Return the nonzeros that are links, as a SciPy CSR array with explicit zeros."""
    if triangle == "full" and self_loops == "keep":
        return adjacency.to_scipy()
    entries = adjacency.to_scipy().tocoo()
    keep = entries.row > entries.col if triangle == "lower" else entries.row != entries.col
    links = entries.data[keep], (entries.row[keep], entries.col[keep])
    return scipy.sparse.coo_array(links, shape=adjacency.shape).tocsr()


def _weights(links: Any) -> Any:
    """Return the weights; raise ParameterError for the first that is negative, infinite or NaN."""
    wrong = ~((links.data >= 0.0) & np.isfinite(links.data))
    if wrong.any():
        entry = int(np.argmax(wrong))
        row = int(np.searchsorted(links.indptr, entry, side="right")) - 1
        raise ParameterError(
            f"The link from {row} to {links.indices[entry]} (counted from 0) has weight {links.data[entry]}; a weight "
            "must be finite and not negative. Set weights=ignore, or use a matrix of weights."
        )
    return links.data


def _row_sums(indptr: Any, weights: Any) -> Any:
    """Return float64 [n], 0 for an empty row; raise ParameterError if a sum exceeds the range of fp64."""
    totals, filled = np.zeros(indptr.size - 1), np.diff(indptr) > 0
    with np.errstate(over="ignore"):
        totals[filled] = np.add.reduceat(weights, indptr[:-1][filled]) if filled.any() else 0.0
    if np.isinf(totals).any():
        raise ParameterError(
            f"The weights of row {int(np.argmax(np.isinf(totals)))} (counted from 0) have a sum beyond the range of "
            "fp64. Scale the weights down."
        )
    return totals
