"""The same matrix from every file format has the same fingerprint."""

import bz2
import gzip
import io
import re
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
from tests.gpu_engine.hostile import graph_xml

CSR: Any = scipy.sparse.csr_array(files.DENSE)
COO: Any = CSR.tocoo()
GROUP = {"data": CSR.data, "indices": CSR.indices, "indptr": CSR.indptr, "shape": np.array(CSR.shape)}
COLUMNS: Any = CSR.tocsc()
PLACES = np.array([COO.row, COO.col])

#: what wrote it → (arrays of DENSE, words of the notes)
NAMED_ARRAYS: dict[str, tuple[dict[str, Any], str]] = {
    "data, indices, indptr": (GROUP, "^$"),
    "by columns": ({**GROUP, "data": COLUMNS.data, "indices": COLUMNS.indices, "indptr": COLUMNS.indptr}, "^$"),
    "row, col, data": ({"row": COO.row, "col": COO.col, "data": COO.data, "shape": COO.shape}, "^$"),
    "pydata COO": ({"data": COO.data, "coords": PLACES, "shape": COO.shape, "fill_value": 0.0}, "^$"),
    "pydata COO by columns": ({"data": COO.data, "coords": np.asfortranarray(PLACES), "shape": COO.shape}, "^$"),
    "pydata GCXS": ({**GROUP, "fill_value": 0.0, "compressed_axes": [0]}, "^$"),
    "adj_": ({f"adj_{name}": array for name, array in GROUP.items()} | {"labels": [1, 2]}, "1 other .*as CSR"),
    "adj_matrix.": ({f"adj_matrix.{name}": array for name, array in GROUP.items()}, "as CSR"),
    "one of two": (
        {f"{start}{name}": array for start in ("adj_", "attr_") for name, array in GROUP.items()},
        "4 other arrays .* adj_… as CSR",
    ),
    "format as text": ({**GROUP, "format": "csr"}, "^$"),
    "bsr": (
        {"format": b"bsr", "shape": (4, 3), "data": np.array(files.DENSE)[:, None, :], "indices": [0] * 4}
        | {"indptr": [0, 1, 2, 3, 4]},
        "^$",
    ),
}


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


def test_a_sparse_variable_beside_strings_tables_and_times(read: Any) -> None:
    for elements in ((files.opaque(), files.sparse_element()), (files.sparse_element(), files.opaque())):
        assert as_dense(read(files.mat(*elements))) == files.DENSE


@pytest.mark.parametrize("kind", [1, 2, 16])
def test_names_of_mat_variables_of_any_type(read: Any, kind: int) -> None:
    result = read(files.mat(files.sparse_element(name=files.element(kind, b"A_1"))))
    assert "'A_1'" in result.notes[0]


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


@pytest.mark.parametrize("name", NAMED_ARRAYS)
def test_npz_of_other_libraries(read: Any, name: str) -> None:
    arrays, words = NAMED_ARRAYS[name]
    result = read(files.saved(np.savez_compressed, **arrays))
    assert as_dense(result) == files.DENSE
    assert re.search(words, " ".join(result.notes))


def test_blocks_keep_their_zeros_and_diagonals_do_not(read: Any) -> None:
    dense: Any = [[0.0, 2, 0, 0], [0, 3, 4, 0], [0, 0, 5, 6], [7, 0, 0, 0]]
    for matrix, nnz in ((scipy.sparse.bsr_array(dense, blocksize=(2, 2)), 16), (scipy.sparse.dia_array(dense), 6)):
        result = read(files.saved(scipy.sparse.save_npz, matrix))
        assert as_dense(result) == dense
        assert result.matrix.nnz == nnz == matrix.tocsr().nnz


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


def _hb_column(form: str, lines: str, whole: str = "(1X,8I9)") -> bytes:
    """A column of values in that format, two lines of them."""
    count = 4
    head = f"{'A title':72}KEY     \n{1:14}{1:14}{1:14}{1:14}{0:14}\nRUA{'':11}{count:14}{1:14}{count:14}{0:14}\n"
    indices = f" {1:9}{count + 1:9}\n " + "".join(f"{row:9}" for row in range(1, count + 1)) + "\n"
    return f"{head}{whole:16}{whole:16}{form:20}\n{indices}{lines}".encode()


