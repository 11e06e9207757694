"""What a generated file is, what it means, and how a reading of it is judged."""

import random
import re
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.matrix_io import ReadLimits, ReadOptions

LIMITS = ReadLimits(dimension_free=10_000, nnz_max=100_000)
"""A changed digit must not make a matrix of gigabytes."""

INEXACT = "a whole number beyond 2^53 that fp64 does not hold, where the file says integer"
TOO_WIDE = "more rows or columns than so few entries may have"
LONG_LINE = "a line of more than 4096 bytes that is no comment"


class UnreadableError(Exception):
    """The document of the format gives this file no meaning as a finite real matrix."""


@dataclass(frozen=True)
class Meaning:
    """The matrix that a file stands for.

    entries   (row, column) → value, 0-based, sums of duplicates taken in the order of the file
    refusable why this file may be refused all the same; empty: it may not
    """

    n_rows: int
    n_cols: int
    entries: dict[tuple[int, int], float]
    refusable: str = ""


@dataclass(frozen=True)
class Case:
    """A file; `meaning` is None where nobody can read it."""

    kind: str
    name: str
    content: bytes
    meaning: Meaning | None
    options: ReadOptions = field(default_factory=ReadOptions)


Generate = Callable[[random.Random], Iterator[Case]]
NUMBER = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(?:[eEdD]([+-]?\d+))?", re.ASCII)


def value(token: str) -> float:
    """The fp64 number nearest to a decimal one, by whole numbers alone; raises UnreadableError where there is none."""
    match = NUMBER.fullmatch(token)
    if match is None:
        raise UnreadableError(f"{token!r} is no number")
    sign, digits, power = match[1], match[2], int(match[3] or 0)
    if not digits.strip("0."):
        return -0.0 if sign == "-" else 0.0
    if abs(power) > 20_000:
        raise UnreadableError("overflow or underflow")
    exact = Fraction(Decimal(digits)) * Fraction(10) ** power
    try:
        # Python divides whole numbers with one rounding, to the nearest, ties to even.
        nearest = exact.numerator / exact.denominator
    except OverflowError:
        raise UnreadableError("overflow") from None
    if nearest == 0.0:
        raise UnreadableError("underflow")
    return -nearest if sign == "-" else nearest


def is_exact(token: str) -> bool:
    """Whether fp64 holds a whole number."""
    return int(value(token)) == int(token)


def summed(shape: tuple[int, int], entries: Iterable[tuple[int, int, float]], refusable: str = "") -> Meaning:
    """The matrix of entries in the order of the file; raises UnreadableError where a sum is not finite."""
    sums: dict[tuple[int, int], float] = {}
    for row, col, number in entries:
        sums[row, col] = sums[row, col] + number if (row, col) in sums else number
    if any(abs(number) == float("inf") or number != number for number in sums.values()):
        raise UnreadableError("not finite")
    if max(shape) > max(LIMITS.dimension_free, LIMITS.dimension_per_entry * len(sums)):
        refusable = refusable or TOO_WIDE
    return Meaning(*shape, sums, refusable)


def is_same(matrix: CsrMatrix, meaning: Meaning) -> bool:
    """Whether a matrix has this shape and these entries, bit by bit."""
    rows = [row for row in range(matrix.n_rows) for _ in range(matrix.indptr[row], matrix.indptr[row + 1])]
    read = zip(rows, matrix.indices.tolist(), matrix.values.tolist(), strict=True)
    bits = {(row, col): struct.pack("<d", number) for row, col, number in read}
    expected = {place: struct.pack("<d", number) for place, number in meaning.entries.items()}
    return matrix.shape == (meaning.n_rows, meaning.n_cols) and bits == expected


def dense_meaning(dense: Any, refusable: str = "") -> Meaning:
    """The nonzeros of nested lists."""
    entries = {(r, c): float(x) for r, line in enumerate(dense) for c, x in enumerate(line) if x}
    return Meaning(len(dense), len(dense[0]), entries, refusable)


def whole_token(rng: random.Random) -> str:
    """A whole number, small or about a power of two that readers stumble over."""
    if rng.random() < 0.85:
        return str(rng.randint(-99, 99) or 7)
    power = rng.choice([52, 53, 54, 62, 63, 64, 65, 66, 70, 100])
    number = rng.choice([1, 1, 3, 5]) * 2**power + rng.choice([0, 0, 1, -1, 2 ** max(power - 53, 0)])
    return rng.choice(["", "", "-", "+", "00"]) + str(number)


def decimal_token(rng: random.Random, width: int = 1200) -> str:
    """A decimal number, plain or as hard to round as they come."""
    kind = rng.randrange(9)
    if kind < 2:
        token = repr(rng.uniform(-100, 100))
    elif kind == 2:
        token = repr(rng.uniform(-1, 1) * 10.0 ** rng.randint(-300, 300))
    elif kind == 3:
        token = rng.choice(["0", "-0.0", "+.5", "5.", "007.50", "1e5", "1E+05", "2.5e-3", "4.9406564584124654e-324"])
    elif kind == 4:
        token = whole_token(rng) + rng.choice(["", ".", ".0", "e0", "e-3", "e+10"])
    elif kind == 5:
        # Half-way between two fp64 numbers, exactly or by a hair.
        odd = 2**53 + 2 * rng.getrandbits(51) + 1
        token = f"{odd}.{'0' * rng.randint(0, 30)}{rng.choice('01')}"
    elif kind == 6:
        scaled = rng.choice([1, 3]) * 2 ** rng.choice([63, 64, 65, 66])
        token = rng.choice([f"{scaled}0e-1", f"{str(scaled)[0]}.{str(scaled)[1:]}e{len(str(scaled)) - 1}"])
    elif kind == 7:
        digits = "".join(rng.choices("0123456789", k=min(800, width - 10)))
        token = rng.choice([f"0.{digits}", f"-1{digits[:250]}.{digits[250:]}", f"0.{'0' * 200}{digits[:500]}"])
    else:
        token = rng.choice(
            ["1e400", "1e-400", "1.7976931348623157e308", "1.7976931348623159e308", "2.5e-324", "2e-324"]
        )
    return token if len(token) <= width else "1.5"


TEXT = b"0123456789.eED+- \t\n\r%,#"
BITS = [
    b"\n",
    b"\r",
    b"\r\n",
    b" ",
    b"-",
    b"e",
    b"9" * 30,
    b"%",
    b".",
    b"\0",
    b"\xa0",
    b"\x0b",
    b"18446744073709551616",
]


def mutate(rng: random.Random, content: bytes) -> bytes:
    """One to three edits with bytes that occur in text files."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 3)):
        place, kind = rng.randint(0, len(data)), rng.randrange(6)
        if kind == 0:
            data[place : place + 1] = bytes([rng.choice(TEXT)])
        elif kind == 1:
            data[place:place] = rng.choice(BITS)
        elif kind == 2:
            del data[place : place + rng.randint(1, 4)]
        elif kind == 3 and rng.random() < 0.3:
            del data[place:]
        elif kind == 4:
            other = rng.randrange(len(data) + 1)
            data[place:place] = data[other : other + rng.randint(1, 40)]
        else:
            data[place : place + 1] = bytes([rng.randrange(256)])
    return bytes(data)
