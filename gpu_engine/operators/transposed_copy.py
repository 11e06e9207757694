"""TransposedCopy: cost and benefit of a second layout for SpMVs across the storage order of a matrix."""

import math
from dataclasses import dataclass

from gpu_engine.text import units


@dataclass(frozen=True, slots=True)
class TransposedCopy:
    """A second layout in addition to the arrays of the matrix.

    stored_bytes  bytes of the layout
    seconds       seconds of transposition and conversion, once
    product_s     seconds per SpMV with the copy; shared_s: without it, by atomic additions to y; None: unknown
    """

    stored_bytes: int
    seconds: float
    product_s: float | None
    shared_s: float | None

    @property
    def pays_from(self) -> int | None:
        """Break-even in SpMVs: from this number the copy saves time; None if unknown or never."""
        if self.product_s is None or self.shared_s is None or self.shared_s <= self.product_s:
            return None
        return math.ceil(self.seconds / (self.shared_s - self.product_s))

    def __str__(self) -> str:
        cost = f"{units.size(self.stored_bytes)} more, built in {units.seconds(self.seconds)}"
        if self.product_s is None or self.shared_s is None:
            return f"{cost}; speedup unknown (use choose='measure' to measure it)"
        if self.pays_from is None:
            return f"{cost}; no break-even, because SpMVs without the copy are as fast"
        speedup = units.times(self.shared_s / self.product_s)
        return f"{cost}; break-even after {units.count(self.pays_from)} SpMVs, speedup {speedup}"
