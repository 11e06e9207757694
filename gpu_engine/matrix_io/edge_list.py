"""Edge lists as of SNAP: a line `source target`, or with a weight; ids are whole numbers, or names, and relabelled."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import INDEX_LIMIT
from gpu_engine.errors import MatrixFileError, TooLargeError, quote
from gpu_engine.findings import units
from gpu_engine.matrix_io import edge_tokenizer as tokenizer
from gpu_engine.matrix_io import tokenizer as market
from gpu_engine.matrix_io.assemble import Chunk, assemble
from gpu_engine.matrix_io.base import ReadLimits, ReadResult
from gpu_engine.matrix_io.decimals import nearest
from gpu_engine.matrix_io.decompress import BLOCK_BYTES, content_blocks
from gpu_engine.matrix_io.explain import explain_value
from gpu_engine.matrix_io.named_edges import EdgeChunk, NamedEdges, are_names
from gpu_engine.matrix_io.options import EDGES, ReadOptions
from gpu_engine.matrix_io.text import Lines, comment_lines

EDGE_BYTES = 4
"""Bytes of the shortest edge line."""

IDS_PER_EDGE = 16
"""Ids up to so many times the edges are relabelled through a table, larger ones by sorting."""

EDGE = re.compile(rb"[ \t]*\d+(?:[ \t]*,[ \t]*|[ \t]+)\d+(?:[ \t,].*)?\r?")
NAMES = re.compile(rb"[ \t]*[A-Za-z_\"][^\0]*")
CHOOSE = (
    "This looks like an edge list, which does not say whether a line 'u v' is the edge u → v or stands for both "
    "directions. If it is meant as Matrix Market, its first line is missing: "
    "'%%MatrixMarket matrix coordinate real general'."
)
COMMENTS = "#%"
PASSED = comment_lines(COMMENTS)
ONE = np.ones(1)


class EdgeList:
    """The reader of edge lists; rows are sources, columns targets, both the sorted ids."""

    name = "edge list"

    def __init__(self, options: ReadOptions | None = None) -> None:
        self.options = options or ReadOptions()

    def recognises(self, head: bytes) -> bool:
        """Whether the first line that is no comment is an edge, or names columns before one."""
        if b"\0" in head or head.lstrip().lower().startswith(b"%%matrixmarket"):
            return False
        first, second = _first_lines(head)
        return bool(EDGE.fullmatch(first)) or _names_columns(first, second) or are_names(first, second)

    def leaves_open(self, head: bytes) -> tuple[str, ...]:  # noqa: ARG002
        """What a line of an edge stands for."""
        return EDGES

    def told(self, options: ReadOptions) -> "EdgeList":
        """The reader of lists that are read so."""
        return EdgeList(options)

    def refusal(self, head: bytes) -> MatrixFileError | None:  # noqa: ARG002
        """The error of a list without a direction."""
        return MatrixFileError(CHOOSE, hint="choose_direction") if self.options.directed is None else None

    def read(self, path: Path, limits: ReadLimits) -> ReadResult:
        """The matrix of the file; raises TooLargeError, and MatrixFileError, also where no direction was chosen."""
        if refusal := self.refusal(b""):
            raise refusal
        with closing(content_blocks(path, limits)) as blocks:
            lines = Lines(blocks, limits, COMMENTS)
            edges = (NamedEdges if _has_names(path, limits) else _Edges)(lines, self.options, limits)
            found = list(edges.chunks())
        return _build(found, edges, self.options)


class _Edges:
    """The edge lines of a file, block by block."""

    def __init__(self, lines: Lines, options: ReadOptions, limits: ReadLimits) -> None:
        self._lines, self._limits, self._options = lines, limits, options
        capacity = (BLOCK_BYTES + limits.line_bytes) // EDGE_BYTES + 1
        self._scratch = (np.empty(capacity, np.int64), np.empty(capacity, np.int64), np.empty(capacity))
        self._inexact = np.empty((capacity, 4), np.int64)
        self._layout: tuple[int, int, int] | None = None
        self._done = 0

    @property
    def weighted(self) -> bool:
        """Whether the lines have a third column."""
        return self._layout is not None and self._layout[0] == 3

    @property
    def final_newline(self) -> bool:
        """Whether the last line ended as lines do."""
        return self._lines.final_newline

    def relabelled(self, n: int, largest: int) -> str:
        """What became of the ids, as a sentence."""
        return f"{n} distinct ids, the largest {largest}, became 0 … {n - 1} in ascending order."

    def chunks(self) -> Iterator[EdgeChunk]:
        """Every edge of the file."""
        first = self._first_edge()
        if first is None:
            raise MatrixFileError("The file has no edges.")
        fields = first.split(b",") if b"," in first else first.split()
        if len(fields) > 3:
            raise MatrixFileError(
                f"{_shown(first)} has {len(fields)} columns; an edge has two, or three with a weight.",
                self._lines.number,
            )
        separator = tokenizer.COMMA if b"," in first else tokenizer.BLANK
        self._layout = (len(fields), separator, self._limits.line_bytes)
        self._lines.number -= 1
        # A line may end with CR LF, and this one's end is gone: with LF alone a second CR would pass.
        yield self._parse(first + b"\r\n")
        for block in self._lines.blocks():
            yield self._parse(block)

    def _first_edge(self) -> bytes | None:
        """The first line that is neither a comment nor names columns."""
        named = False
        while True:
            self._lines.skip_comments()
            line = self._lines.next_line()
            if line is None or named or not NAMES.fullmatch(line):
                return line
            named = True

    def _parse(self, block: bytes) -> EdgeChunk:
        assert self._layout is not None
        status, position, n_lines, count, n_inexact = tokenizer.parse_edges(
            np.frombuffer(block, np.uint8), self._layout, *self._scratch, self._inexact
        )
        self._convert(block, n_inexact)
        if status != tokenizer.OK:
            number = self._lines.number + n_lines + 1
            if status == tokenizer.TOO_LONG:
                raise TooLargeError(
                    f"Line {number} is longer than {self._limits.line_bytes} bytes, the limit of a line."
                )
            raise MatrixFileError(_explain(block[position : block.index(b"\n", position)], self._layout), number)
        self._lines.number += n_lines
        self._done += count
        if self._done * (1 if self._options.directed else 2) > self._limits.nnz_max:
            raise TooLargeError(f"The file has more edges than {units.count(self._limits.nnz_max)} nonzeros hold.")
        sources, targets, weights = (array[:count].copy() for array in self._scratch)
        valued = self.weighted and self._options.weights == "auto"
        return EdgeChunk(sources, targets, weights if valued else ONE)

    def _convert(self, block: bytes, count: int) -> None:
        """Weights that the compiled path cannot round correctly by itself, through Python's float."""
        for edge, first, end, line in self._inexact[:count].tolist():
            token = block[first:end].decode("ascii", "backslashreplace")
            number = self._lines.number + 1 + line
            if problem := explain_value(token, market.REAL):
                raise MatrixFileError(problem, number)
            try:
                self._scratch[2][edge] = nearest(token)
            except ValueError as error:
                raise MatrixFileError(f"The value {quote(token)} {error}.", number) from None


