"""Matrix Market files and what they mean: https://math.nist.gov/MatrixMarket/formats.html, read slowly, line by line.

SciPy's mmread is asked only for files that this reader understands. It cannot be the oracle of the others: it ends the
process at a NUL byte or a last line that ends with CR alone, reads 1.5D+02 as 1.5, 9.7 in an integer file as 9, and
leaves out whatever stands behind an entry.
"""

import bz2
import gzip
import io
import random
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

from tests.gpu_engine.matrix_io.case import (
    INEXACT,
    LIMITS,
    LONG_LINE,
    Case,
    Meaning,
    UnreadableError,
    decimal_token,
    is_exact,
    mutate,
    summed,
    value,
    whole_token,
)

FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")
BLANKS = re.compile(rb"[ \t]+")


def need(condition: object, what: str) -> None:
    """Raises UnreadableError unless the condition holds."""
    if not condition:
        raise UnreadableError(what)


def lines_of(content: bytes) -> list[bytes]:
    """The lines; the last may lack its newline, and each may end with CRLF."""
    need(b"\0" not in content, "NUL")
    lines = content.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    else:
        need(not lines[-1].endswith(b"\r"), "CR at the end")
    return [line.removesuffix(b"\r") for line in lines]


def words_of(line: bytes) -> list[str]:
    return [word.decode("latin-1") for word in BLANKS.split(line.strip(b" \t")) if word]


def read(content: bytes) -> Meaning:
    """The matrix of a file; raises UnreadableError.

    Beyond the document: a byte order mark, CRLF, tabs, blank lines, `double` as of Fortran and exponents with D, one
    triangle above the diagonal, duplicates, which are added up.
    """
    lines = lines_of(content.removeprefix(b"\xef\xbb\xbf"))
    need(lines, "empty")
    banner = [word.lower() for word in words_of(lines[0])]
    need(len(banner) == 5 and lines[0].isascii(), "banner")
    need(
        banner[0] in ("%%matrixmarket", "%matrixmarket")
        and banner[1] == "matrix"
        and banner[2] in ("coordinate", "array"),
        "banner",
    )
    field, symmetry = banner[3:]
    need(field in FIELDS and symmetry in SYMMETRIES, "banner")
    # Of real numbers it is the same.
    need(field != "pattern" or (banner[2] == "coordinate" and symmetry != "skew-symmetric"), "a pattern has no values")
    symmetry = "symmetric" if symmetry == "hermitian" else symmetry
    rest = [line for line in lines[1:] if line.strip(b" \t")]
    while rest and rest[0].lstrip(b" \t").startswith(b"%"):
        rest.pop(0)
    need(rest, "no size line")
    sizes = words_of(rest.pop(0))
    need(all(re.fullmatch("[0-9]+", word) for word in sizes), "size line")
    long = LONG_LINE if any(len(line) >= LIMITS.line_bytes for line in (lines[0], *rest)) else ""
    return (_coordinate if banner[2] == "coordinate" else _array)(
        [int(word) for word in sizes], field, symmetry, rest, long
    )


def _value(word: str, field: str) -> tuple[float, str]:
    """A value, and why it may be refused."""
    if field in ("integer", "unsigned-integer"):
        need(re.fullmatch("[+-]?[0-9]+" if field == "integer" else "[+]?[0-9]+", word), "no whole number")
        return value(word), "" if is_exact(word) else INEXACT
    return value(word), ""


def _coordinate(sizes: list[int], field: str, symmetry: str, rest: list[bytes], refusable: str) -> Meaning:
    need(len(sizes) == 3 and len(rest) == sizes[2], "number of entries")
    need(symmetry == "general" or sizes[0] == sizes[1], "square")
    entries, sides = [], set()
    for line in rest:
        words = words_of(line)
        need(len(words) == (2 if field == "pattern" else 3), "columns")
        need(all(re.fullmatch("[0-9]+", word) for word in words[:2]), "index")
        row, col = (int(word) for word in words[:2])
        need(1 <= row <= sizes[0] and 1 <= col <= sizes[1], "index")
        number, reason = (1.0, "") if field == "pattern" else _value(words[2], field)
        refusable = refusable or reason
        need(symmetry != "skew-symmetric" or row != col or number == 0, "skew diagonal")
        entries.append((row - 1, col - 1, number))
        if row != col and symmetry != "general":
            sides.add(row > col)
            entries.append((col - 1, row - 1, number if symmetry == "symmetric" else -number))
    need(len(sides) < 2, "both triangles")
    return summed((sizes[0], sizes[1]), entries, refusable)


