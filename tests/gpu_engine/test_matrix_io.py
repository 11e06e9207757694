import gzip
import io
import random
import tracemalloc
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_engine.csr_matrix import CsrMatrix, check_csr
from gpu_engine.errors import QUOTE_LIMIT, InputError, MatrixFileError, TooLargeError
from gpu_engine.matrix_io import ReadLimits, ReadResult, read_matrix, write_matrix_market
from gpu_engine.matrix_io import decompress as decompress_module
from tests.battery import BATTERY

REAL = b"%%MatrixMarket matrix coordinate real general\n"
PATTERN = b"%%MatrixMarket matrix coordinate pattern general\n"
INTEGER = b"%%MatrixMarket matrix coordinate integer general\n"
SYMMETRIC = b"%%MatrixMarket matrix coordinate real symmetric\n"
SKEW = b"%%MatrixMarket matrix coordinate real skew-symmetric\n"
ARRAY = b"%%MatrixMarket matrix array real general\n"
MIB = 2**20


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def read_bytes(content: bytes, limits: ReadLimits | None = None) -> ReadResult:
        path = tmp_path / "matrix.mtx"
        path.write_bytes(content)
        return read_matrix(path, limits)

    return read_bytes


def as_dense(result: ReadResult) -> list[list[float]]:
    return result.matrix.to_scipy().toarray().tolist()


def assert_canonical(matrix: CsrMatrix) -> None:
    check_csr(matrix.n_rows, matrix.n_cols, matrix.indptr, matrix.indices, matrix.values)
    assert (matrix.indptr.dtype, matrix.indices.dtype, matrix.values.dtype) == (np.int32, np.int32, np.float64)
    assert np.isfinite(matrix.values).all()
    rows = np.repeat(np.arange(matrix.n_rows), np.diff(matrix.indptr))
    keys = rows * max(matrix.n_cols, 1) + matrix.indices
    assert (np.diff(keys) > 0).all()


