"""The same matrix from every file format has the same fingerprint."""

import bz2
import gzip
import io
import struct
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from gpu_engine.csr_matrix import CsrMatrix, fingerprint
from gpu_engine.matrix_io import READERS, ReadResult, market_text, read_matrix
from tests.battery import BATTERY
from tests.gpu_engine import matrix_files as files


@pytest.fixture
def read(tmp_path: Path) -> Callable[[bytes], ReadResult]:
    def read_bytes(content: bytes) -> ReadResult:
        path = tmp_path / "matrix"
        path.write_bytes(content)
        return read_matrix(path)

    return read_bytes


def as_dense(result: ReadResult) -> Any:
    return result.matrix.to_scipy().toarray().tolist()


@pytest.mark.parametrize("name", files.WHOLE)
def test_every_format_reads_the_same_matrix(read: Any, name: str) -> None:
    assert as_dense(read(files.WHOLE[name])) == files.DENSE


def _archive(matrix: CsrMatrix) -> bytes:
    return files.suitesparse(content="".join(market_text(matrix)).encode())


#: name → a CsrMatrix as a file
WRITERS: dict[str, Callable[[CsrMatrix], bytes]] = {
    "bz2": lambda matrix: bz2.compress("".join(market_text(matrix)).encode()),
    "tar.gz": _archive,
    "csr": lambda matrix: files.saved(scipy.sparse.save_npz, matrix.to_scipy()),
    "csc": lambda matrix: files.saved(scipy.sparse.save_npz, matrix.to_scipy().tocsc()),
    "coo": lambda matrix: files.saved(scipy.sparse.save_npz, matrix.to_scipy().tocoo(), compressed=False),
    "mat v6": lambda matrix: files.saved(scipy.io.savemat, {"A": matrix.to_scipy().tocsc()}),
    "mat v7": lambda matrix: files.saved(scipy.io.savemat, {"A": matrix.to_scipy().tocsc()}, do_compression=True),
    "Harwell-Boeing": lambda matrix: files.written_harwell_boeing(matrix.to_scipy()),
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("name", BATTERY)
def test_battery_has_one_fingerprint(read: Any, name: str, writer: str) -> None:
    matrix = BATTERY[name]()
    assert fingerprint(read(WRITERS[writer](matrix)).matrix) == fingerprint(matrix)


def test_every_reader_has_a_row_in_the_docs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
    assert [reader.name for reader in READERS if f"\n| {reader.name} |" not in page] == []
    assert len({reader.name for reader in READERS}) == len(READERS) >= 5


def test_suitesparse_struct(read: Any) -> None:
    matrix = scipy.sparse.csc_array(files.DENSE)
    problem = {"title": "a title", "A": matrix, "aux": {"b": scipy.sparse.csc_array([[1.0]])}, "id": 7}
    result = read(files.saved(scipy.io.savemat, {"Problem": problem, "B": scipy.sparse.csc_array([[9.0]])}))
    assert as_dense(result) == files.DENSE
    assert "'Problem.A'" in result.notes[0]


def test_one_sparse_variable_among_others(read: Any) -> None:
    content = files.saved(scipy.io.savemat, {"x": [1.0, 2.0], "s": "text", "M": scipy.sparse.csc_array(files.DENSE)})
    result = read(content)
    assert as_dense(result) == files.DENSE
    assert "'M'" in result.notes[0]


def test_logical_matrix_and_big_endian_file(read: Any) -> None:
    flags, shape = struct.pack(">II", 5 | 1 << 9, 2), struct.pack(">ii", 2, 2)
    parts = ((6, flags), (5, shape), (1, b"A"), (5, struct.pack(">ii", 0, 1)), (5, struct.pack(">iii", 0, 1, 2)))
    body = b"".join(
        struct.pack(">II", kind, len(content)) + content + b"\0" * (-len(content) % 8)
        for kind, content in (*parts, (2, b"\1\1"))
    )
    header = b"MATLAB 5.0 MAT-file".ljust(124) + b"\1\0MI"
    assert as_dense(read(header + struct.pack(">II", 14, len(body)) + body)) == [[1, 0], [0, 1]]


def test_room_behind_the_last_entry_of_a_mat_file_is_left_out(read: Any) -> None:
    matrix = scipy.sparse.csc_array(files.DENSE)
    rows = files.element(5, np.append(matrix.indices, [99, 99]).astype("<i4").tobytes())
    values = files.element(9, np.append(matrix.data, [np.nan, 1]).tobytes())
    assert as_dense(read(files.mat(files.sparse_element(rows=rows, values=values)))) == files.DENSE


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "<i8", ">f4", "<f2", "u8"])
def test_values_of_any_real_type(read: Any, dtype: str) -> None:
    data = np.array([1, 0, 1, 1, 1, 1, 1]).astype(dtype)
    expected = scipy.sparse.csr_array(files.DENSE)
    expected.data = data.astype(np.float64)
    assert as_dense(read(files.npz(data=data))) == expected.toarray().tolist()


