"""Reads numbers of a text as Fortran does with a format: by columns, line by line.

Fortran 2018 (ISO/IEC 1539-1), 13.7.2.2 for I, 13.7.2.3 for E, F, D and G, 13.8.5 for the scale factor P.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gpu_engine.errors import MatrixFileError, quote
from gpu_engine.matrix_io.decimals import exact, nearest
from gpu_engine.matrix_io.fortran_format import Field, Format
from gpu_engine.matrix_io.text import Lines

NUMBERS_PER_PART = 100_000
"""Maximum number of numbers that exist as Python objects at a time."""

WHOLE = re.compile(rb" *([+-]?[0-9]+) *")
DECIMAL = re.compile(
    rb" *(?P<sign>[+-]?)(?=\.?[0-9])(?P<whole>[0-9]*)(?P<point>\.?)(?P<fraction>[0-9]*)"
    rb"(?:[eEdD] *(?P<power>[+-]?[0-9]+)|(?P<bare>[+-][0-9]+))? *"
)
PLAIN = re.compile(rb"[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eEdD][+-]?[0-9]+)?")
"""Patterns of numbers whose meaning does not depend on the format."""

FORTRAN_EXPONENT = bytes.maketrans(b"dD", b"ee")
DECIMAL_CHARACTERS = b"0123456789+-.eEdD "
WHOLE_CHARACTERS = b"0123456789+- "
QUICK_WIDTH = 15
"""Number of characters of integers that are exact in fp64."""

INDEX_DIGITS_MAX = 18
BLANKS = re.compile(rb"[ \t]+")


@dataclass
class Section:
    """A section of consecutive numbers: column pointers, row indices, or values of a matrix.

    what    name of the numbers in messages
    valued  float64 values; else int64 indices
    blanks  number of blank fields, which Fortran reads as 0
    """

    form: Format
    count: int
    what: str
    valued: bool = False
    blanks: int = 0

    def read(self, lines: Lines) -> Any:
        """Return the numbers of the section; raises MatrixFileError."""
        dtype = np.float64 if self.valued else np.int64
        parts: list[Any] = []
        numbers: list[float] = []
        left, layout, later = self.count, _Layout(self.form.first), _Layout(self.form.later)
        while left > 0:
            layout = layout if len(layout.fields) <= left else _Layout(layout.fields[:left])
            numbers += self._line(lines, layout)
            left -= len(layout.fields)
            layout = later
            if len(numbers) >= NUMBERS_PER_PART:
                parts.append(np.array(numbers, dtype))
                numbers = []
        return np.concatenate([*parts, np.array(numbers, dtype)])

    def _line(self, lines: Lines, layout: "_Layout") -> list[float]:
        line = lines.next_line()
        if line is None:
            raise MatrixFileError(
                f"The file ends before the last of the {self.what}; send the whole file.", lines.number
            )
        if not lines.final_newline and len(line) < layout.end:
            raise MatrixFileError("The last line has no newline and is cut short; send the whole file.", lines.number)
        quick = layout.quick(line)
        return quick if quick is not None else self._closer(line, layout, lines.number)

    def _closer(self, line: bytes, layout: "_Layout", number: int) -> list[float]:
        """Return the numbers of a line by columns, as Fortran reads them.

        If a line has no numbers by columns, blanks separate them: SciPy's hb_write declares wider columns than it
        writes. Lines in which Fortran would join numbers across blanks are rejected.
        """
        fields = layout.fields
        tokens = [_token(line, field) for field in fields]
        matches = [_pattern(field).fullmatch(token) for field, token in zip(fields, tokens, strict=True)]
        excess = line[layout.end :].strip(b" ")
        if any(line[begin:end].strip(b" ") for begin, end in layout.gaps):
            raise MatrixFileError("Characters stand in columns that the format skips; correct the format.", number)
        is_blank = [not token.strip(b" ") for token in tokens]
        # A blank field at the end of a line is more likely cut off than 0.
        zeros = self.valued and not is_blank[-1]
        if excess or not all(match or (zeros and blank) for match, blank in zip(matches, is_blank, strict=True)):
            words = _words(line, layout, tokens, excess)
            if words is None:
                raise self._refusal(tokens, layout, excess, number)
            matches = [_pattern(field).fullmatch(word) for field, word in zip(fields, words, strict=True)]
        self.blanks += matches.count(None)
        try:
            return [self._number(match, field) for match, field in zip(matches, fields, strict=True)]
        except ValueError as error:
            raise MatrixFileError(f"Among the {self.what} {error}.", number) from None

    def _number(self, match: re.Match[bytes] | None, field: Field) -> float:
        if match is None:
            return 0.0
        if field.real:
            return _decimal(match, field)
        return _named(match, exact, match[1].decode()) if self.valued else _index(match)

    def _refusal(self, tokens: list[bytes], layout: "_Layout", excess: bytes, number: int) -> MatrixFileError:
        """Return the error of a line that can be read neither by columns nor by blanks."""
        count, width = len(layout.fields), layout.fields[0].end - layout.fields[0].begin
        if excess:
            return MatrixFileError(f"The line has more than {count} numbers of {width} characters.", number)
        wrong = [
            (token, field)
            for token, field in zip(tokens, layout.fields, strict=True)
            if not _pattern(field).fullmatch(token)
        ]
        token, field = next((pair for pair in wrong if pair[0].strip(b" ")), wrong[0])
        kind = "decimal" if field.real else "whole"
        return MatrixFileError(f"{_quoted(token)} among the {self.what} is not a {kind} number.", number)


@dataclass
class _Layout:
    """The fields of one line."""

    fields: tuple[Field, ...]

    @cached_property
    def end(self) -> int:
        """Characters up to the end of the last field."""
        return max(field.end for field in self.fields)

    @cached_property
    def gaps(self) -> list[tuple[int, int]]:
        """Columns before the end that no field has."""
        gaps, end = [], 0
        for field in sorted(self.fields, key=lambda field: field.begin):
            if field.begin > end:
                gaps.append((end, field.begin))
            end = max(end, field.end)
        return gaps

    @cached_property
    def is_usual(self) -> bool:
        """Whether Python reads each field as Fortran does, if the characters are the usual ones."""
        kinds = {(field.real, field.scale, field.zeros) for field in self.fields}
        widest = max(field.end - field.begin for field in self.fields)
        return kinds == {(True, 0, False)} or (kinds == {(False, 0, False)} and widest <= QUICK_WIDTH)

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """Begin and end of each field."""
        return [(field.begin, field.end) for field in self.fields]

    def quick(self, line: bytes) -> list[float] | None:
        """Return the numbers of a line if Python reads each field as Fortran does, else None."""
        if not self.is_usual:
            return None
        real = self.fields[0].real
        odd = line.translate(None, DECIMAL_CHARACTERS if real else WHOLE_CHARACTERS)
        # As many points as fields: Python refuses two in one, so that each has its own and none is meant by the format.
        if odd or (real and line.count(b".") != len(self.fields)) or len(line.rstrip(b" ")) > self.end:
            return None
        if any(line[begin:end].strip(b" ") for begin, end in self.gaps):
            return None
        convert: Callable[[bytes], float] = float if real else int
        plain = line.translate(FORTRAN_EXPONENT)
        try:
            numbers = [convert(plain[begin:end]) for begin, end in self.spans]
        except ValueError:
            return None
        # A zero may be an underflow.
        return None if real and (0.0 in numbers or math.inf in map(abs, numbers)) else numbers


def _token(line: bytes, field: Field) -> bytes:
    """Return the characters of a field, blanks made zeros where the format says so."""
    token = line[field.begin : field.end]
    if not field.zeros or not token.strip(b" "):
        return token
    return token.ljust(field.end - field.begin).lstrip(b" ").replace(b" ", b"0")


def _pattern(field: Field) -> re.Pattern[bytes]:
    return DECIMAL if field.real else WHOLE


def _words(line: bytes, layout: _Layout, tokens: list[bytes], excess: bytes) -> list[bytes] | None:
    """Return the numbers of a line by blanks; None where that is not how the line was meant."""
    words = BLANKS.split(line.strip(b" \t"))
    if len(words) != len(tokens) or any(field.scale or field.zeros for field in layout.fields):
        return None
    joined = [token.replace(b" ", b"") for token in tokens]
    would_join = not excess and all(
        not token or _pattern(field).fullmatch(token) for field, token in zip(layout.fields, joined, strict=True)
    )
    plain = (PLAIN if field.real else WHOLE for field in layout.fields)
    fits = all(pattern.fullmatch(word) for pattern, word in zip(plain, words, strict=True))
    return words if fits and not would_join else None


def _quoted(field: bytes) -> str:
    return quote(field.decode("latin-1").strip(" "))


def _index(match: re.Match[bytes]) -> int:
    if len(match[0]) > INDEX_DIGITS_MAX and len(match[1].lstrip(b"+-0")) > INDEX_DIGITS_MAX:
        raise ValueError(f"{_quoted(match[0])} has more than {INDEX_DIGITS_MAX} digits, as no index has")
    return int(match[1])


def _decimal(match: re.Match[bytes], field: Field) -> float:
    """Return the number that Fortran reads, with the implied point and scale factor of the format."""
    power = match["power"] or match["bare"]
    exponent = int(power) if power else -field.scale
    if not match["point"]:
        exponent -= field.decimals
    digits = match["sign"] + match["whole"] + b"." + match["fraction"]
    return _named(match, nearest, f"{digits.decode()}e{exponent}")


def _named(match: re.Match[bytes], convert: Callable[[str], float], token: str) -> float:
    """Return what the token converts to; the error names what stands in the file."""
    try:
        return convert(token)
    except ValueError as error:
        raise ValueError(f"{_quoted(match[0])} {error}") from None
