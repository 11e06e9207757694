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
from tests.gpu_engine.hostile.matrix_market import ARRAY, BAD, INTEGER, LARGE, PATTERN, REAL, SKEW, SYMMETRIC

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
    "without signs": (INTEGER.replace(b"integer", b"unsigned-integer") + b"1 2 2\n1 1 3\n1 2 +4\n", [[3, 4]]),
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
    "array skew with its zero diagonal": (
        ARRAY.replace(b"general", b"skew-symmetric") + b"3 3\n0\n1\n2\n0\n3\n-0.0\n",
        [[0, -1, -2], [1, 0, -3], [2, 3, 0]],
    ),
    "one percent sign": (REAL[1:] + b"3 3 2\n1 1 2\n3 3 5\n", [[2, 0, 0], [0, 0, 0], [0, 0, 5]]),
    "one percent sign, pattern": (PATTERN[1:].replace(b"general", b"symmetric") + b"2 2 1\n2 1\n", [[0, 1], [1, 0]]),
    "real hermitian": (REAL.replace(b"general", b"hermitian") + b"2 2 1\n2 1 5\n", [[0, 5], [5, 0]]),
    "integer hermitian": (REAL.replace(b"real general", b"integer hermitian") + b"1 1 1\n1 1 5\n", [[5]]),
    "pattern hermitian": (PATTERN.replace(b"general", b"hermitian") + b"2 2 1\n2 1\n", [[0, 1], [1, 0]]),
    "zero by zero": (REAL + b"0 0 0\n", []),
    "no entries": (REAL + b"2 2 0\n", [[0, 0], [0, 0]]),
    "no final newline": (REAL + b"1 1 1\n1 1 1.0", [[1]]),
    "trailing space, no final newline": (REAL + b"1 1 1\n1 1 1.0 ", [[1]]),
    "trailing tab, no final newline": (REAL + b"1 1 1\n1 1 1.0\t", [[1]]),
    "comments of 5 kB a line and 2 MB": (REAL + (b" %" + b"c" * 5000 + b"\n\n") * 400 + b"1 1 1\n1 1 2\n", [[2]]),
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


@pytest.mark.parametrize("name", LARGE)
def test_too_large(read: Any, name: str) -> None:
    content, limits = LARGE[name]
    with pytest.raises(TooLargeError) as caught:
        read(content, limits)
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
