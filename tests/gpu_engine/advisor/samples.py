"""Features of matrices that nobody has to build."""

from collections.abc import Mapping
from typing import Any

EVEN: Mapping[str, Any] = {
    "n_rows": 2**20,
    "n_cols": 2**20,
    "nnz": 10 * 2**20,
    "ave": 10.0,
    "sigma": 0.0,
    "max": 10,
    "distinct_values": 65536,
    "float_values": False,
    "n_iter_ellr": 10 * 2**15,
    "n_iter_pellr": 10 * 2**15,
    "n_iter_sorted": 10 * 2**15,
    "narrow_runs": 0.0,
    "narrow_slices": 0.0,
    "sectors_run": 0.0,
    "sectors_slice": 0.0,
}
"""Rows of ten entries, side by side in x, with columns too far apart for 16 bits."""

COUNTS = ("n_rows", "n_cols", "nnz", "n_iter_ellr", "n_iter_sorted", "n_iter_pellr")

SKEWED = {**EVEN, "sigma": 100.0, "max": 2**16, "n_iter_ellr": 2**22, "n_iter_sorted": 2**21, "n_iter_pellr": 2**19}
RANDOM = {**EVEN, "sectors_run": 1.0, "sectors_slice": 1.0}