GOOD: dict[str, tuple[bytes, list[list[float]]]] = {
    "real": (REAL + b"2 3 3\n1 1 1.5\n2 3 -2e2\n1 2 .5\n", [[1.5, 0.5, 0], [0, 0, -200]]),
    "double is real": (REAL.replace(b"real", b"double") + b"1 1 1\n1 1 7\n", [[7]]),
    "integer": (INTEGER + b"1 2 2\n1 1 -3\n1 2 +4\n", [[-3, 4]]),
    "integer beyond 2^53 that fp64 holds": (INTEGER + b"1 1 1\n1 1 18014398509481984\n", [[2.0**54]]),
    "pattern": (PATTERN + b"2 2 2\n1 2\n2 1\n", [[0, 1], [1, 0]]),
    "symmetric": (SYMMETRIC + b"2 2 2\n1 1 5\n2 1 3\n", [[5, 3], [3, 0]]),
    "symmetric, upper triangle": (SYMMETRIC + b"2 2 2\n1 1 5\n1 2 3\n", [[5, 3], [3, 0]]),
    "pattern symmetric": (PATTERN.replace(b"general", b"symmetric") + b"2 2 1\n2 1\n", [[0, 1], [1, 0]]),
    "skew": (SKEW + b"2 2 1\n2 1 3\n", [[0, -3], [3, 0]]),
    "skew, upper triangle": (SKEW + b"2 2 1\n1 2 3\n", [[0, 3], [-3, 0]]),
    "skew with zero on the diagonal": (SKEW + b"2 2 2\n1 1 0.0\n2 1 3\n", [[0, -3], [3, 0]]),
    "array": (ARRAY + b"2 3\n1\n2\n0\n4\n5\n6\n", [[1, 0, 5], [2, 4, 6]]),
    "array integer": (ARRAY.replace(b"real", b"integer") + b"1 2\n1\n-2\n", [[1, -2]]),
    "array symmetric": (ARRAY.replace(b"general", b"symmetric") + b"2 2\n1\n2\n3\n", [[1, 2], [2, 3]]),
    "array skew": (
        ARRAY.replace(b"general", b"skew-symmetric") + b"3 3\n1\n2\n3\n",
        [[0, -1, -2], [1, 0, -3], [2, 3, 0]],
    ),
    "zero by zero": (REAL + b"0 0 0\n", []),
    "no entries": (REAL + b"2 2 0\n", [[0, 0], [0, 0]]),
    "no final newline": (REAL + b"1 1 1\n1 1 1.0", [[1]]),
    "trailing space, no final newline": (REAL + b"1 1 1\n1 1 1.0 ", [[1]]),
    "trailing tab, no final newline": (REAL + b"1 1 1\n1 1 1.0\t", [[1]]),
    "trailing CR, no final newline": (REAL + b"1 1 1\n1 1 1.0\r", [[1]]),
    "pattern without final newline": (PATTERN + b"1 1 1\n1 1", [[1]]),
    "CRLF": (REAL.replace(b"\n", b"\r\n") + b"% c\r\n1 1 1\r\n1 1 1.0\r\n", [[1]]),
    "byte order mark": (b"\xef\xbb\xbf" + REAL + b"1 1 1\n1 1 1.0\n", [[1]]),
    "lower case banner": (REAL.lower() + b"1 1 1\n1 1 1.0\n", [[1]]),
    "upper case banner": (REAL.upper() + b"1 1 1\n1 1 1.0\n", [[1]]),
    "blank lines and blanks": (REAL + b"\n% c\n \n1\t1  1 \n\n \t1\t 1   1.0  \n\n", [[1]]),
    "Latin-1 comment": (REAL + b"% \xe9t\xe9\n1 1 1\n1 1 1.0\n", [[1]]),
    "Fortran exponents": (REAL + b"1 4 4\n1 1 1.5D+02\n1 2 1.5d2\n1 3 15.D-1\n1 4 1.D0\n", [[150, 150, 1.5, 1]]),
    "duplicates": (REAL + b"2 2 4\n2 2 1\n1 1 2\n2 2 0.5\n2 2 0.25\n", [[2, 0], [0, 1.75]]),
    "leading zeros": (REAL + b"1 1 1\n01 001 007.50\n", [[7.5]]),
}


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("packed", [False, True])
def test_good_files(read: Any, name: str, packed: bool) -> None:
    content, expected = GOOD[name]
    result = read(gzip.compress(content) if packed else content)
    assert as_dense(result) == expected
    assert_canonical(result.matrix)


