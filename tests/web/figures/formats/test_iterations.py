from dataclasses import replace
from typing import Any

import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.formats.iterations import Forecast
from gpu_engine.text.units import THIN
from tests.samples.formats import sized, timed, traces
from web.figures.formats.iterations import EQUATION, PAPER, STEPS, Panel, draw, info, summary, table
from web.figures.panels import Panels

IDS = ("m1", "m2", "m3")
DATA = StudyData(
    [
        timed(kernel, us * 1e-6, matrix=matrix, device="cuda:0")
        for matrix, ellr, pellr in zip(IDS, (20.0, 30.0, 40.0), (10.0, 10.0, 50.0), strict=True)
        for kernel, us in (("ellr/thread", ellr), ("pellr/thread", pellr))
    ],
    {matrix: sized(matrix) for matrix in IDS},
)
H200: dict[str, Any] = {"environment": {"device": "NVIDIA H200"}, "roofline_s": 1e-7, "gather_probe_s": 1e-7}
FOUND = Panels(
    (Panel(("cuda:0", "warm"), (Forecast(sized("rough"), 2.0, 1.1, 1.25, (1.2, 1.3)),), 0.54, 0.66),),
)


def test_it_shows_the_forecasts_of_all_matrices() -> None:
    (panel,) = info(DATA).panels
    assert [each.measured for each in panel.forecasts] == pytest.approx([2.0, 3.0, 0.8])
    assert {each.iterations for each in panel.forecasts} == {2.0}
    assert (panel.equation, panel.steps) == (None, None), "one prediction for all has no correlation"


def test_a_matrix_has_a_point_by_either_model_and_the_paper_has_its_own() -> None:
    figure = draw(FOUND)
    by_name = {trace["name"]: trace for role in ("point", "unsettled") for trace in traces(figure, role)}
    assert [(name, by_name[name]["x"], by_name[name]["y"]) for name in (EQUATION, STEPS)] == [
        (EQUATION, [2.0], [1.25]),
        (STEPS, [1.1], [1.25]),
    ]
    assert (by_name[PAPER]["x"][0], by_name[PAPER]["y"][0]) == (pytest.approx(1341 / 803), 4.5)
    (line,) = traces(figure, "line")
    assert line["x"] == line["y"]


def test_where_the_size_of_the_gpu_is_not_known_there_is_one_model() -> None:
    assert {trace["name"] for trace in traces(draw(info(DATA)), "point")} == {EQUATION, PAPER}
    assert traces(draw(info(DATA)), "unsettled") == []


def test_the_sentence_says_how_well_either_agrees_and_what_the_paper_shows() -> None:
    said = summary(FOUND)
    assert "1 matrix. The logarithms correlate by 0.54 for equation (1) and 0.66 for the steps." in said
    assert said.endswith("lnsp3937 predicted 1.67, shown 4.5; memplus predicted 2.06, shown 1.1.")
    assert "On cuda:0, warm, there are too few matrices for a correlation." in summary(info(DATA))


def test_the_table_has_what_the_ratio_is_made_of() -> None:
    row = tuple(cell.replace(THIN, " ") for cell in table(FOUND).rows[0])
    assert row == ("rough", "cuda:0", "warm", "6,250", "3,125", "2.00 ×", "1.10 ×", "1.25 ×")


def test_the_details_compare_matrices_whose_warps_run_at_once_with_larger_ones() -> None:
    on_gpu = [
        timed(m.kernel, m.median_s or 0.0, matrix=m.matrix_id, device="cuda:0", **H200) for m in DATA.measurements
    ]
    text = summary(info(replace(DATA, measurements=on_gpu))).replace(THIN, " ")
    assert "On the 3 whose warps the GPU can run at once, equation (1) predicts 2.00 ×, and 1.69 × is measured" in text
    assert "more warps" not in text
    assert "Geometric means" not in summary(info(DATA)), "the size of a CPU is not known"
