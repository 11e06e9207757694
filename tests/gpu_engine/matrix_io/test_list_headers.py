"""What edge lists say before their first edge, and what three columns leave open: read as said, or asked about."""

from pathlib import Path
from typing import Any

import pytest

from gpu_engine.errors import MatrixFileError
from gpu_engine.matrix_io import ReadLimits, ReadOptions, ReadResult, read_matrix
from gpu_engine.matrix_io.preview import preview
from tests.gpu_engine.hostile import dimacs


def read(folder: Path, content: bytes, **options: Any) -> ReadResult:
    path = folder / "edges"
    path.write_bytes(content)
    return read_matrix(path, options=ReadOptions(**{"directed": True, **options}))


def dense(result: ReadResult) -> Any:
    return result.matrix.to_scipy().toarray().tolist()


#: file → (its shape as sizes, whether the first line can be an edge)
SIZES: dict[str, tuple[bytes, tuple[int, int], bool]] = {
    "rows columns entries": (b"3 3 5\n1 1 2\n1 3 1\n2 2 3\n3 1 4\n3 3 5\n", (3, 3), True),
    "rows columns entries, rectangular": (b"4 2 3\n1 1 2\n3 2 1\n2 2 3\n", (4, 2), True),
    "rows columns entries of a pattern": (b"3 4 2\n1 4\n3 1\n", (3, 4), False),
    "from 0": (b"3 3 2\n0 2 1\n1 0 2\n", (3, 3), True),
    "nodes edges": (b"4 3\n0 1\n1 2\n2 3\n", (4, 4), True),
    "nodes edges with a node left over": (b"7 3\n1 2\n2 3\n3 1\n", (7, 7), True),
    "nodes edges, weighted": (b"4 3\n1 2 .5\n2 3 .5\n3 1 .5\n", (4, 4), False),
    "nodes edges, counted twice": (b"4 6\n1 2\n2 3\n3 1\n", (4, 4), True),
    "edges nodes": (b"3 5\n1 2\n2 3\n3 1\n", (5, 5), True),
    "nodes": (b"5\n1 2\n2 3\n", (5, 5), False),
    "nodes, edges, a line each": (b"13\n2\n0 5\n4 3\n", (13, 13), False),
    "sizes and a flag": (b"3 3 2 0\n1 2 1\n3 3 1\n", (3, 3), False),
    "behind comments, by commas": (b"% lost\n# x\n3, 3, 2\n1, 2, 1\n3, 3, 1\n", (3, 3), True),
    "rows and columns of triplets": (b"5 2\n1 1 7\n4 2 7\n3 2 7\n", (5, 2), False),
}


@pytest.mark.parametrize("name", SIZES)
def test_a_first_line_that_can_be_sizes_is_asked_about(tmp_path: Path, name: str) -> None:
    content, shape, can_be_edge = SIZES[name]
    with pytest.raises(MatrixFileError) as caught:
        read(tmp_path, content)
    assert caught.value.hint == "choose_header"
    sized = read(tmp_path, content, header="sizes")
    n_lines = sum(line[:1] not in b"#%" for line in content.splitlines())
    n_headers = 2 if name == "nodes, edges, a line each" else 1
    assert (sized.matrix.shape, sized.matrix.nnz) == (shape, n_lines - n_headers)
    if can_be_edge:
        edges = read(tmp_path, content, header="edge", ids="shared")
        assert edges.matrix.nnz + edges.duplicates == n_lines
    else:
        with pytest.raises(MatrixFileError, match="columns") as refused:
            read(tmp_path, content, header="edge")
        assert refused.value.hint is None


@pytest.mark.parametrize(
    "content",
    [
        b"9 9 50\n1 1 2\n1 3 1\n2 2 3\n",
        b"2 3\n1 2\n2 5\n",
        b"1 2\n2 3\n3 4\n",
        b"source target\n4 2\n1 2\n2 3\n",
        b"a b\nb c\n",
    ],
)
def test_a_first_line_that_does_not_fit_is_an_edge(tmp_path: Path, content: bytes) -> None:
    assert read(tmp_path, content, ids="shared").matrix.nnz > 0
    with pytest.raises(MatrixFileError, match="sizes"):
        read(tmp_path, content, header="sizes")


