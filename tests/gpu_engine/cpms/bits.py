"""Bit patterns of fp64, and what segments of them must be, in integers alone."""

from typing import Any

import numpy as np

SPECIAL = [
    0x0000000000000000,  # 0
    0x8000000000000000,  # −0
    0x7FF0000000000000,  # ∞
    0xFFF0000000000000,  # −∞
    0x7FF8000000000000,  # a quiet NaN
    0x7FF0000000000001,  # a signalling NaN, its payload in the last segment
    0xFFF8DEADBEEF1234,  # a NaN with a payload in every segment
    0x0000000000000001,  # the smallest subnormal
    0x800FFFFFFFFFFFFF,  # the largest, negative
    0x0010000000000000,  # the smallest normal
    0x7FEFFFFFFFFFFFFF,  # the largest
    0x0123456789ABCDEF,
    0xFFFFFFFFFFFFFFFF,
]

SIZES = [0, 1, 31, 32, 33, 63, 64, 65, 1000, 100_003]
"""Around the groups of 32 and of 64 values, and past many thread blocks."""


def values_of(bits: Any) -> Any:
    """The fp64 of these bits: float64, as many as uint64."""
    return np.array(bits, dtype=np.uint64).view(np.float64)


def bits_of(values: Any) -> list[int]:
    """The bits of fp64, from either device: equal only where every bit is."""
    host = values if isinstance(values, np.ndarray) else values.get()
    return [int(bits) for bits in host.view(np.uint64)]


def some_values(n: int, seed: int = 0) -> Any:
    """n patterns: the special ones, in turn with random ones."""
    bits = np.random.default_rng(seed).integers(0, 2**64, n, dtype=np.uint64)
    bits[::2] = np.resize(np.array(SPECIAL, dtype=np.uint64), bits[::2].size)
    return bits.view(np.float64)


def short_values(n: int, seed: int = 0) -> Any:
    """n numbers of 2⁻⁶³ to 1, every exponent alike, and both ends."""
    rng = np.random.default_rng(seed)
    values = np.ldexp(rng.uniform(0.5, 1.0, n), -rng.integers(0, 63, n))
    values[:3] = [1.0, 2.0**-63, 0.5][: min(n, 3)]
    return values


def rounded(values: Any, mantissa: int) -> Any:
    """The numbers with so many bits behind the first one: to nearest, in the middle up."""
    parts, exponents = np.frexp(values)
    return np.ldexp(np.floor(np.ldexp(parts, mantissa + 1) + 0.5), exponents - mantissa - 1)


def units_of(bits: list[int], segments: int) -> list[int]:
    """The units of whole groups, one by one: unit (i div m)·m·X + s·m + i mod m is segment s of value i."""
    width, m = 64 // segments, 16 * segments
    units = [0] * (-(-len(bits) // m) * m * segments)
    for i, value in enumerate(bits):
        for s in range(segments):
            units[i // m * m * segments + s * m + i % m] = value >> (64 - width * (s + 1)) & (2**width - 1)
    return units


def cut(bits: int, k: int, segments: int) -> int:
    """The bits with all but the first k segments zero."""
    lost = 64 - k * (64 // segments)
    return bits >> lost << lost
