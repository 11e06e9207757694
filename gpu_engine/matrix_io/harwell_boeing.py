"""Reader of assembled Harwell-Boeing and Rutherford-Boeing files: columns as the Fortran formats in the header say.

Duff, Grimes, Lewis: Users' Guide for the Harwell-Boeing Sparse Matrix Collection (1992), chapter 2; Duff, Grimes,
Lewis: The Rutherford-Boeing Sparse Matrix Collection (1997), chapter 2. Numbers mean what Fortran reads.
"""

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from gpu_engine.errors import MatrixFileError, TooLargeError, quote
from gpu_engine.matrix_io import fortran_format
from gpu_engine.matrix_io.base import Complete, ReadLimits, ReadResult, check_shape
from gpu_engine.matrix_io.compressed import Compressed, build
from gpu_engine.matrix_io.decompress import content_blocks
from gpu_engine.matrix_io.fortran_format import Format
from gpu_engine.matrix_io.fortran_numbers import Section
from gpu_engine.matrix_io.text import Lines
from gpu_engine.text import units

MIRROR = {"U": 0.0, "R": 0.0, "S": 1.0, "H": 1.0, "Z": -1.0}
"""Pattern of matrix types; a real Hermitian matrix is symmetric."""

TYPE = re.compile(r"[RPICQrpicq][USZHRuszhr][AEae](?=[ \d]|$)")
AUXILIARY = re.compile(
    r"(?:ord|rhs|sln|est|evl|svl|evc|svc|sbv|sbm|sbp|ipt|icv|lvl|geo|avl|mvl)[ a-z]{2} .{8} [ a-z](?: +\d+)+",
    re.IGNORECASE,
)
"""Pattern of the first line of an auxiliary Rutherford-Boeing file: right-hand sides, orderings, values, and others."""

COUNT = re.compile(r"[0-9]{0,14}", re.ASCII)
FIELD_STARTS = (0, 14, 28, 42, 56)
FORMAT_COLUMNS = ((0, 16), (16, 32), (32, 52))


class HarwellBoeing(Complete):
    """Reader of real, integer, and pattern matrices by columns (RUA, RSA, PUA, PSA, and so on)."""

    name = "Harwell-Boeing"

    def recognizes(self, head: bytes) -> bool:
        """Return whether lines 3 and 4 begin with a type and a Fortran format, or the file is auxiliary."""
        lines = head.split(b"\n", 4)[:4]
        if len(lines) > 1 and _is_auxiliary(*(line.decode("latin-1") for line in lines[:2])):
            return True
        return len(lines) == 4 and bool(TYPE.match(lines[2].decode("latin-1"))) and lines[3].lstrip()[:1] == b"("

    def read(self, path: Path, limits: ReadLimits) -> ReadResult:
        """Return the matrix of the file; raises MatrixFileError or TooLargeError."""
        with closing(content_blocks(path, limits)) as blocks:
            lines = Lines(blocks, limits)
            header = _header(lines, limits)
            pointers = Section(header.formats[0], header.n_cols + 1, "column pointers").read(lines)
            rows = Section(header.formats[1], header.entries, "row indices").read(lines)
            section = None if header.pattern else Section(header.formats[2], header.entries, "values", valued=True)
            values = section.read(lines) if section else None
            # Right-hand sides are passed over, to the checksum behind them.
            for _ in lines.blocks():
                pass
            parts = Compressed(header.n_rows, header.n_cols, pointers - 1, rows - 1, values, True, header.mirror)
        notes = [] if section else ["The file has no values; every entry is 1."]
        if section and section.blanks:
            notes.append(f"{section.blanks} values are blank; they were read as 0, as Fortran does.")
        return build(parts, limits, *notes)


@dataclass(frozen=True, slots=True)
class _Header:
    """Header of a file; `formats` are the formats of pointers, indices, and, unless `pattern`, values."""

    n_rows: int
    n_cols: int
    entries: int
    pattern: bool
    mirror: float
    formats: tuple[Format, ...]