def test_unsorted_rows_and_duplicates_are_made_canonical(read: Any) -> None:
    content = files.npz(indices=[2, 0, 2, 2], indptr=[0, 4], shape=(1, 3), data=[1.0, 2.0, 3.0, 4.0])
    result = read(content)
    assert as_dense(result) == [[2, 0, 8]]
    assert result.duplicates == 2
    assert "2 entries repeat" in result.notes[-1]
    assert read(files.npz(data=np.zeros(7))).matrix.nnz == 7


HB_SYMMETRIC = files.HB_HEADER.replace("RUA                        4", "RSA                        3")
HB_LOWER = ("  1  3  4  5\n", "  1  3  2  3\n")


def _symmetric(kind: str, header: str = HB_SYMMETRIC) -> str:
    return header.replace("RSA", kind).replace("             7             0\n(", "             4             0\n(")


def test_harwell_boeing_types(read: Any) -> None:
    values = "1.5D+00  -2.0     4.E0\n 5.\n"
    symmetric = read(files.harwell_boeing(_symmetric("RSA"), *HB_LOWER, values))
    assert as_dense(symmetric) == [[1.5, 0, -2], [0, 4, 0], [-2, 0, 5]]
    assert "mirrored" in symmetric.notes[0]
    pattern = read(files.harwell_boeing(_symmetric("psa"), *HB_LOWER, ""))
    assert as_dense(pattern) == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    skew = read(files.harwell_boeing(_symmetric("RZA"), *HB_LOWER, " 0.0 -2.0 0.0\n 0.0\n"))
    assert as_dense(skew) == [[0, 0, 2], [0, 0, 0], [-2, 0, 0]]
    whole = read(files.harwell_boeing(_symmetric("iua").replace("(3E25.16)", "(4I2)    "), *HB_LOWER, " 1-2 3 4\n"))
    assert as_dense(whole) == [[1, 0, 0], [0, 3, 0], [-2, 0, 4]]


def test_harwell_boeing_by_scipy_whose_columns_are_narrower_than_declared(read: Any) -> None:
    matrix = scipy.sparse.csc_matrix([[-1.5, 0.0, -2.0], [-1e-30, 3.0, -4.0]])
    assert as_dense(read(files.saved_harwell_boeing(matrix))) == matrix.toarray().tolist()


def test_harwell_boeing_columns_that_touch(read: Any) -> None:
    header = files.HB_HEADER.replace("(3E25.16)", "(7F5.2)  ")
    content = files.harwell_boeing(header, values="1.500-1.00-2.00-3.00-4.00-5.00-6.00\n")
    assert read(content).matrix.to_scipy().tocsc().data.tolist() == [1.5, -1, -2, -3, -4, -5, -6]


def test_harwell_boeing_right_hand_sides_are_left_out(read: Any) -> None:
    header = files.HB_HEADER.replace("3             0\n", "3             2\n")
    header += "F                          1             0\n"
    assert as_dense(read(files.harwell_boeing(header) + b" 1.0 2.0\n")) == files.DENSE


def test_containers_within_compression(read: Any) -> None:
    for name in ("mat", "tar", "Harwell-Boeing"):
        for pack in (gzip.compress, bz2.compress):
            assert as_dense(read(pack(files.WHOLE[name]))) == files.DENSE, name


def test_bzip2_of_several_streams_that_crosses_blocks(read: Any) -> None:
    lines = b"1 1 1\n" * 400_000
    head = b"%%MatrixMarket matrix coordinate real general\n1 1 400000\n"
    result = read(bz2.compress(head) + bz2.compress(lines[:1_000_000]) + bz2.compress(lines[1_000_000:]))
    assert as_dense(result) == [[400_000]]


def test_archive_with_other_members(read: Any) -> None:
    long_name = files.entry("m/" + "x" * 150)
    for kind in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w:gz", format=kind) as archive:
            archive.addfile(long_name)
            for name, content in (("m/m_b.mtx", b"1"), ("./m/m.mtx", files.MARKET), ("m/m_coord.mtx", b"no matrix")):
                archive.addfile(files.entry(name, size=len(content)), io.BytesIO(content))
        result = read(file.getvalue())
        assert as_dense(result) == files.DENSE
        assert result.notes == ("Read from './m/m.mtx' of the archive; 3 other files were left out.",)


def test_the_line_of_an_archived_matrix_is_named(read: Any) -> None:
    with pytest.raises(Exception, match="Line 3: The row index 'x'"):
        read(files.suitesparse(content=files.MARKET.replace(b"\n1 1 ", b"\nx 1 ")))
