"""Layout of fp64 values in segments, and a slow reference that reads and writes the first k of them.

Source: CPMS PageRank paper, §IV.A and Fig. 2.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.cpms.codes import Code, code_of
from gpu_engine.errors import ParameterError
from gpu_engine.formats.base import array_module

SEGMENTS = (2, 4)
"""Possible numbers of segments per value: two of 32 bits, or four of 16 bits."""

BLOCK_BYTES = 128
"""Bytes of a block, which holds one segment of the values of a group: one cache line of a GPU."""

SEPARATE = 0
"""Block size that means one array per segment, as before the CPMS PageRank paper."""

BITS = 64
UNITS = {2: np.uint32, 4: np.uint16}
"""Type of a unit, which is one segment of one value, by the number of segments."""


@dataclass(frozen=True, slots=True)
class Segmented:
    """Values as segments in alternating blocks; raises ParameterError if the storage does not match the other fields.

    A group of m = 16·segments values has one block per segment: first the leading segments of all m values, then the
    next ones. Segment s of value i is unit (i div m)·m·segments + s·m + i mod m of the storage. Other block sizes exist
    for measurements; m is then the number of units per block. SEPARATE is one group of all values.

    storage      float64 [whole groups], at least n, zero from n on; its elements are not numbers while it has segments
    n            number of values
    segments     segments per value: one of SEGMENTS
    block_bytes  a power of two from 16 on, or SEPARATE; only blocks of BLOCK_BYTES can be converted in place
    short        short exponents with rounding to nearest, for numbers from 2⁻⁶³ to 1; other numbers are lost
    """

    storage: Any
    n: int
    segments: int
    block_bytes: int = BLOCK_BYTES
    short: bool = False

    def __post_init__(self) -> None:
        size = padded_size(self.n, self.segments, self.block_bytes)
        storage = self.storage
        if storage.dtype != np.float64 or storage.shape != (size,) or not storage.flags.c_contiguous:
            raise ParameterError(
                f"The storage is {storage.dtype} {list(storage.shape)}, but {self.n} values in {self.segments} "
                f"segments need a contiguous float64 [{size}]. Create it with `padded` or `allocate`."
            )

    @property
    def units(self) -> Any:
        """Storage as units: uint32 or uint16 [segments · whole groups], a view."""
        return self.storage.view(UNITS[self.segments])

    @property
    def code(self) -> Code:
        """Code of the values in its segments."""
        return code_of(self.segments, self.short)

    @property
    def apart(self) -> int:
        """Distance in units between two consecutive segments of a value."""
        return group_size(self.segments, self.block_bytes) if self.block_bytes else int(self.storage.size)


def group_size(segments: int, block_bytes: int = BLOCK_BYTES) -> int:
    """Return the values of a group, which are the units of a block; raise ParameterError for an unsupported number."""
    if segments not in SEGMENTS:
        known = " or ".join(map(str, SEGMENTS))
        raise ParameterError(f"A value cannot be split into {segments} segments; expected {known}.")
    return (block_bytes or BLOCK_BYTES) * segments * 8 // BITS


def padded_size(n: int, segments: int, block_bytes: int = BLOCK_BYTES) -> int:
    """Return the number of values in the whole groups for n values; raise ParameterError for a negative n."""
    if n < 0:
        raise ParameterError(f"The number of values is {n}; expected 0 or more.")
    size = group_size(segments, block_bytes)
    return -(-n // size) * size


def allocate(n: int, segments: int, xp: Any = np, block_bytes: int = BLOCK_BYTES, short: bool = False) -> Segmented:
    """Return n zeros in segments, on the device of the module `xp` (NumPy or CuPy); undefined with short exponents."""
    return Segmented(xp.zeros(padded_size(n, segments, block_bytes)), n, segments, block_bytes, short)


def padded(values: Any, segments: int) -> Any:
    """Return a copy of the values, zero-padded to whole groups, for `to_cpms`: float64 [whole groups]."""
    storage = array_module(values).zeros(padded_size(values.size, segments))
    storage[: values.size] = values
    return storage


def read(segmented: Segmented, k: int) -> Any:
    """Return the values from their first k segments: float64 [n]; raise ParameterError for an invalid k.

    The other segments count as zero, which rounds towards zero, with short exponents to nearest. A NaN whose payload
    lies in them reads as an infinity.
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
    """Write only the first k segments of the values; raise ParameterError for an invalid k.

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
        raise ParameterError(f"The number of leading segments is {k}; expected 1 to {segmented.segments}.")


def _places(segmented: Segmented, segment: int) -> Any:
    """Return the unit of a segment of each value: int64 [n]."""
    values, size = array_module(segmented.storage).arange(segmented.n), segmented.apart
    return values // size * size * segmented.segments + segment * size + values % size


def _shift(segmented: Segmented, segment: int) -> Any:
    """Return the number of bits of a value below a segment."""
    return np.uint64(BITS - (segment + 1) * BITS // segmented.segments)
