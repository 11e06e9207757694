"""Drawings of the MSREP paper: its matrix and formats, the partitions on four GPUs, and the merge."""

from functools import cache
from typing import Any

import numpy as np
import scipy.sparse
from markupsafe import Markup

from gpu_engine.multigpu.cut import borders, cut_by_entries, cut_by_lines
from gpu_engine.multigpu.partition import Part, Span, StoredMatrix, find_partitioning
from web.papers.drawings import formats
from web.papers.drawings.example import DENSE, example
from web.papers.drawings.shapes import Cell, join, number, sentence, table

GPUS = 4
"""Partitions in Figures 8 to 10 of the paper."""

HEADS = ("", *(f"GPU {gpu}" for gpu in range(GPUS)))


@cache
def figures_1_to_4() -> Markup:
    """Return the matrix and its arrays in COO, CSR, and CSC."""
    return join((formats.matrix(), formats.coo(), formats.csr(), formats.csc()))


@cache
def figure_5() -> Markup:
    """Return the partitions of the baseline: equal rows per GPU."""
    stored = _stored("pCSR")
    return _balance(f"Equal rows per GPU: the matrix of Figure 1 on {GPUS} GPUs", cut_by_lines(stored, GPUS))


@cache
def figure_7() -> Markup:
    """Return the partitions of MSREP: equal nonzeros per GPU."""
    stored = _stored("pCSR")
    return _balance(f"Equal nonzeros per GPU: the same matrix on {GPUS} GPUs", cut_by_entries(stored, (GPUS,)))


@cache
def figures_8_to_10() -> Markup:
    """Return the four partitions of the matrix in pCSR, pCSC, and pCOO."""
    return join(_partitions(name) for name in ("pCSR", "pCSC", "pCOO"))


@cache
def figures_13_to_15() -> Markup:
    """Return the two-level division of the nonzeros, and the partial results of y = A·x with their sum."""
    return join((_two_levels(), _merge("pCSR"), _merge("pCSC"), sentence("x has six ones. Shaded rows are cut.")))


def parts_of(name: str) -> tuple[StoredMatrix, list[Part]]:
    """Return the matrix in the order of a partitioning, and its partitions."""
    stored = _stored(name)
    return stored, [stored.part(span, None) for span in cut_by_entries(stored, (GPUS,))]


def partial_result(stored: StoredMatrix, part: Part) -> Any:
    """Return the product of a partition with ones as a vector of all rows: float64 [rows]."""
    span, shape = part.span, (part.span.stop - part.span.first, stored.n_rows)
    block = scipy.sparse.csr_array((part.values, part.minor, part.major), shape)
    y = np.zeros(stored.n_rows)
    if stored.partitioning.axis == "columns":
        return np.asarray(block.sum(axis=0)).ravel()
    y[span.lines] = np.asarray(block.sum(axis=1)).ravel()
    return y


def _stored(name: str) -> StoredMatrix:
    return find_partitioning(name).store(example())


def _balance(caption: str, spans: tuple[Span, ...]) -> Markup:
    rows: list[tuple[str, list[Cell]]] = [
        ("rows", [(_range(span.first, span.stop), "") for span in spans]),
        ("nonzeros", [(f"{span.entries}", "") for span in spans]),
        ("first row is cut", [_flag(span) for span in spans]),
    ]
    return table(caption, HEADS, rows)


def _partitions(name: str) -> Markup:
    """Return the metadata and arrays of the partitions, with the names of Algorithms 2, 4, and 6."""
    stored, parts = parts_of(name)
    partitioning, spans = stored.partitioning, [part.span for part in parts]
    line, minor = ("row", "col_idx") if partitioning.axis == "rows" else ("col", "row_idx")
    major = f"{line}_ptr, local" if partitioning.compressed else f"{line}_idx, local"
    rows: list[tuple[str, list[Cell]]] = [
        ("start_idx", [(f"{span.start}", "") for span in spans]),
        ("end_idx", [(f"{span.end - 1}", "") for span in spans]),
        (f"start_{line}", [(f"{span.first}", "") for span in spans]),
        (f"end_{line}", [(f"{span.stop - 1}", "") for span in spans]),
        ("start_flag", [_flag(span) for span in spans]),
        (major, [(_list(part.major), "") for part in parts]),
        (minor, [(_list(part.minor), "") for part in parts]),
        ("val", [(_list(part.values), "") for part in parts]),
    ]
    return table(f"{name}: the matrix of Figure 1 in {GPUS} partitions", HEADS, rows)


def _two_levels() -> Markup:
    """Return the nonzeros of two NUMA nodes, and of the two GPUs of each."""
    nodes, gpus = borders(example().nnz, (1, 1)), borders(example().nnz, (2, 2))
    rows: list[tuple[str, list[Cell]]] = [
        ("nonzeros of the node", [(_range(nodes[gpu // 2], nodes[gpu // 2 + 1]), "") for gpu in range(GPUS)]),
        ("nonzeros of the GPU", [(_range(gpus[gpu], gpus[gpu + 1]), "") for gpu in range(GPUS)]),
    ]
    heads = ("", *(f"node {gpu // 2}, GPU {gpu}" for gpu in range(GPUS)))
    return table("Two levels: nonzeros are divided among two NUMA nodes, then among the GPUs of each", heads, rows)


def _merge(name: str) -> Markup:
    """Return the partial results of all rows: segments if partitioned by rows, whole vectors if by columns."""
    stored, parts = parts_of(name)
    by_rows = stored.partitioning.axis == "rows"
    results = [partial_result(stored, part) for part in parts]
    total = sum(results)
    rows = []
    for row in range(len(DENSE)):
        holders = [not by_rows or part.span.first <= row < part.span.stop for part in parts]
        shade = "alt" if by_rows and sum(holders) > 1 else ""
        texts = [number(y[row]) if holds else "" for y, holds in zip(results, holders, strict=True)]
        rows.append((f"{row}", [(text, shade) for text in (*texts, number(total[row]))]))
    how = "partial results overlap in cut rows only" if by_rows else "each GPU has a share of all rows"
    return table(f"Merge of {name}: {how}", ("row", *HEADS[1:], "y"), rows)


def _range(begin: int, end: int) -> str:
    return f"{begin} to {end - 1}" if end - begin > 1 else f"{begin}"


def _list(array: Any) -> str:
    return " ".join(number(value) for value in array.tolist())


def _flag(span: Span) -> Cell:
    return ("yes" if span.start_flag else "no"), ""
