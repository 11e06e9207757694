"""Reader of edge lists with numbers as ids, and with a first line that may contain sizes."""

import re
from collections.abc import Iterator

import numpy as np

from gpu_engine.errors import MatrixFileError, TooLargeError, quote
from gpu_engine.matrix_io import edge_tokenizer as tokenizer
from gpu_engine.matrix_io import tokenizer as market
from gpu_engine.matrix_io.base import ReadLimits
from gpu_engine.matrix_io.decimals import nearest
from gpu_engine.matrix_io.decompress import BLOCK_BYTES
from gpu_engine.matrix_io.explain import explain_value
from gpu_engine.matrix_io.list_header import WHOLE, extent, fitting_sizes, resembles_sizes
from gpu_engine.matrix_io.named_edges import EdgeChunk
from gpu_engine.matrix_io.options import ReadOptions
from gpu_engine.matrix_io.text import Lines
from gpu_engine.text import units

EDGE_BYTES = 4
"""Minimum bytes of an edge line."""

ONE = np.ones(1)
NAMES = re.compile(rb"[ \t]*[A-Za-z_\"][^\0]*")
COUNT = re.compile(rb"[ \t]*\d+[ \t]*\r?")
SIZES = "{first} may be sizes (rows, columns, entries, nodes, or edges) or the first edge. Both fit the file."
ALMOST = (
    "{first} may be sizes (rows, columns, entries, nodes, or edges) or the first edge. As sizes it "
    "does not fit, because {count} lines follow. The file may be truncated, or its count may be wrong."
)
NO_SIZES = "The first line has no sizes. Remove the option for sizes."


