"""Harwell-Boeing and Rutherford-Boeing files, assembled: fixed columns after a header that names Fortran formats.

Duff, Grimes, Lewis: Users' Guide for the Harwell-Boeing Sparse Matrix Collection (1992), chapter 2; Duff, Grimes,
Lewis: The Rutherford-Boeing Sparse Matrix Collection (1997), chapter 2. Numbers mean what Fortran reads: Fortran 2018
(ISO/IEC 1539-1), 13.7.2.2 for I, 13.7.2.3 for E, F, D and G, 13.8.5 for the scale factor P.
"""

import math
import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from gpu_engine.errors import MatrixFileError, TooLargeError, quote
from gpu_engine.findings import units
from gpu_engine.matrix_io.base import Complete, ReadLimits, ReadResult, check_shape
from gpu_engine.matrix_io.compressed import Compressed, build
from gpu_engine.matrix_io.decimals import exact, nearest
from gpu_engine.matrix_io.decompress import content_blocks
from gpu_engine.matrix_io.text import Lines

MIRROR = {"U": 0.0, "R": 0.0, "S": 1.0, "Z": -1.0}
TYPE = re.compile(r"[RPICQrpicq][USZHRuszhr][AEae](?=[ \d]|$)")
FORMAT = re.compile(
    r"\((?:(?P<scale>[+-]?\d{1,2})P,?)?(?P<repeat>\d{0,4})(?P<letter>I|E[NS]?|F|D|G)(?P<width>\d{1,4})"
    r"(?:\.(?P<decimals>\d{1,3})(?:E\d{1,2})?)?\)",
    re.ASCII,
)
FIELD_STARTS = (0, 14, 28, 42, 56)
FORMAT_COLUMNS = ((0, 16), (16, 32), (32, 52))
LINE_CHARACTERS_MAX = 4096
NUMBERS_PER_PART = 100_000
"""Numbers that are held as Python's objects at once."""

WHOLE = re.compile(rb" *([+-]?[0-9]+) *")
DECIMAL = re.compile(
    rb" *(?P<sign>[+-]?)(?=\.?[0-9])(?P<whole>[0-9]*)(?P<point>\.?)(?P<fraction>[0-9]*)"
    rb"(?:[eEdD] *(?P<power>[+-]?[0-9]+)|(?P<bare>[+-][0-9]+))? *"
)
PLAIN = re.compile(rb"[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eEdD][+-]?[0-9]+)?")
"""What every program reads as the same number, whatever the format says."""

FORTRAN_EXPONENT = bytes.maketrans(b"dD", b"ee")
DECIMAL_CHARACTERS = b"0123456789+-.eEdD "
WHOLE_CHARACTERS = b"0123456789+- "
QUICK_WIDTH = 15
"""Whole numbers of so many characters are exact in fp64."""

INDEX_DIGITS_MAX = 18
BLANKS = re.compile(rb"[ \t]+")


class HarwellBoeing(Complete):
    """The reader of real, integer and pattern matrices by columns (RUA, RSA, PUA, PSA and so on)."""

    name = "Harwell-Boeing"

    def recognises(self, head: bytes) -> bool:
        """Whether the third line begins with a matrix type and the fourth with a Fortran format."""
        lines = head.split(b"\n", 4)[:4]
        return len(lines) == 4 and bool(TYPE.match(lines[2].decode("latin-1"))) and lines[3].lstrip()[:1] == b"("

    def read(self, path: Path, limits: ReadLimits) -> ReadResult:
        """The matrix of the file; raises MatrixFileError or TooLargeError."""
        with closing(content_blocks(path, limits)) as blocks:
            lines = Lines(blocks, limits)
            header = _header(lines, limits)
            pointers = _section(lines, header.formats[0], header.n_cols + 1, "column pointers")
            rows = _section(lines, header.formats[1], header.entries, "row indices")
            values = None if header.pattern else _section(lines, header.formats[2], header.entries, "values")
            parts = Compressed(header.n_rows, header.n_cols, pointers - 1, rows - 1, values, True, header.mirror)
        return build(parts, limits, *(["The file has no values; every entry is 1."] if header.pattern else []))