@pytest.mark.parametrize(
    "content",
    [
        b"5 5 7\n1 2 1\n2 3 1\n3 4 1\n4 5 1\n5 1 1\n1 1 1\n",
        b"5 5 5\n1 2 1\n2 3 1\n3 4 1\n4 5 1\n5 1 1\n1 1 1\n",
        b"5 7\n1 2\n2 3\n3 4\n4 5\n5 1\n1 1\n",
        b"9 13\n1 2\n2 3\n3 4\n4 5\n5 1\n1 1\n",
    ],
)
def test_sizes_with_a_count_that_is_a_little_off_are_asked_about(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(MatrixFileError) as caught:
        read(tmp_path, content, ids="shared")
    assert (caught.value.hint, caught.value.line) == ("choose_header", 1)
    assert read(tmp_path, content, ids="shared", header="edge").matrix.nnz == 7
    with pytest.raises(MatrixFileError) as refused:
        read(tmp_path, content, header="sizes")
    assert refused.value.hint is None


def test_lines_of_two_columns_may_have_rows_and_columns_of_their_own(tmp_path: Path) -> None:
    content = b"0 0\n1 1\n2 0\n3 1\n4 0\n"
    with pytest.raises(MatrixFileError) as caught:
        read(tmp_path, content)
    assert caught.value.hint == "choose_ids"
    assert read(tmp_path, content, ids="apart").matrix.shape == (5, 2)
    assert read(tmp_path, content, ids="shared").matrix.shape == (5, 5)
    assert read(tmp_path, content, directed=False).matrix.shape == (5, 5)


def test_sizes_that_the_ids_exceed_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MatrixFileError, match="begin at 0 and the largest target is 3"):
        read(tmp_path, b"3 2\n0 1\n1 3\n", header="sizes")
    with pytest.raises(MatrixFileError, match="Read the list as directed"):
        read(tmp_path, b"4 2 2\n1 1 5\n4 2 6\n", header="sizes", directed=False)
    with pytest.raises(MatrixFileError, match="no edges"):
        read(tmp_path, b"4 0\n", header="sizes")


BIP = b"% bip unweighted\n% 4 3 2\n1 1\n2 1\n2 2\n3 2\n"


def test_both_sides_of_a_bipartite_list_keep_their_ids(tmp_path: Path) -> None:
    for content in (
        BIP,
        BIP.replace(b"% 4 3 2\n", b""),
        BIP.replace(b"\n", b"\r\n"),
        BIP.replace(b" ", b"\t"),
        BIP.replace(b"bip", b"BIP"),
    ):
        result = read(tmp_path, content, directed=None)
        assert dense(result) == [[1, 0], [1, 1], [0, 1]]
    with pytest.raises(MatrixFileError, match="Read the list as directed"):
        read(tmp_path, BIP, directed=False)
    assert read(tmp_path, BIP, ids="shared").matrix.shape == (3, 3)


def test_the_header_of_konect_says_the_direction_and_names_its_columns(tmp_path: Path) -> None:
    lines = b"1 2 2.5 1082008561\n2 3 -1 1.2e9\n"
    for word, nnz in ((b"sym", 4), (b"asym", 2)):
        result = read(tmp_path, b"% " + word + b" weighted\n" + lines, directed=None)
        assert result.matrix.nnz == nnz
        assert sorted(set(result.matrix.values.tolist())) == [-1.0, 2.5]
        assert any("times" in note for note in result.notes)
    with pytest.raises(MatrixFileError, match="has 4 columns"):
        read(tmp_path, lines)
    with pytest.raises(MatrixFileError, match="'x' is not a decimal number"):
        read(tmp_path, b"% sym weighted\n1 2 1 x\n", directed=None)


