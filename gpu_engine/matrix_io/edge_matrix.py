"""Converts the edges of a list to a matrix: maps ids to rows and columns, and writes the notes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import INDEX_LIMIT
from gpu_engine.errors import MatrixFileError, TooLargeError
from gpu_engine.matrix_io.assemble import Chunk, assemble
from gpu_engine.matrix_io.base import ReadLimits, ReadResult, check_shape
from gpu_engine.matrix_io.list_header import Declared, Extent, extent
from gpu_engine.matrix_io.named_edges import EdgeChunk
from gpu_engine.matrix_io.options import ReadOptions

IDS_PER_EDGE = 16
"""Ratio of the largest id to the edges up to which ids are relabeled with a table; above by sorting."""

Rank = Callable[[Any], Any]
APART = "Rows and columns have separate ids, so a line has one direction. Read the list as directed."


@dataclass(frozen=True, slots=True)
class Reading:
    """Options and declarations with which an edge list is read.

    options   given options
    directed  whether a line is one edge, from its source to its target
    apart     whether rows and columns have separate ids
    sizes     rows and columns from the first line; None: one row and column per id
    declared  declarations in the comments
    """

    options: ReadOptions
    directed: bool
    apart: bool
    sizes: tuple[int, int] | None
    declared: Declared


@dataclass(frozen=True, slots=True)
class _Ends:
    """Functions from ids to rows and to columns, int64 [k] → int32 [k]; `words`: a note on the relabeling."""

    n_rows: int
    n_cols: int
    row: Rank
    col: Rank
    words: str
    is_disjoint: bool = False


def build(
    edges: list[EdgeChunk], reading: Reading, limits: ReadLimits, relabelling_note: Callable[[int, int], str]
) -> tuple[ReadResult, Extent, bool]:
    """Return the matrix, the extent of its edges, and whether sources and targets are disjoint; empties `edges`.

    relabelling_note  (distinct ids, largest) → a sentence on the relabeling
    Raises MatrixFileError and TooLargeError.
    """
    reach = extent(edges)
    ends = _ends(edges, reading, reach, limits, relabelling_note)
    if not reading.directed and (reading.apart or ends.n_rows != ends.n_cols):
        raise MatrixFileError(APART)
    chunks = []
    while edges:
        chunk = edges.pop(0)
        rows, cols = ends.row(chunk.sources), ends.col(chunk.targets)
        if not reading.directed:
            # One orientation for each edge, so that `u v` and `v u` are the same one.
            rows, cols = np.maximum(rows, cols), np.minimum(rows, cols)
        chunks.append(Chunk(rows, cols, chunk.weights))
    repeated = 0
    if reading.options.duplicates == "last":
        chunks, repeated = _keep_last(chunks, ends.n_cols)
    matrix, summed = assemble(ends.n_rows, ends.n_cols, chunks, 0.0 if reading.directed else 1.0)
    if summed and reading.options.duplicates == "refuse":
        raise MatrixFileError(f"{summed} edges repeat an earlier one.", hint="choose_duplicates")
    return ReadResult(matrix, (ends.words,), repeated + summed), reach, ends.is_disjoint


def _ends(
    edges: Sequence[EdgeChunk],
    reading: Reading,
    reach: Extent,
    limits: ReadLimits,
    relabelling_note: Callable[[int, int], str],
) -> _Ends:
    if reading.sizes and reading.sizes != (0, 0):
        return _by_sizes(reading.sizes, reach, limits)
    sources, targets = [chunk.sources for chunk in edges], [chunk.targets for chunk in edges]
    if reading.apart:
        n_rows, row = _relabelling(sources, reach.source)
        n_cols, col = _relabelling(targets, reach.target)
        words = (
            f"{n_rows} distinct sources became the rows and {n_cols} distinct targets the columns, each in ascending "
            "order, because rows and columns have separate ids."
        )
        return _Ends(n_rows, n_cols, row, col, words)
    n, rank = _relabelling([*sources, *targets], reach.largest)
    both = n
    if reading.directed:
        both = _distinct(rank, sources, n) + _distinct(rank, targets, n)
    return _Ends(n, n, rank, rank, relabelling_note(n, reach.largest), reading.directed and both == n)


def _by_sizes(sizes: tuple[int, int], reach: Extent, limits: ReadLimits) -> _Ends:
    """Return the map from ids to indices of a matrix of these sizes; ids start at 0 if one is 0, else at 1."""
    begin = min(reach.smallest, 1)
    n_rows, n_cols = sizes
    for side, largest, size in (("source", reach.source, n_rows), ("target", reach.target, n_cols)):
        if largest - begin >= size:
            raise MatrixFileError(
                f"The ids begin at {begin} and the largest {side} is {largest}, but the first line says {size} of "
                "them. Correct that line."
            )
    check_shape(n_rows, n_cols, reach.n_edges, limits)
    words = f"The first line says {n_rows} × {n_cols}; ids are rows and columns from {begin}."

    def place(given: Any) -> Any:
        return (given - begin).astype(np.int32)

    return _Ends(n_rows, n_cols, place, place, words)


def _relabelling(parts: Sequence[Any], largest: int) -> tuple[int, Rank]:
    """Return the number of distinct ids in arrays int64 [any], and the function from ids to their ranks."""
    total = sum(part.size for part in parts)
    if largest < IDS_PER_EDGE * (total + 1):
        occurs = np.zeros(largest + 1, np.int8)
        for part in parts:
            occurs[part] = 1
        ranks = np.cumsum(occurs, dtype=np.int64) - 1
        return _checked(int(ranks[-1]) + 1), lambda given: ranks[given].astype(np.int32)
    ids = np.unique(np.concatenate([np.unique(part) for part in parts]))
    return _checked(int(ids.size)), lambda given: np.searchsorted(ids, given).astype(np.int32)


def _checked(n: int) -> int:
    if n > INDEX_LIMIT:
        raise TooLargeError(f"The file has {n} ids; at most {INDEX_LIMIT} rows and columns fit 32-bit indices.")
    return n


def _distinct(rank: Rank, parts: Sequence[Any], n: int) -> int:
    """Return the number of distinct ranks among n."""
    occurs = np.zeros(n, np.int8)
    for part in parts:
        occurs[rank(part)] = 1
    return int(np.count_nonzero(occurs))


def _keep_last(chunks: list[Chunk], n: int) -> tuple[list[Chunk], int]:
    """Return the last occurrence of each edge, and the number of omitted earlier ones."""
    keys = np.concatenate([chunk.rows.astype(np.int64) * n + chunk.cols for chunk in chunks])
    values = np.concatenate([np.broadcast_to(chunk.values, chunk.rows.shape) for chunk in chunks])
    distinct, positions = np.unique(keys[::-1], return_index=True)
    rows, cols = (part.astype(np.int32) for part in np.divmod(distinct, n))
    return [Chunk(rows, cols, values[::-1][positions])], int(keys.size - distinct.size)


def notes(
    result: ReadResult, reading: Reading, reach: Extent, is_disjoint: bool, columns: int, final_newline: bool
) -> Iterator[str]:
    """Yield notes for the user, as sentences; `columns`: columns per line."""
    yield from result.notes
    yield (
        "A line is an edge from its row to its column." if reading.directed else "Each line stands for both directions."
    )
    if columns == 2:
        yield "The file has no weights; every edge counts 1."
    elif reading.options.weights == "ignore":
        yield "The weights of the file were omitted; every edge counts 1."
    if columns == 4:
        yield "The fourth column has times, as in KONECT's files; it was omitted."
    if result.duplicates:
        yield f"{result.duplicates} edges repeat an earlier one; " + (
            "they were added up." if reading.options.duplicates == "sum" else "the last one of each counts."
        )
    if reading.directed and not reading.apart and not reading.sizes:
        if is_disjoint:
            yield "No id is both a source and a target, but the matrix is square, with one set of ids."
        elif columns == 3 or reach.is_lopsided:
            yield "The list was read as a square matrix: rows and columns have one set of ids."
    if not reading.sizes:
        yield from _missing(reading, result.matrix.shape, reach)
    if not final_newline:
        yield "The last line has no newline; the file may have been cut there."


def _missing(reading: Reading, shape: tuple[int, int], reach: Extent) -> Iterator[str]:
    """Yield notes on declared nodes and edges that the list does not have."""
    declared = reading.declared
    sides = (("rows", shape[0], declared.n_rows), ("columns", shape[1], declared.n_cols))
    for what, n, declared_count in sides if reading.apart else (("nodes", shape[0], declared.n_rows),):
        if declared_count is not None and n < declared_count:
            yield f"The file declares {declared_count} {what}, but only {n} have an edge; the others were omitted."
    if declared.n_edges is not None and reach.n_edges < declared.n_edges:
        yield f"The file declares {declared.n_edges} edges, but has {reach.n_edges} edge lines."
