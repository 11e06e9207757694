from dataclasses import replace

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.formats.paper import MATRICES, ROW_LENGTHS
from gpu_engine.findings.formats.printed_tables import matrices, worked_example
from tests.samples.formats import sized, timed


def test_the_worked_example_has_the_counts_of_both_equations() -> None:
    assert [row[1:] for row in worked_example().rows] == [
        ("78", "18", "18", "124"),
        ("78", "15", "–", "124"),
        ("77", "14", "14", "122"),
    ]


def test_the_matrices_of_table_1_have_printed_values_beside_their_own() -> None:
    known = {
        "m1": sized("boneS01 (stand-in)"),
        "m2": replace(sized("memplus", 22.04), ave=7.1, max_min=572.0),
        "m3": sized("rough"),
    }
    data = StudyData([timed("csr/vector", 1e-3, matrix=matrix) for matrix in known for _ in range(2)], known)
    memplus, bone = matrices(data).rows
    assert (memplus[:2], bone[:2]) == (("memplus", "memplus"), ("boneS01", "boneS01 (stand-in)"))
    assert memplus[4:] == ("7.10", "7.1", "22.0", "22", "572", "572")
    assert bone[4:] == ("10.0", "> 16", "1.00", "–", "3", "–")
    assert matrices(StudyData()).rows == ()
    assert set(ROW_LENGTHS) == set(MATRICES)
