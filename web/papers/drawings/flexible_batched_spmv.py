"""Drawings of the batched SpMV paper: COO, CSR, and ELL (Figure 1), and the loops of the kernels (Figure 2)."""

from functools import cache

from markupsafe import Markup

from gpu_engine.multigpu.cut import cut_by_entries
from gpu_engine.multigpu.partition import find_partitioning
from web.papers.drawings import formats
from web.papers.drawings.example import BORROWED, example
from web.papers.drawings.shapes import join, sentence, table

WARPS = 4
"""Warps that share the example matrix in the drawing of CSR-I."""

LOOPS = (
    ("COO", "nonzeros i", "y[row[i]] += value[i] · x[column[i]]", "nonzeros"),
    ("CSR", "rows r, their nonzeros i", "y[r] += value[i] · x[column[i]]", "rows"),
    (
        "CSR-I",
        "warps k, nonzeros i from k·nnz/T to (k+1)·nnz/T − 1",
        "while i is past row r: r += 1; then y[r] += value[i] · x[column[i]]",
        "warps",
    ),
    ("ELL", "rows r, slots s", "y[r] += value[r + s·m] · x[column[r + s·m]]", "rows"),
)
"""Format, loops, body of the innermost loop, and what the batched kernel processes in parallel."""


@cache
def figure_1() -> Markup:
    """Return the example matrix and its arrays in COO, CSR, and ELL."""
    parts = (formats.matrix(), formats.coo(), formats.csr(), formats.ell(), sentence(BORROWED))
    return join(parts)


@cache
def figure_2() -> Markup:
    """Return the loops of the four formats, and the nonzeros of each warp of CSR-I."""
    rows = [(name, [(text, "") for text in texts]) for name, *texts in LOOPS]
    loops = table("Loops of SpMV, y += A·x", ("format", "loops over", "body", "parallel"), rows, "words")
    return join((loops, _shares()))


def _shares() -> Markup:
    """Return the nonzeros and the first row of each warp of CSR-I, T = WARPS."""
    spans = cut_by_entries(find_partitioning("pCSR").store(example()), (WARPS,))
    rows = [
        (f"{warp}", [(f"{span.start} to {span.end - 1}", ""), (f"{span.first}", ""), (_flag(span.start_flag), "")])
        for warp, span in enumerate(spans)
    ]
    caption = f"CSR-I: nonzeros of {WARPS} warps for the matrix of Figure 1, computed before the first SpMV"
    return table(caption, ("warp", "nonzeros", "first row", "first row is shared"), rows)


def _flag(value: bool) -> str:
    return "yes" if value else "no"
