"""Checks whether fp64 can represent integers exactly."""

from typing import Any

import numpy as np

EXACT_MAX = 2**53
"""Largest n such that fp64 represents all integers up to n exactly."""


def are_exact(numbers: Any) -> bool:
    """Return whether fp64 represents all numbers of an integer array exactly (NumPy or CuPy); True for other dtypes."""
    if numbers.dtype.kind not in "iu" or numbers.dtype.itemsize < 8:
        return True
    large = numbers[abs(numbers.astype(np.float64)) >= EXACT_MAX].astype(np.uint64)
    # fp64 has 53 bits from the highest to the lowest set bit; a negative number has the same lowest set bit.
    negated = np.uint64(0) - large
    magnitudes = large if numbers.dtype.kind == "u" else np.minimum(large, negated)
    return not bool((magnitudes // (large & negated) >= EXACT_MAX).any())
