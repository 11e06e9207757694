"""Where the segments of fp64 values lie, and a slow reference that reads and writes the first k of them.

Source: CPMS PageRank paper, §IV.A and Fig. 2.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.cpms.codes import Code, code_of
from gpu_engine.errors import ParameterError
from gpu_engine.formats.base import array_module

SEGMENTS = (2, 4)
"""Into how many segments a value may be split: 32 bits each (a head and a tail), or 16."""

BLOCK_BYTES = 128
"""A block holds one segment of the values of a group, in one cache line of the GPUs that have the longest ones."""

SEPARATE = 0
"""The size of a block where each segment has an array of its own, as before the CPMS PageRank paper."""

BITS = 64
UNITS = {2: np.uint32, 4: np.uint16}
"""The type of a unit, which is one segment of one value, by the number of segments."""


@dataclass(frozen=True, slots=True)
class Segmented:
    """Values as segments in alternating blocks; raises ParameterError where the storage does not fit the rest.

    A group of m = 16·segments values is as many blocks as it has segments: first the top bits of all m, the heads, then
    the next ones. Segment s of value i is unit (i div m)·m·segments + s·m + i mod m of the storage. Other sizes of a
    block are for measuring what they do: m is then as many values as a block has units; SEPARATE is one group of all.

    storage      float64 [whole groups], at least n and zero from n on; while it holds segments no numbers
    n            values
    segments     of a value: one of SEGMENTS
    block_bytes  a power of two from 16 on, or SEPARATE; only blocks of BLOCK_BYTES can be converted in place
    short        segments of numbers of 2⁻⁶³ to 1 with short exponents, whose heads are rounded; others are not kept
    """

    storage: Any
    n: int
    segments: int
    block_bytes: int = BLOCK_BYTES
    short: bool = False

    def __post_init__(self) -> None:
        size = padded_size(self.n, self.segments, self.block_bytes)
        found = self.storage
        if found.dtype != np.float64 or found.shape != (size,) or not found.flags.c_contiguous:
            raise ParameterError(
                f"The storage is {found.dtype} {list(found.shape)}; {self.n} values in {self.segments} segments need a "
                f"contiguous float64 [{size}]: take it from `padded` or `allocate`."
            )

    @property
    def units(self) -> Any:
        """The storage as units: uint32 or uint16 [segments · whole groups], a view."""
        return self.storage.view(UNITS[self.segments])

    @property
    def code(self) -> Code:
        """The bits that its segments hold."""
        return code_of(self.segments, self.short)

    @property
    def apart(self) -> int:
        """Units from a segment of a value to its next one."""
        return group_size(self.segments, self.block_bytes) if self.block_bytes else int(self.storage.size)


def group_size(segments: int, block_bytes: int = BLOCK_BYTES) -> int:
    """Values of a group: as many as a block holds units; raises ParameterError for another number of segments."""
    if segments not in SEGMENTS:
        known = " or ".join(map(str, SEGMENTS))
        raise ParameterError(f"A value cannot be split into {segments} segments; expected {known}.")
    return (block_bytes or BLOCK_BYTES) * segments * 8 // BITS


def padded_size(n: int, segments: int, block_bytes: int = BLOCK_BYTES) -> int:
    """Values of the whole groups that n values need; raises ParameterError for a negative n."""
    if n < 0:
        raise ParameterError(f"There cannot be {n} values; expected 0 or more.")
    size = group_size(segments, block_bytes)
    return -(-n // size) * size


def allocate(n: int, segments: int, xp: Any = np, block_bytes: int = BLOCK_BYTES, short: bool = False) -> Segmented:
    """n zeros in segments, on the device of the module `xp` (NumPy or CuPy); with short exponents no numbers yet."""
    return Segmented(xp.zeros(padded_size(n, segments, block_bytes)), n, segments, block_bytes, short)


def padded(values: Any, segments: int) -> Any:
    """A copy of the values, and zeros up to whole groups: float64 [whole groups], what `to_cpms` converts in place."""
    storage = array_module(values).zeros(padded_size(values.size, segments))
    storage[: values.size] = values
    return storage


def read(segmented: Segmented, k: int) -> Any:
    """The values as their first k segments have them: float64 [n]; raises ParameterError where they have no k.

    The other segments are zero, which rounds towards zero, with short exponents to nearest; a NaN with all its payload
    in them reads as an infinity.
    """
    _check_count(segmented, k)
    xp, code = array_module(segmented.storage), segmented.code
    bits = xp.zeros(segmented.n, dtype=np.uint64)
    for segment in range(k):
        units = segmented.units[_places(segmented, segment)]
        bits |= units.astype(np.uint64) << _shift(segmented, segment)
    lost = _shift(segmented, k - 1)
    return ((bits - (code.half >> lost << lost) >> code.up) + code.base).view(np.float64)


def write(segmented: Segmented, values: Any, k: int) -> None:
    """Writes the first k segments of the values and leaves the others; raises ParameterError where they have no k.

    values  float64 [n], on the device of the storage
    """
    _check_count(segmented, k)
    if values.dtype != np.float64 or values.shape != (segmented.n,):
        raise ParameterError(f"The values are {values.dtype} {list(values.shape)}; expected float64 [{segmented.n}].")
    xp, code = array_module(values), segmented.code
    bits = xp.ascontiguousarray(values).view(np.uint64)
    bits = (xp.clip(bits, code.base, code.last) - code.base << code.up) + code.half
    units = segmented.units
    for segment in range(k):
        units[_places(segmented, segment)] = (bits >> _shift(segmented, segment)).astype(units.dtype)


def _check_count(segmented: Segmented, k: int) -> None:
    if not 1 <= k <= segmented.segments:
        raise ParameterError(f"There is no precision of {k} segments; expected 1 to {segmented.segments}.")


def _places(segmented: Segmented, segment: int) -> Any:
    """The unit of that segment of each value: int64 [n]."""
    values, size = array_module(segmented.storage).arange(segmented.n), segmented.apart
    return values // size * size * segmented.segments + segment * size + values % size


def _shift(segmented: Segmented, segment: int) -> Any:
    """How many bits of a value lie below that segment."""
    return np.uint64(BITS - (segment + 1) * BITS // segmented.segments)
