"""What crosses between devices that hold parts of a vector; EXCHANGES: what of it a device fetches before a product.

A device owns the elements of the rows that begin in its part, and fetches others that its part reads, its halo. Its
vector has room for these alone: columns are numbered by where they lie in it.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gpu_engine.formats.base import array_module
from gpu_engine.multigpu.partition import Part, Span

ExchangeName = Literal["all-gather", "halo"]


@dataclass(frozen=True, slots=True)
class Piece:
    """Elements begin … end − 1 of the vector, all of one owner, or of these the ones in `columns`.

    columns  int32, ascending, on the host
    """

    begin: int
    end: int
    columns: Any = dataclasses.field(default=None, compare=False)

    @property
    def elements(self) -> int:
        """Number of elements."""
        return self.end - self.begin if self.columns is None else int(self.columns.size)

    def index(self, xp: Any) -> Any:
        """What takes them from an array of the module xp that is as long as the vector."""
        return slice(self.begin, self.end) if self.columns is None else xp.asarray(self.columns)


@dataclass(frozen=True, slots=True)
class Halo:
    """Which elements of the vector a device has, and where they lie in its own one, in their order.

    size    elements of its vector
    own     where those lie that it owns
    lines   where a product of its part goes: those, and before them room for its share of a row that began earlier
    pieces  owner → (what is fetched from it, where that begins)
    """

    size: int
    own: slice
    lines: slice
    pieces: Mapping[int, tuple[Piece, int]]


@dataclass(frozen=True, slots=True)
class Transfer:
    """Elements begin … end − 1 of the vector of device `source`, which device `target` fetches to `place` of its own.

    positions  int32, which elements of the source's vector instead: they are packed first, and nobody reads the vector
    """

    source: int
    target: int
    begin: int
    end: int
    place: int
    positions: Any = dataclasses.field(default=None, compare=False)

    @property
    def elements(self) -> int:
        """Number of elements."""
        return self.end - self.begin if self.positions is None else int(self.positions.size)

    @property
    def here(self) -> slice:
        """Where they go in the vector of the target."""
        return slice(self.place, self.place + self.elements)


LINK, MEMORY = 0.395, 4.27
"""TB/s that one H200 fetches from another over NVLink, and that a copy within one moves (docs/h200-scaling.md)."""


def listed_share(link: float, memory: float) -> float:
    """The share of a range under which a list of the elements that are read arrives earlier than the range.

    Of n elements the range is 8·n bytes over the link. A list of m is 8·m bytes over it, once the owner has packed it:
    4·m bytes of positions and 32·m of sectors read, at most the 8·n of the range, and 8·m written. One launch more and
    the room that a list spares are not counted.
    """
    ratio = link / memory
    sparse = 1 / (1 + (4 + 32 + 8) / 8 * ratio)
    # From a quarter on all sectors are read.
    return sparse if sparse < 1 / 4 else (1 - ratio) / (1 + (4 + 8) / 8 * ratio)


LISTED = listed_share(LINK, MEMORY)
"""Where less of a range is read its elements are a list: 0.80, and more on slower links. The profile of a device has
the rate of its memory, and of no link.
"""


def _image(read: Any, own: slice) -> Piece | None:
    xp = array_module(read)
    columns = xp.flatnonzero(read[own]).astype(np.int32) + np.int32(own.start)
    # Whoever plans transfers may be on another device.
    columns = columns if xp is np else columns.get()
    if not columns.size:
        return None
    begin, end = int(columns[0]), int(columns[-1]) + 1
    return Piece(begin, end, columns if columns.size < LISTED * (end - begin) else None)


EXCHANGES: Mapping[ExchangeName, Callable[[Any, slice], Piece | None]] = {
    "all-gather": lambda _read, own: Piece(own.start, own.stop) if own.start < own.stop else None,
    "halo": _image,
}
"""(which elements of the vector a part reads, what another device owns) → what is fetched from there, if anything;
`image` fetches from each owner the range that is read, of a banded matrix what neighbours own at their borders, or the
elements alone where they are few of it.
"""


def halo_of(spans: Sequence[Span], number: int, part: Part, n: int, exchange: ExchangeName, align: int = 1) -> Halo:
    """The halo of a part, one of `spans`, whose columns are those of a vector of n elements.

    align  all pieces begin in the device's vector as they do in the whole, but for multiples of so many elements
    """
    read = array_module(part.minor).zeros(n, bool)
    read[part.minor] = True
    pieces, size = {}, 0
    for owner, span in enumerate(spans):
        if owner == number:
            size += (span.first - size) % align
            lines = slice(size, size + span.stop - span.first)
            size = lines.stop
        elif piece := EXCHANGES[exchange](read, span.own):
            place = size + (piece.begin - size) % align
            pieces[owner] = piece, place
            size = place + piece.elements
    own = slice(lines.start + (spans[number].own.start - spans[number].first), lines.stop)
    return Halo(size, own, lines, pieces)


def places_of(halo: Halo, own: slice, n: int, xp: Any = np) -> Any:
    """Where each element of the whole lies in the vector of a device that owns some: int32 [n], −1 where nowhere."""
    places = xp.full(n, -1, np.int32)
    places[own] = xp.arange(halo.own.start, halo.own.stop, dtype=np.int32)
    for piece, place in halo.pieces.values():
        places[piece.index(xp)] = xp.arange(place, place + piece.elements, dtype=np.int32)
    return places


def plan_transfers(spans: Sequence[Span], halos: Sequence[Halo]) -> tuple[Transfer, ...]:
    """What each device has to fetch to have its halo, from those that own pieces of it.

    Each begins with the next one after it: if all began with the first, its link would be what all wait for.
    """
    count = len(spans)
    pairs = ((target, (target + step) % count) for target in range(count) for step in range(1, count))
    return tuple(
        _transfer(source, target, halos[source].own.start - spans[source].own.start, *halos[target].pieces[source])
        for target, source in pairs
        if source in halos[target].pieces
    )


def _transfer(source: int, target: int, shift: int, piece: Piece, place: int) -> Transfer:
    positions = None if piece.columns is None else piece.columns + np.int32(shift)
    return Transfer(source, target, piece.begin + shift, piece.end + shift, place, positions)


def plan_shares(spans: Sequence[Span], halos: Sequence[Halo]) -> tuple[Transfer, ...]:
    """What is added after a product, of rows that several parts share: to the last rows of their owners.

    They are fetched to places 0, 1 … of another array of the owner, and packed, for the next product overwrites them.
    """
    taken = [0] * len(spans)
    shares = []
    for later, owner in enumerate(owners(spans)):
        if owner is not None:
            first = halos[later].lines.start
            positions = np.array([first], np.int32)
            shares.append(Transfer(later, owner, first, first + 1, taken[owner], positions))
            taken[owner] += 1
    return tuple(shares)


def owners(spans: Sequence[Span]) -> Iterator[int | None]:
    """For each part the one in which its first row begins; None where that is the part itself."""
    owner = 0
    for i, span in enumerate(spans):
        yield owner if span.start_flag else None
        if span.own.start < span.own.stop:
            owner = i
