"""Matrix Market files whose first line lacks the field: read as their sender says, and nothing else is."""

from pathlib import Path

import pytest

from gpu_engine.errors import MatrixFileError, ParameterError
from gpu_engine.matrix_io import ReadOptions, read_matrix
from tests.gpu_engine.matrix_files import suitesparse

ORNL = b"%%MatrixMarket matrix coordinate general\n% of a facility\n2 2 2\n1 1 2.5\n2 1 -1e3\n"


def test_a_file_without_a_field_is_read_as_the_one_that_is_chosen(tmp_path: Path) -> None:
    path = tmp_path / "ornl.mtx"
    path.write_bytes(ORNL)
    with pytest.raises(MatrixFileError, match=r"^Line 1: .* lacks the field before 'general'") as refused:
        read_matrix(path)
    assert (refused.value.hint, refused.value.line) == ("choose_field", 1)
    real = read_matrix(path, options=ReadOptions(field="real"))
    assert real.matrix.to_scipy().toarray().tolist() == [[2.5, 0.0], [-1000.0, 0.0]]
    assert real.notes == ("The first line names no field; the entries were read as real, as chosen.",)
    with pytest.raises(MatrixFileError, match="has 3 columns; expected 2") as wrong:
        read_matrix(path, options=ReadOptions(field="pattern"))
    assert wrong.value.hint is None
    path.write_bytes(b"%%MATRIXMARKET\tmatrix coordinate  Symmetric\r\n3 3 1\r\n3 1\r\n")
    pattern = read_matrix(path, options=ReadOptions(field="pattern")).matrix
    assert pattern.to_scipy().toarray().tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (ORNL.replace(b"general", b"real general"), "The file is Matrix Market, not a Matrix Market file without a f"),
        (b"1 2\n2 3\n", "The file is edge list, not a Matrix Market file without a field. Remove the options: field"),
        (
            suitesparse(),
            "The file is SuiteSparse archive, not a Matrix Market file without a field. Remove the options: field",
        ),
    ],
)
def test_a_field_is_refused_where_none_is_missing(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(content)
    with pytest.raises(ParameterError, match=words):
        read_matrix(path, options=ReadOptions(field="real"))


def test_a_member_of_an_archive_without_a_field_asks_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.tar.gz"
    path.write_bytes(suitesparse(content=ORNL))
    with pytest.raises(MatrixFileError, match="lacks the field") as refused:
        read_matrix(path)
    assert refused.value.hint is None
