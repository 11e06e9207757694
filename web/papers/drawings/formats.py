"""Drawings of the storage formats that several papers explain: COO, CSR, CSC, ELLPACK of the example matrix."""

from markupsafe import Markup

from gpu_engine.formats.base import row_lengths
from gpu_engine.formats.coo import CooLayout
from gpu_engine.formats.csc import CscLayout
from gpu_engine.formats.ell import EllLayout
from gpu_engine.formats.ellr import EllrLayout
from web.papers.drawings.example import DENSE, example
from web.papers.drawings.shapes import arrays_table, cells, join, matrix_table, slots_table, table

ROWS = tuple(map(str, range(len(DENSE))))


def matrix() -> Markup:
    """Return the example matrix."""
    return matrix_table("The matrix with its row and column indices", DENSE)


def coo() -> Markup:
    """Return its arrays in COO."""
    layout = CooLayout.from_csr(example())
    arrays = {"value": layout.values, "row": layout.rows, "column": layout.columns}
    return arrays_table("COO: one entry per nonzero. Each second row is shaded.", arrays, example().indptr)


def csr() -> Markup:
    """Return its arrays in CSR."""
    csr_matrix = example()
    arrays = {"value": csr_matrix.values, "column": csr_matrix.indices}
    nonzeros = arrays_table("CSR: values and columns. Each second row is shaded.", arrays, csr_matrix.indptr)
    return join((nonzeros, pointers("CSR: first nonzero of each row, and the end", "row", csr_matrix.indptr)))


def csc() -> Markup:
    """Return its arrays in CSC."""
    layout = CscLayout.from_csr(example())
    arrays = {"value": layout.values, "row": layout.rows}
    nonzeros = arrays_table("CSC: values and rows. Each second column is shaded.", arrays, layout.indptr)
    return join((nonzeros, pointers("CSC: first nonzero of each column, and the end", "column", layout.indptr)))


def ell() -> Markup:
    """Return its arrays in ELLPACK."""
    layout = EllLayout.from_csr(example())
    return join(
        (
            slots_table("ELL: values, stored slot by slot", layout.values, layout.columns, ROWS),
            slots_table("ELL: columns, −1 in padded slots", layout.columns, layout.columns, ROWS),
        )
    )


def ellr() -> Markup:
    """Return its arrays in ELLPACK-R."""
    layout = EllrLayout.from_csr(example())
    return join(
        (
            slots_table("ELLR: values A, stored slot by slot", layout.values, layout.columns, ROWS),
            slots_table("ELLR: columns J, −1 in padded slots", layout.columns, layout.columns, ROWS),
            table("ELLR: row lengths rl", ("row", *ROWS), [("rl", cells(row_lengths(example())))]),
        )
    )


def pointers(caption: str, line: str, indptr: object) -> Markup:
    """Return the row or column pointers. line: noun for the heads."""
    array = cells(indptr)
    return table(caption, (line, *map(str, range(len(array) - 1)), "end"), [("pointer", array)])