# name → (file, line at fault, words of the message)
BAD: dict[str, tuple[bytes, int | None, str]] = {
    "nnz of 10^12": (REAL + b"3 3 1000000000000\n1 1 1\n", 2, "promises '1000000000000' entries"),
    "nnz of 10^8": (REAL + b"3 3 100000000\n1 1 1\n", 2, "promises"),
    "negative rows": (REAL + b"-3 3 1\n1 1 1\n", 2, "not a size line"),
    "negative nnz": (REAL + b"3 3 -1\n1 1 1\n", 2, "not a size line"),
    "no nnz": (REAL + b"3 3\n1 1 1\n", 2, "not a size line"),
    "fractional size": (REAL + b"3 3.0 1\n1 1 1\n", 2, "not a size line"),
    "Arabic digits in the size line": (REAL + "٣ 3 1\n1 1 1\n".encode(), 2, "not a size line"),
    "no size line": (REAL + b"% only\n", 2, "before the size line"),
    "row 0": (REAL + b"3 3 1\n0 1 1\n", 3, "row index is 0; indices start at 1"),
    "column 0": (REAL + b"3 3 1\n1 0 1\n", 3, "column index is 0"),
    "negative row": (REAL + b"3 3 2\n1 1 1\n-1 1 1\n", 4, "row index '-1' is negative"),
    "row out of range": (REAL + b"3 3 1\n4 1 1\n", 3, "row index '4' is outside 1 … 3"),
    "column out of range": (REAL + b"3 2 1\n1 3 1\n", 3, "column index '3' is outside 1 … 2"),
    "row 2^32 + 1": (REAL + b"3 3 1\n4294967297 1 1\n", 3, "outside"),
    "row 2^64 + 1": (REAL + b"3 3 1\n18446744073709551617 1 1\n", 3, "outside"),
    "fractional row": (REAL + b"3 3 1\n1.0 1 1\n", 3, "row index '1.0' is not a whole number"),
    "signed row": (REAL + b"3 3 1\n+1 1 1\n", 3, "sign"),
    "any entry of an empty matrix": (REAL + b"0 0 1\n1 1 1\n", 3, "outside"),
    "nan": (REAL + b"3 3 1\n1 1 nan\n", 3, "not finite"),
    "NaN(0x1)": (REAL + b"3 3 1\n1 1 NaN(0x1)\n", 3, "not finite"),
    "infinity": (REAL + b"3 3 1\n1 1 -Infinity\n", 3, "not finite"),
    "1e400": (REAL + b"3 3 2\n1 1 1\n2 1 1e400\n", 4, "'1e400' overflows"),
    "1e-400": (REAL + b"3 3 1\n1 1 1e-400\n", 3, "'1e-400' underflows"),
    "Fortran exponent that overflows": (REAL + b"3 3 1\n1 1 1D999\n", 3, "overflows"),
    "an overflow before another fault": (REAL + b"3 3 2\n1 1 1e400\n0 0 0\n", 3, "overflows"),
    "hexadecimal": (REAL + b"3 3 1\n1 1 0x1p3\n", 3, "hexadecimal"),
    "decimal comma": (REAL + b"3 3 1\n1 1 1,5\n", 3, "decimal point"),
    "underscore": (REAL + b"3 3 1\n1 1 1_000\n", 3, "not a decimal number"),
    "exponent without digits": (REAL + b"3 3 1\n1 1 1e\n", 3, "not a decimal number"),
    "exponent without letter": (REAL + b"3 3 1\n1 1 1.5+02\n", 3, "not a decimal number"),
    "two points": (REAL + b"3 3 1\n1 1 1.5.5\n", 3, "not a decimal number"),
    "a point alone": (REAL + b"3 3 1\n1 1 .\n", 3, "not a decimal number"),
    "a sign alone": (REAL + b"3 3 1\n1 1 -\n", 3, "not a decimal number"),
    "Arabic value": (REAL + "3 3 1\n1 1 ٣\n".encode(), 3, "not a decimal number"),
    "9.7 in an integer file": (INTEGER + b"3 3 1\n1 1 9.7\n", 3, "header says integer"),
    "1e3 in an integer file": (INTEGER + b"3 3 1\n1 1 1e3\n", 3, "header says integer"),
    "integer of 23 digits": (INTEGER + b"3 3 1\n1 1 99999999999999999999999\n", 3, "beyond 2^53"),
    "2^53 + 1": (INTEGER + b"3 3 1\n1 1 9007199254740993\n", 3, "beyond 2^53"),
    "extra columns": (REAL + b"3 3 1\n1 1 1.0 7.0 junk\n", 3, "has 5 columns; expected 3"),
    "trailing junk, no final newline": (REAL + b"3 3 1\n1 1 1.0 % end", 3, "columns"),
    "control-Z": (REAL + b"3 3 1\n1 1 1.0\n\x1a", 4, "more than the 1"),
    "value missing": (REAL + b"3 3 1\n1 1\n", 3, "The value is missing"),
    "pattern with values": (PATTERN + b"3 3 1\n1 1 1.0\n", 3, "say real"),
    "truncated": (REAL + b"3 3 2\n1 1 1.0\n", 3, "ends after 1 of 2 entries"),
    "truncated within a line": (REAL + b"3 3 2\n1 1 1.0\n3 2", 4, "columns"),
    "too many entries": (REAL + b"3 3 1\n1 1 1\n2 2 2\n", 4, "more than the 1"),
    "comment between entries": (REAL + b"3 3 2\n1 1 1\n% c\n2 2 2\n", 4, "comment between the entries"),
    "NUL after a value": (REAL + b"3 3 1\n1 1 1.0\0\n", 3, "NUL"),
    "NUL in a comment": (REAL + b"% \0\n3 3 1\n1 1 1.0\n", 2, "NUL"),
    "symmetric 3 × 5": (SYMMETRIC + b"3 5 1\n1 1 1\n", 2, "must be square"),
    "symmetric 5 × 3": (SYMMETRIC + b"5 3 1\n5 2 1\n", 2, "must be square"),
    "both triangles": (SYMMETRIC + b"3 3 2\n2 1 1\n1 2 2.5\n", 4, "other triangle"),
    "both triangles, upper first": (SYMMETRIC + b"3 3 3\n1 1 1\n1 2 1\n3 1 1\n", 5, "other triangle"),
    "both triangles of a pattern": (PATTERN.replace(b"general", b"symmetric") + b"3 3 2\n2 1\n1 2\n", 4, "triangle"),
    "skew with diagonal": (SKEW + b"3 3 1\n2 2 1\n", 3, "diagonal"),
    "skew with a diagonal of many digits": (SKEW + b"3 3 1\n2 2 1.00000000000000000000001\n", 3, "diagonal"),
    "CR alone": (REAL.replace(b"\n", b"\r") + b"1 1 1\r1 1 1.0\r", 1, "CR alone"),
    "CR within a line": (REAL + b"1 1 1\n1 1\r1.0\n", 3, "carriage return"),
    "CR behind an entry": (REAL + b"1 1 1\n1 1 1.0\r5\n", 3, "carriage return"),
    "complex": (REAL.replace(b"real", b"complex") + b"1 1 1\n1 1 1 0\n", 1, "only real"),
    "hermitian": (REAL.replace(b"general", b"hermitian") + b"1 1 1\n1 1 1\n", 1, "only real"),
    "unknown field": (REAL.replace(b"real", b"reel") + b"1 1 1\n1 1 1\n", 1, "field in the first line is 'reel'"),
    "unknown symmetry": (REAL.replace(b"general", b"generic"), 1, "symmetry"),
    "unknown layout": (REAL.replace(b"coordinate", b"csr"), 1, "layout"),
    "vector": (REAL.replace(b"matrix", b"vector"), 1, "object"),
    "a word of the banner missing": (REAL.replace(b" general", b""), 1, "expected '%%MatrixMarket"),
    "pattern array": (ARRAY.replace(b"real", b"pattern") + b"1 1\n", 1, "no values"),
    "pattern skew": (SKEW.replace(b"real", b"pattern") + b"1 1 0\n", 1, "no values"),
    "array of 10^6 × 10^6": (ARRAY + b"1000000 1000000\n1\n", 2, "promises"),
    "array with one value": (ARRAY + b"20000 20000\n1\n", 2, "promises"),
    "array truncated": (ARRAY + b"2 2\n1\n2\n3.00000\n", 5, "ends after 3 of 4"),
    "array with two values in a line": (ARRAY + b"1 2\n1 2\n", 3, "columns"),
    "array with too many values": (ARRAY + b"1 1\n1\n2\n", 4, "more than the 1"),
    "duplicates that overflow": (REAL + b"2 2 2\n2 1 1e308\n2 1 1e308\n", None, "row 2 add up"),
    "empty": (b"", 1, "empty"),
    "HTML": (b"<!DOCTYPE html>\n<html></html>\n", 1, "web page"),
    "prose": (b"Dear all,\n", 1, "begins with 'Dear all,'"),
    "zip": (b"PK\x03\x04....", None, "zip"),
    "binary": (b"\x7fELF\0\0\0", 1, "binary"),
    "UTF-16": (REAL.decode().encode("utf-16"), 1, "binary"),
    "gzip of gzip": (gzip.compress(gzip.compress(REAL + b"1 1 1\n1 1 1\n")), 1, "twice"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(read: Any, name: str) -> None:
    content, line, words = BAD[name]
    with pytest.raises(MatrixFileError) as caught:
        read(content)
    assert words in caught.value.message
    assert caught.value.line == line
    assert line is None or caught.value.message.startswith(f"Line {line}: ")


def test_every_fault_is_found_in_gzip_too(read: Any) -> None:
    for name, (content, line, _) in BAD.items():
        if name not in {"gzip of gzip"}:
            with pytest.raises(InputError) as caught:
                read(gzip.compress(content))
            assert getattr(caught.value, "line", line) == line, name


LARGE: dict[str, tuple[bytes, ReadLimits]] = {
    "dimensions of 10^12": (REAL + b"1000000000000 1000000000000 1\n1 1 1\n", ReadLimits()),
    "2·10^9 rows in 69 bytes": (REAL + b"2000000000 3 1\n1 1 1.0\n", ReadLimits()),
    "2·10^9 columns": (REAL + b"3 2000000000 1\n1 1 1.0\n", ReadLimits()),
    "dimensions of 10^30": (REAL + b"1" + b"0" * 30 + b" 3 1\n1 1 1\n", ReadLimits()),
    "empty array with 2·10^9 columns": (ARRAY + b"0 2000000000\n", ReadLimits()),
    "entries over the limit": (REAL + b"9 9 3\n1 1 1\n2 2 2\n3 3 3\n", ReadLimits(nnz_max=2)),
    "entries over the limit once mirrored": (SYMMETRIC + b"9 9 2\n2 1 1\n3 1 3\n", ReadLimits(nnz_max=3)),
    "text over the limit": (REAL + b"1 1 1\n1 1 1\n", ReadLimits(decompressed_bytes=50)),
    "a line of 200 kB": (REAL + b"1 1 1\n1 1 1" + b" " * 200_000 + b"\n", ReadLimits()),
    "a first line of 20 MB": (b"%" * 20_000_000, ReadLimits()),
    "a comment line of 5 kB": (REAL + b"%" * 5000 + b"\n1 1 1\n1 1 1\n", ReadLimits()),
    "2 MiB of comments": (REAL + (b"%" * 1000 + b"\n") * 2100 + b"1 1 1\n1 1 1\n", ReadLimits()),
    "2 MiB of blank lines in the header": (REAL + b"\n" * 2 * MIB + b"1 1 1\n1 1 1\n", ReadLimits()),
    "100,000 empty gzip members": (gzip.compress(REAL) + gzip.compress(b"") * 100_000, ReadLimits()),
}


@pytest.mark.parametrize("name", LARGE)
def test_too_large(read: Any, name: str) -> None:
    content, limits = LARGE[name]
    head = content if name != "a first line of 20 MB" else REAL + content
    with pytest.raises(TooLargeError) as caught:
        read(head, limits)
    assert len(caught.value.message) < 4 * QUOTE_LIMIT


def test_too_many_entries_are_refused_at_the_size_line(read: Any) -> None:
    with pytest.raises(TooLargeError, match="Line 2: 3 entries; at most 2"):
        read(REAL + b"9 9 3\nnot read\n", ReadLimits(nnz_max=2))


def test_long_first_line_is_quoted_short(read: Any) -> None:
    with pytest.raises(MatrixFileError) as caught:
        read(b"x" * 20_000_000)
    assert len(caught.value.message) < 4 * QUOTE_LIMIT


def _bomb(path: Path, head: bytes, unit: bytes, total: int) -> None:
    """A gzip file of `head` and `total` bytes of `unit`s."""
    packer = zlib.compressobj(9, wbits=31)
    block = unit * (MIB // len(unit))
    with path.open("wb") as file:
        file.write(packer.compress(head))
        for _ in range(total // len(block) + 1):
            file.write(packer.compress(block))
        file.write(packer.flush())


@pytest.mark.parametrize(
    ("head", "unit"),
    [
        (REAL, b"%" * 2**16),
        (REAL, b"% comment\n"),
        (REAL, b"\n"),
        (REAL + b"3 3 30000000\n", b"1 1 1\n"),
        (REAL + b"3 3 1\n1 1 1\n", b"\n"),
    ],
    ids=["one comment line", "comment lines", "blank lines", "equal entries", "blank lines after the entries"],
)
def test_gzip_bombs_cost_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: bytes, unit: bytes) -> None:
    path = tmp_path / "bomb.mtx.gz"
    _bomb(path, head, unit, 200 * MIB)
    produced: list[int] = []
    decompress = decompress_module._decompress

    def counted(*arguments: Any) -> bytes:
        block = decompress(*arguments)
        produced.append(len(block))
        return block

    monkeypatch.setattr(decompress_module, "_decompress", counted)
    tracemalloc.start()
    with pytest.raises(TooLargeError):
        read_matrix(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sum(produced) <= 68 * MIB
    # 64 MiB of `1 1 1` are 11 million entries of 16 bytes.
    assert peak < (256 if unit == b"1 1 1\n" else 32) * MIB


@pytest.mark.parametrize(
    "damage",
    [
        lambda packed: packed[:-9],
        lambda packed: packed[:-1],
        lambda packed: packed[:20],
        lambda packed: packed[:-8] + b"\1\2\3\4" + packed[-4:],
        lambda packed: packed + b"rubbish",
        lambda packed: packed[:30] + b"\xff\xff\xff" + packed[33:],
        lambda packed: packed[:2],
    ],
    ids=["cut", "cut by a byte", "cut early", "checksum", "rubbish behind", "damaged", "magic alone"],
)
def test_damaged_gzip(read: Any, damage: Any) -> None:
    with pytest.raises(MatrixFileError, match="gzip file"):
        read(damage(gzip.compress(REAL + b"3 3 3\n1 1 1\n2 2 2\n3 3 3\n")))


def test_gzip_of_several_members_and_padding(read: Any) -> None:
    parts = REAL + b"2 2 2\n1 1", b" 1\n2 2 4\n"
    content = b"".join(gzip.compress(part) for part in (*parts, b"")) + b"\0" * 512
    assert as_dense(read(content)) == [[1, 0], [0, 4]]


@pytest.mark.parametrize("level", [0, 1, 9])
def test_gzip_that_ends_on_a_full_block(read: Any, monkeypatch: pytest.MonkeyPatch, level: int) -> None:
    lines = b"1 1 1\n" * 1000
    content = REAL + b"1 1 1000\n" + lines
    for block in (len(content), len(content) // 2, 7):
        monkeypatch.setattr(decompress_module, "BLOCK_BYTES", block)
        assert as_dense(read(gzip.compress(content, level))) == [[1000]]


@pytest.mark.parametrize("block", [8, 9, 10, 11, 12, 13, 64])
def test_lines_that_cross_blocks(read: Any, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(decompress_module, "BLOCK_BYTES", block)
    entries = b"".join(b"%d %d %d.25\r\n" % (i, i, i) for i in range(1, 40))
    content = REAL + b"39 39 39\n" + entries
    assert as_dense(read(content)) == np.diag(np.arange(1, 40) + 0.25).tolist()
    with pytest.raises(MatrixFileError) as caught:
        read(content.replace(b"30 30 ", b"30 99 "))
    assert caught.value.line == 32
    with pytest.raises(MatrixFileError) as caught:
        read(content.replace(b"30.25", b"30.2\0"))
    assert caught.value.line == 32


def test_notes_and_duplicates(read: Any) -> None:
    result = read(SYMMETRIC + b"3 3 5\n2 1 1\n2 1 2\n3 3 1\n3 3 4\n3 3 5")
    assert as_dense(result) == [[0, 3, 0], [3, 0, 0], [0, 0, 10]]
    assert result.duplicates == 3
    assert [note for note in result.notes if "3 entries repeat" in note]
    assert [note for note in result.notes if "mirrored" in note]
    assert [note for note in result.notes if "no newline" in note]
    assert [note for note in read(SYMMETRIC + b"2 2 1\n1 2 1\n").notes if "above the diagonal" in note]
    assert [note for note in read(PATTERN + b"1 1 1\n1 1\n").notes if "every entry is 1" in note]
    assert read(REAL + b"1 1 1\n1 1 1\n").notes == ()


def test_explicit_zeros_stay_but_dense_zeros_go(read: Any) -> None:
    assert read(REAL + b"2 2 2\n1 1 0\n2 2 -0.0\n").matrix.nnz == 2
    dense = read(ARRAY + b"2 2\n0\n1\n0.0\n2\n")
    assert dense.matrix.nnz == 2
    assert "2 zeros were left out" in dense.notes[0]


def test_long_unsorted_rows_sum_in_file_order(read: Any) -> None:
    rng = random.Random(1)
    entries = [(col, rng.uniform(-1, 1) * 10.0 ** rng.randint(-12, 12)) for col in range(1, 200) for _ in range(3)]
    rng.shuffle(entries)
    expected = [0.0] * 199
    for col, value in entries:
        expected[col - 1] += value
    result = read(REAL + b"1 199 597\n" + b"".join(b"1 %d %r\n" % entry for entry in entries))
    assert as_dense(result) == [expected]
    assert result.duplicates == 398
    assert_canonical(result.matrix)


@pytest.mark.parametrize("name", BATTERY)
@pytest.mark.parametrize("suffix", [".mtx", ".mtx.gz"])
def test_battery_survives_a_file(tmp_path: Path, name: str, suffix: str) -> None:
    matrix, path = BATTERY[name](), tmp_path / f"m{suffix}"
    write_matrix_market(path, matrix)
    again = read_matrix(path).matrix
    assert again.shape == matrix.shape
    for ours, theirs in zip(
        (again.indptr, again.indices, again.values.view(np.int64)),
        (matrix.indptr, matrix.indices, matrix.values.view(np.int64)),
        strict=True,
    ):
        assert np.array_equal(ours, theirs)


def _hard_decimals() -> Iterator[str]:
    rng = random.Random(5)
    for _ in range(3000):
        yield repr(rng.uniform(-1, 1) * 10.0 ** rng.randint(-307, 307))
        yield f"{rng.getrandbits(53)}e{rng.randint(-30, 30)}"
        # Half-way between two fp64 numbers, exactly and by a hair.
        odd = (2**53 + 2 * rng.getrandbits(51)) + 1
        yield str(odd)
        yield f"{odd}.{'0' * rng.randint(0, 25)}{rng.choice('01')}"
        yield f"{5 * odd}e-1"
        yield f"{rng.getrandbits(70)}.{rng.getrandbits(40)}E{rng.randint(-300, 280)}"
    yield from ("4.9406564584124654e-324", "2.2250738585072011e-308", "2.2250738585072014e-308")
    yield from ("1.7976931348623157e308", "179769313486231580793728971405301199e273", "9007199254740993.0", "0e99999")
    yield from (
        "-0",
        "-0.0e5",
        "1" + "0" * 300,
        "0." + "0" * 300 + "1",
        "123456789012345678901234567890",
        "1.e5",
        ".5e-3",
    )


def test_values_are_those_of_python_bit_by_bit(read: Any) -> None:
    tokens = list(_hard_decimals())
    lines = "".join(f"1 {col} {token}\n" for col, token in enumerate(tokens, 1))
    matrix = read(REAL + f"1 {len(tokens)} {len(tokens)}\n{lines}".encode()).matrix
    expected = np.array([float(token) for token in tokens])
    wrong = np.flatnonzero(matrix.values.view(np.int64) != expected.view(np.int64))
    assert [tokens[i] for i in wrong] == []


FIELDS = st.sampled_from(["real", "double", "integer", "pattern"])
BLANK = st.sampled_from([" ", "\t", "  ", " \t "])


@st.composite
def market_files(draw: st.DrawFn) -> bytes:
    """A valid file: any field, symmetry, layout, line end and spacing."""
    field, coordinate = draw(FIELDS), draw(st.booleans())
    symmetry = draw(st.sampled_from(["general", "symmetric", "skew-symmetric"]))
    if field == "pattern":
        coordinate, symmetry = True, symmetry.replace("skew-symmetric", "symmetric")
    n_rows = draw(st.integers(1, 6))
    n_cols = draw(st.integers(1, 6)) if symmetry == "general" else n_rows
    real = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False, min_value=-1e300, max_value=1e300)
    number = {"pattern": st.just(""), "integer": st.integers(-(2**31), 2**31).map(str)}.get(field, real.map(repr))
    offset = {"general": -6, "symmetric": 0, "skew-symmetric": 1}[symmetry]
    places = [(r, c) for c in range(n_cols) for r in range(n_rows) if r - c >= offset]
    if coordinate:
        chosen = draw(st.lists(st.sampled_from(places), unique=True)) if places else []
        entries = [[str(r + 1), str(c + 1), draw(number)] for r, c in chosen]
        sizes = [str(n_rows), str(n_cols), str(len(entries))]
    else:
        entries, sizes = [[draw(number)] for _ in places], [str(n_rows), str(n_cols)]
    end, edge = draw(st.sampled_from(["\n", "\r\n"])), draw(st.sampled_from(["", " ", "\t"]))
    gap = draw(BLANK)
    banner = f"%%MatrixMarket matrix {'coordinate' if coordinate else 'array'} {field} {symmetry}"
    lines = [banner, "% comment", *(edge + gap.join(filter(None, line)) + edge for line in (sizes, *entries))]
    return (end.join(lines) + draw(st.sampled_from([end, ""]))).encode()


@settings(max_examples=300, deadline=None)
@given(content=market_files())
def test_agrees_with_scipy(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "hypothesis.mtx"
    path.write_bytes(content)
    # SciPy's reader needs every line ended and nothing behind the last token.
    plain = b"".join(b" ".join(line.split()) + b"\n" for line in content.splitlines())
    theirs = scipy.io.mmread(io.BytesIO(plain))
    expected = theirs.toarray() if scipy.sparse.issparse(theirs) else np.asarray(theirs)
    result = read_matrix(path)
    assert np.array_equal(result.matrix.to_scipy().toarray(), expected.astype(np.float64))
    assert_canonical(result.matrix)


TEXT = b"0123456789.eED+- \t\n\r%"


def _mutate(rng: random.Random, content: bytes) -> bytes:
    """Up to three edits, most of them behind the banner and with bytes that occur in matrix files."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 3)):
        first = data.find(b"\n") + 1 if rng.random() < 0.9 else 0
        place, kind = rng.randint(first, len(data)), rng.randrange(6)
        if kind == 0:
            data[place : place + 1] = bytes([rng.choice(TEXT)])
        elif kind == 1:
            data[place:place] = rng.choice([b"\0", b"\n", b"\r", b" ", b"-", b"e", b"9" * 30, b"%", b"1 1 1\n", b"."])
        elif kind == 2:
            del data[place : place + rng.randint(1, 4)]
        elif kind == 3:
            data[place:] = b"" if rng.random() < 0.3 else data[place:]
        elif kind == 4:
            other = rng.randrange(len(data) + 1)
            data[place:place] = data[other : other + rng.randint(1, 40)]
        else:
            data[place : place + 1] = bytes([rng.randrange(256)])
    return bytes(data)


def test_mutated_files_raise_input_errors_alone(read: Any) -> None:
    rng = random.Random(20)
    seeds = [content for content, *_ in GOOD.values()]
    seeds += [gzip.compress(content, mtime=0) for content in seeds[:8]]
    limits = ReadLimits(dimension_free=10_000)
    accepted = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2000):
            content = _mutate(rng, rng.choice(seeds))
            try:
                result = read(content, limits)
            except (MatrixFileError, TooLargeError):
                continue
            assert_canonical(result.matrix)
            accepted += 1
    assert 100 < accepted < 1500


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_matrix(tmp_path / "absent.mtx")
