"""Strict reader of Matrix Market files (https://math.nist.gov/MatrixMarket/formats.html)."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from gpu_engine.errors import MatrixFileError, TooLargeError, quote
from gpu_engine.matrix_io import tokenizer
from gpu_engine.matrix_io.assemble import Chunk, assemble
from gpu_engine.matrix_io.base import ReadLimits, ReadResult
from gpu_engine.matrix_io.decimals import exact, nearest
from gpu_engine.matrix_io.decompress import BLOCK_BYTES, content_blocks, content_bytes_max
from gpu_engine.matrix_io.explain import explain_line
from gpu_engine.matrix_io.market_header import (
    Header,
    first_line,
    is_banner,
    lacks_field,
    parse_banner,
    read_header,
    with_diagonal,
)
from gpu_engine.matrix_io.options import ReadOptions
from gpu_engine.matrix_io.text import Lines
from gpu_engine.text import units

MIRROR = {tokenizer.GENERAL: 0.0, tokenizer.SYMMETRIC: 1.0, tokenizer.SKEW: -1.0}
COMMENTS = "%"
SKEW_DIAGONAL = "A nonzero on the diagonal of a skew-symmetric matrix, where all are zero."
ONE = np.ones(1)


class MatrixMarket:
    """Reader of `.mtx` text, plain or compressed."""

    name = "Matrix Market"

    def __init__(self, options: ReadOptions | None = None) -> None:
        self.options = options or ReadOptions()

    def recognizes(self, head: bytes) -> bool:
        """Return whether the text begins with the banner."""
        return is_banner(head)

    def leaves_open(self, head: bytes) -> tuple[str, ...]:
        """Return ("field",) if the banner lacks the field."""
        return ("field",) if lacks_field(head) else ()

    def with_options(self, options: ReadOptions) -> "MatrixMarket":
        """Return the reader with these options, which determine a missing field."""
        return MatrixMarket(options)

    def refusal(self, head: bytes) -> MatrixFileError | None:
        """Return the error of a banner without a field, else None."""
        try:
            parse_banner(first_line(head), self.options.field)
        except MatrixFileError as error:
            return error if error.hint else None
        return None

    def read(self, path: Path, limits: ReadLimits) -> ReadResult:
        """Return the matrix of the file; raises MatrixFileError or TooLargeError."""
        with closing(content_blocks(path, limits)) as blocks:
            lines = Lines(blocks, limits, COMMENTS)
            return read_market(lines, content_bytes_max(path, limits), limits, self.options.field)


def read_market(lines: Lines, text_bytes: int, limits: ReadLimits, field: str = "named") -> ReadResult:
    """Return the matrix of a text of at most `text_bytes` bytes, which is read to its end.

    field  field for a banner without one; `named`: such a banner is an error
    Raises MatrixFileError or TooLargeError.
    """
    header = read_header(lines, text_bytes, limits, field)
    entries = _Entries(header, lines, limits)
    chunks = list(entries.chunks())
    matrix, duplicates = assemble(header.n_rows, header.n_cols, chunks, MIRROR[header.symmetry])
    return ReadResult(matrix, tuple(_notes(header, entries, duplicates)), duplicates)


class _Entries:
    """Reader of the entry lines of a file, by blocks."""

    def __init__(self, header: Header, lines: Lines, limits: ReadLimits) -> None:
        capacity = (BLOCK_BYTES + limits.line_bytes) // header.entry_bytes + 1
        self._header, self._lines, self._nnz_max = header, lines, limits.nnz_max
        n_rows = header.n_rows if header.coordinate else -1
        self._layout = (header.kind, header.symmetry, n_rows, header.n_cols, limits.line_bytes)
        self._triangle = np.zeros(1, np.int64)
        self._scratch = (np.empty(capacity, np.int32), np.empty(capacity, np.int32), np.empty(capacity))
        self._inexact = np.empty((capacity, 4), np.int64)
        self._done = self._nnz = 0
        self._is_skew_array = header.symmetry == tokenizer.SKEW and not header.coordinate
        self._allowed = with_diagonal(header) if self._is_skew_array else header.entries
        self.left_out = 0

    @property
    def upper(self) -> bool:
        """Whether all off-diagonal entries lie above the diagonal."""
        return bool(self._triangle[0] == 2) and self._header.coordinate

    @property
    def final_newline(self) -> bool:
        """Whether the last line has a line end."""
        return self._lines.final_newline

    def chunks(self) -> Iterator[Chunk]:
        """Yield all entries of the file; raises MatrixFileError if their number differs from the header."""
        yield from self._skew_array() if self._is_skew_array else self._checked(self._parsed())
        if self._done < self._header.entries:
            raise MatrixFileError(
                f"The file ends after {self._done} of {self._header.entries} entries. It is truncated, or the header "
                "is wrong.",
                self._lines.number,
            )

    def _parsed(self) -> Iterator[Chunk]:
        for block in self._lines.blocks():
            yield self._parse(block)

    def _checked(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yield the chunks; raises TooLargeError above the limit of nonzeros."""
        for chunk in chunks:
            mirrored = int(np.count_nonzero(chunk.rows != chunk.cols)) if self._header.symmetry else 0
            self._nnz += chunk.rows.size + mirrored
            if self._nnz > self._nnz_max:
                raise TooLargeError(
                    f"The matrix has more than {units.count(self._nnz_max)} nonzeros, symmetric halves expanded."
                )
            yield chunk

    def _skew_array(self) -> Iterator[Chunk]:
        """Yield the entries of a skew-symmetric array, whose number of values says whether it holds the diagonal."""
        # Rows hold the numbers of the values until the last of them has come.
        parts = list(self._parsed())
        shapes = (self._header.entries, self._allowed)
        if self._header.entries < self._done < self._allowed:
            raise MatrixFileError(
                f"The file has {self._done} values; a skew-symmetric array has {shapes[0]}, or {shapes[1]} with its "
                "zero diagonal. Write it again.",
                self._lines.number,
            )
        has_diagonal = self._done == self._allowed
        for chunk in self._checked(
            Chunk(*_array_places(self._header, part.rows, has_diagonal), part.values) for part in parts
        ):
            if np.any(chunk.rows == chunk.cols):
                raise MatrixFileError(SKEW_DIAGONAL, self._lines.number)
            yield chunk

    def _parse(self, block: bytes) -> Chunk:
        text = np.frombuffer(block, np.uint8)
        status, position, n_lines, count, n_inexact = tokenizer.parse_entries(
            text, self._allowed - self._done, self._layout, self._triangle, *self._scratch, self._inexact
        )
        # An inexact value before the line at fault comes first in the file, and so does its error.
        self._convert(block, n_inexact)
        if status != tokenizer.OK:
            self._refuse(status, block[position : block.index(b"\n", position)], self._lines.number + n_lines + 1)
        self._lines.number += n_lines
        chunk = self._chunk(count)
        self._done += count
        return chunk

    def _convert(self, block: bytes, count: int) -> None:
        """Values that the compiled path cannot round correctly by itself, through Python's float."""
        convert = nearest if self._header.kind == tokenizer.REAL else exact
        for entry, first, end, line in self._inexact[:count].tolist():
            token = block[first:end].decode("ascii")
            try:
                self._scratch[2][entry] = convert(token)
            except ValueError as error:
                raise MatrixFileError(f"The value {quote(token)} {error}.", self._lines.number + 1 + line) from None

    def _refuse(self, status: int, line: bytes, number: int) -> None:
        """Raise the error of a line at fault."""
        header = self._header
        if status == tokenizer.TOO_LONG:
            raise TooLargeError(f"Line {number} is longer than {self._layout[-1]} bytes, the limit of a line.")
        if status == tokenizer.TOO_MANY:
            what = "the header" if header.coordinate else "such an array"
            words = (
                f"The line is one entry more than the {self._allowed} of {what}. Correct the header or remove the line."
            )
        elif status == tokenizer.BOTH_TRIANGLES:
            words = "The entry lies in the other triangle; a symmetric file holds one. Say general, or remove one."
        elif status == tokenizer.SKEW_DIAGONAL:
            words = SKEW_DIAGONAL
        else:
            kind, _, n_rows, n_cols, _ = self._layout
            words = explain_line(line, kind, n_rows, n_cols)
        raise MatrixFileError(words, number)

    def _chunk(self, count: int) -> Chunk:
        """Return a copy of the entries just parsed."""
        rows, cols, values = (array[:count] for array in self._scratch)
        if self._header.coordinate:
            pattern = self._header.kind == tokenizer.PATTERN
            return Chunk(rows.copy(), cols.copy(), ONE if pattern else values.copy())
        places = np.flatnonzero(values)
        self.left_out += count - places.size
        if self._is_skew_array:
            return Chunk(self._done + places, places, values[places])
        return Chunk(*_array_places(self._header, self._done + places), values[places])