def _array(sizes: list[int], field: str, symmetry: str, rest: list[bytes], refusable: str) -> Meaning:
    need(len(sizes) == 2 and (symmetry == "general" or sizes[0] == sizes[1]), "sizes")
    n_rows, n_cols = sizes
    need(n_rows * n_cols <= 4 * len(rest) + 4, "truncated")
    below = {"general": -n_cols, "symmetric": 0, "skew-symmetric": 1}[symmetry]
    # SciPy before 1.1 wrote the zero diagonal too.
    if symmetry == "skew-symmetric" and len(rest) == n_rows * (n_rows + 1) // 2:
        below = 0
    places = [(r, c) for c in range(n_cols) for r in range(n_rows) if r - c >= below]
    need(len(places) == len(rest), "number of values")
    entries = []
    for (row, col), line in zip(places, rest, strict=True):
        words = words_of(line)
        need(len(words) == 1, "columns")
        number, reason = _value(words[0], field)
        refusable = refusable or reason
        if number:
            need(symmetry != "skew-symmetric" or row != col, "skew diagonal")
            entries.append((row, col, number))
            if row != col and symmetry != "general":
                entries.append((col, row, number if symmetry == "symmetric" else -number))
    return summed((n_rows, n_cols), entries, refusable)


def written(rng: random.Random, field: str, symmetry: str, coordinate: bool) -> bytes:
    """A file with these words in its banner, of a random shape, spacing and line end."""
    n_rows = rng.randint(1, 5)
    n_cols = n_rows if symmetry != "general" else rng.randint(1, 5)
    below = {"general": -n_cols, "skew-symmetric": 1}.get(symmetry, 0)
    has_diagonal = symmetry == "skew-symmetric" and not coordinate and rng.random() < 0.4
    places = [(r, c) for c in range(n_cols) for r in range(n_rows) if r - c >= (0 if has_diagonal else below)]
    if coordinate:
        places = rng.choices(places, k=rng.randint(0, 6)) if places else []
    token = whole_token if field.endswith("integer") else decimal_token
    gap, edge, end = rng.choice([" ", "  ", "\t"]), rng.choice(["", "", " "]), rng.choice(["\n", "\n", "\r\n"])
    mark = rng.choice(["%%", "%%", "%%", "%"]) + rng.choice(["MatrixMarket", "MatrixMarket", "matrixmarket"])
    lines = [f"{mark} matrix {'coordinate' if coordinate else 'array'} {field} {symmetry}"]
    lines += rng.choice([[], ["%"], ["% a comment", "", " % indented"], ["%" * 9000], ["% é"]])
    lines.append(gap.join(map(str, (n_rows, n_cols, len(places)) if coordinate else (n_rows, n_cols))))
    for row, col in places:
        number = "" if field == "pattern" else token(rng).lstrip("-" if field == "unsigned-integer" else "")
        number = "0" if has_diagonal and row == col and rng.random() < 0.95 else number
        words = (str(row + 1), str(col + 1), number) if coordinate else (number,)
        lines.append(edge + gap.join(filter(None, words)) + edge)
        lines += rng.choice([[], [], [], [""]])
    return (end.join(lines) + rng.choice([end, end, ""])).encode()


REAL = b"%%MatrixMarket matrix coordinate real general\n"
ODD = {
    "a non-breaking space in the banner": REAL.replace(b"e r", b"e\xc2\xa0r") + b"1 1 1\n1 1 1\n",
    "a vertical tab in the banner": REAL.replace(b"e r", b"e\x0br") + b"1 1 1\n1 1 1\n",
    "CR at the end": REAL + b"1 1 1\n1 1 1.0\r",
    "CR behind the end": REAL + b"1 1 1\n1 1 1.0\n\r",
    "NUL": REAL + b"1 1 1\n1 1 1.0\0\n",
    "no field, as of ORNL": REAL.replace(b" real", b"") + b"1 1 1\n1 1 1\n",
    "comments of 3 MB": REAL + (b"%" * 60_000 + b"\n") * 50 + b"1 1 1\n1 1 1\n",
    "2^64": REAL + b"1 2 2\n1 1 18446744073709551616\n1 2 1.8446744073709551616e19\n",
    "2^63 and its kind": REAL
    + b"1 3 3\n1 1 9.2233720368547758080e+18\n1 2 55340232221128654848\n1 3 73786976294838206464\n",
    "complex": REAL.replace(b"real", b"complex") + b"1 1 1\n1 1 1 0\n",
    "a banner with three percent signs": b"%" + REAL + b"1 1 1\n1 1 1\n",
    "a banner with a blank": REAL.replace(b"%%M", b"%% M") + b"1 1 1\n1 1 1\n",
    "a banner with a hash": REAL.replace(b"%%", b"#") + b"3 3 1\n1 1 1\n",
    "a banner behind a comment": b"% of a tool\n" + REAL + b"3 3 1\n1 1 1\n",
    "a misspelt banner": REAL.replace(b"Market", b"Markt") + b"3 3 1\n1 1 1\n",
    "an underlined banner": REAL.replace(b"MatrixMarket", b"__BadBanner") + b"3 3 1\n1 1 1\n",
    "complex hermitian": REAL.replace(b"real general", b"complex hermitian") + b"1 1 1\n1 1 1 0\n",
    "hermitian of no field": REAL.replace(b"real general", b"hermitian") + b"1 1 1\n1 1 1\n",
    "values alone": REAL + b"1 1 1\n1.0\n",
}


