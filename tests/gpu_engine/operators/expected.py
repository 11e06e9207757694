"""What products of operators are to be, by SciPy."""

from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.verify import Reference


def transposed(matrix: CsrMatrix) -> CsrMatrix:
    """Aᵀ by SciPy."""
    return CsrMatrix.from_scipy(matrix.to_scipy().T)


def combined(expected: Reference, alpha: float, beta: float, start: Any) -> Reference:
    """α·y + β·start, and two roundings more than y may be off by."""
    scale = abs(alpha) * expected.scale + np.abs(beta * start)
    return Reference(expected.x, alpha * expected.y + beta * start, scale, expected.limit + 2.0)
