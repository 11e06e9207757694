"""Banner, comments, and size line of a Matrix Market file, checked against the size of the file."""

import re
from dataclasses import dataclass

from gpu_engine.errors import MatrixFileError, TooLargeError, quote
from gpu_engine.matrix_io import tokenizer
from gpu_engine.matrix_io.base import ReadLimits, check_shape
from gpu_engine.matrix_io.text import Lines, comment_lines
from gpu_engine.text import units

UTF8_BOM = b"\xef\xbb\xbf"
BANNERS = ("%%matrixmarket", "%matrixmarket")
"""First words of a banner, also with one percent sign, as Network Repository writes and SciPy reads it."""

FIRST = re.compile(
    rb"[ \t]*+(?:%[^\n]*matrix[ _-]?market|[%#]*+[ \t]*+matrix[ _-]?market\b"
    rb"|[%#][^\n]*\bmatrix[ \t]++(?:coordinate|array)\b"
    rb"|[%#][^\n]*\b(?:coordinate|array)[ \t]++(?:real|double|complex|(?:unsigned-)?integer|pattern)\b)",
    re.IGNORECASE,
)
"""Pattern of a first line that is, or was meant as, a banner, in contrast to comments of edge lists."""

LATER = re.compile(rb"^[ \t]*+%++[ \t]*+matrixmarket[ \t]++(?:matrix|vector)\b", re.IGNORECASE | re.MULTILINE)
PASSED = comment_lines("#%")
LAYOUTS = ("coordinate", "array")
KINDS = {
    "real": tokenizer.REAL,
    "double": tokenizer.REAL,
    "integer": tokenizer.INTEGER,
    "unsigned-integer": tokenizer.UNSIGNED,
    "pattern": tokenizer.PATTERN,
}
SYMMETRIES = {
    "general": tokenizer.GENERAL,
    "symmetric": tokenizer.SYMMETRIC,
    "skew-symmetric": tokenizer.SKEW,
    # Of real numbers it is the same as symmetric, and some writers say it of them.
    "hermitian": tokenizer.SYMMETRIC,
}


@dataclass(frozen=True, slots=True)
class Header:
    """Header of a file; `entries`: number of entry lines, `line`: number of the size line.

    chosen  field from the options; empty if the banner has a field
    """

    coordinate: bool
    kind: int
    symmetry: int
    n_rows: int
    n_cols: int
    entries: int
    line: int
    chosen: str = ""

    @property
    def entry_bytes(self) -> int:
        """Minimum bytes of an entry line with its newline."""
        columns = (2 if self.coordinate else 0) + (1 if self.kind != tokenizer.PATTERN else 0)
        return 2 * columns


def is_banner(head: bytes) -> bool:
    """Return whether a text begins with a banner, which may be misspelled or follow comments."""
    text = head.removeprefix(UTF8_BOM)
    if FIRST.match(text):
        return True
    passed = PASSED.match(text)
    return bool(passed and LATER.search(passed[0]))


def lacks_field(head: bytes) -> bool:
    """Return whether the first line of a text lacks only the field, as in files of ORNL."""
    return _lacks_field(_words(first_line(head))[0])


def first_line(head: bytes) -> bytes:
    """Return the first line of a text, without its line end."""
    return head.partition(b"\n")[0].removesuffix(b"\r")


def read_header(lines: Lines, text_bytes: int, limits: ReadLimits, field: str = "named") -> Header:
    """Return the header, checked against the maximum bytes of the text; `lines` is then after it.

    field  field for a banner without one; `named`: such a banner is an error with a hint
    Raises MatrixFileError for an invalid header and TooLargeError for one that exceeds the limits.
    """
    line = lines.next_line() or b""
    coordinate, kind, symmetry = parse_banner(line, field)
    sizes = _parse_sizes(_size_line(lines), coordinate, lines.number)
    if symmetry != tokenizer.GENERAL and sizes[0] != sizes[1]:
        shape = f"{quote(sizes[0])} × {quote(sizes[1])}"
        raise MatrixFileError(f"A symmetric matrix must be square, not {shape}.", lines.number)
    entries = sizes[2] if coordinate else _array_entries(sizes[0], sizes[1], symmetry)
    chosen = field if lacks_field(line) else ""
    header = Header(coordinate, kind, symmetry, sizes[0], sizes[1], entries, lines.number, chosen)
    _check_plausible(header, text_bytes)
    _check_limits(header, limits)
    return header


