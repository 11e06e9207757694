"""Harwell-Boeing files and what they mean: fixed columns, read field by field as Fortran 2018 says (13.7.2, 13.8.5).

SciPy's hb_read is asked only for what its own hb_write wrote: it reads by blanks instead of by columns, knows no scale
factor, and asserts on lines of another length.
"""

import io
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

from tests.gpu_engine.matrix_io.case import (
    INEXACT,
    LIMITS,
    LONG_LINE,
    TOO_WIDE,
    Case,
    Meaning,
    UnreadableError,
    dense_meaning,
    is_exact,
    mutate,
    summed,
    value,
)
from tests.gpu_engine.matrix_io.market import lines_of, need

FORMAT = re.compile(r"\((?:([+-]?\d{1,2})P,?)?(\d{0,4})(I|ES|EN|E|F|D|G)(\d{1,4})(?:\.(\d{1,3})(?:E\d{1,2})?)?\)")
FIELD = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(?:[eEdD]([+-]?\d+)|([+-]\d+))?")
BLANK_FIELD = "a blank field, which Fortran reads as zero: the file was cut or its columns are others"
INNER_BLANK = "blanks within a number, which mean nothing or zeros as the program that reads them was compiled"
BY_BLANKS = "numbers parted by blanks that do not fit the columns of the format"


@dataclass(frozen=True)
class Form:
    """A Fortran format: so many fields of a width; `letter` I are whole numbers."""

    repeat: int
    letter: str
    width: int
    decimals: int = 0
    scale: int = 0

    def __str__(self) -> str:
        scale = f"{self.scale}P," if self.scale else ""
        return f"({scale}{self.repeat}{self.letter}{self.width}{'' if self.letter == 'I' else f'.{self.decimals}'})"


def parse_form(text: str, real: bool) -> Form:
    match = FORMAT.fullmatch(text.upper().replace(" ", ""))
    if match is None:
        raise UnreadableError("format")
    scale, repeat, letter, width, decimals = match.groups()
    need(letter == "I" or real, "format")
    need(letter != "I" or (scale is None), "format")
    form = Form(int(repeat or 1), letter, int(width), int(decimals or 0), int(scale or 0))
    need(1 <= form.repeat * form.width <= 4096, "format")
    return form


def fortran(field: str, form: Form) -> tuple[float, str]:
    """The number in a field and why it may be refused: blanks are left out, as files are opened (BLANK='NULL')."""
    reason = INNER_BLANK if " " in re.sub(r"([eEdD]) +", r"\1", field.strip(" ")) else ""
    token = field.replace(" ", "")
    if not token:
        return 0.0, BLANK_FIELD
    if form.letter == "I":
        need(re.fullmatch("[+-]?[0-9]+", token), "no whole number")
        return int(token), reason
    match = FIELD.fullmatch(token) if token.isascii() else None
    if match is None:
        raise UnreadableError("no number")
    sign, digits, power, bare = match.groups()
    exponent = int(power or bare or -form.scale) - (0 if "." in digits else form.decimals)
    return value(f"{sign}{digits}e{exponent}"), reason


