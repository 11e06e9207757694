"""What a product across the order in which a matrix is stored costs: with a layout of its own, and without."""

import math
from dataclasses import dataclass

from gpu_engine.text import units


@dataclass(frozen=True, slots=True)
class TransposedCopy:
    """A layout beside the arrays of the matrix.

    stored_bytes  of it
    seconds       that transposing the matrix and converting it took, once
    product_s     of a product with it; shared_s  without, by additions to y from the arrays as they are; None: unknown
    """

    stored_bytes: int
    seconds: float
    product_s: float | None
    shared_s: float | None

    @property
    def pays_from(self) -> int | None:
        """Products from which making it costs less time than it saves; None where unknown, or where it never does."""
        if self.product_s is None or self.shared_s is None or self.shared_s <= self.product_s:
            return None
        return math.ceil(self.seconds / (self.shared_s - self.product_s))

    def __str__(self) -> str:
        cost = f"{units.size(self.stored_bytes)} more, made in {units.seconds(self.seconds)}"
        if self.product_s is None or self.shared_s is None:
            return f"{cost}; how much faster its products are is not known: choose='measure' says"
        if self.pays_from is None:
            return f"{cost}; it does not pay: products without it are as fast"
        longer = units.times(self.shared_s / self.product_s)
        return f"{cost}; pays from {units.count(self.pays_from)} products on, which without it take {longer} the time"
