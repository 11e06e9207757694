"""Whole numbers that fp64 does not hold."""

from typing import Any

import numpy as np

EXACT_MAX = 2**53
"""fp64 holds every whole number up to here."""


def are_exact(numbers: Any) -> bool:
    """Return whether fp64 holds each number of an integer array of NumPy or CuPy exactly; True for other dtypes."""
    if numbers.dtype.kind not in "iu" or numbers.dtype.itemsize < 8:
        return True
    large = numbers[abs(numbers.astype(np.float64)) >= EXACT_MAX].astype(np.uint64)
    # fp64 holds 53 bits from the highest to the lowest one; of a negative number the lowest is the same.
    negated = np.uint64(0) - large
    magnitudes = large if numbers.dtype.kind == "u" else np.minimum(large, negated)
    return not bool((magnitudes // (large & negated) >= EXACT_MAX).any())