def _array_places(header: Header, number: Any, has_diagonal: bool = False) -> tuple[Any, Any]:
    """Return (rows, cols) int32 of array values by 0-based number in column order; symmetric: the lower half."""
    lost = 1 if header.symmetry == tokenizer.SKEW and not has_diagonal else 0
    column = np.arange(header.n_cols, dtype=np.int64)
    top = np.zeros_like(column) if header.symmetry == tokenizer.GENERAL else column + lost
    starts = np.concatenate([[0], np.cumsum(header.n_rows - top)])
    cols = np.searchsorted(starts, number, side="right") - 1
    return (number - starts[cols] + top[cols]).astype(np.int32), cols.astype(np.int32)


def _notes(header: Header, entries: _Entries, duplicates: int) -> Iterator[str]:
    if header.chosen:
        yield f"The first line names no field; the entries were read as {header.chosen}, as chosen."
    if header.kind == tokenizer.PATTERN:
        yield "The file has no values; every entry is 1."
    if header.symmetry != tokenizer.GENERAL:
        yield "The file has one triangle; the other was mirrored from it."
    if entries.upper:
        yield "The entries lie above the diagonal, where the standard puts them below it."
    if duplicates:
        yield f"{duplicates} entries repeat a row and column; they were added up."
    if not header.coordinate:
        yield f"The file is dense; {entries.left_out} zeros were left out."
    if not entries.final_newline:
        yield "The last line has no newline; the file may have been cut there."
