"""Harwell-Boeing files and what they mean: fixed columns, read field by field as Fortran 2018 says (13.7.2, 13.8.5).

SciPy's hb_read is asked only for what its own hb_write wrote: it reads by blanks instead of by columns, knows no scale
factor, and asserts on lines of another length.
"""

import io
import random
import re
from collections.abc import Callable, Iterator
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
from tests.gpu_engine.matrix_io.fortran import Column, columns_of, is_real
from tests.gpu_engine.matrix_io.market import lines_of, need

FIELD = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(?:[eEdD]([+-]?\d+)|([+-]\d+))?")
BLANK_FIELD = "a blank field, which Fortran reads as zero: the file was cut or its columns are others"
INNER_BLANK = "blanks within a number, which mean nothing or zeros as the program that reads them was compiled"
BY_BLANKS = "numbers parted by blanks that do not fit the columns of the format"


def parse_form(text: str, real: bool) -> tuple[list[Column], list[Column]]:
    first, later = columns_of(text)
    need(real or not is_real(first + later), "format")
    return first, later


def fortran(field: str, form: Column) -> tuple[float, str]:
    """The number in a field and why it may be refused: blanks are left out, as files are opened (BLANK='NULL')."""
    reason = INNER_BLANK if " " in re.sub(r"([eEdD]) +", r"\1", field.strip(" ")) else ""
    if form.zeros and field.strip(" "):
        field, reason = field.ljust(form.width).lstrip(" ").replace(" ", "0"), ""
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
    counts = _header_counts(header[1], (0, 14, 28, 42, 56), 5)
    kind = header[2][:3].upper()
    need(re.fullmatch("[RPI][URSZH]A", kind) and kind[:2] != "PZ" and re.match(r"[ 0-9]|$", header[2][3:]), "type")
    n_rows, n_cols, entries = _header_counts("   " + header[2][3:], (14, 28, 42), 4)[:3]
    need(header[3].startswith((" ", "(")) and header[3].lstrip()[:1] == "(", "format")
    forms = _forms(header[3], 2 + (kind[0] != "P"))
    at, reasons = 4 + (sum(counts[4:5]) > 0), [""]
    sections: list[list[float]] = []
    need(max(n_cols, entries) < 10**6, "too large to be whole")
    for form, count in zip(forms, (n_cols + 1, entries, entries), strict=False):
        numbers: list[float] = []
        begin = at
        while len(numbers) < count:
            need(at < len(lines), "the file ends")
            here = form[at > begin][: count - len(numbers)]
            end = max(column.begin + column.width for column in here)
            need(at < len(lines) - 1 or content.endswith(b"\n") or len(lines[at]) >= end, "cut")
            reasons.append(LONG_LINE if len(lines[at]) >= LIMITS.line_bytes else "")
            found, reason = _line(lines[at].decode("latin-1"), here, len(sections) == 2)
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


def _header_counts(line: str, starts: tuple[int, ...], most: int) -> list[int]:
    """The counts by columns, or by blanks where that is how they are written."""
    fields = [line[start : start + 14].strip(" ") for start in starts]
    if not line[: starts[0]].strip(" ") and all(re.fullmatch("[0-9]*", field) for field in fields):
        return [int(field or 0) for field in fields]
    words = line.split()
    need(all(re.fullmatch("[0-9]{1,14}", word) for word in words) and most - 1 <= len(words) <= most, "header")
    return [int(word) for word in words]


def _forms(line: str, needed: int) -> list[tuple[list[Column], list[Column]]]:
    """The formats by columns, or each behind the one before it where they are longer."""
    try:
        return [parse_form(line[begin:end], begin == 32) for begin, end in ((0, 16), (16, 32), (32, 52))[:needed]]
    except UnreadableError:
        texts, begin, depth = [], 0, 0
        for place, character in enumerate(line):
            begin = place if character == "(" and not depth else begin
            closes = character == ")" and depth
            depth += (character == "(") - bool(closes)
            if closes and not depth:
                texts.append(line[begin : place + 1])
        need(len(texts) >= needed, "formats")
        return [parse_form(text, place == 2) for place, text in enumerate(texts[:needed])]


