"""change_links: a graph after a share of its links has changed, as after a later crawl."""

import numpy as np
import scipy.sparse

from gpu_engine.csr_matrix import CsrMatrix

SEED = 45
"""Seed of the links that change, so that every measurement of a graph changes the same ones."""


def change_links(adjacency: CsrMatrix, share: float) -> CsrMatrix:
    """Return a square host matrix with a share of its nonzeros, 0 to 1, moved to random columns of their rows.

    At least one nonzero moves, unless the share is 0. Values move too, and those that meet add up.
    """
    if not share or not adjacency.nnz:
        return adjacency
    rng, links = np.random.default_rng(SEED), adjacency.to_scipy().tocoo()
    moved = rng.choice(adjacency.nnz, max(1, round(share * adjacency.nnz)), replace=False)
    columns = links.col.copy()
    columns[moved] = rng.integers(0, adjacency.n_cols, moved.size)
    return CsrMatrix.from_scipy(scipy.sparse.coo_array((links.data, (links.row, columns)), shape=adjacency.shape))
