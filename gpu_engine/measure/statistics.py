"""Statistics over the medians of rounds."""

from collections.abc import Sequence

import numpy as np

RESAMPLES = 2000
SEED = 20240229


def interval(samples: Sequence[float]) -> tuple[float, float]:
    """Bootstrapped 95 % interval of the median of the samples; seeded, so that equal samples give equal intervals."""
    values = np.asarray(samples, dtype=np.float64)
    resamples = np.random.default_rng(SEED).integers(0, values.size, (RESAMPLES, values.size))
    low, high = np.quantile(np.median(values[resamples], axis=1), (0.025, 0.975))
    return float(low), float(high)


def quartiles(samples: Sequence[float]) -> tuple[float, float, float, float]:
    """(min, first quartile, median, third quartile)."""
    low, q1, median, q3 = np.quantile(np.asarray(samples, dtype=np.float64), (0.0, 0.25, 0.5, 0.75))
    return float(low), float(q1), float(median), float(q3)
