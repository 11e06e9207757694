"""Halo exchange: which vector elements devices transfer before each SpMV (EXCHANGES).

A device owns the elements of the rows that start in its partition, and fetches the others that its partition reads, its
halo. Its local vector has only these elements, and local columns are positions in it.
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
    """Elements begin … end − 1 of the vector, all owned by one device, or only those in `columns`.

    columns  int32, ascending, on the host; None: all of the range
    """

    begin: int
    end: int
    columns: Any = dataclasses.field(default=None, compare=False)

    @property
    def elements(self) -> int:
        """Return the number of elements."""
        return self.end - self.begin if self.columns is None else int(self.columns.size)

    def index(self, xp: Any) -> Any:
        """Return the index of the elements in an array of the module xp with the length of the vector."""
        return slice(self.begin, self.end) if self.columns is None else xp.asarray(self.columns)


@dataclass(frozen=True, slots=True)
class Halo:
    """Layout of the local vector of a device: the owned elements and the halo, in the order of the global vector.

    size    elements of the local vector
    owned   positions of the owned elements
    lines   positions that an SpMV writes: the owned elements, preceded by one for a row that starts earlier
    pieces  owner → (piece fetched from it, position of its first element)
    """

    size: int
    owned: slice
    lines: slice
    pieces: Mapping[int, tuple[Piece, int]]


@dataclass(frozen=True, slots=True)
class Transfer:
    """Transfer of elements begin … end − 1 of the local vector of `source` to position `place` of that of `target`.

    positions  int32, positions in the vector of the source instead of the range; they are packed before the transfer
    """

    source: int
    target: int
    begin: int
    end: int
    place: int
    positions: Any = dataclasses.field(default=None, compare=False)

    @property
    def elements(self) -> int:
        """Return the number of elements."""
        return self.end - self.begin if self.positions is None else int(self.positions.size)

    @property
    def here(self) -> slice:
        """Return the positions in the vector of the target."""
        return slice(self.place, self.place + self.elements)


LINK, MEMORY = 0.395, 4.27
"""Bandwidth in TB/s of H200: NVLink transfer from another GPU, and copy within one GPU (docs/h200-scaling.md)."""


def listed_share(link: float, memory: float) -> float:
    """Return the share of a range below which a list of the elements read arrives earlier than the whole range.

    A range of n elements is 8·n bytes over the link. A list of m elements is 8·m bytes over the link after packing by
    the owner: 4·m bytes of positions and 32·m bytes of sectors read (at most 8·n), and 8·m bytes written. The
    additional launch and the smaller memory of a list are not counted.
    """
    ratio = link / memory
    sparse = 1 / (1 + (4 + 32 + 8) / 8 * ratio)
    # From a quarter on, packing reads all sectors.
    return sparse if sparse < 1 / 4 else (1 - ratio) / (1 + (4 + 8) / 8 * ratio)


LISTED = listed_share(LINK, MEMORY)
"""Share of a range below which its elements are sent as a list: 0.80, more on slower links.

It is a constant, because the profile of a device has its memory bandwidth but no link bandwidth.
"""


def _halo_piece(read: Any, owned: slice) -> Piece | None:
    """Return the range of owned elements that a partition reads, or a list of them if they are few."""
    xp = array_module(read)
    columns = xp.flatnonzero(read[owned]).astype(np.int32) + np.int32(owned.start)
    # Transfers may be planned on another device.
    columns = columns if xp is np else columns.get()
    if not columns.size:
        return None
    begin, end = int(columns[0]), int(columns[-1]) + 1
    return Piece(begin, end, columns if columns.size < LISTED * (end - begin) else None)


EXCHANGES: Mapping[ExchangeName, Callable[[Any, slice], Piece | None]] = {
    "all-gather": lambda _read, owned: Piece(owned.start, owned.stop) if owned.start < owned.stop else None,
    "halo": _halo_piece,
}
"""Exchange → function (mask of the elements that a partition reads, range of an owner) → piece to fetch, or None.