def read(content: bytes) -> Meaning:
    """The matrix of a file; raises UnreadableError."""
    lines = lines_of(content)
    need(len(lines) > 4, "header")
    header = [line.decode("latin-1") for line in lines[:4]]
    counts = [header[1][start : start + 14].strip(" ") for start in (0, 14, 28, 42, 56)]
    sizes = [header[2][start : start + 14].strip(" ") for start in (14, 28, 42)]
    need(all(re.fullmatch("[0-9]*", number) for number in counts + sizes), "header")
    kind = header[2][:3].upper()
    need(re.fullmatch("[RPI][URSZ]A", kind) and kind[:2] != "PZ" and re.match(r"[ 0-9]|$", header[2][3:]), "type")
    n_rows, n_cols, entries = (int(number or 0) for number in sizes)
    need(header[3].startswith((" ", "(")) and header[3].lstrip()[:1] == "(", "format")
    forms = [
        parse_form(header[3][begin:end], begin == 32)
        for begin, end in ((0, 16), (16, 32), (32, 52))[: 2 + (kind[0] != "P")]
    ]
    at, reasons = 4 + (int(counts[4] or 0) > 0), [""]
    sections: list[list[float]] = []
    need(max(n_cols, entries) < 10**6, "too large to be whole")
    for form, count in zip(forms, (n_cols + 1, entries, entries), strict=False):
        numbers: list[float] = []
        while len(numbers) < count:
            need(at < len(lines), "the file ends")
            here = min(form.repeat, count - len(numbers))
            need(at < len(lines) - 1 or content.endswith(b"\n") or len(lines[at]) >= here * form.width, "cut")
            reasons.append(LONG_LINE if len(lines[at]) >= LIMITS.line_bytes else "")
            found, reason = _line(lines[at].decode("latin-1"), form, here, len(sections) == 2)
            numbers += found
            reasons.append(reason)
            at += 1
        sections.append(numbers)
    pointers, rows = ([int(number) - 1 for number in section] for section in sections[:2])
    values = sections[2] if len(sections) > 2 else [1.0] * entries
    need(pointers[0] == 0 and pointers[-1] == entries and pointers == sorted(pointers), "pointers")
    need(all(0 <= row < n_rows for row in rows), "rows")
    places = [(rows[k], col) for col in range(n_cols) for k in range(pointers[col], pointers[col + 1])]
    return _mirrored(kind, (n_rows, n_cols), places, values, max(reasons))


def _line(text: str, form: Form, count: int, valued: bool) -> tuple[list[float], str]:
    """The numbers of a line by columns, or by blanks where the columns hold none."""
    fields = [text[begin : begin + form.width].ljust(form.width) for begin in range(0, count * form.width, form.width)]
    try:
        need(not text[count * form.width :].strip(" "), "more numbers")
        found = [fortran(field, form) for field in fields]
        numbers, reason = [number for number, _ in found], max(reason for _, reason in found)
    except UnreadableError as error:
        words = re.split(r"[ \t]+", text.strip(" \t"))
        plain = r"[+-]?\d+" if form.letter == "I" else r"[+-]?(\d+\.\d*|\.\d+)([eEdD][+-]?\d+)?"
        if form.scale or len(words) != count or not all(re.fullmatch(plain, word, re.ASCII) for word in words):
            raise
        if str(error) in ("overflow", "underflow", "overflow or underflow"):
            raise
        numbers, reason = [fortran(word, form)[0] for word in words], BY_BLANKS
    if form.letter == "I" and valued:
        reason = reason or ("" if all(is_exact(str(int(number))) for number in numbers) else INEXACT)
        numbers = [value(str(int(number))) for number in numbers]
    return numbers, reason


def _mirrored(
    kind: str, shape: tuple[int, int], places: list[tuple[int, int]], values: list[float], refusable: str
) -> Meaning:
    entries = []
    for (row, col), number in zip(places, values, strict=True):
        entries.append((row, col, number))
        if row != col and kind[1] in "SZ":
            entries.append((col, row, number if kind[1] == "S" else -number))
    if kind[1] in "SZ":
        need(shape[0] == shape[1], "square")
        need(len({row > col for row, col in places if row != col}) < 2, "both triangles")
        need(kind[1] == "S" or all(number == 0 for row, col, number in entries if row == col), "skew diagonal")
    if max(shape) > max(LIMITS.dimension_free, LIMITS.dimension_per_entry * len(values)):
        refusable = refusable or TOO_WIDE
    return summed(shape, entries, refusable)


def value_field(rng: random.Random, form: Form) -> str:
    """A number that fits a field, in any form that Fortran reads."""
    if form.letter == "I":
        number = rng.choice([rng.randint(-9, 99), 2 ** rng.choice([53, 63, 64]) + rng.choice([0, 1])])
        return str(number)[: form.width].rjust(form.width)
    digits, places = str(rng.randint(0, 10 ** rng.randint(1, 6))), rng.randint(0, 4)
    mantissa = rng.choice([digits, f"{digits[: -places or None]}.{digits[-places:] if places else ''}", f".{digits}"])
    power = rng.choice(["", "", "E+02", "D-03", "e1", "+3", "-2", "E 03", "D  1"])
    token = rng.choice(["", "", "-", "+"]) + mantissa + power
    if form.width > 300:
        token = "0." + "".join(rng.choices("0123456789", k=form.width - 10))
    token = token if len(token) <= form.width else "1.5"[: form.width]
    return rng.choice([token.rjust(form.width)] * 9 + [token.ljust(form.width)])


