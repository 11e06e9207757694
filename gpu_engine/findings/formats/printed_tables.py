"""Tables of the PELLR paper with its printed values next to ours: the example of Figure 5, and Table 1."""

from collections.abc import Iterator

import numpy as np

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.formats.paper import FIGURE_5, FIGURE_5_WARP, MATRICES, ROW_LENGTHS, original
from gpu_engine.matrices.pellr_counts import warp_iterations, warp_operations
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table

IN_PAPER = "in the paper"
"""Unit of columns with printed values."""

PRINTED_N_ITER = {"ELLR": "18", "PELLR": "14"}
"""List of row lengths in Figure 5 → N_iter that the paper prints for it."""


def worked_example() -> Table:
    """Return the counts of equations (1) and (2) for the row lengths of Figure 5, and for those of ELLR if sorted."""
    ellr, pellr = (np.array(FIGURE_5[name]) for name in ("ELLR", "PELLR"))
    rows = {
        "ELLR as printed": (ellr, PRINTED_N_ITER["ELLR"]),
        "these rows, sorted": (np.sort(ellr)[::-1], units.MISSING),
        "PELLR as printed": (pellr, PRINTED_N_ITER["PELLR"]),
    }
    heads = Head("row lengths", numeric=False), Head("nonzeros"), Head("N_iter"), Head("N_iter", IN_PAPER), Head("N_p")
    cells = (
        (
            name,
            str(lengths.sum()),
            str(warp_iterations(lengths, FIGURE_5_WARP)),
            printed,
            str(warp_operations(lengths, FIGURE_5_WARP)),
        )
        for name, (lengths, printed) in rows.items()
    )
    return Table(heads, tuple(cells))


def matrices(data: StudyData) -> Table:
    """Return the measured matrices of Table 1 or their stand-ins, with their row lengths here and in the text."""
    ids = dict.fromkeys(m.matrix_id for m in data.measurements)
    known = {matrix.name: matrix for matrix in map(data.matrix, ids) if original(matrix.name)}
    order = list(MATRICES)
    heads = (
        Head("matrix", IN_PAPER, numeric=False),
        Head("measured", numeric=False),
        *(Head(text) for text in ("rows", "nnz")),
        *(Head(text, unit) for text in ("ave", "σ", "max − min") for unit in ("", IN_PAPER)),
    )
    rows = sorted(known.values(), key=lambda matrix: order.index(original(matrix.name)))
    return Table(heads, tuple((original(m.name), m.name, *_cells(m)) for m in rows))


def _cells(matrix: MatrixFeatures) -> Iterator[str]:
    printed = ROW_LENGTHS.get(original(matrix.name), {})
    yield from (units.count(matrix.n_rows), units.count(matrix.nnz))
    for name, text in (("ave", units.number), ("sigma", units.number), ("max_min", units.count)):
        yield from (text(getattr(matrix, name)), printed.get(name, units.MISSING))