def agrees_with_scipy(content: bytes, meaning: Meaning) -> bool:
    """Whether mmread gives the same matrix, where it may be asked."""
    odd = re.search(rb"\d[dD]|[.][dD]|[ \t\n][+]|(?i:unsigned-integer\s+skew)", content)
    # SciPy wants these letters, and knows of no array with the zero diagonal.
    spelt = re.match(rb"%%?MatrixMarket[ \t](?!.*array.*skew)", content)
    plain = spelt and content.isascii() and content.endswith(b"\n") and not odd
    if meaning.refusable or not plain or max((abs(x) for x in meaning.entries.values()), default=0) >= 2**63:
        return True
    theirs = scipy.io.mmread(io.BytesIO(content))
    dense = np.zeros((meaning.n_rows, meaning.n_cols))
    for (row, col), number in meaning.entries.items():
        dense[row, col] = number
    found = theirs.toarray() if scipy.sparse.issparse(theirs) else np.asarray(theirs)
    # SciPy adds duplicates up in an order of its own.
    return np.allclose(found.astype(float), dense, rtol=1e-12, atol=0.0)


def judged(kind: str, name: str, content: bytes, inner: bytes | None = None) -> Case:
    """A case whose meaning this module's reader says; `inner` is the text within a compressed file."""
    try:
        meaning: Meaning | None = read(content if inner is None else inner)
    except UnreadableError:
        meaning = None
    return Case(kind, name, content, meaning)


def generate(rng: random.Random) -> Iterator[Case]:
    """Valid files of every kind, and the same with a few bytes changed."""
    for name, content in ODD.items():
        yield judged("Matrix Market", name, content)
    while True:
        field, coordinate = rng.choice(FIELDS), rng.random() < 0.7
        symmetry = rng.choice(SYMMETRIES)
        content = written(rng, field, symmetry, coordinate)
        name = f"{'coordinate' if coordinate else 'array'} {field} {symmetry}"
        yield judged("Matrix Market", name, content)
        yield judged("Matrix Market", f"{name}, changed", mutate(rng, content))


def _gzip_part() -> Any:
    return zlib.decompressobj(31)


def unpacked(unpack: Callable[[], Any], content: bytes) -> bytes:
    """The content of a compressed file, empty where it is damaged."""
    try:
        return _all_parts(unpack, content)
    except (OSError, EOFError, ValueError, zlib.error):
        return b""


def _all_parts(unpack: Callable[[], Any], content: bytes) -> bytes:
    """Python's gzip.decompress believes reserved flags, its bz2.decompress leaves out rubbish behind the last part."""
    text = b""
    while content:
        part = unpack()
        text += part.decompress(content)
        if not part.eof:
            raise EOFError
        content = part.unused_data
    return text


def generate_packed(rng: random.Random) -> Iterator[Case]:
    """The same within gzip and bzip2, whole, in parts, cut and damaged; Python's own modules unpack them whole."""
    while True:
        content = written(rng, rng.choice(("real", "integer")), rng.choice(SYMMETRIES), True)
        for name, pack, unpack in (("gzip", gzip.compress, _gzip_part), ("bzip2", bz2.compress, bz2.BZ2Decompressor)):
            half = rng.randrange(len(content) + 1)
            packed = pack(content[:half]) + pack(content[half:])
            yield judged("compressed", f"{name} in parts", packed, content)
            damaged = bytearray(packed)
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
            for what, bad in (("cut", packed[: rng.randrange(3, len(packed))]), ("damaged", bytes(damaged))):
                yield judged("compressed", f"{name}, {what}", bad, unpacked(unpack, bad))
