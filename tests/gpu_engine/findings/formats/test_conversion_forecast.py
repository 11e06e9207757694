"""Conversion times of matrices of a similar size make a forecast."""

import pytest

from gpu_engine.findings.formats.conversion_forecast import FARTHEST, conversion_forecasts, predicted_costs
from gpu_engine.records import Measurement
from tests.samples.formats import timed, untimed

SIZES = {"a": 1000, "b": 2000, "c": 4000, "d": 8000, "e": 16_000, "f": 32_000, "far": 10**9}


def converted(kernel: str = "coo/segmented", per_nonzero_s: float = 1e-6) -> list[Measurement]:
    return [
        timed(kernel, 1e-3, matrix=matrix, convert_s=per_nonzero_s * size * (2 if matrix == "f" else 1))
        for matrix, size in SIZES.items()
    ]


def test_a_conversion_grows_with_the_nonzeros() -> None:
    forecast = conversion_forecasts(converted(), SIZES, 3000)["coo/segmented"]
    assert (forecast.low_s, forecast.mean_s, forecast.high_s) == pytest.approx((3e-3, 3e-3, 3e-3))


def test_the_nearest_matrices_make_the_range() -> None:
    forecast = conversion_forecasts(converted(), SIZES, 32_000)["coo/segmented"]
    assert forecast.low_s == pytest.approx(0.032)
    assert forecast.high_s == pytest.approx(0.064)
    assert forecast.low_s < forecast.mean_s < forecast.high_s


def test_without_three_matrices_of_a_similar_size_there_is_none() -> None:
    assert conversion_forecasts(converted(), SIZES, 10**9) == {}
    assert conversion_forecasts(converted()[:2], SIZES, 1500) == {}
    assert conversion_forecasts(converted(), SIZES, int(1000 / FARTHEST)) == {}
    assert conversion_forecasts([untimed("csr/vector", "failed", "x", matrix="a")], SIZES, 1000) == {}


def test_a_kernel_without_a_conversion_costs_nothing_but_its_spmvs() -> None:
    forecasts = conversion_forecasts([*converted(), *converted("csr/vector", 0.0)], SIZES, 1000)
    costs = predicted_costs({"csr/vector": 2e-6, "coo/segmented": 1e-6, "ell/thread": 1e-7}, forecasts)
    assert [(cost.kernel, cost.spmv_s, cost.convert_s) for cost in costs] == [
        ("csr/vector", 2e-6, 0.0),
        ("coo/segmented", 1e-6, pytest.approx(1e-3)),
    ]