def _first_lines(text: bytes) -> tuple[bytes, bytes]:
    """The first two lines that are no comments, without their ends."""
    found = []
    for _ in range(2):
        passed = PASSED.match(text)
        line, _, text = text[passed.end() if passed else 0 :].partition(b"\n")
        found.append(line)
    return found[0], found[1]


def _has_names(path: Path, limits: ReadLimits) -> bool:
    """Whether the ids of the file are names."""
    with closing(content_blocks(path, limits)) as blocks:
        lines = Lines(blocks, limits, COMMENTS)
        found = []
        for _ in range(2):
            lines.skip_comments()
            found.append(lines.next_line() or b"")
    return not EDGE.fullmatch(found[0]) and not _names_columns(*found) and are_names(*found)


def _names_columns(first: bytes, second: bytes) -> bool:
    """Whether the first line names the columns of an edge between numbers."""
    named = NAMES.fullmatch(first) and EDGE.fullmatch(second)
    return bool(named) and _columns(first) == _columns(second)


def _columns(line: bytes) -> int:
    return len(re.split(rb"[ \t]*,[ \t]*|[ \t]+", line.strip()))


def _shown(line: bytes) -> str:
    return quote(line.decode("utf-8", "backslashreplace").strip("\r\n"))


def _explain(line: bytes, layout: tuple[int, int, int]) -> str:
    """What is wrong with an edge line: slow and obvious, run once."""
    columns, separator, _ = layout
    tokens = [token.strip() for token in (line.split(b",") if separator == tokenizer.COMMA else line.split())]
    if len(tokens) != columns:
        by = "commas" if separator == tokenizer.COMMA else "spaces or tabs"
        return f"{_shown(line)} has {len(tokens)} columns; the first edge has {columns}, separated by {by}."
    for token in tokens[:2]:
        if re.fullmatch(rb"-\d+", token):
            return f"The id {_shown(token)} is negative; ids are whole numbers from 0."
        if not re.fullmatch(rb"\d+", token):
            return f"The id {_shown(token)} is not a whole number."
        if len(token.lstrip(b"0")) > 19 or int(token) > tokenizer.ID_MAX:
            return f"The id {_shown(token)} is over 2^63 − 1."
    return f"{_shown(line)} is not an edge; expected 'source target' or 'source target weight'."