class NumberedEdges:
    """Reader of the edge lines of a file, by blocks."""

    def __init__(self, lines: Lines, options: ReadOptions, limits: ReadLimits, columns_max: int = 3) -> None:
        self._lines, self._limits, self._options, self._columns_max = lines, limits, options, columns_max
        capacity = (BLOCK_BYTES + limits.line_bytes) // EDGE_BYTES + 1
        self._scratch = (np.empty(capacity, np.int64), np.empty(capacity, np.int64), np.empty(capacity))
        self._inexact = np.empty((capacity, 4), np.int64)
        self._layout: tuple[int, int, int] | None = None
        self._done = 0
        self._first: list[tuple[bytes, int]] = []
        self._second = (b"", 0)
        self._is_edge = True

    @property
    def columns(self) -> int:
        """Number of columns per line."""
        return self._layout[0] if self._layout else 0

    @property
    def final_newline(self) -> bool:
        """Whether the last line has a line end."""
        return self._lines.final_newline

    def relabelling_note(self, n: int, largest: int) -> str:
        """Return a sentence on the relabeling of the ids."""
        return f"{n} distinct ids, the largest {largest}, became 0 … {n - 1} in ascending order."

    def chunks(self) -> Iterator[EdgeChunk]:
        """Yield all edges of the file; the first line, if it may be an edge, as a separate chunk."""
        line, named = self._first_line()
        if line is None:
            raise MatrixFileError("The file has no edges.")
        start = [(line, self._lines.number)]
        if not named and WHOLE.fullmatch(line):
            start += self._behind(line)
        if self._is_edge:
            self._set_layout(*start[0])
            yield self._parse_line(*start[0])
        for line, number in start[1:]:
            if not self._is_edge:
                self._set_layout(line, number)
            yield self._parse_line(line, number)
        if self._layout is None:
            raise MatrixFileError("The file has no edges.")
        for block in self._lines.blocks():
            yield self._parse(block)

    def _behind(self, line: bytes) -> list[tuple[bytes, int]]:
        """Return the line after a first line of integers; it determines whether the first line can be an edge."""
        self._first = [(line, self._lines.number)]
        following = self._next()
        if COUNT.fullmatch(line) and following and COUNT.fullmatch(following[0]):
            # Nodes and edges, a line each.
            self._first.append(following)
            following = self._next()
        width, behind = _width(line), _width(following[0]) if following else 0
        # What follows is lines of edges of another width: then the first line is none of them.
        others = 2 <= behind <= self._columns_max and behind != width
        self._is_edge = len(self._first) == 1 and not others
        self._second = following or self._second
        return [following] if following else []

    def _next(self) -> tuple[bytes, int] | None:
        self._lines.skip_comments()
        line = self._lines.next_line()
        return None if line is None else (line, self._lines.number)

    def _set_layout(self, line: bytes, number: int) -> None:
        columns = _width(line)
        if not 2 <= columns <= self._columns_max:
            raise MatrixFileError(
                f"{_quoted(line)} has {columns} columns; an edge has two, or three with a weight. Remove others, such "
                "as times.",
                number,
            )
        self._layout = (columns, tokenizer.COMMA if b"," in line else tokenizer.BLANK, self._limits.line_bytes)

    def _parse_line(self, line: bytes, number: int) -> EdgeChunk:
        # A line may end with CR LF, and this one's end is gone: with LF alone a second CR would pass.
        after, self._lines.number = self._lines.number, number - 1
        chunk = self._parse(line + b"\r\n")
        self._lines.number = after
        return chunk

    def take_sizes(self, chunks: list[EdgeChunk]) -> tuple[int, int] | None:
        """Return the sizes in the first line, which is removed from `chunks`; None if it has no sizes.

        Raises MatrixFileError, with a hint if the line may be sizes or an edge.
        """
        header = self._options.header
        if not self._first:
            if header == "sizes":
                raise MatrixFileError(NO_SIZES)
            return None
        line, number = self._first[0]
        numbers = [int(token) for part, _ in self._first for token in re.findall(rb"\d+", part)]
        assert self._layout
        rest = chunks[1:] if self._is_edge else chunks
        fitting = fitting_sizes(numbers, extent(rest), len(numbers) == self._layout[0])
        if fitting and header == "ask":
            raise MatrixFileError(SIZES.format(first=_quoted(line)), number, "choose_header")
        if not fitting and header == "ask" and self._is_edge and resembles_sizes(numbers, extent(rest)):
            text = ALMOST.format(first=_quoted(line), count=extent(rest).n_edges)
            raise MatrixFileError(text, number, "choose_header")
        if header == "sizes":
            if not fitting:
                raise MatrixFileError(f"{_quoted(line)} has no sizes that fit the following lines.", number)
            if not extent(rest).n_edges:
                raise MatrixFileError("The file has no edges.")
            chunks[:] = rest
            return fitting
        if not self._is_edge:
            self._refuse_first()
        return None

    def _refuse_first(self) -> None:
        """Raise the error of a first line that is neither an edge nor sizes."""
        line, number = self._first[0]
        width = _width(line)
        if width not in (2, 3) or len(self._first) > 1:
            raise MatrixFileError(
                f"{_quoted(line)} has {width} columns; an edge has two, or three with a weight. Its numbers do not "
                "fit as sizes either.",
                number,
            )
        second, at = self._second
        raise MatrixFileError(_explain(second, (width, tokenizer.COMMA if b"," in line else tokenizer.BLANK, 0)), at)

    def _first_line(self) -> tuple[bytes | None, bool]:
        """Return the first line that is neither a comment nor a heading, and whether there is a heading."""
        named = False
        while True:
            self._lines.skip_comments()
            line = self._lines.next_line()
            if line is None or named or not NAMES.fullmatch(line):
                return line, named
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
        valued = self.columns > 2 and self._options.weights != "ignore"
        return EdgeChunk(sources, targets, weights if valued else ONE)

    def _convert(self, block: bytes, count: int) -> None:
        """Weights that the compiled path cannot round correctly by itself, through Python's float."""
        for edge, first, end, line in self._inexact[:count].tolist():
            token = block[first:end].decode("ascii", "backslashreplace")
            number = self._lines.number + 1 + line
            if problem := explain_value(token, market.REAL):
                raise MatrixFileError(problem, number)
            try:
                weight = nearest(token)
            except ValueError as error:
                raise MatrixFileError(f"The value {quote(token)} {error}.", number) from None
            # What is no weight is a time, which has to be a number too.
            if edge >= 0:
                self._scratch[2][edge] = weight


def _width(line: bytes) -> int:
    """Return the columns of a line of numbers, separated by commas if it has a comma."""
    return len(line.split(b",") if b"," in line else line.split())


def _quoted(line: bytes) -> str:
    return quote(line.decode("utf-8", "backslashreplace").strip("\r\n"))


def _explain(line: bytes, layout: tuple[int, int, int]) -> str:
    """Return the error of an edge line; it runs once, so that it can be slow."""
    columns, separator, _ = layout
    tokens = [token.strip() for token in (line.split(b",") if separator == tokenizer.COMMA else line.split())]
    if len(tokens) != columns:
        by = "commas" if separator == tokenizer.COMMA else "spaces or tabs"
        return f"{_quoted(line)} has {len(tokens)} columns; the first edge has {columns}, separated by {by}."
    for token in tokens[:2]:
        if re.fullmatch(rb"-\d+", token):
            return f"The id {_quoted(token)} is negative; ids are whole numbers from 0."
        if not re.fullmatch(rb"\d+", token):
            return f"The id {_quoted(token)} is not a whole number."
        if len(token.lstrip(b"0")) > 19 or int(token) > tokenizer.ID_MAX:
            return f"The id {_quoted(token)} is over 2^63 − 1."
    return f"{_quoted(line)} is not an edge; expected 'source target' or 'source target weight'."
