"""Declarations of an edge list before its first edge: KONECT's header, counts of SNAP, or a line of sizes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gpu_engine.matrix_io.named_edges import EdgeChunk
from gpu_engine.matrix_io.text import comment_lines

COMMENTS = "#%"
PASSED = comment_lines(COMMENTS)
KONECT = re.compile(
    rb"\s*%[ \t]*(sym|asym|bip)"
    rb"(?:[ \t]+(?:unweighted|positive|posweighted|signed|weighted|multi\w*|dynamic))?[ \t]*\r?\n"
    rb"(?:%[ \t]*(\d+)[ \t]+(\d+)(?:[ \t]+(\d+))?[ \t]*\r?\n)?",
    re.IGNORECASE,
)
NODES = re.compile(rb"^[ \t]*[#%][^\n]*?\b(?:nodes|vertices)[ \t]*[:=][ \t]*(\d{1,18})\b", re.IGNORECASE | re.MULTILINE)
EDGES = re.compile(rb"^[ \t]*[#%][^\n]*?\b(?:edges|arcs)[ \t]*[:=][ \t]*(\d{1,18})\b", re.IGNORECASE | re.MULTILINE)
WHOLE = re.compile(rb"[ \t]*\d{1,19}(?:(?:[ \t]*,[ \t]*|[ \t]+)\d{1,19})*[ \t]*\r?")
NEAR, NEAR_SHARE, LINES_MIN = 1, 0.1, 4
"""Relative difference up to which a count may belong to a truncated or wrongly counted file."""

TIMES = (1e8, 1e13)
"""Range of integers that may be times: from 1973 in seconds to 2286 in milliseconds."""


@dataclass(frozen=True, slots=True)
class Declared:
    """Declarations in the comments before the first edge; None if absent.

    konect  the first word of KONECT's header: sym (undirected), asym (directed) or bip (rows and columns)
    """

    konect: Literal["", "sym", "asym", "bip"] = ""
    n_edges: int | None = None
    n_rows: int | None = None
    n_cols: int | None = None

    @property
    def directed(self) -> bool | None:
        """Direction from the header; None if unknown."""
        return {"": None, "sym": False, "asym": True, "bip": True}[self.konect]


def declared(head: bytes) -> Declared:
    """Return the declarations in the comments of a list with this head."""
    if konect := KONECT.match(head):
        numbers = [int(number) if number else None for number in konect.groups()[1:]]
        n_edges, n_rows, n_cols = numbers
        return Declared(konect[1].decode().lower(), n_edges, n_rows, n_cols if n_cols is not None else n_rows)  # type: ignore[arg-type]
    passed = PASSED.match(head)
    comments = passed[0] if passed else b""
    nodes, edges = NODES.search(comments), EDGES.search(comments)
    n = int(nodes[1]) if nodes else None
    return Declared("", int(edges[1]) if edges else None, n, n)


@dataclass(frozen=True, slots=True)
class Extent:
    """Number of edges of a list, its smallest id, and its largest source and target; -1 if there are none."""

    n_edges: int
    smallest: int
    source: int
    target: int

    @property
    def largest(self) -> int:
        """Largest id."""
        return max(self.source, self.target)

    @property
    def is_lopsided(self) -> bool:
        """Whether the largest id of one side is at least twice that of the other, as for rows and columns."""
        low, high = sorted((self.source + 1, self.target + 1))
        return high >= 2 * low


def extent(chunks: Sequence[EdgeChunk]) -> Extent:
    """Return the extent of the edges."""
    full = [chunk for chunk in chunks if chunk.sources.size]
    if not full:
        return Extent(0, 0, -1, -1)
    smallest = min(int(min(chunk.sources.min(), chunk.targets.min())) for chunk in full)
    source, target = (max(int(getattr(chunk, side).max()) for chunk in full) for side in ("sources", "targets"))
    return Extent(sum(chunk.sources.size for chunk in full), smallest, source, target)


def fitting_sizes(numbers: Sequence[int], rest: Extent, same_width: bool) -> tuple[int, int] | None:
    """Return the rows and columns from a first line of integers; None if it does not fit the following lines.

    rest        extent of the following lines
    same_width  whether they have as many columns as the first line
    (0, 0) stands for a line that only counts the edges. An edge may be counted once or in both directions.
    """
    counts = {rest.n_edges, 2 * rest.n_edges} | ({rest.n_edges // 2} if rest.n_edges % 2 == 0 else set())
    match numbers:
        case [n] if rest.largest <= n:
            return n, n
        case [n] if n in counts:
            return 0, 0
        case [rows, cols, entries, *_] if entries in counts and rest.source <= rows and rest.target <= cols:
            return rows, cols
        case [n, m, *_] if m in counts and rest.largest <= n:
            return n, n
        case [m, n] if m in counts and rest.largest <= n:
            return n, n
        case [rows, cols] if not same_width and rest.source <= rows and rest.target <= cols:
            return rows, cols
    return None


def resembles_sizes(numbers: Sequence[int], rest: Extent) -> bool:
    """Return whether a first line of integers fits the following lines, except for a slightly different count."""
    match numbers:
        case [rows, cols, entries] if rest.source <= rows and rest.target <= cols:
            return _is_near(entries, rest.n_edges)
        case [n, m] if rest.largest <= n:
            return _is_near(m, rest.n_edges)
    return False


def _is_near(count: int, n_edges: int) -> bool:
    off = (abs(count - n) <= max(NEAR, NEAR_SHARE * n) for n in (n_edges, 2 * n_edges))
    return n_edges >= LINES_MIN and any(off)


def could_be_times(chunks: Sequence[EdgeChunk]) -> bool:
    """Return whether the third column of all lines may be times instead of weights."""
    return all(
        bool(np.all((chunk.weights >= TIMES[0]) & (chunk.weights < TIMES[1]) & (chunk.weights % 1 == 0)))
        for chunk in chunks
    )
