"""Features of a host matrix: row statistics, row-length histogram, and a density raster of the pattern."""

import math
from typing import Any

import numpy as np
import scipy.sparse

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.matrices.pellr_counts import WARP, warp_iterations, warp_operations

DISTINCT_CAP = 65_536
"""Number at which the count of distinct values stops."""

ENTRIES_PER_BLOCK = 2**22
SPY_SIZE = 256

RUN = 512
"""Consecutive nonzeros per block or warp in formats that divide the work by nonzeros."""

SAMPLED_RUNS, SAMPLED_SLICES = 2048, 4096
"""Maximum numbers of runs and slices whose columns are inspected, evenly spread over the matrix."""

NARROW_SPAN = 2**16
"""Span of columns below which 16-bit offsets suffice."""

SECTOR = 4
"""Elements of x per sector, which a GPU fetches at once: 32 bytes."""

WINDOW = 256
"""Rows per sorting window, σ of SELL-C-σ."""

TAIL_ROWS_MIN, TAIL_SPAN_MIN = 50, 10
"""Minimum number of rows in the tail of a power law, and minimum ratio of its longest to its shortest row."""

TAIL_STARTS = 64
"""Number of tail starts that are tried, spread over the distinct row lengths."""

TAIL_DISTANCE_MAX = 0.1
"""Kolmogorov–Smirnov distance from which on lengths do not follow a power law."""

DECAY_MAX = 700.0
"""Maximum decay d of the density e^(−d·u) on [0, 1], so that e^d is finite."""

Feature = float | int | bool


def features(matrix: CsrMatrix) -> dict[str, Feature]:
    """Return the features of a host matrix by name.

    ave, sigma, max, min, max_min  mean, standard deviation, extremes of the row lengths and their difference
    bandwidth                      max |row − column| over the nonzeros
    symmetric_pattern, symmetric   whether the pattern, and the values too, equal those of the transpose
    distinct_values                counted up to DISTINCT_CAP
    n_iter_ellr, n_iter_pellr      iterations of all warps with one thread per row, rows unsorted and sorted by length
    n_iter_sorted                  iterations with the rows sorted within windows of WINDOW
    n_p                            operations of these warps, for any order of the rows
    float_values                   whether a float32 holds every value exactly
    narrow_runs, narrow_slices     share of the nonzeros in runs of RUN, or in slices of 32 rows, whose columns
                                   span less than NARROW_SPAN
    sectors_run, sectors_slice     sectors of x per nonzero that a run, or a slice, touches: SECTOR⁻¹ or less
                                   if columns are adjacent, 1 if each lies in its own sector
    power_law_exponent             R of P(row length = k) ~ k^−R in the tail; NaN if there is no power law
    power_law_exponent_cols        R of the column lengths, as in Table 2 of the MSREP paper
    """
    lengths = np.diff(matrix.indptr)
    column_lengths = _column_lengths(matrix)
    symmetric_pattern, symmetric = _symmetry(matrix)
    shortest = int(lengths.min()) if lengths.size else 0
    spmv_features = product_features(matrix)
    return {
        **spmv_features,
        "min": shortest,
        "max_min": int(spmv_features["max"]) - shortest,
        "empty_rows": int(np.count_nonzero(lengths == 0)),
        "empty_cols": int(np.count_nonzero(column_lengths == 0)),
        "bandwidth": _bandwidth(matrix),
        "symmetric_pattern": symmetric_pattern,
        "symmetric": symmetric,
        "explicit_zeros": int(np.count_nonzero(matrix.values == 0.0)),
        "n_p": warp_operations(lengths),
        "power_law_exponent": power_law_exponent(lengths),
        "power_law_exponent_cols": power_law_exponent(column_lengths),
    }


def product_features(matrix: CsrMatrix) -> dict[str, Feature]:
    """Return the features of a host matrix that affect the time of an SpMV."""
    lengths = np.diff(matrix.indptr)
    return {
        "n_rows": matrix.n_rows,
        "n_cols": matrix.n_cols,
        "nnz": matrix.nnz,
        "ave": float(lengths.mean()) if lengths.size else 0.0,
        "sigma": float(lengths.std()) if lengths.size else 0.0,
        "max": int(lengths.max()) if lengths.size else 0,
        "distinct_values": _distinct_values(matrix.values),
        "float_values": _are_floats(matrix.values),
        "n_iter_ellr": warp_iterations(lengths),
        "n_iter_pellr": warp_iterations(np.sort(lengths)[::-1]),
        "n_iter_sorted": warp_iterations(_sorted_in_windows(lengths)),
        **_locality(matrix),
    }


