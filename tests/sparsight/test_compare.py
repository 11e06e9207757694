"""Verdicts between kernels of a job, and between jobs, by value."""

from typing import Any

import pytest

from gpu_engine.errors import InputError, NotFoundError
from sparsight.compare import compare_kernels, compare_results

SHAPE = (0.97, 0.98, 0.99, 0.99, 1.0, 1.0, 1.0, 1.01, 1.01, 1.02, 1.03)


def measurement(kernel: str, seconds: float, matrix: str = "m", cache: str = "warm") -> dict[str, Any]:
    """A measurement whose rounds lie within 3 % of its median."""
    return {
        "case": f"{matrix}|{kernel}|{cache}|",
        "matrix_id": matrix,
        "device": "cpu",
        "format": kernel.partition("/")[0],
        "kernel": kernel,
        "state": "ok",
        "cache": cache,
        "median_s": seconds,
        "ci_low_s": 0.99 * seconds,
        "ci_high_s": 1.01 * seconds,
        "min_s": 0.97 * seconds,
        "q1_s": 0.99 * seconds,
        "q3_s": 1.01 * seconds,
        "samples_s": [share * seconds for share in SHAPE],
    }


def results(*measurements: dict[str, Any]) -> dict[str, Any]:
    return {"measurements": list(measurements)}


def test_kernels_of_a_job_are_paired_by_matrix_and_cache() -> None:
    job = results(
        measurement("csr/vector", 1e-3),
        measurement("ell/thread", 2e-3),
        measurement("csr/vector", 1e-3, "n", "cold"),
        measurement("ell/thread", 1.01e-3, "n", "cold"),
        measurement("csr/vector", 1e-3, "alone"),
    )
    found = compare_kernels(job, "csr/vector", "ell/thread")
    seen: list[object] = [(d.matrix_id, d.cache, d.verdict, d.ratio) for d in found]
    assert seen == [
        ("m", "warm", "slower", 0.5),
        ("n", "cold", "same", pytest.approx(1 / 1.01)),
    ]
    assert (found[0].baseline_s, found[0].other_s) == (1e-3, 2e-3)


@pytest.mark.parametrize(
    ("seconds", "verdict"), [(2e-3, "slower"), (5e-4, "faster"), (1e-3, "ambiguous"), (1.045e-3, "ambiguous")]
)
def test_between_jobs_only_a_plain_gap_decides_and_nothing_is_the_same(seconds: float, verdict: str) -> None:
    (found,) = compare_results(results(measurement("csr/vector", 1e-3)), results(measurement("csr/vector", seconds)))
    assert found.verdict == verdict
    assert found.ratio == pytest.approx(1e-3 / seconds)
    assert "same rounds" in found.reason


def test_a_kernel_that_was_not_measured_is_named_with_those_that_were() -> None:
    with pytest.raises(NotFoundError, match=r"'hyb/x'; it measured csr/vector\."):
        compare_kernels(results(measurement("csr/vector", 1e-3)), "csr/vector", "hyb/x")


def test_jobs_without_a_common_case_cannot_be_compared() -> None:
    with pytest.raises(InputError, match="share no case"):
        compare_results(results(measurement("csr/vector", 1e-3)), results(measurement("csr/vector", 1e-3, "n")))
