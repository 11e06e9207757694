"""What crosses between devices that hold parts of a vector; EXCHANGES: what of it a device fetches before a product.

A device owns the elements of the rows that begin in its part, and fetches others that its part reads.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gpu_engine.formats.base import array_module
from gpu_engine.multigpu.base import Device, copied
from gpu_engine.multigpu.partition import Part, Partitioning, Span

ExchangeName = Literal["all-gather", "image"]

EXCHANGES: Mapping[ExchangeName, Callable[[Part, int], slice]] = {
    "all-gather": lambda _part, n: slice(0, n),
    "image": lambda part, _n: image(part),
}
"""(part on the host, elements of the vector) → the range of the vector that its device must have; `image` fetches of a
banded matrix what neighbours own, and of one entry far away all that lies between.
"""


@dataclass(frozen=True, slots=True)
class Transfer:
    """Elements begin … end − 1 of the vector, which device `source` owns and device `target` fetches."""

    source: int
    target: int
    begin: int
    end: int

    @property
    def elements(self) -> int:
        """Number of elements."""
        return self.end - self.begin


def image(part: Part) -> slice:
    """The columns from the first to the last that the part reads; empty without entries."""
    return slice(int(part.minor.min()), int(part.minor.max()) + 1) if part.minor.size else slice(0, 0)


def plan_transfers(spans: Sequence[Span], column_ranges: Sequence[slice]) -> tuple[Transfer, ...]:
    """What each device has to fetch to have its range of columns of the vector, from those that own pieces of it.

    Each begins with the next one after it: if all began with the first, its link would be what all wait for.
    """
    count = len(spans)
    return tuple(
        Transfer(source, target, begin, end)
        for target, whole in enumerate(column_ranges)
        for source in ((target + step) % count for step in range(1, count))
        if (begin := max((own := spans[source].own).start, whole.start)) < (end := min(own.stop, whole.stop))
    )


def owners(spans: Sequence[Span]) -> Iterator[int | None]:
    """For each part the one in which its first row begins; None where that is the part itself."""
    owner = 0
    for i, span in enumerate(spans):
        yield owner if span.start_flag else None
        if span.own.start < span.own.stop:
            owner = i


def split_diagonal(partitioning: Partitioning, part: Part) -> tuple[Part, Part]:
    """The diagonal block of a part of rows, whose columns its device owns, and the off-diagonal one, all other entries.

    Both keep the lines of the part and the order of its entries, which are no longer consecutive in the whole.
    """
    own, xp = part.span.own, array_module(part.minor)
    inside = (part.minor >= own.start) & (part.minor < own.stop)
    blocks = []
    for mask in (inside, ~inside):
        if partitioning.compressed:
            before = xp.zeros(mask.size + 1, np.int64)
            xp.cumsum(mask, out=before[1:])
            major = before[part.major].astype(part.major.dtype)
        else:
            major = part.major[mask]
        blocks.append(Part(part.span, major, part.minor[mask], part.values[mask]))
    return blocks[0], blocks[1]


def drop_empty_lines(partitioning: Partitioning, part: Part) -> tuple[Part, Any]:
    """The part without its empty lines, and the numbers of those that are left: int32, from its first line on.

    Of the off-diagonal block of a banded matrix most lines are empty.
    """
    xp = array_module(part.minor)
    if partitioning.compressed:
        lines = xp.flatnonzero(part.major[1:] > part.major[:-1])
        major = xp.concatenate([part.major[lines], part.major[-1:]])
    else:
        begins = xp.ones(part.major.size, bool)
        begins[1:] = part.major[1:] != part.major[:-1]
        lines = part.major[begins]
        major = (xp.cumsum(begins) - 1).astype(part.major.dtype)
    span = Span(part.span.start, part.span.end, 0, int(lines.size), start_flag=False)
    return Part(span, major, part.minor, part.values), lines.astype(np.int32)


def copy_part(device: Device, part: Part) -> Part:
    """A copy on a device of a part, which lies on the host or on a GPU."""
    arrays = [copied(device, array) for array in (part.major, part.minor, part.values)]
    return Part(part.span, *arrays)