def _header(lines: Lines, limits: ReadLimits) -> _Header:
    """Return the checked header; `lines` is then after it."""
    title, second = _next(lines), _next(lines)
    if _is_auxiliary(title, second):
        raise MatrixFileError(
            f"This Rutherford-Boeing file holds auxiliary data ({quote(title[:3])}), not a matrix. "
            "Send the matrix file.",
            1,
        )
    counts = _counts(second, 0, 5, lines.number)
    has_right_sides = len(counts) > 4 and counts[4] > 0
    line = _next(lines)
    kind, number = line[:3].upper(), lines.number
    _check_kind(kind, number)
    n_rows, n_cols, entries = _counts(line[3:].rjust(len(line)), 1, 4, number)[:3]
    check_shape(n_rows, n_cols, entries, limits, f"Line {number}: the")
    if entries > limits.nnz_max:
        raise TooLargeError(
            f"Line {number}: {units.count(entries)} entries; at most {units.count(limits.nnz_max)} are read here."
        )
    pattern = kind[0] == "P"
    formats = _formats(_next(lines), 2 if pattern else 3, lines.number)
    if has_right_sides:
        _next(lines)
    return _Header(n_rows, n_cols, entries, pattern, MIRROR[kind[1]], formats)


def _is_auxiliary(title: str, second: str) -> bool:
    return AUXILIARY.match(title) is not None and second.lstrip()[:1] == "("


def _next(lines: Lines) -> str:
    line = lines.next_line()
    if line is None:
        raise MatrixFileError("The Harwell-Boeing file ends too early; send the whole file.", lines.number)
    return line.decode("latin-1")


def _counts(line: str, first: int, end: int, number: int) -> list[int]:
    """Return the integers of a header line by columns, where a blank is 0, or by blanks if all are present."""
    fields = [line[start : start + 14].strip(" ") for start in FIELD_STARTS[first:end]]
    if not line[: FIELD_STARTS[first]].strip(" ") and all(map(COUNT.fullmatch, fields)):
        return [int(field or 0) for field in fields]
    words, most = line.split(), len(FIELD_STARTS) - first
    if wrong := [word for word in words if not COUNT.fullmatch(word)]:
        raise MatrixFileError(f"{quote(wrong[0])} in the header is not a count; expected columns of 14 digits.", number)
    if not most - 1 <= len(words) <= most:
        raise MatrixFileError(f"The header line has {len(words)} counts; expected columns of 14 digits.", number)
    return list(map(int, words))


def _check_kind(kind: str, number: int) -> None:
    if kind[2:] == "E":
        raise MatrixFileError(
            f"The type {quote(kind)} is unassembled: a list of finite elements. Assemble it and send type {kind[:2]}A.",
            number,
        )
    if kind[0] == "C":
        raise MatrixFileError(f"The type {quote(kind)} is complex. Only real matrices are supported.", number)
    if kind[0] == "Q":
        raise MatrixFileError(
            f"The type {quote(kind)} keeps its values in another file; only real, integer and pattern matrices are "
            "read. Send it as Matrix Market text.",
            number,
        )
    if kind[0] not in "RPI" or kind[1] not in MIRROR or kind[:2] == "PZ":
        raise MatrixFileError(f"The type is {quote(kind)}; only real, integer and pattern matrices are read.", number)


def _formats(line: str, needed: int, number: int) -> tuple[Format, ...]:
    """Return the formats of a header line by columns, or by brackets if one exceeds its columns."""
    by_columns = [line[begin:end] for begin, end in FORMAT_COLUMNS[:needed]]
    try:
        return tuple(_format(text, place == 2, number) for place, text in enumerate(by_columns))
    except MatrixFileError:
        by_brackets = list(_bracketed(line))
        if len(by_brackets) < needed:
            raise
        return tuple(_format(text, place == 2, number) for place, text in enumerate(by_brackets[:needed]))


def _bracketed(line: str) -> Iterator[str]:
    """Yield the texts in outermost brackets."""
    depth, begin = 0, 0
    for place, character in enumerate(line):
        if character == "(":
            begin, depth = (begin if depth else place), depth + 1
        elif character == ")" and depth:
            depth -= 1
            if not depth:
                yield line[begin : place + 1]


def _format(text: str, real: bool, number: int) -> Format:
    """Return a Fortran format of integers, or of decimals if `real`; values in Rutherford-Boeing may be integers."""
    try:
        form = fortran_format.parse(text)
        if form.real and not real:
            raise ValueError("is not a format of whole numbers")
    except ValueError as error:
        example = "(3E25.16)" if real else "(16I5)"
        raise MatrixFileError(
            f"The format {quote(text.strip())} {error}; expected one like {example}.", number
        ) from None
    return form
