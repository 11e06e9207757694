"""Placement: a call on copies of its arrays at another place in memory, which changes the time of the call.

The place decides which part of the cache serves an address, so that one kernel differs from itself by 3 to 40 % on an
H100. Rounds therefore take each kernel at a new place.
"""

import dataclasses
import math
import random
from collections.abc import Callable, Iterator
from copy import copy as shallow
from typing import Any

import numpy as np

COPY_SHARE = 1 / 16
"""Largest share of the memory for a second copy of the arrays of the control kernel."""

ALIGNMENT = 512
"""Bytes to which placed arrays are aligned, as by the allocators of CUDA and CuPy."""

ARENA_SHARE = 1 / 16
"""Largest share of the free memory that holds placed arrays."""

ARENA_BYTES = 2**32
"""Largest number of bytes that hold placed arrays."""

FILLED = 1 / 4
"""Largest share of the arena that the arrays of one call fill, so that many places remain."""

PLAIN = (int, float, complex, str, bytes, bool, np.generic, np.dtype, type, type(None))
"""Types without arrays, which copies share."""

Call = Callable[[], None]


@dataclasses.dataclass(frozen=True, slots=True)
class Restarted:
    """A call that starts from a state, which `before` sets, untimed."""

    call: Call
    before: Call


@dataclasses.dataclass(frozen=True, slots=True)
class Placement:
    """Call that can be placed elsewhere.

    make         function that makes new arrays and returns the call on them
    nbytes       bytes of the arrays
    limit_bytes  most bytes for which `make` is quick enough to precede each turn
    """

    make: Callable[[], "Call | Restarted"]
    nbytes: float
    limit_bytes: float = math.inf


class Places:
    """Random places in a range of memory for the arrays of one call; they do not overlap.

    nbytes  bytes of the range
    """

    def __init__(self, nbytes: int, source: random.Random) -> None:
        self._units, self._random = nbytes // ALIGNMENT, source
        self._taken: list[tuple[int, int]] = []

    def take(self, nbytes: int) -> int | None:
        """Return the offset of a new array in bytes; None if it does not fit."""
        units = max(1, -(-nbytes // ALIGNMENT))
        gaps = [(begin, end - units) for begin, end in self._gaps() if end - begin >= units]
        if not gaps:
            return None
        begin, end = self._random.choices(gaps, [last - first + 1 for first, last in gaps])[0]
        place = self._random.randint(begin, end)
        self._taken.append((place, place + units))
        return place * ALIGNMENT

    def _gaps(self) -> Iterator[tuple[int, int]]:
        """Yield (begin, end) of the free ranges, in units."""
        begin = 0
        for first, last in sorted(self._taken):
            yield begin, first
            begin = last
        yield begin, self._units


def arrays_of(value: Any) -> Iterator[Any]:
    """Yield the arrays of a layout; raises TypeError for an object that may hide arrays, such as a descriptor."""
    if hasattr(value, "__cuda_array_interface__") or isinstance(value, np.ndarray):
        yield value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for each in dataclasses.fields(value):
            yield from arrays_of(getattr(value, each.name))
    elif isinstance(value, tuple | list):
        for each in value:
            yield from arrays_of(each)
    elif isinstance(value, dict):
        yield from arrays_of(list(value.values()))
    elif not isinstance(value, PLAIN):
        raise TypeError(f"{type(value).__name__} may hide arrays.")


def copied(value: Any) -> Any:
    """Return a layout with arrays of its own; the value must be one that `arrays_of` accepts."""
    if hasattr(value, "__cuda_array_interface__") or isinstance(value, np.ndarray):
        return value.copy(order="K")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [each.name for each in dataclasses.fields(value)]
        return dataclasses.replace(value, **{name: copied(getattr(value, name)) for name in names})
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(copied, value))
    if isinstance(value, tuple | list):
        return type(value)(map(copied, value))
    if isinstance(value, dict):
        return {key: copied(each) for key, each in value.items()}
    return value


def copied_object(value: Any) -> Any:
    """Return a shallow copy of an object with arrays of its own; attributes that are no layouts are shared."""
    copy = shallow(value)
    for name, attribute in vars(value).items():
        if bytes_of(attribute):
            setattr(copy, name, copied(attribute))
    return copy


def bytes_of(value: Any) -> int | None:
    """Return the bytes of the arrays of a layout; None if it cannot be copied."""
    try:
        return sum(int(array.nbytes) for array in arrays_of(value))
    except TypeError:
        return None