@pytest.mark.parametrize(
    ("content", "n_notes"),
    [
        (b"# Nodes: 5 Edges: 3\n0 1\n1 3\n3 0\n", 1),
        (b"# x\n# Nodes: 5 Edges: 4\n0 1\n1 3\n3 0\n", 2),
        (b"# Nodes: 3 Edges: 3\n0 1\n1 3\n3 0\n", 0),
        (b"% asym unweighted\n% 3 5 5\n0 1\n1 3\n3 0\n", 1),
        (b"% bip unweighted\n% 3 5 4\n1 1\n1 2\n3 1\n", 2),
    ],
)
def test_nodes_that_are_declared_and_do_not_occur_are_told(tmp_path: Path, content: bytes, n_notes: int) -> None:
    notes = read(tmp_path, content).notes
    assert sum("declares" in note for note in notes) == n_notes


TRIPLETS = b"0 0 1\n1 1 1\n2 0 1\n3 1 1\n4 0 2\n"


def test_triplets_are_not_squared_in_silence(tmp_path: Path) -> None:
    for content in (
        TRIPLETS,
        b"".join(b"%s %s %s\n" % (c, r, v) for r, c, v in map(bytes.split, TRIPLETS.splitlines())),
    ):
        with pytest.raises(MatrixFileError) as caught:
            read(tmp_path, content)
        assert caught.value.hint == "choose_ids"
        assert sorted(read(tmp_path, content, ids="apart").matrix.shape) == [2, 5]
        assert read(tmp_path, content, ids="shared").matrix.shape == (5, 5)
        assert read(tmp_path, content, directed=False).matrix.shape == (5, 5)
    for content in (b"0 0 1\n1 1 1\n2 0 1\n", b"10 1\n11 20\n", b"a x\nb y\n"):
        assert any("square" in note for note in read(tmp_path, content).notes)


def test_a_third_column_that_can_be_times_is_asked_about(tmp_path: Path) -> None:
    content = b"1 2 1082008561\n2 3 1082008562\n"
    with pytest.raises(MatrixFileError) as caught:
        read(tmp_path, content)
    assert caught.value.hint == "choose_weights"
    assert read(tmp_path, content, weights="values").matrix.values.tolist() == [1082008561, 1082008562]
    assert read(tmp_path, content, weights="ignore").matrix.values.tolist() == [1, 1]
    assert read(tmp_path, content.replace(b"562", b"562.5")).matrix.nnz == 2


def test_a_preview_guesses_all_that_is_open(tmp_path: Path) -> None:
    path = tmp_path / "edges"
    path.write_bytes(b"4 3\n0 1\n1 2\n2 3\n")
    shown = preview(path, ReadLimits(), ReadOptions())
    assert shown["asks"] == ["directed", "weights", "duplicates", "header"]
    assert (shown["n_rows"], shown["nnz"], shown["needs_direction"]) == (4, 3, True)
    path.write_bytes(TRIPLETS)
    assert preview(path, ReadLimits(), ReadOptions())["asks"] == ["directed", "weights", "duplicates", "ids"]
    assert preview(path, ReadLimits(), ReadOptions(directed=True, ids="shared"))["asks"] == []


DIMACS = dimacs.DIMACS


def test_dimacs_graphs_are_read(tmp_path: Path) -> None:
    path = tmp_path / "road.gr"
    for content in (DIMACS, DIMACS.replace(b"\n", b"\r\n"), DIMACS[14:], DIMACS.replace(b"a 1", b" a  1"), DIMACS[:-1]):
        path.write_bytes(content)
        assert dense(read_matrix(path)) == [[0, 5, 0, 0], [0, 0, 7.5, 0], [-2, 0, 0, 0], [0, 0, 0, 0]]
    for kind in (b"edge", b"col", b"edges"):
        path.write_bytes(b"p " + kind + b" 3 2\ne 1 2\ne 3 2\n")
        assert dense(read_matrix(path)) == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize(("content", "words"), dimacs.BAD.values(), ids=dimacs.BAD)
def test_bad_dimacs_graphs_are_refused(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "road.gr").write_bytes(content)
    with pytest.raises(MatrixFileError, match=words):
        read_matrix(tmp_path / "road.gr")