@dataclass(frozen=True, slots=True)
class _Format:
    """So many fields of that many characters a line; `real` where they are decimal numbers.

    decimals  of a number without a point; scale  power of ten that a number without an exponent is divided by
    """

    repeat: int
    width: int
    real: bool
    decimals: int = 0
    scale: int = 0


@dataclass(frozen=True, slots=True)
class _Header:
    """What a file says of itself; `formats` are those of pointers, indices and, unless `pattern`, values."""

    n_rows: int
    n_cols: int
    entries: int
    pattern: bool
    mirror: float
    formats: tuple[_Format, ...]


def _header(lines: Lines, limits: ReadLimits) -> _Header:
    """The header lines, checked; `lines` stands behind them."""
    _next(lines)
    has_right_sides = _numbers(_next(lines), lines.number, 0, 5)[4] > 0
    line = _next(lines)
    kind, number = line[:3].upper(), lines.number
    _check_kind(kind, number)
    n_rows, n_cols, entries = _numbers(line, number, 1, 4)
    check_shape(n_rows, n_cols, entries, limits, f"Line {number}: the")
    if entries > limits.nnz_max:
        raise TooLargeError(
            f"Line {number}: {units.count(entries)} entries; at most {units.count(limits.nnz_max)} are read here."
        )
    line, pattern = _next(lines), kind[0] == "P"
    texts = [line[begin:end] for begin, end in FORMAT_COLUMNS[: 2 if pattern else 3]]
    formats = tuple(_format(text, place == 2, lines.number) for place, text in enumerate(texts))
    if has_right_sides:
        _next(lines)
    return _Header(n_rows, n_cols, entries, pattern, MIRROR[kind[1]], formats)


def _next(lines: Lines) -> str:
    line = lines.next_line()
    if line is None:
        raise MatrixFileError("The Harwell-Boeing file ends too early; send the whole file.", lines.number)
    return line.decode("latin-1")


def _numbers(line: str, number: int, first: int, end: int) -> list[int]:
    """The whole numbers in those columns of a header line; a blank one is 0."""
    fields = [line[start : start + 14].strip(" ") for start in FIELD_STARTS[first:end]]
    for field in fields:
        if not re.fullmatch(r"[0-9]*", field):
            raise MatrixFileError(
                f"{quote(field)} in the header is not a count; expected columns of 14 digits.", number
            )
    return [int(field or 0) for field in fields]


def _check_kind(kind: str, number: int) -> None:
    if kind[2:] == "E":
        raise MatrixFileError(f"The type {quote(kind)} is unassembled; only assembled matrices (…A) are read.", number)
    if kind[0] not in "RPI" or kind[1] not in MIRROR or (kind[0] == "P" and kind[1] == "Z"):
        raise MatrixFileError(f"The type is {quote(kind)}; only real, integer and pattern matrices are read.", number)


def _format(text: str, real: bool, number: int) -> _Format:
    """A Fortran format of whole numbers, or of decimal ones where `real`; Rutherford-Boeing has whole values too."""
    match = FORMAT.fullmatch(text.upper().replace(" ", ""))
    if match is None or (match["letter"] != "I" and not real) or (match["letter"] == "I" and match["scale"]):
        example = "(3E25.16)" if real else "(16I5)"
        raise MatrixFileError(f"{quote(text)} is not a format of numbers; expected one like {example}.", number)
    repeat, width = int(match["repeat"] or 1), int(match["width"])
    if not (repeat and width and repeat * width <= LINE_CHARACTERS_MAX):
        raise MatrixFileError(
            f"The format {quote(text)} makes no line of 1 to {LINE_CHARACTERS_MAX} characters.", number
        )
    return _Format(repeat, width, match["letter"] != "I", int(match["decimals"] or 0), int(match["scale"] or 0))