def written(rng: random.Random) -> tuple[str, bytes]:
    """(name, file) of a random type, of random formats."""
    kind = rng.choice(["RUA", "RUA", "RSA", "PUA", "PSA", "IUA", "RZA", "rra"])
    n_rows = rng.randint(1, 5)
    n_cols = n_rows if kind[1] in "SZ" else rng.randint(1, 5)
    cols: list[list[int]] = []
    for col in range(n_cols):
        lowest = {"S": col, "Z": col + 1}.get(kind[1], 0)
        cols.append(
            sorted(rng.sample(range(lowest, n_rows), rng.randint(0, n_rows - lowest))) if lowest < n_rows else []
        )
    pointers = [1 + sum(map(len, cols[:count])) for count in range(n_cols + 1)]
    rows = [row + 1 for col in cols for row in col]
    whole = Form(rng.randint(1, 8), "I", rng.randint(3, 9))
    letter = "I" if kind[0] == "I" else rng.choice(["E", "F", "D", "G", "ES", "EN"])
    width = rng.choice([6, 8, 14, 25, 25, 400]) if letter != "I" else 22
    form = Form(
        rng.randint(1, 5), letter, width, rng.randint(0, 4), rng.choice([0, 0, 0, 1, 2, -1]) if letter != "I" else 0
    )
    values = [value_field(rng, form) for _ in rows] if kind[0] != "P" else []
    sizes = "".join(f"{size:14}" for size in (n_rows, n_cols, len(rows), 0))
    head = f"{'A title':72}KEY     \n{'1'.rjust(14) * 4}{0:14}\n{kind:14}{sizes}\n{whole!s:16}{whole!s:16}"
    head += f"{form!s:20}\n" if kind[0] != "P" else "\n"
    text = head + _lines([f"{number:{whole.width}}" for number in pointers], whole)
    text += _lines([f"{number:{whole.width}}" for number in rows], whole) + _lines(values, form)
    return f"{kind} {form.letter}{' with scale' if form.scale else ''}", text.encode()


def _lines(fields: list[str], form: Form) -> str:
    return "".join("".join(fields[k : k + form.repeat]) + "\n" for k in range(0, len(fields), form.repeat))


def by_scipy(rng: random.Random) -> tuple[bytes, Any]:
    """What hb_write makes of a random matrix, and what hb_read makes of that."""
    whole = rng.random() < 0.3
    dense = [
        [
            (rng.randint(1, 9) if whole else rng.uniform(-1, 1) * 10.0 ** rng.randint(-90, 90)) * rng.choice([0, 1])
            for _ in range(rng.choice([4]))
        ]
        for _ in range(rng.randint(1, 5))
    ]
    dense[0][0] = 7 if whole else -7.25
    file = io.StringIO()
    scipy.io.hb_write(file, scipy.sparse.csc_array(np.array(dense)))
    return file.getvalue().encode(), scipy.io.hb_read(io.StringIO(file.getvalue())).toarray().tolist()


def judged(name: str, content: bytes) -> Case:
    try:
        meaning: Meaning | None = read(content)
    except UnreadableError:
        meaning = None
    return Case("Harwell-Boeing", name, content, meaning)


def generate(rng: random.Random) -> Iterator[Case]:
    """Files of all types and formats, the same with a few bytes changed, and SciPy's own."""
    while True:
        name, content = written(rng)
        yield judged(name, content)
        yield judged(f"{name}, changed", mutate(rng, content))
        if rng.random() < 0.3:
            content, dense = by_scipy(rng)
            yield Case("Harwell-Boeing", "written and read by SciPy", content, dense_meaning(dense))
