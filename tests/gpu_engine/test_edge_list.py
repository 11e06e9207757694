import bz2
import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpu_engine.csr_matrix import fingerprint
from gpu_engine.errors import MatrixFileError, ParameterError, TooLargeError
from gpu_engine.matrix_io import READERS, ReadLimits, ReadOptions, ReadResult, read_matrix
from gpu_engine.matrix_io.options import parse_options
from tests.gpu_engine.hostile.edge_lists import BAD

SNAP = b"# Directed graph\n# FromNodeId\tToNodeId\n30\t1400\n1400\t7\n7\t30\n30\t7\n"
#  ids 7, 30, 1400 → 0, 1, 2
SNAP_DENSE = [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
BIG = 2**63 - 1


def read(folder: Path, content: bytes, limits: ReadLimits | None = None, **options: Any) -> ReadResult:
    path = folder / "edges"
    path.write_bytes(content)
    return read_matrix(path, limits, ReadOptions(**{"directed": True, **options}))


def dense(result: ReadResult) -> Any:
    return result.matrix.to_scipy().toarray().tolist()


def test_ids_are_relabelled_in_ascending_order(tmp_path: Path) -> None:
    result = read(tmp_path, SNAP)
    assert dense(result) == SNAP_DENSE
    assert result.notes == (
        "3 distinct ids, the largest 1400, became 0 … 2 in ascending order.",
        "A line is an edge from its row to its column.",
        "The file has no weights; every edge counts 1.",
    )


@pytest.mark.parametrize(
    "content",
    [
        SNAP.replace(b"\t", b" "),
        SNAP.replace(b"\t", b","),
        SNAP.replace(b"\t", b" , "),
        SNAP.replace(b"\n", b"\r\n"),
        SNAP.replace(b"#", b"%"),
        b"Source,Target\n" + SNAP.replace(b"\t", b","),
        b'"from" "to"\n\n' + SNAP,
        SNAP.replace(b"1400\t7", b"  1400 \t 7  \n\n# in between"),
        b"#" * 5000 + b"\n" + SNAP + b"% " + b"c" * 5000 + b"\n",
        b"# many comments\n" * 50_000 + SNAP,
        b"#" * 900_000 + b"\n" + SNAP + b"#" * 3_000_000 + b"\n",
        gzip.compress(SNAP),
        bz2.compress(SNAP),
        SNAP.replace(b"1400", b"%d" % BIG),
    ],
)
def test_every_spelling_is_the_same_graph(tmp_path: Path, content: bytes) -> None:
    assert fingerprint(read(tmp_path, content).matrix) == fingerprint(read(tmp_path, SNAP).matrix)


def test_undirected_edges_stand_for_both_directions(tmp_path: Path) -> None:
    result = read(tmp_path, b"1 2 0.5\n3 1 2\n2 2 4\n2 1 8\n", directed=False)
    assert dense(result) == [[0.0, 8.5, 2.0], [8.5, 4.0, 0.0], [2.0, 0.0, 0.0]]
    assert result.duplicates == 1
    assert "Each line stands for both directions." in result.notes


@pytest.mark.parametrize(("duplicates", "value"), [("sum", 10.0), ("last", 8.0)])
def test_repeated_edges(tmp_path: Path, duplicates: str, value: float) -> None:
    result = read(tmp_path, b"0,1,2\n1,0,5\n0,1,8\n", duplicates=duplicates)
    assert dense(result) == [[0.0, value], [5.0, 0.0]]
    assert result.duplicates == 1
    with pytest.raises(MatrixFileError, match="1 edges repeat an earlier one") as caught:
        read(tmp_path, b"0,1,2\n1,0,5\n0,1,8\n", duplicates="refuse")
    assert caught.value.hint == "choose_duplicates"
    assert dense(read(tmp_path, b"0 1\n1 0\n", duplicates="refuse")) == [[0.0, 1.0], [1.0, 0.0]]


def test_weights_are_rounded_as_python_does_or_ignored(tmp_path: Path) -> None:
    tokens = ["1", "-2.5", "+.125", "3.", "0.1", "1e3", "1.7976931348623157e308", "0.30000000000000004", "5e-324"]
    tokens += ["123456789012345", "1234567890123456789", "0." + "0" * 30 + "7", "-0.0"]
    text = "".join(f"0 {k} {token}\n" for k, token in enumerate(tokens)).encode()
    assert dense(read(tmp_path, text, ids="shared"))[0] == [float(token) for token in tokens]
    assert dense(read(tmp_path, text, weights="ignore", ids="shared"))[0] == [1.0] * len(tokens)


def test_a_list_without_a_direction_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        MatrixFileError, match=r"'u v' is the edge u → v or both directions.* line is missing"
    ) as caught:
        read(tmp_path, SNAP, directed=None)
    assert caught.value.hint == "choose_direction"


def test_options_of_another_format_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"is Matrix Market, not an edge list\..* directed"):
        read(tmp_path, b"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1.0\n")


@pytest.mark.parametrize("name", BAD)
def test_hostile_lists_are_refused_with_a_sentence(tmp_path: Path, name: str) -> None:
    content, words = BAD[name]
    with pytest.raises(MatrixFileError, match=words):
        read(tmp_path, content)


def test_limits(tmp_path: Path) -> None:
    with pytest.raises(TooLargeError, match="Line 2 is longer than 100 bytes"):
        read(tmp_path, b"1 2\n1" + b" " * 200 + b"2\n", ReadLimits(line_bytes=100))
    four = b"1 2\n3 4\n5 6\n7 8\n"
    assert read(tmp_path, four, ReadLimits(nnz_max=4)).matrix.nnz == 4
    with pytest.raises(TooLargeError, match="more edges than 4 nonzeros hold"):
        read(tmp_path, four, ReadLimits(nnz_max=4), directed=False)


def test_a_million_edges_over_many_blocks(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 10**12, (50_000, 1)) * [1, 0] + rng.integers(0, 300, (50_000, 2)) * [0, 1]
    edges = np.concatenate([edges] * 6)
    text = b"".join(b"%d %d\n" % (u, v) for u, v in edges.tolist())
    result = read(tmp_path, text, ids="shared")
    ids, ranks = np.unique(edges, return_inverse=True)
    expected = np.zeros(ids.size)
    np.add.at(expected, ranks.reshape(-1, 2)[:, 1], 1.0)
    assert result.matrix.shape == (ids.size, ids.size)
    assert np.array_equal(result.matrix.to_scipy().sum(axis=0), expected)


def test_options_from_a_form() -> None:
    assert parse_options({"directed": "", "weights": ""}) == ReadOptions()
    assert parse_options({"directed": "false", "duplicates": "last"}) == ReadOptions(False, "auto", "last")
    for fields, words in (
        ({"directed": "yes"}, "directed is 'yes'; expected true or false"),
        ({"weights": "some"}, "expected one of auto, values, ignore"),
        ({"duplicates": "first"}, "expected one of sum, last, refuse"),
        ({"direction": "true"}, "no parameter 'direction'; known: directed, weights, duplicates"),
    ):
        with pytest.raises(ParameterError, match=words):
            parse_options(fields)


def test_the_reader_is_the_last_to_be_asked() -> None:
    assert READERS[-1].name == "edge list"
