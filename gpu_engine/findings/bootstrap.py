"""Bootstrap over comparison groups: 95 % CIs of means of logarithms."""

from collections.abc import Sequence

import numpy as np

DRAWS, LEVEL, SEED = 2000, 95.0, 0
"""Bootstrap settings: number of resamples, confidence level in percent, seed."""

CONTESTS_MIN = 6
"""Least number of comparison groups for a bootstrap; with fewer, the verdicts decide.

With fewer, one of two equal kernels wins all groups in more than 5 % of all draws.
"""


def resampled_means(logs: np.ndarray) -> np.ndarray:
    """Return the mean of each column over groups drawn with replacement: one row per draw, NaN without data."""
    number = len(logs)
    weights = np.random.default_rng(SEED).multinomial(number, [1 / number] * number, size=DRAWS).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((weights @ np.nan_to_num(logs)) / (weights @ ~np.isnan(logs)))


def interval_of_mean(ratios: Sequence[float]) -> tuple[float, float] | None:
    """Return the bootstrapped 95 % CI of the geometric mean; None for fewer than CONTESTS_MIN ratios."""
    return interval(resampled_means(np.log(ratios)[:, None])[:, 0]) if len(ratios) >= CONTESTS_MIN else None


def interval(logs: np.ndarray) -> tuple[float, float]:
    """Return the 95 % CI of a geometric mean from its logarithms in all draws."""
    low, high = np.nanpercentile(logs, [(100 - LEVEL) / 2, (100 + LEVEL) / 2])
    return float(np.exp(low)), float(np.exp(high))
