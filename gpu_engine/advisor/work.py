"""Work of each kernel for a matrix, from its features: bytes, sectors of x, lanes, and the longest row."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gpu_engine.formats import coo, packed, split
from gpu_engine.formats.packing import CODES
from gpu_engine.matrices.pellr_counts import WARP

Features = Mapping[str, Any]

POINTER_32_MAX = 2**31
"""Number of nonzeros from which on row pointers have 8 bytes."""

READ_PADDING = 0.39
"""Share of the padding of a slice that is fetched, because a sector has the values of four lanes."""

SCALAR_WASTE = 1.6
SCALAR_WASTE_FROM, SCALAR_WASTE_TO = 6.0, 22.0
"""Waste of CSR with one thread per row, and the range of mean row lengths over which L1 stops hiding it."""

SCATTERED_ROW = 7.4
"""Extra bytes per row for writing y in a permuted order."""

LENGTH_A_WARP_ROW = 4.0 + 4.0 / WARP
"""Bytes per row of `pellr/warp` and `pellr-sliced`, without slots."""

STRIP_ROW = 4.0 + 24.0 / WARP
"""Bytes per row of `biell` and `bijad`, without slots."""

NEXT_PASS = 0.26
"""Cost of a further pass of lanes over a row, relative to the first pass."""

CONSTANT_SLOT = 0.79
"""Cost of a slot of `packed` with a constant value, relative to a loaded value."""

CODED_SLOT = 1.5
"""Cost of a slot of `sellp-packed` with a table lookup, relative to a loaded value; tiles hide this cost."""


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one SpMV with one kernel.

    stored_bytes   bytes of the layout
    moved_bytes    bytes read from the layout, plus one pass over x and y
    sectors        sectors of x that are fetched
    slots          nonzeros and padding that lanes process
    lanes          started threads
    longest        nonzeros of the longest row that one thread processes
    launches       kernels and memsets per SpMV
    in_long_rows   nonzeros that tiles sum with most lanes idle
    conflicts      serialized atomic additions to the element of y of the longest row
    padding        share of the slots without a nonzero
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
    """Return the nonzeros, weighted by the length of their row relative to a tile.

    The nonzeros of the WARP longest rows count separately, and are excluded from the mean row length of the
    others, so that one full row does not make the others seem long.
    """
    nnz = f["nnz"]
    longest = min(max(float(nnz - WARP * (f["n_iter_pellr"] - f["max"])), 0.0), float(nnz))
    squares = nnz * (f["ave"] + f["sigma"] ** 2 / max(f["ave"], 1.0)) - longest * f["max"]
    rest = nnz - longest
    length = max(f["ave"], squares / max(rest, 1.0))
    of_rows = (length / (length + split.TILE), f["max"] / (f["max"] + split.TILE))
    return float(rest * of_rows[0] + longest * of_rows[1])


def _spread(f: Features, most: float = 1.0) -> float:
    """Return the spread of the row lengths: σ / ave, limited to `most`."""
    return float(min(most, f["sigma"] / max(f["ave"], 1.0)))


def _in_sorted_rows(f: Features) -> float:
    """Return the sectors of x if rows are sorted by length: more if lengths differ more."""
    near, unlike = f["sectors_slice"], min(1.0, 1.6 * f["sigma"] / max(f["ave"], 1.0))
    return float((near + (1.0 - near) * unlike) * f["nnz"])


def csr(lanes_of: Callable[[Features], int]) -> Callable[[Features], Work]:
    """Return the work function of the CSR kernels with `lanes_of` lanes per row."""

    def work(f: Features) -> Work:
        lanes = lanes_of(f)
        stored = 12.0 * f["nnz"] + _pointers(f)
        waste = 1.0
        if lanes == 1:
            reach = (f["ave"] - SCALAR_WASTE_FROM) / (SCALAR_WASTE_TO - SCALAR_WASTE_FROM)
            waste += SCALAR_WASTE * min(max(reach, 0.0), 1.0)
        moved = waste * 12.0 * f["nnz"] + _pointers(f) + _vectors(f)
        # A warp with one thread per row, or a block of several rows, works until its longest row is done.
        slots = WARP * f["n_iter_ellr"] if lanes == 1 else f["nnz"] * (1.0 + _spread(f, 2.0))
        return Work(stored, moved, _in_runs(f), slots, _started(f, lanes), f["max"] / lanes)

    return work


def _started(f: Features, lanes: int) -> float:
    """Return the started lanes of CSR; further passes over a row count as NEXT_PASS."""
    passes = max(1.0, f["ave"] / lanes) if lanes > 1 else 1.0
    return float(f["n_rows"] * lanes * (1.0 + NEXT_PASS * (passes - 1.0)))


def smart_lanes(f: Features) -> int:
    """Return the lanes that `csr/smart` chooses: the smallest power of two ≥ the mean row length, at most WARP."""
    lanes = 1
    while lanes < min(f["ave"], WARP):
        lanes *= 2
    return lanes


def by_entries(f: Features) -> Work:
    """Return the work of `csri`: equal nonzeros per warp, added to a zeroed y."""
    stored = 12.0 * f["nnz"] + _pointers(f)
    return Work(stored, stored + _vectors(f) + 8.0 * f["n_rows"], _in_runs(f), f["nnz"], f["n_rows"], 0.0, launches=2)


def coordinates(f: Features) -> Work:
    """Return the work of `coo`: equal nonzeros per warp, added to a zeroed y."""
    stored = 16.0 * f["nnz"]
    moved = stored + _vectors(f) + 8.0 * f["n_rows"]
    return Work(stored, moved, _in_runs(f), f["nnz"], f["n_rows"], 0.0, launches=2, conflicts=_conflicts(f, f["max"]))


def _conflicts(f: Features, longest: float) -> float:
    """Return the number of further warps of `coo` that add to a row with `longest` nonzeros."""
    return float(longest // (WARP * coo.steps(f["nnz"])))


def columns(f: Features) -> Work:
    """Return the work of `csc`: x in order, y by atomic additions, each of which reads and writes a sector."""
    stored = 12.0 * f["nnz"] + _pointers(f) * f["n_cols"] / max(f["n_rows"], 1)
    return Work(stored, stored + _vectors(f), 2.0 * _in_slices(f), f["nnz"], f["n_cols"], f["max"] / 8, launches=2)


def tiles(f: Features) -> Work:
    """Return the work of `split`; a second kernel joins the rows that tile borders cut."""
    stored = 12.0 * f["nnz"] + _pointers(f) + 24.0 * f["nnz"] / split.TILE
    joined = 2 if f["max"] > split.TILE // 8 else 1
    return Work(stored, stored + _vectors(f), _in_runs(f), f["nnz"], f["n_rows"], 0.0, joined, _in_long_rows(f))


def _packed_bytes(f: Features, narrow: float) -> tuple[float, float]:
    """Return (column bytes, value bytes) per slot."""
    distinct = f["distinct_values"]
    value = 0.0 if distinct <= 1 else 1.0 if distinct <= CODES else 4.0 if f["float_values"] else 8.0
    return 4.0 - 2.0 * narrow, value


def _packed_slot(value_bytes: float, coded: float) -> float:
    """Return the cost of a slot by the bytes of its value, relative to an uncompressed slot."""
    return {0.0: CONSTANT_SLOT, 1.0: coded}.get(value_bytes, 1.0)


def packed_tiles(f: Features) -> Work:
    """Return the work of `packed`: the tiles of `split` in fewer bytes."""
    plain = tiles(f)
    column, value = _packed_bytes(f, f["narrow_runs"])
    stored = (column + value) * f["nnz"] + _pointers(f) + 36.0 * f["nnz"] / packed.TILE
    slots = f["nnz"] * _packed_slot(value, coded=1.0)
    return dataclasses.replace(plain, stored_bytes=stored, moved_bytes=stored + _vectors(f), slots=slots)


def _walked(f: Features, slots: float, slot_bytes: float, row_bytes: float, sectors: float, lanes: int) -> Work:
    """Return the work of rows padded to `slots` in total; `lanes` lanes process each row to its end."""
    read = f["nnz"] + READ_PADDING * (slots - f["nnz"])
    stored = slot_bytes * slots + row_bytes * f["n_rows"]
    moved = slot_bytes * read + row_bytes * f["n_rows"] + _vectors(f)
    return Work(
        stored, moved, sectors, slots, f["n_rows"] * lanes, f["max"] / lanes, padding=1.0 - f["nnz"] / max(slots, 1.0)
    )


def slices(lanes: int, rows: int = WARP) -> Callable[[Features], Work]:
    """Return the work function of `sellp` and `sellp-64`, which has about 30 % more padding."""

    def work(f: Features) -> Work:
        slots = float(WARP * f["n_iter_ellr"])
        if rows > WARP:
            slots += 0.3 * (slots - f["nnz"])
        return _walked(f, slots, 12.0, 4.0 + 8.0 / rows, _in_slices(f), lanes)

    return work


def sorted_slices(lanes: int) -> Callable[[Features], Work]:
    """Return the work function of `sellp-sorted`."""
    return lambda f: _walked(f, float(WARP * f["n_iter_sorted"]), 12.0, 8.25, _in_slices(f), lanes)


def packed_slices(lanes: int) -> Callable[[Features], Work]:
    """Return the work function of `sellp-packed`; a constant value needs no bytes."""

    def work(f: Features) -> Work:
        column, value = _packed_bytes(f, f["narrow_slices"])
        walked = _walked(f, float(WARP * f["n_iter_ellr"]), column + value, 4.6, _in_slices(f), lanes)
        slot = _packed_slot(value, CODED_SLOT)
        return dataclasses.replace(walked, slots=slot * walked.slots, longest=slot * walked.longest)

    return work


def ell(f: Features) -> Work:
    """Return the work of `ell`, which also reads padding."""
    slots = float(f["n_rows"] * f["max"])
    padding = 1.0 - f["nnz"] / max(slots, 1.0)
    return Work(12.0 * slots, 12.0 * slots + _vectors(f), _in_slices(f), slots, f["n_rows"], f["max"], padding=padding)


def ellr(f: Features) -> Work:
    """Return the work of `ellr`: stored as `ell`, processed in `n_iter_ellr` warp iterations."""
    walked = _walked(f, float(WARP * f["n_iter_ellr"]), 12.0, 4.0, _in_slices(f), 1)
    return _stored_as_ell(f, walked, 4.0)


def pellr(f: Features) -> Work:
    """Return the work of `pellr/thread`: stored as `ell`, with one length per row."""
    return _stored_as_ell(f, _permuted(f, 8.0), 8.0)


def pellr_by_warp(f: Features) -> Work:
    """Return the work of `pellr/warp`: stored as `ell`, with one length per warp."""
    return _stored_as_ell(f, _permuted(f, LENGTH_A_WARP_ROW), LENGTH_A_WARP_ROW)


def pellr_sliced(f: Features) -> Work:
    """Return the work of `pellr-sliced`, which stores only the slots that it processes."""
    return dataclasses.replace(
        _permuted(f, LENGTH_A_WARP_ROW),
        stored_bytes=12.0 * WARP * f["n_iter_pellr"] + LENGTH_A_WARP_ROW * f["n_rows"],
    )


def _permuted(f: Features, row_bytes: float) -> Work:
    """Return the work of rows sorted by length: `n_iter_pellr` warp iterations, scattered accesses to x."""
    return _walked(f, float(WARP * f["n_iter_pellr"]), 12.0, row_bytes + SCATTERED_ROW, _in_sorted_rows(f), 1)


def _stored_as_ell(f: Features, walked: Work, row_bytes: float) -> Work:
    slots = float(f["n_rows"] * f["max"])
    padding = 1.0 - f["nnz"] / max(slots, 1.0)
    return dataclasses.replace(walked, stored_bytes=12.0 * slots + row_bytes * f["n_rows"], padding=padding)


def hybrid(padding: float) -> Callable[[Features], Work]:
    """Return the work function of `hyb`: an ELL part, padded by `padding` times the spread, and a COO part."""

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
    """Return the work of `jad`: no padding, permuted rows."""
    stored = 12.0 * f["nnz"] + 4.0 * f["n_rows"]
    moved = stored + _vectors(f) + SCATTERED_ROW * f["n_rows"]
    return Work(stored, moved, _in_sorted_rows(f), f["nnz"], f["n_rows"], f["max"])


def bisected(f: Features) -> Work:
    """Return the work of `biell`: lanes of a warp share a long row; about a third of the padding of `sellp`."""
    slots = f["nnz"] + 0.35 * min(WARP * f["n_iter_ellr"] - f["nnz"], f["nnz"] + 8.0 * f["n_rows"])
    stored = 12.0 * slots + STRIP_ROW * f["n_rows"]
    longest = f["ave"] + f["max"] / WARP
    padding = 1.0 - f["nnz"] / max(slots, 1.0)
    return Work(stored, stored + _vectors(f), _in_slices(f), slots, f["n_rows"], longest, padding=padding)


def bisected_diagonals(f: Features) -> Work:
    """Return the work of `bijad`: all rows are sorted, so that long rows are adjacent and cannot share lanes."""
    stored = 12.0 * f["nnz"] + STRIP_ROW * f["n_rows"]
    moved = stored + _vectors(f) + SCATTERED_ROW * f["n_rows"]
    return Work(stored, moved, _in_sorted_rows(f), f["nnz"], f["n_rows"], f["ave"] + f["max"] / 4)
