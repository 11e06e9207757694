"""Which matrices are like those that the costs of the model were fitted to: limits of their features."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf

from gpu_engine.advisor.work import Features


@dataclass(frozen=True, slots=True)
class Limits:
    """The least and greatest value of a quantity that the advice relies on."""

    quantity: Callable[[Features], float]
    least: float
    greatest: float

    def hold(self, features: Features) -> bool:
        """Return whether the quantity lies within them."""
        return self.least <= self.quantity(features) <= self.greatest


LIMITS: Mapping[str, Limits] = {
    "nonzeros": Limits(lambda f: f["nnz"], 400_000, inf),
    "mean row": Limits(lambda f: f["ave"], 1.0, 400.0),
    "longest row": Limits(lambda f: f["max"], 1, 50_000),
    "longest row per nonzero": Limits(lambda f: f["max"] / f["nnz"], 0.0, 0.026),
    "spread of the row lengths": Limits(lambda f: f["sigma"] / f["ave"], 0.0, 10.0),
    "columns per row": Limits(lambda f: f["n_cols"] / f["n_rows"], 0.5, 2.0),
}
"""By name: what the matrices have in common that the costs were fitted to, one of full rows left out.

Programs, circuits with rails, arrows and rectangular matrices lie outside: no cost was fitted to a class like theirs.
"""

UNSTEADY = ("jad/thread", "bijad/warp", "pellr/thread", "pellr/warp", "pellr-sliced/warp")
"""Kernels with all rows sorted by length: what that costs x and y hangs on an order that no feature knows.

On an H100 one of them was the first choice where it took 1.54 times as long as the fastest.
"""


def is_familiar(features: Features) -> bool:
    """Return whether a matrix with entries lies within all LIMITS."""
    return all(limits.hold(features) for limits in LIMITS.values())