def row_length_histogram(matrix: CsrMatrix) -> list[tuple[int, int, int]]:
    """Return (shortest, longest, rows) of the bins 0, 1, 2–3, 4–7 … up to the longest row; no gaps."""
    lengths = np.diff(matrix.indptr)
    if lengths.size == 0:
        return []
    # frexp(k) is (m, e) with k = m · 2^e and ½ ≤ m < 1: e is 0 for 0, 1 for 1, 2 for 2 and 3 …
    rows = np.bincount(np.frexp(lengths)[1])
    return [((1 << e) >> 1, max((1 << e) - 1, 0), int(count)) for e, count in enumerate(rows)]


def spy(matrix: CsrMatrix, size: int = SPY_SIZE) -> Any:
    """Return the nonzeros per cell of an even raster: uint32 [min(size, n_rows), min(size, n_cols)]."""
    height, width = min(size, matrix.n_rows), min(size, matrix.n_cols)
    counts = np.zeros((height, width), np.uint32)
    for band in range(height):
        # The rows r with r · height // n_rows = band lie together, and so do their entries.
        begin, end = (matrix.indptr[-(-edge * matrix.n_rows // height)] for edge in (band, band + 1))
        for first in range(int(begin), int(end), ENTRIES_PER_BLOCK):
            cols = matrix.indices[first : min(first + ENTRIES_PER_BLOCK, int(end))].astype(np.int64)
            counts[band] += np.bincount(cols * width // matrix.n_cols, minlength=width).astype(np.uint32)
    return counts


def power_law_exponent(lengths: Any) -> float:
    """Return R by maximum likelihood on the tail that fits best; NaN for too few or too equal lengths, or a bad fit.

    The tail ends with the longest, for no matrix has longer ones than it has columns: R may be 1, and less.
    After Clauset, Shalizi, Newman: Power-law distributions in empirical data, SIAM Review 51 (2009), equation 3.9.
    """
    rows = np.bincount(lengths[lengths > 0])
    distinct = np.flatnonzero(rows)
    weights = rows[distinct].astype(np.float64)
    starts = np.flatnonzero(np.cumsum(weights[::-1])[::-1] >= TAIL_ROWS_MIN)
    starts = starts[distinct[starts] * TAIL_SPAN_MIN <= rows.size - 1]
    if starts.size == 0:
        return math.nan
    chosen = starts[np.unique(np.linspace(0, starts.size - 1, TAIL_STARTS).astype(np.int64))]
    distance, exponent = min(_fit_tail(distinct[start:], weights[start:]) for start in chosen)
    return exponent if distance <= TAIL_DISTANCE_MAX else math.nan


def _fit_tail(lengths: Any, weights: Any) -> tuple[float, float]:
    """Return (Kolmogorov–Smirnov distance, R) of the power law from the first length on to the last."""
    start, total = float(lengths[0]) - 0.5, float(weights.sum())
    span = math.log((float(lengths[-1]) + 0.5) / start)
    # Logarithms of the lengths have the density e^(−decay·u) on [0, 1], in units of the span.
    decay = _decay_of_mean(float(weights @ np.log(lengths / start)) / total / span)
    ends = np.log((lengths + 0.5) / start) / span
    fitted = np.expm1(-decay * ends) / math.expm1(-decay) if decay else ends
    return float(np.abs(np.cumsum(weights) / total - fitted).max()), 1.0 + decay / span


def _decay_of_mean(mean: float) -> float:
    """Return the d at which the density e^(−d·u) on [0, 1] has this mean, by bisection."""
    low, high = -DECAY_MAX, DECAY_MAX
    for _ in range(100):
        middle = (low + high) / 2
        # The difference of two large numbers near 0.
        mean_at_middle = 0.5 - middle / 12 if abs(middle) < 1e-3 else 1 / middle - 1 / math.expm1(middle)
        low, high = (middle, high) if mean_at_middle > mean else (low, middle)
    return (low + high) / 2


def _column_lengths(matrix: CsrMatrix) -> Any:
    """Return the column lengths, int64 [n_cols], counted by blocks, because bincount casts its input."""
    lengths = np.zeros(matrix.n_cols, np.int64)
    for first in range(0, matrix.nnz, ENTRIES_PER_BLOCK):
        lengths += np.bincount(matrix.indices[first : first + ENTRIES_PER_BLOCK], minlength=matrix.n_cols)
    return lengths


def _symmetry(matrix: CsrMatrix) -> tuple[bool, bool]:
    """Return whether (the pattern, the values) equal those of the transpose."""
    if matrix.n_rows != matrix.n_cols:
        return False, False
    transposed = scipy.sparse.csc_array(matrix.to_scipy())
    same = bool(np.array_equal(transposed.indptr, matrix.indptr) and np.array_equal(transposed.indices, matrix.indices))
    return same, same and bool(np.array_equal(transposed.data, matrix.values))


def _bandwidth(matrix: CsrMatrix) -> int:
    """Return the bandwidth, from the first and last nonzero of each row, because columns ascend."""
    rows = np.flatnonzero(np.diff(matrix.indptr))
    if rows.size == 0:
        return 0
    first, last = matrix.indices[matrix.indptr[rows]], matrix.indices[matrix.indptr[rows + 1] - 1]
    return int(max(np.abs(rows - first).max(), np.abs(last - rows).max()))


def _sorted_in_windows(lengths: Any) -> Any:
    """Return the lengths, longest first within each window of WINDOW rows."""
    padded = np.zeros(-(-lengths.size // WINDOW) * WINDOW, lengths.dtype)
    padded[: lengths.size] = lengths
    return np.sort(padded.reshape(-1, WINDOW), axis=1)[:, ::-1].ravel()


def _locality(matrix: CsrMatrix) -> dict[str, Feature]:
    """Return the features of locality: spans and sectors of the columns of runs and slices."""
    runs = np.append(np.arange(0, matrix.nnz, RUN), matrix.nnz)
    slices = matrix.indptr[np.append(np.arange(0, matrix.n_rows, WARP), matrix.n_rows)].astype(np.int64)
    narrow_runs, sectors_run = _reach(matrix.indices, runs, SAMPLED_RUNS)
    narrow_slices, sectors_slice = _reach(matrix.indices, slices, SAMPLED_SLICES)
    return {
        "narrow_runs": narrow_runs,
        "narrow_slices": narrow_slices,
        "sectors_run": sectors_run,
        "sectors_slice": sectors_slice,
    }


def _reach(indices: Any, borders: Any, sampled: int) -> tuple[float, float]:
    """Return (share of nonzeros in narrow parts, distinct sectors per nonzero) of at most `sampled` parts."""
    parts = np.unique(np.linspace(0, borders.size - 2, min(sampled, borders.size - 1)).astype(np.int64))
    narrow = sectors = entries = 0
    for begin, end in zip(borders[parts], borders[parts + 1], strict=True):
        if begin < end:
            columns = np.sort(indices[begin:end])
            touched = columns // SECTOR
            entries += int(columns.size)
            sectors += 1 + int(np.count_nonzero(touched[1:] != touched[:-1]))
            narrow += int(columns.size) if columns[-1] - columns[0] < NARROW_SPAN else 0
    return (narrow / entries, sectors / entries) if entries else (1.0, 0.0)


def _are_floats(values: Any) -> bool:
    """Return whether float32 represents all values exactly, by blocks, so that it mostly ends after one."""
    for first in range(0, values.size, ENTRIES_PER_BLOCK):
        block = values[first : first + ENTRIES_PER_BLOCK]
        with np.errstate(over="ignore"):
            if not np.array_equal(block, block.astype(np.float32)):
                return False
    return True


def _distinct_values(values: Any) -> int:
    distinct = np.empty(0)
    for first in range(0, values.size, ENTRIES_PER_BLOCK):
        distinct = np.union1d(distinct, values[first : first + ENTRIES_PER_BLOCK])
        if distinct.size >= DISTINCT_CAP:
            return DISTINCT_CAP
    return int(distinct.size)
