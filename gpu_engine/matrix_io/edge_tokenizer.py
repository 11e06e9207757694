"""Compiled reader of edge lines, in a separate module because Numba's cache only checks a function's own file."""

from typing import Any

import numpy as np

from gpu_engine.host.jit import numba

OK, BAD_LINE, TOO_LONG = 0, 1, 2
BLANK, COMMA = 32, 44
TAB, NEWLINE, RETURN, HASH, PERCENT, PLUS, MINUS, POINT, ZERO = 9, 10, 13, 35, 37, 43, 45, 46, 48
E_UPPER, E_LOWER = 69, 101
ID_MAX = 2**63 - 1
EXACT_DIGITS = 15
"""Number of decimal digits that are exact in fp64; powers of ten are exact up to EXACT_POWER."""

EXACT_POWER = 22
POWERS = np.array([10.0**q for q in range(EXACT_POWER + 1)])


@numba.njit(cache=True, nogil=True)
def _skip_blanks(text: Any, at: int) -> int:
    while text[at] == BLANK or text[at] == TAB:
        at += 1
    return at


@numba.njit(cache=True, nogil=True)
def _at_line_end(text: Any, at: int) -> bool:
    return bool(text[at] == NEWLINE or (text[at] == RETURN and text[at + 1] == NEWLINE))


@numba.njit(cache=True, nogil=True)
def _id(text: Any, at: int) -> tuple[int, int]:
    """Return digits as (number, position after them); the position is -1 without digits, or from 2^63 on."""
    number: Any = 0
    first = at
    while ZERO <= text[at] < ZERO + 10:
        digit = np.int64(text[at] - ZERO)
        if number > (ID_MAX - digit) // 10:
            return 0, -1
        number = number * 10 + digit
        at += 1
    return number, (at if at > first else -1)


@numba.njit(cache=True, nogil=True)
def _separator(text: Any, at: int, separator: int) -> int:
    """Return the position after what separates two columns, or -1 where nothing does."""
    after = _skip_blanks(text, at)
    if separator == COMMA:
        return _skip_blanks(text, after + 1) if text[after] == COMMA else -1
    return after if after > at else -1


@numba.njit(cache=True, nogil=True)
def _weight(text: Any, at: int) -> tuple[float, int, bool]:
    """Return a plain decimal as (value, position after it, exact); not exact: any token, to its end."""
    number: Any = 0
    first, digits, scale = at, 0, 0
    if text[at] == MINUS or text[at] == PLUS:
        at += 1
    point = False
    while ZERO <= text[at] < ZERO + 10 or (text[at] == POINT and not point):
        if text[at] == POINT:
            point = True
        else:
            number = number * 10 + np.int64(text[at] - ZERO) if digits < EXACT_DIGITS else number
            digits += 1
            scale += 1 if point else 0
        at += 1
    ended = text[at] == BLANK or text[at] == TAB or _at_line_end(text, at)
    if 0 < digits <= EXACT_DIGITS and scale <= EXACT_POWER and ended:
        value = number / POWERS[scale]
        return (-value if text[first] == MINUS else value), at, True
    while not (text[at] == BLANK or text[at] == TAB or text[at] == COMMA or text[at] == NEWLINE):
        at += 1
    return 0.0, (at if text[at - 1] != RETURN or text[at] != NEWLINE else at - 1), False


@numba.njit(cache=True, nogil=True)
def parse_edges(
    text: Any, layout: tuple[int, int, int], sources: Any, targets: Any, weights: Any, inexact: Any
) -> tuple[int, int, int, int, int]:
    """Read the lines of a block as (status, position, lines, edges, inexact weights).

    text     uint8 [any], whole lines, the last ending with a newline
    layout   columns (2, 3, or 4 of which the last is left out), separator (BLANK or COMMA), longest line in bytes that
             is no comment
    sources, targets int64, weights float64: filled; weights stay as they are where there are two columns
    inexact  int64 [any, 4], filled: edge (-1 where the column is left out), first byte, byte after the last, line
             within the block

    With a status other than OK, position is the first byte of the line at fault and lines those before it.
    """
    columns, separator, line_bytes = layout
    at, line, count, slow = 0, 0, 0, 0
    while at < text.size:
        start = at
        at = _skip_blanks(text, at)
        comment = text[at] == HASH or text[at] == PERCENT
        if comment:
            while text[at] != NEWLINE:
                at += 1
        elif not _at_line_end(text, at):
            source, at = _id(text, at)
            at = _separator(text, at, separator) if at >= 0 else -1
            target, at = _id(text, at) if at >= 0 else (0, -1)
            if columns >= 3 and at >= 0:
                first = _separator(text, at, separator)
                at = first
                if first >= 0:
                    weights[count], at, exact = _weight(text, first)
                    if not exact:
                        inexact[slow, 0], inexact[slow, 1], inexact[slow, 2], inexact[slow, 3] = count, first, at, line
                        slow += 1
            if columns == 4 and at >= 0:
                first = _separator(text, at, separator)
                at = first
                if first >= 0:
                    _, at, exact = _weight(text, first)
                    if not exact:
                        inexact[slow, 0], inexact[slow, 1], inexact[slow, 2], inexact[slow, 3] = -1, first, at, line
                        slow += 1
            at = _skip_blanks(text, at) if at >= 0 else -1
            if at < 0 or not _at_line_end(text, at):
                return BAD_LINE, start, line, count, slow
            sources[count], targets[count] = source, target
            count += 1
        if at - start > line_bytes and not comment:
            return TOO_LONG, start, line, count, slow
        at += 2 if text[at] == RETURN else 1
        line += 1
    return OK, at, line, count, slow
