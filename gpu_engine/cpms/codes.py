"""Codes of fp64 values in segments: IEEE bits, or fewer exponent bits and more mantissa bits."""

from typing import NamedTuple

import numpy as np

SHORT_EXPONENT_BITS = 6
"""Bits of a short exponent, for numbers from 2⁻⁶³ to below 2, such as ranks and shares of 1/n or 1/out-degree."""

IEEE_EXPONENT_BITS, MANTISSA_BITS = 11, 52
BEYOND = 1024
"""Exponent field of 2, the first one that short exponents cannot represent."""


class Code(NamedTuple):
    """Code of values: fp64 bits b become ((b − base) << up) + half, modulo 2⁶⁴, which preserves the order of values.

    The first k segments of a code c give the bits ((c − h) >> up) + base, where c and h, which is half, are truncated
    to these segments; so truncation rounds to nearest. Bits outside of base … last are stored as the nearer of the two.

    up    uint64, number of leading bits that all codes would share
    base  uint64, bits of the least value
    half  uint64, half a unit in the last place of each number of leading segments
    """

    up: np.uint64
    base: np.uint64
    half: np.uint64

    @property
    def last(self) -> np.uint64:
        """Bits of the greatest value."""
        return np.uint64(int(self.base) + ((2**64 - 1 - int(self.half)) >> int(self.up)))


def code_of(segments: int, short: bool) -> Code:
    """Return the code of values in segments: IEEE bits, or short exponents with rounding to nearest."""
    if not short:
        return Code(np.uint64(0), np.uint64(0), np.uint64(0))
    width = 64 // segments
    half = sum(1 << (63 - width * k) for k in range(1, segments))
    base = BEYOND - (1 << SHORT_EXPONENT_BITS) << MANTISSA_BITS
    return Code(np.uint64(64 - MANTISSA_BITS - SHORT_EXPONENT_BITS), np.uint64(base), np.uint64(half))


def head_bits(segments: int, k: int, short: bool) -> int:
    """Return the mantissa bits that the first k segments represent; rounding to nearest counts as one bit more."""
    width = 64 // segments * k
    exact = width - (SHORT_EXPONENT_BITS if short else 1 + IEEE_EXPONENT_BITS)
    return min(exact + short * (k < segments), MANTISSA_BITS)
