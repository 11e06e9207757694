"""Reader of edge lists with names as ids: lines `alice bob [weight]`. Names are numbered in alphabetical order."""

import csv
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.errors import MatrixFileError, TooLargeError, quote
from gpu_engine.matrix_io import tokenizer as market
from gpu_engine.matrix_io.base import ReadLimits
from gpu_engine.matrix_io.decimals import NUMBER, nearest
from gpu_engine.matrix_io.explain import explain_value
from gpu_engine.matrix_io.options import ReadOptions
from gpu_engine.matrix_io.text import Lines
from gpu_engine.text import units

BLANKS = " \t"
HEADINGS = {"source", "target", "from", "to", "src", "dst", "tail", "head", "u", "v", "node1", "node2", "id1", "id2"}
"""Names of end columns: a first line with two of these is a heading."""


@dataclass(slots=True)
class EdgeChunk:
    """A chunk of edges: sources, targets int64 [n]; weights float64 [n], or [1] if all are 1."""

    sources: Any
    targets: Any
    weights: Any


def are_names(first: bytes, second: bytes) -> bool:
    """Return whether the first two lines after comments are edges between names, or a heading and such an edge."""
    with suppress(UnicodeDecodeError, csv.Error):
        lines = [line.removesuffix(b"\r").decode() for line in (first, second)]
        separator = _separator(lines[0])
        heading, edge = (_columns(line, separator) for line in lines)
        return len(heading) == len(edge) and _is_edge(edge) and (_is_edge(heading) or _is_heading(heading))
    return False


class NamedEdges:
    """Reader of the edge lines of a file, by blocks; names are numbered in the order of their occurrence."""

    def __init__(self, lines: Lines, options: ReadOptions, limits: ReadLimits) -> None:
        self._lines, self._limits, self._options = lines, limits, options
        self._numbers: dict[str, int] = {}
        self._separator, self._width, self._done = "", 0, 0

    @property
    def columns(self) -> int:
        """Number of columns per line."""
        return self._width

    @property
    def final_newline(self) -> bool:
        """Whether the last line has a line end."""
        return self._lines.final_newline

    def relabelling_note(self, n: int, largest: int) -> str:  # noqa: ARG002
        """Return a sentence on the relabeling of the ids."""
        first, last = min(self._numbers), max(self._numbers)
        return f"{n} distinct names, from {quote(first)} to {quote(last)}, became 0 … {n - 1} in alphabetical order."

    def chunks(self) -> Iterator[EdgeChunk]:
        """Yield all edges of the file, with indices of their names in alphabetical order."""
        chunks = list(self._read())
        places = np.empty(len(self._numbers), np.int64)
        for place, name in enumerate(sorted(self._numbers)):
            places[self._numbers[name]] = place
        for chunk in chunks:
            yield EdgeChunk(places[chunk.sources], places[chunk.targets], chunk.weights)

    def _read(self) -> Iterator[EdgeChunk]:
        self._lines.skip_comments()
        first = (self._lines.next_line() or b"").decode()
        self._separator = _separator(first)
        columns = _columns(first, self._separator)
        self._width = len(columns)
        if not _is_heading(columns):
            self._lines.number -= 1
            yield self._parse(first.encode() + b"\n")
        for block in self._lines.blocks():
            yield self._parse(block)

    def _parse(self, block: bytes) -> EdgeChunk:
        ends: list[int] = []
        weights: list[float] = []
        for line in block.split(b"\n")[:-1]:
            self._lines.number += 1
            bare = line.lstrip(b" \t")
            if bare[:1] in (b"#", b"%") or not bare.removesuffix(b"\r"):
                continue
            try:
                *names, weight = self._edge(line)
            except MatrixFileError as error:
                raise MatrixFileError(error.message, self._lines.number) from None
            ends += (self._numbers.setdefault(name, len(self._numbers)) for name in names)
            weights.append(weight)
        self._done += len(weights)
        if self._done * (1 if self._options.directed else 2) > self._limits.nnz_max:
            raise TooLargeError(f"The file has more edges than {units.count(self._limits.nnz_max)} nonzeros hold.")
        pairs = np.array(ends, np.int64).reshape(-1, 2)
        valued = self._width == 3 and self._options.weights != "ignore"
        return EdgeChunk(pairs[:, 0], pairs[:, 1], np.array(weights) if valued else np.ones(1))

    def _edge(self, line: bytes) -> tuple[str, str, float]:
        """Return source, target, and weight of a line; raises MatrixFileError without the line number."""
        if len(line) > self._limits.line_bytes:
            limit = self._limits.line_bytes
            raise TooLargeError(f"Line {self._lines.number} is longer than {limit} bytes, the limit of a line.")
        try:
            text = line.removesuffix(b"\r").decode()
            columns = _columns(text, self._separator)
        except UnicodeDecodeError:
            raise MatrixFileError("The line is not UTF-8 text; save the file as UTF-8.") from None
        except csv.Error as error:
            raise MatrixFileError(f"{quote(text)} is not a line of CSV: {error}.") from None
        if len(columns) != self._width:
            by = {",": "commas", "\t": "tabs"}.get(self._separator, "blanks")
            raise MatrixFileError(
                f"{quote(text)} has {len(columns)} columns; the first edge has {self._width}, separated by {by}."
            )
        source, target, *weight = columns
        for name in (source, target):
            if problem := _problem(name):
                raise MatrixFileError(problem)
        return source, target, _weight(weight[0]) if weight else 1.0


def _separator(line: str) -> str:
    """Return what separates the columns of a file whose first line this is: a comma, a tab, or nothing but blanks."""
    return next((sign for sign in (",", "\t") if sign in line.strip(BLANKS)), "")


def _columns(line: str, separator: str) -> list[str]:
    """Return the columns of a line; quotation marks as in CSV where commas separate them."""
    line = line.strip(BLANKS)
    if separator == "," and '"' in line:
        (columns,) = csv.reader([line], skipinitialspace=True, strict=True)
    else:
        columns = line.split(separator) if separator else re.split(f"[{BLANKS}]+", line)
    return [column.strip(BLANKS) for column in columns]


def _is_edge(columns: list[str]) -> bool:
    """Return whether both ends begin as names do, and a third column is a number."""
    if len(columns) not in (2, 3) or not (columns[0] and columns[1]):
        return False
    named = all(end[0].isalpha() or end[0] == "_" for end in columns[:2])
    return named and not _problem(columns[0]) + _problem(columns[1]) and bool(NUMBER.fullmatch((*columns, "1")[2]))


def _is_heading(columns: list[str]) -> bool:
    """Return whether a first line is a heading: usual names, or no number in a column of numbers."""
    ends = {column.lower() for column in columns[:2]}
    return ends <= HEADINGS or (len(columns) == 3 and not NUMBER.fullmatch(columns[2]))


def _problem(name: str) -> str:
    """Return the error of a name, or ""."""
    if not name:
        return "An end of the edge is empty."
    if re.fullmatch("[+-]?[0-9]+", name):
        return f"The id {quote(name)} is a number; the first edge has names."
    return "" if name.isprintable() else f"The id {quote(name)} has a control character."


def _weight(token: str) -> float:
    """Return the nearest fp64 number; raises MatrixFileError."""
    if problem := explain_value(token, market.REAL):
        raise MatrixFileError(problem)
    try:
        return nearest(token)
    except ValueError as error:
        raise MatrixFileError(f"The value {quote(token)} {error}.") from None
