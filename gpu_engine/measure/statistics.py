"""Statistics over the medians of rounds."""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gpu_engine.rounds import has_interval

WIDEST = 100.0
"""Maximum half-width of an interval of logarithms, so that its exponential is finite."""

RESAMPLES = 2000
SEED = 20240229

STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365}
"""Number of samples n → 0.975 quantile of Student's t with n − 1 degrees of freedom."""


def interval(samples: Sequence[float]) -> tuple[float, float] | None:
    """Return the bootstrapped 95 % CI of the median of the samples; None if there are too few samples.

    The seed is fixed, so that equal samples give equal intervals. Sample counts in STUDENT are handled as in `reach`.
    """
    return reach(samples) if has_interval(len(samples)) else None


def reach(samples: Sequence[float]) -> tuple[float, float]:
    """Return the bounds of the median that verdicts use: the confidence interval, or wider bounds for few samples.

    For the sample counts in STUDENT: the range of the samples, or the interval of Student's t for their logarithms if
    that is wider. Bounds of fewer samples than an interval needs are not shown; for one sample they are infinite.
    """
    return _reach(tuple(samples))


@lru_cache(maxsize=4096)
def _reach(samples: tuple[float, ...]) -> tuple[float, float]:
    values = np.asarray(samples, dtype=np.float64)
    if values.size < 2:
        return 0.0, math.inf
    if values.size in STUDENT:
        return _of_few(values)
    resamples = np.random.default_rng(SEED).integers(0, values.size, (RESAMPLES, values.size))
    low, high = np.quantile(np.median(values[resamples], axis=1), (0.025, 0.975))
    return float(low), float(high)


def _of_few(values: NDArray[np.float64]) -> tuple[float, float]:
    logarithms = np.log(np.maximum(values, math.ulp(0.0)))
    half = min(STUDENT[values.size] * float(logarithms.std(ddof=1)) / math.sqrt(values.size), WIDEST)
    middle = float(logarithms.mean())
    return min(math.exp(middle - half), float(values.min())), max(math.exp(middle + half), float(values.max()))


def quartiles(samples: Sequence[float]) -> tuple[float, float, float, float]:
    """Return (min, first quartile, median, third quartile)."""
    low, q1, median, q3 = np.quantile(np.asarray(samples, dtype=np.float64), (0.0, 0.25, 0.5, 0.75))
    return float(low), float(q1), float(median), float(q3)