def _line(text: str, form: list[Column], valued: bool) -> tuple[list[float], str]:
    """The numbers of a line by columns, or by blanks where the columns hold none."""
    end = max(column.begin + column.width for column in form)
    skipped = {place for column in form for place in range(column.begin, column.begin + column.width)}
    need(not "".join(text[place] for place in range(min(end, len(text))) if place not in skipped).strip(" "), "skipped")
    fields = [text[column.begin :][: column.width].ljust(column.width) for column in form]
    letters, scaled = {column.letter == "I" for column in form}, any(column.scale or column.zeros for column in form)
    try:
        need(not text[end:].strip(" "), "more numbers")
        found = [fortran(field, column) for field, column in zip(fields, form, strict=True)]
        numbers, reason = [number for number, _ in found], max(reason for _, reason in found)
    except UnreadableError as error:
        words = re.split(r"[ \t]+", text.strip(" \t"))
        plain = {True: r"[+-]?\d+", False: r"[+-]?(\d+\.\d*|\.\d+)([eEdD][+-]?\d+)?"}
        if scaled or len(words) != len(form) or len(letters) > 1:
            raise
        if not all(re.fullmatch(plain[form[0].letter == "I"], word, re.ASCII) for word in words):
            raise
        if str(error) in ("overflow", "underflow", "overflow or underflow"):
            raise
        numbers, reason = [fortran(word, form[0])[0] for word in words], BY_BLANKS
    for place, column in enumerate(form):
        if valued and column.letter == "I":
            reason = reason or ("" if is_exact(str(int(numbers[place]))) else INEXACT)
            numbers[place] = value(str(int(numbers[place])))
    return numbers, reason


def _mirrored(
    kind: str, shape: tuple[int, int], places: list[tuple[int, int]], values: list[float], refusable: str
) -> Meaning:
    entries = []
    for (row, col), number in zip(places, values, strict=True):
        entries.append((row, col, number))
        if row != col and kind[1] in "SHZ":
            entries.append((col, row, -number if kind[1] == "Z" else number))
    if kind[1] in "SHZ":
        need(shape[0] == shape[1], "square")
        need(len({row > col for row, col in places if row != col}) < 2, "both triangles")
        need(kind[1] != "Z" or all(number == 0 for row, col, number in entries if row == col), "skew diagonal")
    if max(shape) > max(LIMITS.dimension_free, LIMITS.dimension_per_entry * len(values)):
        refusable = refusable or TOO_WIDE
    return summed(shape, entries, refusable)


def value_field(rng: random.Random, form: Column) -> str:
    """A number that fits a field, in any form that Fortran reads."""
    if form.letter == "I":
        number = rng.choice([rng.randint(-9, 99), 2 ** rng.choice([53, 63, 64]) + rng.choice([0, 1])])
        return str(number)[: form.width].rjust(form.width)
    digits, places = str(rng.randint(0, 10 ** rng.randint(1, 6))), rng.randint(0, 4)
    mantissa = rng.choice([digits, f"{digits[: -places or None]}.{digits[-places:] if places else ''}", f".{digits}"])
    power = rng.choice(["", "", "E+02", "D-03", "e1", "+3", "-2", "E 03", "D  1", "d+01", "+002", "E-100"])
    token = rng.choice(["", "", "-", "+"]) + mantissa + power
    if form.width > 300:
        token = "0." + "".join(rng.choices("0123456789", k=form.width - 10))
    token = token if len(token) <= form.width else "1.5"[: form.width]
    return rng.choice([token.rjust(form.width)] * 9 + [token.ljust(form.width)])


WHOLE_FORMATS = (
    "({n}I{w})", "({n}I{w}.1)", "(1X,{n}I{w})", "({n}(I{w}))", "({n}(1X,I{w}))", "({n}(I{w},2X))", "(BN,{n}I{w})",
    "(1P,{n}I{w})", "(T3,{n}I{w})", "(TR1,{n}I{w})", "( {n} i {w} )", "(1x{n}i{w})", "(2I{w},{n}(I{w}))",
    "(SS,{n}I{w})", "(I{w},TL1,1X,{n}I{w})", "(1X,{n}(I{w}))", "((({n}I{w})))", "(1(2(I{w}),1X))", "(BZ,{n}I{w})",
)  # fmt: skip
REAL_FORMATS = (
    "({n}{l}{w}.{d})", "({p}P{n}{l}{w}.{d})", "({p}P,{n}{l}{w}.{d})", "({n}({p}P,{l}{w}.{d}))", "({n}({p}P{l}{w}.{d}))",
    "(1X,{n}{l}{w}.{d})", "({n}(1X,{l}{w}.{d}))", "({n}({l}{w}.{d},1X))", "({n}{l}{w}.{d}E3)", "({p}P{n}{l}{w}.{d}E2)",
    "({n}({l}{w}.{d}))", "(SP,{n}{l}{w}.{d})", "({l}{w}.{d},{p}P,{n}({l}{w}.{d}))", "(T2,{n}{l}{w}.{d})",
    "( {p}p , {n} e {w}.{d} )", "({n}{l}{w}.{d},1X)", "(F{w}.{d},{p}P{n}{l}{w}.{d},0P,F{w}.{d})", "({n}{l}{w})",
    "(2({n}({l}{w}.{d})))", "(BZ,{n}{l}{w}.{d})",
)  # fmt: skip
"""Spellings of formats, as writers and the standard have them; n fields of w characters, d decimals, l a letter."""


