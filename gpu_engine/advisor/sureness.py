"""Limits of features within which the confidence of the performance model is high."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf

from gpu_engine.advisor.work import Features


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a quantity within which predictions are reliable."""

    quantity: Callable[[Features], float]
    least: float
    greatest: float

    def hold(self, features: Features) -> bool:
        """Return whether the quantity lies within the bounds."""
        return self.least <= self.quantity(features) <= self.greatest


LIMITS: Mapping[str, Limits] = {
    "nonzeros": Limits(lambda f: f["nnz"], 400_000, inf),
    "mean row": Limits(lambda f: f["ave"], 1.0, 400.0),
    "longest row": Limits(lambda f: f["max"], 1, 50_000),
    "longest row per nonzero": Limits(lambda f: f["max"] / f["nnz"], 0.0, 0.026),
    "spread of the row lengths": Limits(lambda f: f["sigma"] / f["ave"], 0.0, 10.0),
    "columns per row": Limits(lambda f: f["n_cols"] / f["n_rows"], 0.5, 2.0),
}
"""Name of a quantity → its range over the matrices of the calibration, except one with full rows.

Linear programs, circuits with rails, arrow matrices, and rectangular matrices lie outside.
"""

UNSTEADY = ("jad/thread", "bijad/warp", "pellr/thread", "pellr/warp", "pellr-sliced/warp")
"""Kernels that sort all rows by length; no feature describes the effect of this order on accesses to x and y.

On an H100 one of them was predicted fastest but had a slowdown of 1.54×.
"""


def is_familiar(features: Features) -> bool:
    """Return whether a matrix with entries lies within all LIMITS."""
    return unfamiliar(features) is None


def unfamiliar(features: Features) -> str | None:
    """Return the first name in LIMITS whose bounds a matrix with entries exceeds; None if there is none."""
    return next((name for name, limits in LIMITS.items() if not limits.hold(features)), None)
