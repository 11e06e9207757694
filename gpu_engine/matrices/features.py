"""What the pattern of a host matrix looks like: row statistics, row-length histogram and a density raster."""

import math
from typing import Any

import numpy as np
import scipy.sparse

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.matrices.warps import WARP, computations, iterations

DISTINCT_CAP = 65_536
"""Counting of distinct values stops here."""

ENTRIES_PER_BLOCK = 2**22
SPY_SIZE = 256

RUN = 512
"""Consecutive entries that a block of threads or a warp takes together in the formats that cut by entries."""

SAMPLED_RUNS, SAMPLED_SLICES = 2048, 4096
"""Runs and slices whose columns are looked at: all of a small matrix, else so many, evenly spread."""

NARROW_SPAN = 2**16
"""Columns within fewer than so many can be 16-bit offsets."""

SECTOR = 4
"""Elements of x that a GPU fetches at once: 32 bytes."""

WINDOW = 256
"""Rows sorted by length within so many, as in SELL-C-σ."""

TAIL_ROWS_MIN, TAIL_SPAN_MIN = 50, 10
"""A power law is fitted to at least so many rows, the longest so many times as long as the shortest."""

TAIL_STARTS = 64
"""Starts of the power law that are tried, spread over the distinct row lengths."""

TAIL_DISTANCE_MAX = 0.1
"""Kolmogorov–Smirnov distance from which lengths follow no power law, such as those of uniform columns."""

DECAY_MAX = 700.0
"""Of a density on [0, 1]: e^700 is still a number."""

Feature = float | int | bool


def features(matrix: CsrMatrix) -> dict[str, Feature]:
    """The features of a host matrix by name.

    ave, sigma, max, min, max_min  mean, standard deviation, extremes of the row lengths and their difference
    bandwidth                      max |row − column| over the entries
    symmetric_pattern, symmetric   whether the pattern, and the values too, equal those of the transpose
    distinct_values                counted up to DISTINCT_CAP
    n_iter_ellr, n_iter_pellr      iterations of all warps with one thread a row: rows as they are, and sorted by length
    n_iter_sorted                  the same with the rows sorted within windows of WINDOW
    n_p                            computations of those warps, whatever the order of the rows
    float_values                   whether a float32 holds every value exactly
    narrow_runs, narrow_slices     share of the entries in runs of RUN entries, and in slices of 32 rows, whose columns
                                   span less than NARROW_SPAN
    sectors_run, sectors_slice     sectors of x that a run, and a slice, touches, over its entries: SECTOR⁻¹ or less
                                   where columns lie together, 1 where each is alone
    power_law_exponent             R of P(row length = k) ~ k^−R in the tail; NaN where there is none
    power_law_exponent_cols        the same of the entries of each column, as in Table 2 of the MSREP paper
    """
    lengths = np.diff(matrix.indptr)
    column_lengths = _column_lengths(matrix)
    symmetric_pattern, symmetric = _symmetry(matrix)
    shortest = int(lengths.min()) if lengths.size else 0
    own = product_features(matrix)
    return {
        **own,
        "min": shortest,
        "max_min": int(own["max"]) - shortest,
        "empty_rows": int(np.count_nonzero(lengths == 0)),
        "empty_cols": int(np.count_nonzero(column_lengths == 0)),
        "bandwidth": _bandwidth(matrix),
        "symmetric_pattern": symmetric_pattern,
        "symmetric": symmetric,
        "explicit_zeros": int(np.count_nonzero(matrix.values == 0.0)),
        "n_p": computations(lengths),
        "power_law_exponent": power_law_exponent(lengths),
        "power_law_exponent_cols": power_law_exponent(column_lengths),
    }


def product_features(matrix: CsrMatrix) -> dict[str, Feature]:
    """Of the features of a host matrix those that say how long a product takes."""
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
        "n_iter_ellr": iterations(lengths),
        "n_iter_pellr": iterations(np.sort(lengths)[::-1]),
        "n_iter_sorted": iterations(_sorted_in_windows(lengths)),
        **_locality(matrix),
    }


def row_length_histogram(matrix: CsrMatrix) -> list[tuple[int, int, int]]:
    """(shortest, longest, rows) of the bins 0, 1, 2–3, 4–7 … up to the longest row; no gaps."""
    lengths = np.diff(matrix.indptr)
    if lengths.size == 0:
        return []
    # frexp(k) is (m, e) with k = m · 2^e and ½ ≤ m < 1: e is 0 for 0, 1 for 1, 2 for 2 and 3 …
    rows = np.bincount(np.frexp(lengths)[1])
    return [((1 << e) >> 1, max((1 << e) - 1, 0), int(count)) for e, count in enumerate(rows)]


