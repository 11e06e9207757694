from dataclasses import replace
from typing import Any

import pytest

from gpu_engine.advisor.gpus import FITTED, gpu_named
from gpu_engine.advisor.work import Work
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.formats.iterations import (
    Forecast,
    correlation_of_logs,
    forecasts,
    mean_speedups,
    steps,
)
from gpu_engine.records import Measurement
from tests.samples.formats import sized, timed

STORED = {
    "n_rows": 1000,
    "n_cols": 1000,
    "nnz": 10_000,
    "ave": 10.0,
    "sigma": 10.0,
    "max": 100,
    "distinct_values": 9,
    "float_values": False,
    "n_iter_ellr": 900,
    "n_iter_pellr": 400,
    "n_iter_sorted": 500,
    "narrow_runs": 1.0,
    "narrow_slices": 1.0,
    "sectors_run": 0.5,
    "sectors_slice": 0.5,
}
KNOWN = MatrixFeatures("known", 1000, 1000, 10_000, 10.0, 10.0, stored=STORED)
FLOORS: dict[str, Any] = {"roofline_s": 1e-7, "gather_probe_s": 1e-7}
H200: dict[str, Any] = {"environment": {"device": "NVIDIA H200"}, "device": "cuda:0", **FLOORS}


def both(matrix: str, ratio: float, **fields: Any) -> list[Measurement]:
    return [
        timed("pellr/thread", 1e-5, matrix=matrix, **fields),
        timed("ellr/thread", ratio * 1e-5, matrix=matrix, **fields),
    ]


def forecast(*measurements: Measurement, matrix: MatrixFeatures = KNOWN) -> Forecast:
    ((found,),) = forecasts(StudyData(measurements, {"m1": matrix})).values()
    return found


def test_steps_are_those_of_the_longest_row_and_the_others_over_the_resident_warps() -> None:
    # 320 slots are ten iterations, and 12 sectors are 32 slots: one more.
    work = Work(0.0, 0.0, sectors=12.0, slots=320.0, lanes=0.0, longest=7.0)
    assert steps(work, resident=1) == pytest.approx(7 + 10 + 1)
    assert steps(work, resident=11) == pytest.approx(7 + 1)


def test_a_gpu_is_known_by_the_name_that_its_driver_gives_it() -> None:
    assert gpu_named("NVIDIA H200") is FITTED
    assert FITTED.resident_warps == 132 * 64
    names = ("Tesla V100-SXM2-32GB", "NVIDIA A100-SXM4-40GB", "NVIDIA H100 80GB HBM3", "Quadro P600", "")
    assert [gpu.name if (gpu := gpu_named(name)) else None for name in names] == [
        *("V100", "A100-40", "H100-SXM", None, None)
    ]


def test_what_equation_1_says_stands_beside_what_was_measured() -> None:
    found = forecast(*both("m1", 1.5, **H200))
    assert (found.iterations, found.measured) == pytest.approx((2.25, 1.5))
    # All 32 warps of so small a matrix run at once: the longest row decides in both formats.
    assert found.steps == pytest.approx(1.0, abs=0.01)
    assert found.interval is not None
    assert found.interval[0] < 1.5 < found.interval[1]


def test_without_the_size_of_the_gpu_or_the_features_there_are_no_steps() -> None:
    assert forecast(*both("m1", 1.5)).steps is None, "a CPU has no warps"
    few = MatrixFeatures("few", stored={"n_iter_ellr": 3, "n_iter_pellr": 2})
    assert (
        forecast(*both("m1", 1.5, **H200), matrix=few).steps,
        forecast(*both("m1", 1.5), matrix=few).iterations,
    ) == (
        None,
        1.5,
    )


@pytest.mark.parametrize("stored", [{}, {"n_iter_ellr": 0, "n_iter_pellr": 0}])
def test_a_matrix_of_which_n_iter_is_not_known_has_no_forecast(stored: dict[str, int]) -> None:
    assert forecasts(StudyData(both("m1", 1.5), {"m1": MatrixFeatures("m1", stored=stored)})) == {}
    assert forecasts(StudyData(both("m1", 1.5)[:1], {"m1": sized("m1")})) == {}, "ellr has no time"


def test_the_correlation_is_that_of_the_logarithms() -> None:
    assert correlation_of_logs([(1.0, 3.0), (10.0, 30.0), (100.0, 300.0)]) == pytest.approx(1.0)
    assert correlation_of_logs([(1.0, 4.0), (10.0, 2.0), (100.0, 1.0)]) == pytest.approx(-1.0)
    assert correlation_of_logs([(1.0, 2.0), (None, 9.0), (2.0, 2.0)]) is None
    assert correlation_of_logs([(1.0, 2.0), (1.0, 3.0), (1.0, 4.0)]) is None, "nothing is predicted"


def test_matrices_whose_warps_run_at_once_have_means_of_their_own() -> None:
    resident = FITTED.resident_warps * 32
    small, large = (
        MatrixFeatures("m", rows, stored={"n_iter_ellr": 4, "n_iter_pellr": 1}) for rows in (resident, resident + 1)
    )
    every = [forecast(*both("m1", ratio, **H200), matrix=matrix) for matrix, ratio in ((small, 2.0), (large, 3.0))]
    assert [each.runs_at_once for each in every] == [True, False]
    means = {at_once: mean_speedups(every, at_once) for at_once in (True, False)}
    assert [(each.matrices, each.iterations) for each in means.values() if each] == [(1, 4.0)] * 2
    assert [each.measured for each in means.values() if each] == pytest.approx([2.0, 3.0])
    unknown = forecast(*both("m1", 2.0), matrix=small)
    assert (unknown.runs_at_once, mean_speedups([unknown], True), mean_speedups([unknown], False)) == (None, None, None)
    assert mean_speedups([replace(every[0], busy=True)], True) is None
