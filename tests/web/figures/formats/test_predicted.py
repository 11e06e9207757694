"""Tests of predicted against measured times, and of the regret."""

import dataclasses

import pytest

from gpu_engine.advisor import rank
from gpu_engine.advisor.gpus import gpu_named
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.text.units import THIN
from tests.gpu_engine.advisor.samples import EVEN
from tests.samples.formats import timed, titles, traces, untimed
from web.figures.formats import predicted, regret

ON = "NVIDIA H200 (cuda:0)"
GPU = gpu_named(ON)
assert GPU
PREDICTED = {kernel: found.seconds for kernel, found in rank(EVEN, GPU)}
FIRST, SECOND, THIRD = list(PREDICTED)[:3]


def known(name: str) -> MatrixFeatures:
    return dataclasses.replace(MatrixFeatures(name), stored=EVEN)


def data(**times: dict[str, float]) -> StudyData:
    """Return data of matrix → kernel → measured over predicted time; one matrix has no known features."""
    measurements = [
        timed(
            kernel, factor * PREDICTED.get(kernel, 1e-5), matrix=matrix, device=ON, roofline_s=1e-6, gather_probe_s=1e-6
        )
        for matrix, own in times.items()
        for kernel, factor in own.items()
    ]
    others = [
        untimed(FIRST, "failed", "", matrix="a", device=ON),
        timed(SECOND, 1e-3, matrix="bare", device=ON),
        timed("csr/vector", 1e-3, matrix="a", device="cpu"),
    ]
    return StudyData([*measurements, *others], {name: known(name.upper()) for name in times})


LONE = data(a={SECOND: 1.3, THIRD: 1.05, "cusparse/best": 1.0})


def test_each_kernel_that_was_predicted_and_measured_is_a_dot() -> None:
    found = predicted.info(LONE)
    (panel,) = found.panels
    assert panel.place == (ON, "warm")
    ratios = {kernel: [round(p.ratio, 9) for p in own] for kernel, own in panel.points.items()}
    assert ratios == {SECOND: [1.3], THIRD: [1.05]}, "neither a library nor a processor nor what has no time"
    (drawn,) = traces(predicted.draw(found), "point")
    assert dict(zip(drawn["y"], drawn["x"], strict=True)) == pytest.approx({SECOND: 1.3, THIRD: 1.05})
    assert drawn["error_x"]["visible"]
    assert drawn["error_x"]["array"] == pytest.approx([0.01 * x for x in drawn["x"]])
    band = predicted.draw(found).layout.shapes[0]
    assert (band.x0, band.x1) == pytest.approx((1 / 1.1, 1.1))


def test_numbers_and_words_beside_each_other() -> None:
    found = predicted.info(LONE)
    row = next(row for row in predicted.table(found).rows if row[0] == SECOND)
    assert row[1:4] == ("A", ON, "warm")
    assert row[-1] == f"1.30{THIN}×"
    said = predicted.summary(found).replace(THIN, " ")
    assert "50 % of 2 times" in said
    assert f"{SECOND} on A, 1.30 × the predicted time" in said


def test_the_regret_of_the_first_choice_over_all_matrices() -> None:
    a, b = PREDICTED[SECOND], PREDICTED[THIRD]
    found = regret.info(data(a={SECOND: 1.3, THIRD: a / b}, b={FIRST: 1.0, THIRD: 2.0}))
    (panel,) = found.panels
    assert [(v.matrix_id, v.advised, v.fastest) for v in panel.evaluation.outcomes] == [
        ("a", SECOND, THIRD),
        ("b", FIRST, FIRST),
    ]
    (drawn,) = traces(regret.draw(found), "point")
    assert drawn["y"] == pytest.approx([1.3, 1.0])
    said = regret.summary(found).replace(THIN, " ")
    assert "geometric-mean regret 1.14 × over 2 matrices, within 10 % on 50 %. Worst: 1.30 × on A (" in said
    assert [(row[0], row[3], row[-1].replace(THIN, " ")) for row in regret.table(found).rows] == [
        ("A", SECOND, "1.30 ×"),
        ("B", FIRST, "1.00 ×"),
    ]


def test_of_a_lone_matrix_the_choice_is_said() -> None:
    (panel,) = regret.info(data(a={FIRST: 1.0, SECOND: 2.0})).panels
    assert f"{FIRST}, is the fastest" in regret.regret_text(panel)


def test_a_busy_machine_judges_nobody() -> None:
    wide = [timed(k, 1e-5, device=ON, ci_low_s=1e-6, ci_high_s=1e-4) for k in (FIRST, SECOND)]
    found = predicted.info(StudyData(wide, {"m1": known("A")}))
    assert found.panels == ()
    assert titles(predicted.draw(found)) == [predicted.NOTHING]
    assert (predicted.summary(found), regret.summary(regret.info(StudyData()))) == (predicted.NOTHING, "")