def spy(matrix: CsrMatrix, size: int = SPY_SIZE) -> Any:
    """uint32 [min(size, n_rows), min(size, n_cols)]: entries per cell of an even raster over the matrix."""
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
    """R by maximum likelihood on the tail whose start fits best; NaN with too few or too equal lengths, or no good fit.

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
    """(Kolmogorov–Smirnov distance, R) of the power law from the first length on to the last."""
    start, total = float(lengths[0]) - 0.5, float(weights.sum())
    span = math.log((float(lengths[-1]) + 0.5) / start)
    # Logarithms of the lengths have the density e^(−decay·u) on [0, 1], in units of the span.
    decay = _decay_of_mean(float(weights @ np.log(lengths / start)) / total / span)
    ends = np.log((lengths + 0.5) / start) / span
    fitted = np.expm1(-decay * ends) / math.expm1(-decay) if decay else ends
    return float(np.abs(np.cumsum(weights) / total - fitted).max()), 1.0 + decay / span


def _decay_of_mean(mean: float) -> float:
    """The d at which the density e^(−d·u) on [0, 1] has that mean, by bisection: ½ at d = 0, falling."""
    low, high = -DECAY_MAX, DECAY_MAX
    for _ in range(100):
        middle = (low + high) / 2
        # The difference of two large numbers near 0.
        found = 0.5 - middle / 12 if abs(middle) < 1e-3 else 1 / middle - 1 / math.expm1(middle)
        low, high = (middle, high) if found > mean else (low, middle)
    return (low + high) / 2


def _column_lengths(matrix: CsrMatrix) -> Any:
    """int64 [n_cols], block by block: a count casts what it counts."""
    lengths = np.zeros(matrix.n_cols, np.int64)
    for first in range(0, matrix.nnz, ENTRIES_PER_BLOCK):
        lengths += np.bincount(matrix.indices[first : first + ENTRIES_PER_BLOCK], minlength=matrix.n_cols)
    return lengths


def _symmetry(matrix: CsrMatrix) -> tuple[bool, bool]:
    """(pattern, values) equal to the transpose's."""
    if matrix.n_rows != matrix.n_cols:
        return False, False
    transposed = scipy.sparse.csc_array(matrix.to_scipy())
    same = bool(np.array_equal(transposed.indptr, matrix.indptr) and np.array_equal(transposed.indices, matrix.indices))
    return same, same and bool(np.array_equal(transposed.data, matrix.values))


def _bandwidth(matrix: CsrMatrix) -> int:
    """Columns ascend within a row, so its first and last entry lie farthest out."""
    rows = np.flatnonzero(np.diff(matrix.indptr))
    if rows.size == 0:
        return 0
    first, last = matrix.indices[matrix.indptr[rows]], matrix.indices[matrix.indptr[rows + 1] - 1]
    return int(max(np.abs(rows - first).max(), np.abs(last - rows).max()))


def _sorted_in_windows(lengths: Any) -> Any:
    """The lengths, longest first within each window of WINDOW rows."""
    padded = np.zeros(-(-lengths.size // WINDOW) * WINDOW, lengths.dtype)
    padded[: lengths.size] = lengths
    return np.sort(padded.reshape(-1, WINDOW), axis=1)[:, ::-1].ravel()


def _locality(matrix: CsrMatrix) -> dict[str, Feature]:
    """How near together the columns of neighbouring entries, and of neighbouring rows, lie."""
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
    """(share of entries in narrow parts, distinct sectors an entry) of at most so many of the parts between borders."""
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
    """Block by block, so that it mostly ends after one."""
    for first in range(0, values.size, ENTRIES_PER_BLOCK):
        block = values[first : first + ENTRIES_PER_BLOCK]
        with np.errstate(over="ignore"):
            if not np.array_equal(block, block.astype(np.float32)):
                return False
    return True


def _distinct_values(values: Any) -> int:
    found = np.empty(0)
    for first in range(0, values.size, ENTRIES_PER_BLOCK):
        found = np.union1d(found, values[first : first + ENTRIES_PER_BLOCK])
        if found.size >= DISTINCT_CAP:
            return DISTINCT_CAP
    return int(found.size)
