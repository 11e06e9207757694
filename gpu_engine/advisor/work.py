"""What a kernel has to do for a matrix, counted from its features: bytes, sectors of x, lanes, the longest row."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gpu_engine.formats import coo, packed, split
from gpu_engine.formats.packing import CODES
from gpu_engine.matrices.warps import WARP

Features = Mapping[str, Any]

POINTER_32_MAX = 2**31
"""Nonzeros from which row pointers take 8 bytes."""

READ_PADDING = 0.39
"""Share of a slice's padding that is fetched though no lane asks for it: a sector holds four lanes' values."""

SCALAR_WASTE = 1.6
SCALAR_WASTE_FROM, SCALAR_WASTE_TO = 6.0, 22.0
"""One thread a row of CSR fetches a sector for each entry; the first-level cache keeps it for rows up to so long."""

SCATTERED_ROW = 7.4
"""Bytes a row by which writing y in another order costs more than in this one."""

LENGTH_A_WARP_ROW = 4.0 + 4.0 / WARP
"""Bytes a row of `pellr/warp` and `pellr-sliced` beside the slots."""

STRIP_ROW = 4.0 + 24.0 / WARP
"""Bytes a row of `biell` and `bijad` beside the slots."""

NEXT_PASS = 0.26
"""A further pass of a row's lanes over it, in first ones."""

CONSTANT_SLOT = 0.79
"""What a slot of `packed` costs where one value is known to all, over one whose value is loaded."""

CODED_SLOT = 1.5
"""The same of `sellp-packed` where its value is looked up in a table; tiles have other lookups to do meanwhile."""


@dataclass(frozen=True, slots=True)
class Work:
    """One product by one kernel.

    stored_bytes   of the layout
    moved_bytes    read of it, and y written once, x read once
    sectors        of x fetched one by one
    slots          entries and padding that lanes walk over
    lanes          threads that are started
    longest        entries that one thread takes one after the other, in the longest row
    launches       kernels and memsets in one product
    in_long_rows   entries that tiles sum with most lanes idle
    conflicts      atomic additions to the element of y of the longest row, one after the other
    padding        share of the stored slots that hold no entry
    """

    stored_bytes: float
    moved_bytes: float
    sectors: float
    slots: float
    lanes: float
    longest: float
    launches: int = 1
    in_long_rows: float = 0.0
    conflicts: float = 0.0
    padding: float = 0.0


def _vectors(f: Features) -> float:
    return 8.0 * float(f["n_rows"] + f["n_cols"])


def _pointers(f: Features) -> float:
    return (4.0 if f["nnz"] < POINTER_32_MAX else 8.0) * float(f["n_rows"] + 1)


def _in_runs(f: Features) -> float:
    return float(f["sectors_run"] * f["nnz"])


def _in_slices(f: Features) -> float:
    return float(f["sectors_slice"] * f["nnz"])


def _in_long_rows(f: Features) -> float:
    """Return the entries, each weighed by its row's length against a tile.

    The entries of the WARP longest rows count in full, and their squares are left out of the mean row length that the
    other entries see: one full row makes no other row long.
    """
    nnz = f["nnz"]
    longest = min(max(float(nnz - WARP * (f["n_iter_pellr"] - f["max"])), 0.0), float(nnz))
    squares = nnz * (f["ave"] + f["sigma"] ** 2 / max(f["ave"], 1.0)) - longest * f["max"]
    rest = nnz - longest
    length = max(f["ave"], squares / max(rest, 1.0))
    of_rows = (length / (length + split.TILE), f["max"] / (f["max"] + split.TILE))
    return float(rest * of_rows[0] + longest * of_rows[1])


def _spread(f: Features, most: float = 1.0) -> float:
    """How unlike the lengths of the rows are: σ / ave, at most so much."""
    return float(min(most, f["sigma"] / max(f["ave"], 1.0)))


def _in_sorted_rows(f: Features) -> float:
    """Sectors where neighbouring threads have rows of equal length from anywhere: more, the more lengths differ."""
    near, unlike = f["sectors_slice"], min(1.0, 1.6 * f["sigma"] / max(f["ave"], 1.0))
    return float((near + (1.0 - near) * unlike) * f["nnz"])


def csr(lanes_of: Callable[[Features], int]) -> Callable[[Features], Work]:
    """The kernels with some lanes of a warp a row."""

    def work(f: Features) -> Work:
        lanes = lanes_of(f)
        stored = 12.0 * f["nnz"] + _pointers(f)
        waste = 1.0
        if lanes == 1:
            reach = (f["ave"] - SCALAR_WASTE_FROM) / (SCALAR_WASTE_TO - SCALAR_WASTE_FROM)
            waste += SCALAR_WASTE * min(max(reach, 0.0), 1.0)
        moved = waste * 12.0 * f["nnz"] + _pointers(f) + _vectors(f)
        # A warp of single lanes walks as far as its longest row, a block of several rows as long as its longest one.
        slots = WARP * f["n_iter_ellr"] if lanes == 1 else f["nnz"] * (1.0 + _spread(f, 2.0))
        return Work(stored, moved, _in_runs(f), slots, _started(f, lanes), f["max"] / lanes)

    return work