`all-gather` fetches everything. `halo` fetches from each owner the range that is read, or only the elements read if
they are few.
"""


def halo_of(spans: Sequence[Span], number: int, part: Part, n: int, exchange: ExchangeName, align: int = 1) -> Halo:
    """Return the halo of a partition, one of `spans`, whose columns index a vector of n elements.

    align  local and global position of each piece differ by a multiple of this number of elements
    """
    read = array_module(part.minor).zeros(n, bool)
    read[part.minor] = True
    pieces, size = {}, 0
    for owner, span in enumerate(spans):
        if owner == number:
            size += (span.first - size) % align
            lines = slice(size, size + span.stop - span.first)
            size = lines.stop
        elif piece := EXCHANGES[exchange](read, span.owned):
            place = size + (piece.begin - size) % align
            pieces[owner] = piece, place
            size = place + piece.elements
    owned = slice(lines.start + (spans[number].owned.start - spans[number].first), lines.stop)
    return Halo(size, owned, lines, pieces)


def places_of(halo: Halo, owned: slice, n: int, xp: Any = np) -> Any:
    """Return the local position of each element of the global vector: int32 [n], −1 if the device does not have it."""
    places = xp.full(n, -1, np.int32)
    places[owned] = xp.arange(halo.owned.start, halo.owned.stop, dtype=np.int32)
    for piece, place in halo.pieces.values():
        places[piece.index(xp)] = xp.arange(place, place + piece.elements, dtype=np.int32)
    return places


def plan_transfers(spans: Sequence[Span], halos: Sequence[Halo]) -> tuple[Transfer, ...]:
    """Return the transfers with which each device fetches its halo from the owners.

    Each device starts with the device after it; if all started with the first one, they would wait for its link.
    """
    count = len(spans)
    pairs = ((target, (target + step) % count) for target in range(count) for step in range(1, count))
    return tuple(
        _transfer(source, target, halos[source].owned.start - spans[source].owned.start, *halos[target].pieces[source])
        for target, source in pairs
        if source in halos[target].pieces
    )


def widened(transfers: Sequence[Transfer], k: int) -> tuple[Transfer, ...]:
    """Return the transfers of rows of k numbers in place of numbers, in vectors with k times the elements."""
    return tuple(
        Transfer(t.source, t.target, k * t.begin, k * t.end, k * t.place, wide_positions(t.positions, k))
        for t in transfers
    )


def wide_positions(positions: Any, k: int) -> Any:
    """Return the positions of the k numbers of each row, int32; None stays None."""
    if positions is None:
        return None
    xp = array_module(positions)
    return (positions[:, None] * np.int32(k) + xp.arange(k, dtype=np.int32)).ravel()


def _transfer(source: int, target: int, shift: int, piece: Piece, place: int) -> Transfer:
    positions = None if piece.columns is None else piece.columns + np.int32(shift)
    return Transfer(source, target, piece.begin + shift, piece.end + shift, place, positions)


def plan_shares(spans: Sequence[Span], halos: Sequence[Halo]) -> tuple[Transfer, ...]:
    """Return the transfers of partial sums of cut rows to the owners of these rows, which add them after each SpMV.

    They go to positions 0, 1 … of a separate array of the owner, and are packed, because the next SpMV overwrites them.
    """
    n_shares = [0] * len(spans)
    shares = []
    for later, owner in enumerate(owners(spans)):
        if owner is not None:
            first = halos[later].lines.start
            positions = np.array([first], np.int32)
            shares.append(Transfer(later, owner, first, first + 1, n_shares[owner], positions))
            n_shares[owner] += 1
    return tuple(shares)


SUMS = 2
"""Numbers per device that are summed over all devices at a time."""


def plan_sums(count: int) -> tuple[Transfer, ...]:
    """Return the transfers with which each of `count` devices fetches the SUMS numbers of all others."""
    pairs = ((target, (target + step) % count) for target in range(count) for step in range(1, count))
    places = ((source, target, SUMS * source) for target, source in pairs)
    return tuple(Transfer(source, target, place, place + SUMS, place) for source, target, place in places)


def owners(spans: Sequence[Span]) -> Iterator[int | None]:
    """Yield for each partition the number of the one in which its first row starts; None if it is the same one."""
    owner = 0
    for i, span in enumerate(spans):
        yield owner if span.start_flag else None
        if span.owned.start < span.owned.stop:
            owner = i