def _build(found: list[EdgeChunk], edges: _Edges | NamedEdges, options: ReadOptions) -> ReadResult:
    """The matrix of the edges; `found` is emptied on the way."""
    largest = max(int(max(chunk.sources.max(), chunk.targets.max())) for chunk in found if chunk.sources.size)
    ids, relabel = _relabelling(found, largest)
    n = int(ids)
    if n > INDEX_LIMIT:
        raise TooLargeError(f"The file has {n} ids; at most {INDEX_LIMIT} rows and columns fit 32-bit indices.")
    chunks = []
    while found:
        chunk = found.pop(0)
        rows, cols = relabel(chunk.sources), relabel(chunk.targets)
        if not options.directed:
            # One orientation for each edge, so that `u v` and `v u` are the same one.
            rows, cols = np.maximum(rows, cols), np.minimum(rows, cols)
        chunks.append(Chunk(rows, cols, chunk.weights))
    repeated = 0
    if options.duplicates == "last":
        chunks, repeated = _keep_last(chunks, n)
    matrix, summed = assemble(n, n, chunks, 0.0 if options.directed else 1.0)
    if summed and options.duplicates == "refuse":
        raise MatrixFileError(f"{summed} edges repeat an earlier one.", hint="choose_duplicates")
    repeated += summed
    return ReadResult(matrix, tuple(_notes(edges, options, n, largest, repeated)), repeated)


def _relabelling(found: list[EdgeChunk], largest: int) -> tuple[int, Any]:
    """The number of distinct ids, and the function from ids int64 [k] to their ranks int32 [k]."""
    total = sum(chunk.sources.size for chunk in found)
    if largest < IDS_PER_EDGE * (total + 1):
        seen = np.zeros(largest + 1, np.int8)
        for chunk in found:
            seen[chunk.sources] = seen[chunk.targets] = 1
        ranks = np.cumsum(seen, dtype=np.int64) - 1
        return int(ranks[-1]) + 1, lambda given: ranks[given].astype(np.int32)
    ids = np.unique(np.concatenate([np.unique(part) for chunk in found for part in (chunk.sources, chunk.targets)]))
    return int(ids.size), lambda given: np.searchsorted(ids, given).astype(np.int32)


def _keep_last(chunks: list[Chunk], n: int) -> tuple[list[Chunk], int]:
    """The last of each edge, and how many earlier ones were left out."""
    keys = np.concatenate([chunk.rows.astype(np.int64) * n + chunk.cols for chunk in chunks])
    values = np.concatenate([np.broadcast_to(chunk.values, chunk.rows.shape) for chunk in chunks])
    kept, places = np.unique(keys[::-1], return_index=True)
    rows, cols = (part.astype(np.int32) for part in np.divmod(kept, n))
    return [Chunk(rows, cols, values[::-1][places])], int(keys.size - kept.size)


def _notes(edges: _Edges | NamedEdges, options: ReadOptions, n: int, largest: int, repeated: int) -> Iterator[str]:
    yield edges.relabelled(n, largest)
    yield (
        "A line is an edge from its row to its column." if options.directed else "Each line stands for both directions."
    )
    if not edges.weighted:
        yield "The file has no weights; every edge counts 1."
    elif options.weights == "ignore":
        yield "The weights of the file were left out; every edge counts 1."
    if repeated:
        yield f"{repeated} edges repeat an earlier one; " + (
            "they were added up." if options.duplicates == "sum" else "the last of each was kept."
        )
    if not edges.final_newline:
        yield "The last line has no newline; the file may have been cut there."