def whole_format(rng: random.Random) -> str:
    return rng.choice(WHOLE_FORMATS).format(n=rng.randint(1, 8), w=rng.randint(3, 9))


def real_format(rng: random.Random) -> str:
    letter, power = rng.choice(["E", "F", "D", "G", "ES", "EN", "e"]), rng.choice([0, 0, 1, 1, 2, -1])
    given = {"n": rng.randint(1, 4), "w": rng.choice([6, 8, 14, 25, 25, 400]), "d": rng.randint(0, 4)}
    return rng.choice(REAL_FORMATS).format(l=letter, p=power, **given)


def written(rng: random.Random) -> tuple[str, bytes]:
    """(name, file) of a random type, of random formats."""
    kind = rng.choice(["RUA", "RUA", "RSA", "PUA", "PSA", "IUA", "RZA", "rra", "RHA"])
    n_rows = rng.randint(1, 5)
    n_cols = n_rows if kind[1] in "SZH" else rng.randint(1, 5)
    cols: list[list[int]] = []
    for col in range(n_cols):
        lowest = {"S": col, "H": col, "Z": col + 1}.get(kind[1], 0)
        cols.append(
            sorted(rng.sample(range(lowest, n_rows), rng.randint(0, n_rows - lowest))) if lowest < n_rows else []
        )
    pointers = [1 + sum(map(len, cols[:count])) for count in range(n_cols + 1)]
    rows = [row + 1 for col in cols for row in col]
    formats = [whole_format(rng), whole_format(rng), "(2I22)" if kind[0] == "I" else real_format(rng)]
    forms = [columns_of(text) for text in formats]
    texts = [
        [f"{number:{forms[part][0][0].width}}" for number in numbers] for part, numbers in enumerate((pointers, rows))
    ]
    values = _lines(forms[2], len(rows), lambda column, _: value_field(rng, column)) if kind[0] != "P" else ""
    counts = (1, 1, 1, 1, rng.choice([0, 0, 1]))
    sizes = (n_rows, n_cols, len(rows), 0)
    if rng.random() < 0.2:
        head = f"A title\n{' '.join(map(str, counts))}\n{kind} {' '.join(map(str, sizes))}\n"
    else:
        head = f"{'A title':72}KEY     \n{''.join(f'{count:14}' for count in counts)}\n{kind:14}"
        head += "".join(f"{size:14}" for size in sizes) + "\n"
    kept = formats[: 2 + (kind[0] != "P")]
    fits = all(len(text) <= room for text, room in zip(kept, (16, 16, 20), strict=False))
    head += (
        "".join(f"{text:{room}}" for text, room in zip(kept, (16, 16, 20), strict=False)) if fits else " ".join(kept)
    )
    head += "\nF" + f"{1:27}{0:14}\n" if counts[4] else "\n"
    text = head + _lines(forms[0], len(pointers), lambda _, k: texts[0][k])
    text += _lines(forms[1], len(rows), lambda _, k: texts[1][k]) + values
    text += " 1.0 right-hand side\n" if counts[4] else ""
    return f"{kind} {' '.join(kept)}", text.encode()


def _lines(form: tuple[list[Column], list[Column]], count: int, token: Callable[[Column, int], str]) -> str:
    """So many numbers by a format."""
    lines: list[str] = []
    done = 0
    while done < count:
        line = ""
        for column in form[bool(lines)][: count - done]:
            # Behind TL the columns overlap by a blank.
            line = line[: column.begin].ljust(column.begin) + token(column, done).rjust(column.width)
            done += 1
        lines.append(line + "\n")
    return "".join(lines)


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
