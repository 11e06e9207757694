"""Compiled reader of entry lines, which checks every byte of every line.

Decimals are rounded correctly by the method of Eisel and Lemire: Daniel Lemire, Number Parsing at a Gigabyte per
Second, Software: Practice and Experience 51 (2021), section 5; Mushtak and Lemire, Fast Number Parsing Without
Fallback, ibid. 53 (2023). All functions are in this module because Numba's cache only checks a function's own file: a
change in an imported file would not be detected.
"""

import math
from typing import Any

import numpy as np

from gpu_engine.host.jit import numba

PATTERN, INTEGER, REAL, UNSIGNED = 0, 1, 2, 3
GENERAL, SYMMETRIC, SKEW = 0, 1, 2
OK, BAD_LINE, TOO_MANY, BOTH_TRIANGLES, SKEW_DIAGONAL, TOO_LONG = 0, 1, 2, 3, 4, 5

EXACT = np.uint64(2**53)
DIGITS_MAX = 19
"""Number of decimal digits that always fit into 64 bits."""

TAB, NEWLINE, RETURN, SPACE, PLUS, MINUS, POINT, ZERO = 9, 10, 13, 32, 43, 45, 46, 48
D_UPPER, E_UPPER, D_LOWER, E_LOWER = 68, 69, 100, 101

SMALLEST_POWER, LARGEST_POWER = -342, 308
"""Range of powers of ten; outside, every 19-digit mantissa gives zero or infinity."""

LOW_HALF = np.uint64(2**32 - 1)
U1, U32, U63 = np.uint64(1), np.uint64(32), np.uint64(63)
HIDDEN_BIT = np.uint64(2**52)
UNCERTAIN = np.uint64(2**9 - 1)
"""Bits of the upper word of the product below the 55 bits that rounding needs."""


def _power_of_five(q: int) -> int:
    """Return the 128 leading bits of 5^q, truncated; for q from -27 to -1 rounded up, so that ties stay exact."""
    if q >= 0:
        power = 5**q
        return int(power << 128 >> power.bit_length())
    divisor = 5**-q
    quotient = 2 ** (divisor.bit_length() + 127) // divisor
    return int(quotient + 1 if q >= -27 else quotient)


_POWERS = [_power_of_five(q) for q in range(SMALLEST_POWER, LARGEST_POWER + 1)]
HIGH = np.array([power >> 64 for power in _POWERS], np.uint64)
LOW = np.array([power & (2**64 - 1) for power in _POWERS], np.uint64)


@numba.njit(cache=True, nogil=True)
def _skip_blanks(text: Any, at: int) -> int:
    while text[at] == SPACE or text[at] == TAB:
        at += 1
    return at


@numba.njit(cache=True, nogil=True)
def _at_line_end(text: Any, at: int) -> bool:
    return bool(text[at] == NEWLINE or (text[at] == RETURN and text[at + 1] == NEWLINE))


@numba.njit(cache=True, nogil=True)
def _at_token_end(text: Any, at: int) -> bool:
    return text[at] == SPACE or text[at] == TAB or _at_line_end(text, at)


@numba.njit(cache=True, nogil=True)
def _index(text: Any, at: int, limit: int) -> tuple[int, int]:
    """Return a 1-based index of at most `limit` as (0-based index, position after it), or (-1, position)."""
    number = 0
    while ZERO <= text[at] < ZERO + 10:
        number = number * 10 + (text[at] - ZERO)
        if number > limit:
            return -1, at
        at += 1
    return (number - 1 if _at_token_end(text, at) else -1), at


@numba.njit(cache=True, nogil=True)
def _exponent(text: Any, at: int) -> tuple[int, int]:
    """Signed digits as (exponent, position after them); the position is -1 where there are none."""
    sign = -1 if text[at] == MINUS else 1
    if text[at] == MINUS or text[at] == PLUS:
        at += 1
    first, exponent = at, 0
    while ZERO <= text[at] < ZERO + 10:
        # Beyond this every value overflows or underflows, and the exact path says which.
        exponent = min(exponent * 10 + (text[at] - ZERO), 99_999)
        at += 1
    return sign * exponent, (at if at > first else -1)