def _started(f: Features, lanes: int) -> float:
    """Lanes of CSR, those of further passes over a row counted as NEXT_PASS."""
    passes = max(1.0, f["ave"] / lanes) if lanes > 1 else 1.0
    return float(f["n_rows"] * lanes * (1.0 + NEXT_PASS * (passes - 1.0)))


def smart_lanes(f: Features) -> int:
    """The power of two from the mean row up, as `csr/smart` chooses."""
    lanes = 1
    while lanes < min(f["ave"], WARP):
        lanes *= 2
    return lanes


def by_entries(f: Features) -> Work:
    """`csri`: equal entries a warp, into a zeroed y."""
    stored = 12.0 * f["nnz"] + _pointers(f)
    return Work(stored, stored + _vectors(f) + 8.0 * f["n_rows"], _in_runs(f), f["nnz"], f["n_rows"], 0.0, launches=2)


def coordinates(f: Features) -> Work:
    """`coo`: equal entries a warp, into a zeroed y."""
    stored = 16.0 * f["nnz"]
    moved = stored + _vectors(f) + 8.0 * f["n_rows"]
    return Work(stored, moved, _in_runs(f), f["nnz"], f["n_rows"], 0.0, launches=2, conflicts=_conflicts(f, f["max"]))


def _conflicts(f: Features, longest: float) -> float:
    """Warps of `coo` beyond the first that add to the row of so many entries."""
    return float(longest // (WARP * coo.steps(f["nnz"])))


def columns(f: Features) -> Work:
    """`csc`: x in order, y scattered by atomics, each of which reads and writes a sector."""
    stored = 12.0 * f["nnz"] + _pointers(f) * f["n_cols"] / max(f["n_rows"], 1)
    return Work(stored, stored + _vectors(f), 2.0 * _in_slices(f), f["nnz"], f["n_cols"], f["max"] / 8, launches=2)


def tiles(f: Features) -> Work:
    """`split`: a second kernel joins the rows that a border of tiles cuts."""
    stored = 12.0 * f["nnz"] + _pointers(f) + 24.0 * f["nnz"] / split.TILE
    joined = 2 if f["max"] > split.TILE // 8 else 1
    return Work(stored, stored + _vectors(f), _in_runs(f), f["nnz"], f["n_rows"], 0.0, joined, _in_long_rows(f))


def _packed_bytes(f: Features, narrow: float) -> tuple[float, float]:
    """(column, value) bytes of a slot."""
    distinct = f["distinct_values"]
    value = 0.0 if distinct <= 1 else 1.0 if distinct <= CODES else 4.0 if f["float_values"] else 8.0
    return 4.0 - 2.0 * narrow, value


def _packed_slot(value_bytes: float, coded: float) -> float:
    """Cost of a slot with values of so many bytes, over one with plain values."""
    return {0.0: CONSTANT_SLOT, 1.0: coded}.get(value_bytes, 1.0)


def packed_tiles(f: Features) -> Work:
    """`packed`: the tiles of `split` in fewer bytes."""
    plain = tiles(f)
    column, value = _packed_bytes(f, f["narrow_runs"])
    stored = (column + value) * f["nnz"] + _pointers(f) + 36.0 * f["nnz"] / packed.TILE
    slots = f["nnz"] * _packed_slot(value, coded=1.0)
    return dataclasses.replace(plain, stored_bytes=stored, moved_bytes=stored + _vectors(f), slots=slots)


def _walked(f: Features, slots: float, slot_bytes: float, row_bytes: float, sectors: float, lanes: int) -> Work:
    """Rows padded to `slots` in all, each walked to its own end by some lanes."""
    read = f["nnz"] + READ_PADDING * (slots - f["nnz"])
    stored = slot_bytes * slots + row_bytes * f["n_rows"]
    moved = slot_bytes * read + row_bytes * f["n_rows"] + _vectors(f)
    return Work(
        stored, moved, sectors, slots, f["n_rows"] * lanes, f["max"] / lanes, padding=1.0 - f["nnz"] / max(slots, 1.0)
    )


def slices(lanes: int, rows: int = WARP) -> Callable[[Features], Work]:
    """`sellp` and, with slices of two warps, `sellp-64`, whose padding grows by about a third of what it is."""

    def work(f: Features) -> Work:
        slots = float(WARP * f["n_iter_ellr"])
        if rows > WARP:
            slots += 0.3 * (slots - f["nnz"])
        return _walked(f, slots, 12.0, 4.0 + 8.0 / rows, _in_slices(f), lanes)

    return work


def sorted_slices(lanes: int) -> Callable[[Features], Work]:
    """`sellp-sorted`."""
    return lambda f: _walked(f, float(WARP * f["n_iter_sorted"]), 12.0, 8.25, _in_slices(f), lanes)


def packed_slices(lanes: int) -> Callable[[Features], Work]:
    """`sellp-packed`; a constant value takes no bytes."""

    def work(f: Features) -> Work:
        column, value = _packed_bytes(f, f["narrow_slices"])
        walked = _walked(f, float(WARP * f["n_iter_ellr"]), column + value, 4.6, _in_slices(f), lanes)
        slot = _packed_slot(value, CODED_SLOT)
        return dataclasses.replace(walked, slots=slot * walked.slots, longest=slot * walked.longest)

    return work


def ell(f: Features) -> Work:
    """`ell`: padding is read too."""
    slots = float(f["n_rows"] * f["max"])
    padding = 1.0 - f["nnz"] / max(slots, 1.0)
    return Work(12.0 * slots, 12.0 * slots + _vectors(f), _in_slices(f), slots, f["n_rows"], f["max"], padding=padding)


def ellr(f: Features) -> Work:
    """`ellr`: stored as `ell`, walked as the warps of `n_iter_ellr`."""
    walked = _walked(f, float(WARP * f["n_iter_ellr"]), 12.0, 4.0, _in_slices(f), 1)
    return _stored_as_ell(f, walked, 4.0)


def pellr(f: Features) -> Work:
    """`pellr/thread`: stored as `ell`, and a length a row."""
    return _stored_as_ell(f, _permuted(f, 8.0), 8.0)


def pellr_by_warp(f: Features) -> Work:
    """`pellr/warp`: stored as `ell`, and a length a warp."""
    return _stored_as_ell(f, _permuted(f, LENGTH_A_WARP_ROW), LENGTH_A_WARP_ROW)


def pellr_sliced(f: Features) -> Work:
    """`pellr-sliced`: no more is stored than is walked."""
    return dataclasses.replace(
        _permuted(f, LENGTH_A_WARP_ROW),
        stored_bytes=12.0 * WARP * f["n_iter_pellr"] + LENGTH_A_WARP_ROW * f["n_rows"],
    )


def _permuted(f: Features, row_bytes: float) -> Work:
    """Walked as the warps of `n_iter_pellr`, x read from anywhere."""
    return _walked(f, float(WARP * f["n_iter_pellr"]), 12.0, row_bytes + SCATTERED_ROW, _in_sorted_rows(f), 1)


def _stored_as_ell(f: Features, walked: Work, row_bytes: float) -> Work:
    slots = float(f["n_rows"] * f["max"])
    padding = 1.0 - f["nnz"] / max(slots, 1.0)
    return dataclasses.replace(walked, stored_bytes=12.0 * slots + row_bytes * f["n_rows"], padding=padding)


def hybrid(padding: float) -> Callable[[Features], Work]:
    """`hyb`: the ELL part padded by about so much of the spread of the lengths, and the COO part, added to y."""

    def work(f: Features) -> Work:
        spread = _spread(f)
        stored = (12.0 + padding * spread) * f["nnz"]
        moved = stored + _vectors(f) + 16.0 * spread * f["n_rows"]
        share = 1.0 - 12.0 * f["nnz"] / max(stored, 1.0)
        lanes = f["n_rows"] * (1.0 + spread)
        conflicts = _conflicts(f, f["max"] - f["ave"])
        return Work(
            stored, moved, _in_runs(f), f["nnz"], lanes, f["ave"], launches=2, conflicts=conflicts, padding=share
        )

    return work


def diagonals(f: Features) -> Work:
    """`jad`: no padding, rows from anywhere."""
    stored = 12.0 * f["nnz"] + 4.0 * f["n_rows"]
    moved = stored + _vectors(f) + SCATTERED_ROW * f["n_rows"]
    return Work(stored, moved, _in_sorted_rows(f), f["nnz"], f["n_rows"], f["max"])


def bisected(f: Features) -> Work:
    """`biell`: the lanes of a warp share a long row; about a third of what the slices of `sellp` pad is padded."""
    slots = f["nnz"] + 0.35 * min(WARP * f["n_iter_ellr"] - f["nnz"], f["nnz"] + 8.0 * f["n_rows"])
    stored = 12.0 * slots + STRIP_ROW * f["n_rows"]
    longest = f["ave"] + f["max"] / WARP
    padding = 1.0 - f["nnz"] / max(slots, 1.0)
    return Work(stored, stored + _vectors(f), _in_slices(f), slots, f["n_rows"], longest, padding=padding)


def bisected_diagonals(f: Features) -> Work:
    """`bijad`: all rows sorted, so that the longest are neighbours and share no lanes."""
    stored = 12.0 * f["nnz"] + STRIP_ROW * f["n_rows"]
    moved = stored + _vectors(f) + SCATTERED_ROW * f["n_rows"]
    return Work(stored, moved, _in_sorted_rows(f), f["nnz"], f["n_rows"], f["ave"] + f["max"] / 4)
