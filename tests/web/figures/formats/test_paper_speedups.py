from dataclasses import replace

import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.records import Measurement
from gpu_engine.text.units import THIN
from tests.samples.formats import HOSTILE, sized, timed, titles, traces
from web.figures.formats.paper_speedups import NOTHING, draw, info, summary, table

MATRICES = {
    "m1": sized("memplus (stand-in)", 22.0),
    "m2": sized("lnsp3937", 3.1),
    "m3": sized("rough", 20.0),
    "m4": sized("dw2048", 0.3),
}


def both(matrix: str, ratio: float, rival: str = "ellr/thread") -> list[Measurement]:
    return [timed("pellr/thread", 1e-3, matrix=matrix), timed(rival, ratio * 1e-3, matrix=matrix)]


RECORDS = [*both("m1", 2.0), *both("m2", 1.01), *both("m3", 9.0), *both("m4", 0.5), *both("m1", 0.5, "hyb/segmented")]
INFO = info(StudyData(RECORDS, MATRICES))


def test_each_pair_has_a_row_per_matrix_of_the_paper_by_ascending_sigma() -> None:
    over_ellr, over_hyb = INFO.panels
    assert [point.matrix.name for point in over_ellr.points] == ["dw2048", "lnsp3937", "memplus (stand-in)"]
    assert [point.ratio for point in over_ellr.points] == pytest.approx([0.5, 1.01, 2.0])
    assert (over_hyb.pair, len(over_hyb.points)) == (("pellr", "hyb"), 1)
    figure = draw(INFO)
    assert titles(figure) == ["Fig. 6: pellr vs ellr", "Fig. 8: pellr vs hyb"]
    assert list(figure.layout.yaxis.categoryarray) == [
        "dw2048, σ 0.300",
        "lnsp3937, σ 3.10",
        "memplus (stand-in), σ 22.0",
    ]
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1], "the first on top"
    settled, *_ = traces(figure, "point")
    assert (settled["x"], settled["y"][0]) == (pytest.approx([0.5, 2.0]), "dw2048, σ 0.300")
    assert traces(figure, "unsettled")[0]["x"] == pytest.approx([1.01])


def test_printed_speedups_are_stars_in_the_rows_of_their_matrices() -> None:
    stars = [trace for trace in traces(draw(INFO), "point") if trace["marker"]["symbol"] == "star"]
    assert [star["x"] for star in stars] == [[4.5, 1.1], [0.7]]
    assert stars[0]["y"][0] == "lnsp3937, σ 3.10"
    assert [row[-1] for row in table(INFO).rows] == ["–", "4.5", "1.1", "0.7"]
    even = info(StudyData(both("m4", 1.0), MATRICES))
    assert len(traces(draw(even), "point")) == 1, "dw2048 has no printed speedup"


def test_a_pair_that_the_paper_does_not_compare_has_no_print() -> None:
    other = info(StudyData(both("m1", 0.5, "csr/vector"), MATRICES, chosen={"pair": ("pellr", "csr")}))
    assert [row[-1] for row in table(other).rows] == ["–"]
    over_hyb = [timed("csr/vector", 1e-3, matrix="m1"), timed("hyb/segmented", 2e-3, matrix="m1")]
    reverse = info(StudyData(over_hyb, MATRICES, chosen={"pair": ("csr", "hyb")}))
    assert [row[-1] for row in table(reverse).rows] == ["–"]


def test_the_summary_counts_verdicts_on_the_matrices_of_the_paper() -> None:
    text = summary(INFO).replace(THIN, " ")
    assert "pellr vs ellr: faster on 1 of 3, slower on 1." in text
    elsewhere = [timed(k, 1e-3, "cold", "m1", "cuda:0") for k in ("pellr/warp", "ellr/thread")]
    assert "pellr vs ellr, cuda:0, cold: faster on 0 of 1" in summary(info(StudyData([*RECORDS, *elsewhere], MATRICES)))


def test_transposes_and_other_matrices_are_not_in_it() -> None:
    across = [timed(kernel, 1e-3, matrix="m1", transposed=True) for kernel in ("pellr/thread", "ellr/thread")]
    symmetric = replace(MATRICES["m1"], stored={"symmetric_pattern": True})
    nothing = info(StudyData([*across, *both("m3", 2.0)], {**MATRICES, "m1": symmetric}))
    assert (nothing.panels, summary(nothing), titles(draw(nothing))) == ((), NOTHING, [NOTHING])


def test_a_name_is_text() -> None:
    named = {"m1": sized(f"memplus ({HOSTILE}", 22.0)}
    assert "<script>" not in draw(info(StudyData(both("m1", 2.0), named))).to_json().replace("\\u003c", "<")


def test_warm_comes_before_cold() -> None:
    cold = [timed(kernel, 1e-3, "cold", "m1") for kernel in ("pellr/thread", "ellr/thread")]
    panels = info(StudyData([*cold, *both("m1", 2.0)], MATRICES)).panels
    assert [panel.place[1] for panel in panels] == ["warm", "cold"]
