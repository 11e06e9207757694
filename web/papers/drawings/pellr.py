"""Drawings of the PELLR paper: ELLR (Figures 1 to 3), BiELL (Figure 4), and PELLR (Figure 5)."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse
from markupsafe import Markup

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.findings.formats.paper import FIGURE_5, FIGURE_5_WARP
from gpu_engine.formats import find_kernel
from gpu_engine.formats.base import row_lengths
from gpu_engine.formats.biell import GROUPS, STRIP, group_bounds
from gpu_engine.formats.ell import EllLayout
from gpu_engine.formats.pellr import PellrLayout
from gpu_engine.matrices.pellr_counts import warp_iterations
from web.papers.drawings import formats
from web.papers.drawings.example import BORROWED
from web.papers.drawings.shapes import grid, join, legend, sentence, table

LEGEND = {"slot": "nonzero", "wait": "wait for the longest row of the warp"}


@cache
def figure_1() -> Markup:
    """Return the example matrix."""
    return join((formats.matrix(), sentence(BORROWED)))


@cache
def figures_2_to_4() -> Markup:
    """Return the ELLR arrays of the example matrix, the warps of ELLR, and a strip of BiELL."""
    lengths = np.array(FIGURE_5["ELLR"])
    warps = (
        sentence(
            f"ELLR with warps of {FIGURE_5_WARP} threads, for the row lengths that the paper prints for Figure 5. "
            f"One column per row. The warps need {_iterations(lengths)} iterations."
        ),
        _warps("Rows of four warps in ELLR", lengths),
        legend(LEGEND),
    )
    return join((formats.ellr(), *warps, *_biell()))


@cache
def figure_5() -> Markup:
    """Return the warps of ELLR and PELLR with their iterations by equation (1)."""
    lengths, printed = (np.array(FIGURE_5[name]) for name in ("ELLR", "PELLR"))
    layout = PellrLayout.from_csr(with_rows(lengths), 1)
    cases = (
        ("ELLR, rows as printed", lengths),
        ("PELLR of these rows", layout.lengths),
        ("PELLR, rows as printed", printed),
    )
    parts = []
    for name, rows in cases:
        text = f"{name}: {_iterations(rows)} iterations, {rows.sum()} nonzeros."
        parts += [sentence(text), _warps(name, rows)]
    permutation = [("perm", [(f"{row}", "") for row in layout.permutation.tolist()])]
    places = ("position", *map(str, range(lengths.size)))
    parts += [legend(LEGEND), table("Array perm of PELLR of these rows: the row at each position", places, permutation)]
    return join(parts)


def with_rows(lengths: Any) -> CsrMatrix:
    """Return a matrix with these row lengths; its nonzeros are the first ones of each row."""
    return CsrMatrix.from_scipy(scipy.sparse.csr_array((np.arange(max(lengths)) < lengths[:, None]).astype(float)))


def _iterations(lengths: Any) -> int:
    return warp_iterations(lengths, FIGURE_5_WARP)


def _warps(label: str, lengths: Any) -> Markup:
    """Return one column per row: its nonzeros, and the slots in which its thread waits."""
    columns = []
    for begin in range(0, lengths.size, FIGURE_5_WARP):
        warp = lengths[begin : begin + FIGURE_5_WARP].tolist()
        columns += [["slot"] * length + ["wait"] * (max(warp) - length) for length in warp]
    return grid(f"{label}: {_iterations(lengths)} iterations", columns, gap=1, every=FIGURE_5_WARP)


def _biell() -> tuple[Markup, ...]:
    """Return the strip of BiELL with these rows: sorted, and cut into groups of halved numbers of rows."""
    matrix = with_rows(np.array(FIGURE_5["ELLR"]))
    lengths = row_lengths(matrix)[find_kernel("biell/warp")[0].from_csr(matrix).permutation]
    bounds = group_bounds(lengths)[0].tolist()
    used = [group for group in range(GROUPS) if bounds[group + 1] > bounds[group]]
    names = {group: f"group-{order}" for order, group in enumerate(used)}
    columns = [
        _strip_row(place, int(lengths[place]) if place < lengths.size else 0, bounds, names) for place in range(STRIP)
    ]
    slots = sum((bounds[group + 1] - bounds[group]) * (STRIP >> group) for group in used)
    width, n_rows = EllLayout.from_csr(matrix).columns.shape
    return (
        sentence(
            f"BiELL: a strip of {STRIP} rows, sorted by length. Each group has half of the rows of the group before. "
            f"These rows have {matrix.nnz} nonzeros in {slots} slots; ELL has {width * n_rows}. Groups without slots "
            "are left out. The paper draws a warp of four threads."
        ),
        grid(f"A strip of BiELL: {matrix.nnz} nonzeros in {slots} slots", columns),
        legend({names[group]: _slots_of(STRIP >> group) for group in used} | {"wait": "padding"}),
        sentence(BORROWED.replace("This is", "The arrays above are those of")),
    )


def _slots_of(n_rows: int) -> str:
    return f"slots of {n_rows} {'row' if n_rows == 1 else 'rows'}"


def _strip_row(place: int, length: int, bounds: list[int], names: Mapping[int, str]) -> list[str]:
    """Return the classes of the slots of a row: its group, or padding; a shorter row has no slot of later groups."""
    return [
        name if slot < length else "wait"
        for group, name in names.items()
        if place < STRIP >> group
        for slot in range(bounds[group], bounds[group + 1])
    ]