@pytest.mark.parametrize(
    ("form", "lines", "values"),
    [
        ("(3(1P,E11.3))", "  1.250E+00  2.500E+00 -5.000E-01\n  4.000E+02\n", [1.25, 2.5, -0.5, 400]),
        ("(3(1PE11.3))", "  1.250E+00  2.500E+00 -5.000E-01\n  4.000E+02\n", [1.25, 2.5, -0.5, 400]),
        ("(1P,3D11.3)", "  1.250D+00  2.500d+00 -5.000D-01\n  4.000D+02\n", [1.25, 2.5, -0.5, 400]),
        ("(1P3E12.3E3)", "  1.250E+000  2.500E+000 -5.000E-001\n  4.000E+002\n", [1.25, 2.5, -0.5, 400]),
        ("(-1P,4F6.2)", "  1.25  2.50 -0.50 400.0\n", [12.5, 25, -5, 4000]),
        ("(2P,4F6.2)", "  1.25  2.50 -0.50 400E0\n", [0.0125, 0.025, -0.005, 4]),
        ("(4F6.2)", "   125   250   -50 40000\n", [1.25, 2.5, -0.5, 400]),
        ("(4EN8.1)", " 1.25+00  25.D-1-500E-03    4E+2\n", [1.25, 2.5, -0.05, 40]),
        ("( 2( 1x, es 7.0 ) )", " 1.25+00  2.5D+0\n -5.0-01  4.0+02\n", [1.25, 2.5, -0.5, 400]),
        ("(2(G7.2,1X))", "1.25     2.50  \n-.5     400.\n", [1.25, 2.5, -0.5, 400]),
        ("(E9.2,3(F5.1))", " 1.25E+00  2.5 -0.5400.0\n", [1.25, 2.5, -0.5, 400]),
        ("(F5.2,(F6.2))", " 1.25  2.50\n -0.50\n400.00\n", [1.25, 2.5, -0.5, 400]),
        ("(F5.2,1P,2(E9.2))", " 1.25 2.50E+00     -5.0\n    4.0E2\n", [1.25, 2.5, -0.5, 400]),
        ("(SP,BN,T3,4I5.1)", "     +1   +2   -3 +400\n", [1, 2, -3, 400]),
        ("(BZ,4I4)", "   1  2  -3 4\n", [1, 20, -30, 4000]),
        ("(4F6.1)", "  1.0        3.0  4.0\n", [1, 0, 3, 4]),
        ("(4E8.1)", " 1.0+100 2.0-100 3.E+10  4.D-10\n", [1e100, 2e-100, 3e10, 4e-10]),
    ],
)
def test_harwell_boeing_values_by_format(read: Any, form: str, lines: str, values: list[float]) -> None:
    result = read(_hb_column(form, lines))
    assert result.matrix.values.tolist() == values
    assert len(result.notes) == values.count(0)


@pytest.mark.parametrize(
    "whole",
    ["(1X,8I9)", "(8(I9),1X)", "(T2,8I9)", "(TR1,4(2I9))", "( 1x, 8 i 9 )", "(1X,8I9.1)", "(2P,1X,8I9)", "(1X8I9)"],
)
def test_harwell_boeing_indices_by_format(read: Any, whole: str) -> None:
    content = _hb_column("(4F3.0)", " 1. 2. 3. 4.\n", whole)
    if not whole.startswith("(8("):
        assert read(content).matrix.values.tolist() == [1, 2, 3, 4]
    else:
        assert read(content.replace(b"\n ", b"\n")).matrix.values.tolist() == [1, 2, 3, 4]


def test_harwell_boeing_formats_longer_than_their_columns_and_counts_by_blanks(read: Any) -> None:
    lines = _hb_column("(4F3.0)", " 1. 2. 3. 4.\n").decode().splitlines(keepends=True)
    lines[1:4] = ["3 1 1 1\n", "RUA 4 1 4 0\n", "(1X,1(8(I9)),1X,1X) (1X,2(2(1(2(I9))))) (4(F3.0))\n"]
    assert read("".join(lines).encode()).matrix.values.tolist() == [1, 2, 3, 4]


def test_a_real_hermitian_harwell_boeing_matrix_is_symmetric(read: Any) -> None:
    result = read(files.harwell_boeing(_symmetric("RHA"), *HB_LOWER, "1.5D+00  -2.0     4.E0\n 5.\n"))
    assert as_dense(result) == [[1.5, 0, -2], [0, 4, 0], [-2, 0, 5]]


def test_graphml_nodes_are_rows_in_their_order_and_edges_know_their_direction(read: Any) -> None:
    edges = (
        '<edge source="b" target="a"><data key="w">2.5</data></edge>'
        '<edge source="a" target="c" directed="false"><data key="w">4</data></edge>'
        '<edge source="c" target="c" directed="false"><data key="w">7</data></edge><node id="c"/><node id="alone"/>'
    )
    result = read(graph_xml.graphml(edges))
    assert as_dense(result) == [[0, 0, 4, 0], [2.5, 0, 0, 0], [4, 0, 7, 0], [0, 0, 0, 0]]
    assert any("2 of the edges have no direction" in note for note in result.notes)
    result = read(graph_xml.graphml('<edge source="a" target="b"/>', 'edgedefault="undirected"', before=""))
    assert as_dense(result) == [[0, 1], [1, 0]]
    default = graph_xml.KEY[:-2] + "><default>3</default></key>"
    result = read(graph_xml.graphml('<edge source="a" target="b"/>' * 2, before=default))
    assert as_dense(result) == [[0, 6], [0, 0]]
    assert result.duplicates == 1


def test_an_edge_attribute_of_graphml_that_is_not_named_weight_is_named(read: Any) -> None:
    key = graph_xml.KEY.replace("weight", "capacity")
    result = read(graph_xml.graphml('<edge source="a" target="b"><data key="w">3</data></edge>', before=key))
    assert as_dense(result) == [[0, 1], [0, 0]]
    assert any("'capacity'" in note for note in result.notes)


def test_gexf_edges_without_a_weight_have_one(read: Any) -> None:
    edges = '<edge source="a" target="b" weight="2.5"/><edge source="b" target="b"/>'
    result = read(graph_xml.gexf(edges))
    assert as_dense(result) == [[0, 2.5], [0, 1]]
    assert any("1 edges have no weight" in note for note in result.notes)


def test_a_vector_behind_a_petsc_matrix_is_left_out(read: Any) -> None:
    tail = struct.pack(">iid", files.PETSC_MATRIX - 2, 1, 5.0)
    result = read(files.petsc(tail=tail))
    assert as_dense(result) == [[2, 0, 1], [0, 3, 0], [4, 0, 5]]
    assert any("a vector" in note for note in result.notes)


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
