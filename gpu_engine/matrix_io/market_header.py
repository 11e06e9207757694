"""The banner, comments and size line of a Matrix Market file, believed only as far as the file can bear them out."""

import re
from dataclasses import dataclass

from gpu_engine.errors import MatrixFileError, TooLargeError, quote
from gpu_engine.matrix_io import tokenizer
from gpu_engine.matrix_io.base import ReadLimits, check_shape
from gpu_engine.matrix_io.text import Lines, comment_lines
from gpu_engine.text import units

UTF8_BOM = b"\xef\xbb\xbf"
BANNERS = ("%%matrixmarket", "%matrixmarket")
"""First words of a banner: with one percent sign too, as Network Repository writes it and SciPy reads it."""

FIRST = re.compile(
    rb"[ \t]*+(?:%[^\n]*matrix[ _-]?market|[%#]*+[ \t]*+matrix[ _-]?market\b"
    rb"|[%#][^\n]*\bmatrix[ \t]++(?:coordinate|array)\b"
    rb"|[%#][^\n]*\b(?:coordinate|array)[ \t]++(?:real|double|complex|(?:unsigned-)?integer|pattern)\b)",
    re.IGNORECASE,
)
"""A first line that is a banner, or was meant as one: never a comment of an edge list."""

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
    """What a file says of itself; `entries` counts its entry lines, `line` is the number of the size line.

    chosen  the field that somebody else had to name; empty: the banner has it
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
        """The fewest bytes of an entry line with its newline."""
        columns = (2 if self.coordinate else 0) + (1 if self.kind != tokenizer.PATTERN else 0)
        return 2 * columns


def is_banner(head: bytes) -> bool:
    """Whether a text begins as a Matrix Market file does, or was meant to: the banner misspelt, or behind comments."""
    text = head.removeprefix(UTF8_BOM)
    if FIRST.match(text):
        return True
    passed = PASSED.match(text)
    return bool(passed and LATER.search(passed[0]))


def lacks_field(head: bytes) -> bool:
    """Whether the first line of a text lacks the field alone, as in files of ORNL."""
    return _lacks_field(_words(first_line(head))[0])


def first_line(head: bytes) -> bytes:
    """The first line of a text, without its end."""
    return head.partition(b"\n")[0].removesuffix(b"\r")


def read_header(lines: Lines, text_bytes: int, limits: ReadLimits, field: str = "named") -> Header:
    """The header, checked against the most bytes that the text can have; `lines` stands behind it.

    field  what a banner without one means; `named`: that is refused, with the hint to choose one
    Raises MatrixFileError for what it cannot mean and TooLargeError for more than the limits.
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
    """(coordinate, kind, symmetry) of the first line; chosen: as `read_header`.

    Raises MatrixFileError, with the hint to choose a field where that alone is missing.
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
            f"The matrix is {field} {symmetry}; only real matrices are measured: field real, double, integer or "
            "pattern, symmetry general, symmetric, skew-symmetric or hermitian.",
            1,
        )
    _check_word("field", field, tuple(KINDS))
    _check_word("symmetry", symmetry, tuple(SYMMETRIES))
    if field == "pattern" and (layout == "array" or symmetry == "skew-symmetric"):
        raise MatrixFileError(f"A pattern has no values, so it cannot be {layout} {symmetry}.", 1)
    return layout == "coordinate", KINDS[field], SYMMETRIES[symmetry]


def _words(line: bytes) -> tuple[list[str], str]:
    """The words of a first line, and the line as text."""
    text = line.removeprefix(UTF8_BOM).decode("utf-8", "backslashreplace").strip(" \t")
    # Blanks and tabs alone part words, and ASCII letters alone have two cases, as in every other reader.
    return re.split(r"[ \t]+", text.lower() if text.isascii() else text), text


def _lacks_field(words: list[str]) -> bool:
    # What is hermitian without a field may be complex.
    return len(words) == 4 and words[2] in LAYOUTS and words[3] in SYMMETRIES and words[3] != "hermitian"


def _check_words(words: list[str], shown: str) -> None:
    """Raises MatrixFileError unless the banner has its five words; says which one is missing."""
    form = "expected '%%MatrixMarket matrix coordinate real general' or the like"
    if words[0] not in BANNERS or len(words) > 5:
        raise MatrixFileError(f"{shown} is no first line of Matrix Market; {form}. Correct it.", 1)
    if _lacks_field(words):
        raise MatrixFileError(
            f"{shown} lacks the field before {words[3]!r}; {form}. The field is real where the lines have a value, "
            "pattern where they have none.",
            1,
            "choose_field",
        )
    if len(words) == 4 and words[2] in LAYOUTS and words[3] in KINDS:
        raise MatrixFileError(
            f"{shown} lacks the symmetry at its end; {form}. Add general if all entries are listed.", 1
        )
    if len(words) < 5:
        raise MatrixFileError(f"{shown} has {len(words)} words of five; {form}.", 1)


def _check_word(what: str, word: str, known: tuple[str, ...]) -> None:
    if word not in known:
        raise MatrixFileError(f"The {what} in the first line is {quote(word)}; expected {' or '.join(known)}.", 1)


def _size_line(lines: Lines) -> str:
    """The first line that is neither a comment nor blank."""
    lines.skip_comments()
    line = lines.next_line()
    if line is None:
        raise MatrixFileError("The file ends before the size line ('rows columns entries').", lines.number)
    return line.strip(b" \t").decode("utf-8", "backslashreplace")


def _parse_sizes(line: str, coordinate: bool, number: int) -> list[int]:
    """Two or three whole numbers that are not negative."""
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
    """Return the values of a skew-symmetric array that holds its zero diagonal too, as SciPy before 1.1 wrote it."""
    return header.n_rows * (header.n_rows + 1) // 2


def _check_plausible(header: Header, text_bytes: int) -> None:
    """Raises MatrixFileError where the file is too small for the entries that the header promises."""
    # The last line may lack its newline.
    if header.entries * header.entry_bytes > text_bytes + 1:
        raise MatrixFileError(
            f"The header promises {quote(header.entries)} entries, but the file has room for at most "
            f"{text_bytes // header.entry_bytes}. It is truncated, or the header is wrong.",
            header.line,
        )


def _check_limits(header: Header, limits: ReadLimits) -> None:
    """Raises TooLargeError for a matrix that may not be read however honest the header is."""
    check_shape(header.n_rows, header.n_cols, header.entries, limits, f"Line {header.line}: the")
    if header.coordinate and header.entries > limits.nnz_max:
        raise TooLargeError(
            f"Line {header.line}: {units.count(header.entries)} entries; "
            f"at most {units.count(limits.nnz_max)} are read here."
        )
