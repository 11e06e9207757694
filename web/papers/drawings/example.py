"""EXAMPLE: the matrix of six rows in Figure 1 of the MSREP paper, the only one that the texts of the papers print."""

from functools import cache

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix

DENSE = np.array(
    [
        [10, 0, 0, 0, -2, 0],
        [3, 9, 0, 0, 0, 3],
        [0, 7, 8, 7, 0, 0],
        [3, 0, 8, 7, 5, 0],
        [0, 8, 0, 9, 9, 13],
        [0, 4, 0, 0, 2, -1],
    ]
)
"""Matrix of Figure 1 of the MSREP paper."""

BORROWED = "The figure of the paper is an image without a printed matrix. This is the matrix of Figure 1 of MSREP."
"""Note below a drawing of a paper whose text has no matrix."""


@cache
def example() -> CsrMatrix:
    """Return the matrix in CSR."""
    return CsrMatrix.from_scipy(DENSE)