@numba.njit(cache=True, nogil=True)
def _multiply(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the 128-bit product of two 64-bit numbers as (high, low)."""
    a_high, a_low, b_high, b_low = a >> U32, a & LOW_HALF, b >> U32, b & LOW_HALF
    middle = a_high * b_low + (a_low * b_low >> U32)
    cross = a_low * b_high + (middle & LOW_HALF)
    return a_high * b_high + (middle >> U32) + (cross >> U32), a * b


@numba.njit(cache=True, nogil=True)
def _leading_zeros(number: Any) -> int:
    zeros = 0
    for width in (32, 16, 8, 4, 2, 1):
        if number >> np.uint64(64 - width) == 0:
            number <<= np.uint64(width)
            zeros += width
    return zeros


@numba.njit(cache=True, nogil=True)
def _to_double(mantissa: Any, q: int) -> tuple[float, bool]:
    """mantissa · 10^q as (value, certain) for a uint64 mantissa other than 0.

    Not certain where the value is not a normal fp64 number; 128 bits decide every other one.
    """
    if q < SMALLEST_POWER or q > LARGEST_POWER:
        return 0.0, False
    zeros = _leading_zeros(mantissa)
    shifted = mantissa << np.uint64(zeros)
    high, low = _multiply(shifted, HIGH[q - SMALLEST_POWER])
    if high & UNCERTAIN == UNCERTAIN:
        carry, _ = _multiply(shifted, LOW[q - SMALLEST_POWER])
        low += carry
        high += U1 if low < carry else np.uint64(0)
    upper = high >> U63
    shift = upper + np.uint64(9)
    bits = high >> shift
    # 217706 / 2^16 is log2(10) to the accuracy needed here.
    exponent = ((217706 * q) >> 16) + 63 + int(upper) - zeros
    if exponent <= -1023 or exponent >= 1023:
        return 0.0, False
    # Only these powers can make an exact tie, which goes to the even neighbour.
    if low <= U1 and -4 <= q <= 23 and bits & np.uint64(3) == U1 and bits << shift == high:
        bits -= U1
    bits = (bits + (bits & U1)) >> U1
    return math.ldexp(float(bits), exponent - 52), True


@numba.njit(cache=True, nogil=True)
def _number(text: Any, at: int, integer: bool) -> tuple[float, int, bool]:
    """Return a decimal number as (value, position after it, exact); the position is -1 if it is malformed.

    `exact`: the value is correctly rounded; otherwise the caller must convert the token.
    """
    negative = text[at] == MINUS
    if negative or text[at] == PLUS:
        at += 1
    mantissa, further, scale, digits, point = np.uint64(0), 0, 0, 0, False
    while True:
        byte = text[at]
        if ZERO <= byte < ZERO + 10:
            # Counted before the mantissa grows: beyond 64 bits it may wrap to zero again.
            further += 1 if mantissa > 0 else 0
            mantissa = mantissa * np.uint64(10) + np.uint64(byte - ZERO)
            scale -= 1 if point else 0
            digits += 1
        elif byte == POINT and not point and not integer:
            point = True
        else:
            break
        at += 1
    if digits == 0:
        return 0.0, -1, True
    if not integer and (text[at] == E_LOWER or text[at] == E_UPPER or text[at] == D_LOWER or text[at] == D_UPPER):
        exponent, at = _exponent(text, at + 1)
        scale += exponent
    if at < 0 or not _at_token_end(text, at):
        return 0.0, -1, True
    if mantissa == 0 and further == 0:
        return (-0.0 if negative else 0.0), at, True
    if further >= DIGITS_MAX or (integer and mantissa > EXACT):
        return 0.0, at, False
    value, exact = _to_double(mantissa, scale)
    return (-value if negative else value), at, exact


@numba.njit(cache=True, nogil=True)
def _entry(text: Any, at: int, kind: int, n_rows: int, n_cols: int) -> tuple[int, int, float, int, int, bool]:
    """Return one entry as (row, column, value, first byte of the value, position after the entry, exact).

    The position is -1 where the line is not exactly one entry.
    """
    row = col = 0
    if n_rows >= 0:
        row, at = _index(text, at, n_rows)
        col, at = _index(text, _skip_blanks(text, at), n_cols)
        at = _skip_blanks(text, at)
    first, value, exact = at, 1.0, True
    if kind != PATTERN and row >= 0 and col >= 0:
        value, at, exact = _number(text, at, kind != REAL)
    if row < 0 or col < 0 or at < 0 or (kind == UNSIGNED and text[first] == MINUS):
        return 0, 0, 0.0, first, -1, True
    return row, col, value, first, at, exact


@numba.njit(cache=True, nogil=True)
def _conflict(symmetry: int, coordinate: bool, row: int, col: int, value: float, triangle: Any) -> int:
    """OK, or why a symmetric file must not hold this entry; remembers the triangle it lies in."""
    if row != col and symmetry != GENERAL:
        side = 1 if row > col else 2
        if triangle[0] == 3 - side:
            return BOTH_TRIANGLES
        triangle[0] = side
    elif symmetry == SKEW and coordinate and value != 0.0:
        return SKEW_DIAGONAL
    return OK


@numba.njit(cache=True, nogil=True)
def parse_entries(
    text: Any,
    expected: int,
    layout: tuple[int, int, int, int, int],
    triangle: Any,
    rows: Any,
    cols: Any,
    values: Any,
    inexact: Any,
) -> tuple[int, int, int, int, int]:
    """Read the entry lines of a block as (status, position, lines, entries, inexact entries).

    text      uint8 [any], whole lines, the last ending with a newline
    expected  number of entries that are still missing
    layout    kind of the values, symmetry, n_rows, n_cols, longest line in bytes; n_rows = -1: lines hold a value
              only (the array layout)
    triangle  int64 [1], kept between blocks: 0 nothing seen yet, 1 below the diagonal, 2 above it
    rows, cols int32, values float64: filled, 0-based
    inexact   int64 [any, 4], filled: entry, first byte, byte after the last, line within the block

    With a status other than OK, position is the first byte of the line at fault and lines those before it.
    """
    kind, symmetry, n_rows, n_cols, line_bytes = layout
    at, line, count, slow = 0, 0, 0, 0
    while at < text.size:
        start = at
        at = _skip_blanks(text, at)
        if not _at_line_end(text, at):
            if count == expected:
                return TOO_MANY, start, line, count, slow
            row, col, value, first, after, exact = _entry(text, at, kind, n_rows, n_cols)
            at = _skip_blanks(text, after) if after >= 0 else after
            if at < 0 or not _at_line_end(text, at):
                return BAD_LINE, start, line, count, slow
            status = _conflict(symmetry, n_rows >= 0, row, col, value if exact else 1.0, triangle)
            if status != OK:
                return status, start, line, count, slow
            if not exact:
                inexact[slow, 0], inexact[slow, 1], inexact[slow, 2], inexact[slow, 3] = count, first, after, line
                slow += 1
            rows[count], cols[count], values[count] = row, col, value
            count += 1
        if at - start > line_bytes:
            return TOO_LONG, start, line, count, slow
        at += 2 if text[at] == RETURN else 1
        line += 1
    return OK, at, line, count, slow