def parse_banner(line: bytes, chosen: str) -> tuple[bool, int, int]:
    """Return (coordinate, kind, symmetry) of the first line; chosen: as `field` of `read_header`.

    Raises MatrixFileError, with the hint to choose a field if only the field is missing.
    """
    if b"\r" in line:
        raise MatrixFileError("The lines end with CR alone; save the file with LF or CRLF line ends.", 1)
    words, text = _words(line)
    if _lacks_field(words) and chosen != "named":
        words.insert(3, chosen)
    _check_words(words, quote(text))
    _, kind_of_object, layout, field, symmetry = words
    _check_word("object", kind_of_object, ("matrix",))
    _check_word("layout", layout, LAYOUTS)
    if field == "complex":
        raise MatrixFileError(
            f"The matrix is {field} {symmetry}. Only real matrices are supported (field real, double, integer, or "
            "pattern; symmetry general, symmetric, skew-symmetric, or hermitian).",
            1,
        )
    _check_word("field", field, tuple(KINDS))
    _check_word("symmetry", symmetry, tuple(SYMMETRIES))
    if field == "pattern" and (layout == "array" or symmetry == "skew-symmetric"):
        raise MatrixFileError(f"A pattern has no values, so it cannot be {layout} {symmetry}.", 1)
    return layout == "coordinate", KINDS[field], SYMMETRIES[symmetry]


def _words(line: bytes) -> tuple[list[str], str]:
    """Return the words of a first line, and the line as text."""
    text = line.removeprefix(UTF8_BOM).decode("utf-8", "backslashreplace").strip(" \t")
    # As in other readers, only blanks and tabs separate words, and only ASCII letters have two cases.
    return re.split(r"[ \t]+", text.lower() if text.isascii() else text), text


def _lacks_field(words: list[str]) -> bool:
    # A hermitian matrix without a field may be complex.
    return len(words) == 4 and words[2] in LAYOUTS and words[3] in SYMMETRIES and words[3] != "hermitian"


def _check_words(words: list[str], banner: str) -> None:
    """Raise MatrixFileError unless the banner has its five words; says which one is missing."""
    form = "expected '%%MatrixMarket matrix coordinate real general' or the like"
    if words[0] not in BANNERS or len(words) > 5:
        raise MatrixFileError(f"{banner} is not a valid first line of Matrix Market; {form}. Correct it.", 1)
    if _lacks_field(words):
        raise MatrixFileError(
            f"{banner} lacks the field before {words[3]!r}; {form}. The field is real if the lines have a value, "
            "pattern if they have none.",
            1,
            "choose_field",
        )
    if len(words) == 4 and words[2] in LAYOUTS and words[3] in KINDS:
        raise MatrixFileError(
            f"{banner} lacks the symmetry at its end; {form}. Add general if all entries are listed.", 1
        )
    if len(words) < 5:
        raise MatrixFileError(f"{banner} has {len(words)} words of five; {form}.", 1)


def _check_word(what: str, word: str, known: tuple[str, ...]) -> None:
    if word not in known:
        raise MatrixFileError(f"The {what} in the first line is {quote(word)}; expected {' or '.join(known)}.", 1)


def _size_line(lines: Lines) -> str:
    """Return the first line that is neither a comment nor blank."""
    lines.skip_comments()
    line = lines.next_line()
    if line is None:
        raise MatrixFileError("The file ends before the size line ('rows columns entries').", lines.number)
    return line.strip(b" \t").decode("utf-8", "backslashreplace")


def _parse_sizes(line: str, coordinate: bool, number: int) -> list[int]:
    """Return the two or three non-negative integers of the size line."""
    form = "rows columns entries" if coordinate else "rows columns"
    words = re.split(r"[ \t]+", line)
    if len(words) != len(form.split()) or not all(re.fullmatch(r"\d+", word, re.ASCII) for word in words):
        raise MatrixFileError(f"{quote(line)} is not a size line; expected {form!r} as whole numbers.", number)
    return [int(word) for word in words]


def _array_entries(n_rows: int, n_cols: int, symmetry: int) -> int:
    if symmetry == tokenizer.GENERAL:
        return n_rows * n_cols
    return n_rows * (n_rows + (1 if symmetry == tokenizer.SYMMETRIC else -1)) // 2


def with_diagonal(header: Header) -> int:
    """Return the number of values of a skew-symmetric array with its zero diagonal, as SciPy before 1.1 wrote it."""
    return header.n_rows * (header.n_rows + 1) // 2


def _check_plausible(header: Header, text_bytes: int) -> None:
    """Raise MatrixFileError if the file is too small for the number of entries in the header."""
    # The last line may lack its newline.
    if header.entries * header.entry_bytes > text_bytes + 1:
        raise MatrixFileError(
            f"The header promises {quote(header.entries)} entries, but the file has room for at most "
            f"{text_bytes // header.entry_bytes}. It is truncated, or the header is wrong.",
            header.line,
        )


def _check_limits(header: Header, limits: ReadLimits) -> None:
    """Raise TooLargeError for a header that exceeds the limits."""
    check_shape(header.n_rows, header.n_cols, header.entries, limits, f"Line {header.line}: the")
    if header.coordinate and header.entries > limits.nnz_max:
        raise TooLargeError(
            f"Line {header.line}: {units.count(header.entries)} entries; "
            f"at most {units.count(limits.nnz_max)} are read here."
        )
