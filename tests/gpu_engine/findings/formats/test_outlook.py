from dataclasses import replace

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.formats.outlook import PELLR, SLICED, sliced_pairs, sliced_text
from gpu_engine.records import Measurement
from gpu_engine.text.units import THIN
from tests.samples.formats import sized, timed, untimed

MATRICES = {"m1": sized("memplus (stand-in)"), "m2": sized("dw2048"), "m3": sized("rough")}


def both(matrix: str, stored: int, speedup: float) -> list[Measurement]:
    """PELLR with a megabyte, and PELLR in slices."""
    return [
        timed(PELLR, 1e-3, matrix=matrix, device="NVIDIA H200", stored_bytes=10**6),
        timed(SLICED, 1e-3 / speedup, matrix=matrix, device="NVIDIA H200", stored_bytes=stored),
    ]


RESULTS = StudyData([*both("m1", 10**4, 0.5), *both("m2", 10**6, 2.0), *both("m3", 1, 9.0)], MATRICES)


def test_storage_and_time_in_slices_are_of_the_matrices_of_the_paper() -> None:
    (pairs,) = sliced_pairs(RESULTS).values()
    assert set(pairs) == {"memplus", "dw2048"}
    text = sliced_text(RESULTS).replace(THIN, " ")
    for part in ("10 % of the bytes", "over 2 ", "1.0 % on memplus", "1.00 × warm on NVIDIA H200."):
        assert part in text
    cold = [
        timed(name, s, "cold", "m1", "NVIDIA H200", stored_bytes=10**6) for name, s in ((PELLR, 1.0), (SLICED, 2.0))
    ]
    slower = sliced_text(replace(RESULTS, measurements=[*cold, *RESULTS.measurements])).replace(THIN, " ")
    assert slower.endswith("1.00 × warm and 0.50 × cold on NVIDIA H200.")


def test_without_times_of_both_there_is_no_text() -> None:
    one = replace(RESULTS, measurements=RESULTS.measurements[:1])
    skipped = StudyData([timed(PELLR, 1e-3), untimed(SLICED, "skipped", "needs 41 GB")], MATRICES)
    across = [timed(kernel, 1e-3, transposed=True) for kernel in (PELLR, SLICED)]
    assert [sliced_text(data) for data in (StudyData(), one, skipped, StudyData(across, MATRICES))] == [""] * 4
