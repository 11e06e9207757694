import pytest

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.scaling.paper import NAMES, SMALLEST_NNZ, TABLE_2, is_large, is_papers, paper_matrix, stand_ins
from gpu_engine.text.units import THIN
from tests.samples.scaling import MATRICES, worked

WEB_EDU = next(matrix for matrix in TABLE_2 if matrix.name == "wb-edu")


def stand_in(rows: int, nnz: int, name: str = "wb-edu (stand-in)", **stored: float) -> MatrixFeatures:
    return MatrixFeatures(name, rows, rows, nnz, stored=stored)


def test_table_2_ascends_by_nonzeros_as_printed() -> None:
    millions = ["28", "57", "69", "113", "234", "283"]
    assert [str(matrix.nnz)[:-6] for matrix in TABLE_2] == millions
    assert [matrix.exponent.low for matrix in TABLE_2] == ["1.03", "2.13", "2.40", "1.92", "2.13", "3.09"]
    assert TABLE_2[0].nnz >= SMALLEST_NNZ


@pytest.mark.parametrize(
    ("name", "expected"),
    [("wb-edu", "wb-edu"), ("wb-edu (stand-in)", "wb-edu"), ("wb-edu2", ""), ("skewed", ""), ("", "")],
)
def test_a_stand_in_counts_as_its_matrix(name: str, expected: str) -> None:
    known = paper_matrix(name)
    assert (known.name if known else "") == expected
    assert is_papers(stand_in(1, SMALLEST_NNZ, name)) == bool(expected)
    assert not is_papers(stand_in(1, SMALLEST_NNZ - 1, name)), "smaller than all of the paper"


def test_matrices_of_figure_6_are_the_papers_and_small_ones_are_not_large() -> None:
    assert is_papers(MATRICES["two-level-10"])
    assert not is_papers(MATRICES["web"])
    assert [is_large(stand_in(1, nnz)) for nnz in (SMALLEST_NNZ - 1, SMALLEST_NNZ)] == [False, True]


def test_stand_ins_stand_beside_the_print() -> None:
    half = stand_in(WEB_EDU.n_rows // 2, 28_000_000, power_law_exponent_cols=2.134)
    whole = stand_in(45_101, 28_500_000, "mouse_gene (stand-in)")
    matrices = {"a": half, "b": whole, "web": MATRICES["web"]}
    found = stand_ins(StudyData([worked("pCSR/p*", 1.0, matrix=name) for name in matrices], matrices))
    assert [row[0] for row in found.rows] == ["mouse_gene (stand-in)", "wb-edu (stand-in)"], "in the order of the paper"
    gene, edu = ([cell.replace(THIN, " ") for cell in row[1:]] for row in found.rows)
    assert (gene[0], gene[5], gene[7]) == ("100 %", "98 %", "–")
    assert (edu[0], edu[5], edu[6:]) == ("50 %", "98 %", ["2.13", "2.13"])
    assert len(NAMES) == 6
    assert stand_ins(StudyData()).rows == ()
