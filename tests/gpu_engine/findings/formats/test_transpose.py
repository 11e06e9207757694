"""A and its transpose: results that are never ranked together, and stand beside each other in one table."""

from dataclasses import replace

from gpu_engine.findings.conclusions import SCOPES
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.formats import conclusions, contests, findings, transpose
from gpu_engine.findings.overall_ranking import answers
from gpu_engine.text.units import THIN
from tests.samples.formats import timed

FEATURES = MatrixFeatures(
    "wide", 40, 9000, 20_000, 500.0, 20.0, 60.0, 0, {"sigma": 20.0, "empty_cols": 970, "symmetric_pattern": False}
)
MEASURED = (
    timed("csr/vector", 1e-3),
    timed("coo/segmented", 2e-3),
    timed("csr/vector", 6e-3, transposed=True),
    timed("coo/segmented", 3e-3, transposed=True),
)
DATA = StudyData(MEASURED, {"m1": FEATURES})


def test_they_are_ranked_apart() -> None:
    found = findings(DATA)
    assert [(f.matrix_id, f.title, f.axes, f.leaders, f.of) for f in found] == [
        ("m1", "wide", {}, ("csr/vector",), ""),
        ("m1", "wideᵀ", {"op": "AT"}, ("coo/segmented",), "Aᵀ"),
    ]
    assert all(len(f.rows) == 2 for f in found)
    found_answers = answers(contests(DATA))
    assert [(a.of, a.contests, a.level) for a in found_answers] == [
        ("", 1, ("csr/vector",)),
        ("Aᵀ", 1, ("coo/segmented",)),
    ]


def test_the_features_are_those_of_the_transpose() -> None:
    assert DATA.matrix("m1") == FEATURES
    across = DATA.matrix("m1ᵀ")
    assert (across.name, across.n_rows, across.n_cols, across.nnz) == ("wideᵀ", 9000, 40, 20_000)
    # Of its rows no more is known than the columns of A tell.
    assert (across.ave, across.sigma, across.empty_rows, across.stored) == (20_000 / 9000, None, 970, {})
    assert across.compulsory_bytes - FEATURES.compulsory_bytes == 4 * (9000 - 40)
    symmetric = replace(FEATURES, stored={"symmetric_pattern": True})
    assert symmetric.transposed() == replace(symmetric, name="wideᵀ")
    assert DATA.matrix("unknownᵀ").name == "unknownᵀ"


def test_the_fastest_for_each_stand_beside_each_other() -> None:
    # A matrix without its transpose is in no row, nor is another cache state.
    more = timed("csr/vector", 1e-3, matrix="m2"), timed("csr/vector", 1e-3, cache="cold")
    table = transpose.table(StudyData((*MEASURED, *more), {"m1": FEATURES}))
    assert [tuple(cell.replace(THIN, " ") for cell in row) for row in table.rows] == [
        ("wide", "cpu", "warm", "csr/vector", "1.00 ms", "coo/segmented", "3.00 ms", "3.00 ×")
    ]
    assert transpose.table(StudyData(MEASURED[:2])).rows == ()


def test_what_a_paper_says_is_of_matrices_as_they_are() -> None:
    pair = [timed("pellr/thread", 1e-3), timed("ellr/thread", 2e-3)]
    across = [timed("pellr/thread", 2e-3, transposed=True), timed("ellr/thread", 1e-3, transposed=True)]
    both, alone = (conclusions.table(StudyData(own, {"m1": FEATURES})) for own in ([*pair, *across], pair))
    assert both == alone
    assert [row[2] for row in alone.rows if "ELLR for all" in row[0] and row[1] == SCOPES["all"]] == ["agrees"]
