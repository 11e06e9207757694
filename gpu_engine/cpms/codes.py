"""The bits of an fp64 value that segments hold: those of IEEE, or fewer of the exponent and more of the mantissa."""

from typing import NamedTuple

import numpy as np

SHORT_EXPONENT_BITS = 6
"""Of a short exponent: numbers under 2, down to 2⁻⁶³. A rank or a share of 1/n or 1/out-degree is one of them."""

IEEE_EXPONENT_BITS, MANTISSA_BITS = 11, 52
BEYOND = 1024
"""The exponent field of 2, which short exponents end before."""


class Code(NamedTuple):
    """A value whose fp64 bits are b is the code ((b − base) << up) + half, modulo 2⁶⁴; the order of values is kept.

    Of its first k segments alone the bits are ((c − h) >> up) + base, where code c and h, which is half, are cut to
    these: so the cut rounds to nearest. Bits outside of base … last are stored as the nearer one of them.

    up    uint64, bits that every code would have in common
    base  uint64, the bits of the least value
    half  uint64, half a unit of each head
    """

    up: np.uint64
    base: np.uint64
    half: np.uint64

    @property
    def last(self) -> np.uint64:
        """The bits of the greatest value."""
        return np.uint64(int(self.base) + ((2**64 - 1 - int(self.half)) >> int(self.up)))


def code_of(segments: int, short: bool) -> Code:
    """The code of values in so many segments: as IEEE has them, or with short exponents and rounded heads."""
    if not short:
        return Code(np.uint64(0), np.uint64(0), np.uint64(0))
    width = 64 // segments
    half = sum(1 << (63 - width * k) for k in range(1, segments))
    base = BEYOND - (1 << SHORT_EXPONENT_BITS) << MANTISSA_BITS
    return Code(np.uint64(64 - MANTISSA_BITS - SHORT_EXPONENT_BITS), np.uint64(base), np.uint64(half))


def head_bits(segments: int, k: int, short: bool) -> int:
    """Mantissa bits to which the first k segments are right: a rounded head errs as one more bit does that is cut."""
    width = 64 // segments * k
    exact = width - (SHORT_EXPONENT_BITS if short else 1 + IEEE_EXPONENT_BITS)
    return min(exact + short * (k < segments), MANTISSA_BITS)