def _section(lines: Lines, form: _Format, count: int, what: str) -> Any:
    """So many numbers: int64 of indices, float64 of values."""
    valued = what == "values"
    convert = partial(_decimal, form=form) if form.real else _whole_value if valued else _index
    parts: list[Any] = []
    numbers: list[float] = []
    while count > 0:
        line = lines.next_line()
        if line is None:
            raise MatrixFileError(f"The file ends before the last of the {what}; send the whole file.", lines.number)
        here = min(form.repeat, count)
        if not lines.final_newline and len(line) < here * form.width:
            raise MatrixFileError("The last line has no newline and is cut short; send the whole file.", lines.number)
        if (quick := _quick(line, form, here)) is not None:
            numbers += quick
        else:
            matches = _fields(line, form, here, what, lines.number)
            try:
                numbers += map(convert, matches)
            except ValueError as error:
                raise MatrixFileError(f"Among the {what} {error}.", lines.number) from None
        count -= form.repeat
        if len(numbers) >= NUMBERS_PER_PART:
            parts.append(np.array(numbers, np.float64 if valued else np.int64))
            numbers = []
    return np.concatenate([*parts, np.array(numbers, np.float64 if valued else np.int64)])


def _quick(line: bytes, form: _Format, count: int) -> list[float] | None:
    """The numbers of a line in which each field is one that Python reads as Fortran does; None: look closer."""
    end = count * form.width
    odd = line.translate(None, DECIMAL_CHARACTERS if form.real else WHOLE_CHARACTERS)
    # As many points as fields: Python refuses two in one, so that each has its own and none is meant by the format.
    usual = line.count(b".") == count and not form.scale if form.real else form.width <= QUICK_WIDTH
    if odd or not usual or len(line.rstrip(b" ")) > end:
        return None
    convert: Callable[[bytes], float] = float if form.real else int
    plain = line.translate(FORTRAN_EXPONENT)
    try:
        numbers = [convert(plain[begin : begin + form.width]) for begin in range(0, end, form.width)]
    except ValueError:
        return None
    # A zero may be an underflow.
    return None if form.real and (0.0 in numbers or math.inf in map(abs, numbers)) else numbers


def _fields(line: bytes, form: _Format, count: int, what: str, number: int) -> list[re.Match[bytes]]:
    """The numbers of a line: by columns, as Fortran reads them.

    Or by blanks, where by columns there is none: SciPy's hb_write declares wider columns than it writes. What Fortran
    would read by joining what blanks part is refused.
    """
    pattern = DECIMAL if form.real else WHOLE
    fields = [line[begin : begin + form.width] for begin in range(0, count * form.width, form.width)]
    excess = line[count * form.width :].strip(b" ")
    found = list(map(pattern.fullmatch, fields))
    if not excess and all(found):
        return cast(list[re.Match[bytes]], found)
    words = BLANKS.split(line.strip(b" \t"))
    plain = PLAIN if form.real else WHOLE
    joined = [field.replace(b" ", b"") for field in fields]
    would_join = not excess and all(not field or pattern.fullmatch(field) for field in joined)
    if len(words) == count and all(map(plain.fullmatch, words)) and not (would_join or form.scale):
        return [match for word in words if (match := pattern.fullmatch(word))]
    if excess:
        raise MatrixFileError(f"The line has more than {count} numbers of {form.width} characters.", number)
    wrong = next(field for field in fields if not pattern.fullmatch(field))
    kind = "decimal" if form.real else "whole"
    raise MatrixFileError(f"{_shown(wrong)} among the {what} is not a {kind} number.", number)


def _shown(field: bytes) -> str:
    return quote(field.decode("latin-1").strip(" "))


def _index(match: re.Match[bytes]) -> int:
    if len(match[0]) > INDEX_DIGITS_MAX and len(match[1].lstrip(b"+-0")) > INDEX_DIGITS_MAX:
        raise ValueError(f"{_shown(match[0])} has more than {INDEX_DIGITS_MAX} digits, as no index has")
    return int(match[1])


def _whole_value(match: re.Match[bytes]) -> float:
    return _named(match, exact, match[1].decode())


def _decimal(match: re.Match[bytes], form: _Format) -> float:
    """The number that Fortran reads: the format says where a point is that is not written, and what to scale by."""
    power = match["power"] or match["bare"]
    exponent = int(power) if power else -form.scale
    if not match["point"]:
        exponent -= form.decimals
    digits = match["sign"] + match["whole"] + b"." + match["fraction"]
    return _named(match, nearest, f"{digits.decode()}e{exponent}")


def _named(match: re.Match[bytes], convert: Callable[[str], float], token: str) -> float:
    """What the token converts to; the error names what stands in the file."""
    try:
        return convert(token)
    except ValueError as error:
        raise ValueError(f"{_shown(match[0])} {error}") from None
