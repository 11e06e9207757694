"""Verdicts between kernels of a job, and between jobs, by value."""

from typing import Any

import pytest

from gpu_engine.errors import InputError, NotFoundError
from gpu_engine.records import Case
from gpu_engine.verdicts.differences import compare_kernels, compare_results

SHAPE = (0.97, 0.98, 0.99, 0.99, 1.0, 1.0, 1.0, 1.01, 1.01, 1.02, 1.03)


def measurement(kernel: str, seconds: float, matrix: str = "m", cache: str = "warm", axes: str = "") -> dict[str, Any]:
    """A measurement whose rounds lie within 3 % of its median."""
    return {
        "case": f"{matrix}|{kernel}|{cache}|{axes}",
        "study": "formats",
        "axes": dict(Case.parse(f"{matrix}|{kernel}|{cache}|{axes}").axes),
        "details": {},
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


def without_time(kernel: str, state: str) -> dict[str, Any]:
    """A measurement that failed or was skipped, and says why."""
    place = {name: value for name, value in measurement(kernel, 1.0).items() if not name.endswith("_s")}
    return place | {"state": state, "note": "Too long."}


def results(*measurements: dict[str, Any]) -> dict[str, Any]:
    return {"measurements": list(measurements)}


def test_kernels_of_a_job_are_paired_by_matrix_and_cache() -> None:
    job = results(
        measurement("csr/vector", 1e-3),
        measurement("ell/thread", 2e-3),
        measurement("csr/vector", 1e-3, "n", "cold") | {"aa_gap": 0.01},
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
    assert [(d.baseline, d.other) for d in found] == [("csr/vector", "ell/thread")] * 2


@pytest.mark.parametrize(
    ("seconds", "verdict"), [(2e-3, "slower"), (5e-4, "faster"), (1e-3, "inconclusive"), (1.045e-3, "inconclusive")]
)
def test_between_jobs_only_a_plain_gap_decides_and_nothing_is_the_same(seconds: float, verdict: str) -> None:
    (found,) = compare_results(results(measurement("csr/vector", 1e-3)), results(measurement("csr/vector", seconds)))
    assert found.verdict == verdict
    assert found.ratio == pytest.approx(1e-3 / seconds)
    assert "different rounds" in found.reason


def test_a_kernel_that_was_not_measured_is_named_with_those_that_were() -> None:
    with pytest.raises(NotFoundError, match=r"'hyb/x'\. Its kernels: csr/vector\."):
        compare_kernels(results(measurement("csr/vector", 1e-3)), "csr/vector", "hyb/x")


def test_jobs_without_a_common_case_cannot_be_compared() -> None:
    with pytest.raises(InputError, match="no case in common"):
        compare_results(results(measurement("csr/vector", 1e-3)), results(measurement("csr/vector", 1e-3, "n")))


@pytest.mark.parametrize(
    ("before", "after", "verdict", "reason"),
    [
        (measurement("csr/vector", 1e-3), without_time("csr/vector", "failed"), "failed", "B failed"),
        (
            measurement("csr/vector", 1e-3),
            without_time("csr/vector", "skipped"),
            "missing",
            "B was skipped: Too long.",
        ),
        (
            measurement("csr/vector", 1e-3),
            measurement("csr/smart", 1e-3),
            "missing",
            "The other job does not have this case.",
        ),
        (without_time("csr/vector", "failed"), measurement("csr/smart", 1e-3), "missing", "not have this case"),
        (without_time("csr/vector", "failed"), measurement("csr/vector", 1e-3), "untimed", "A failed"),
        (without_time("csr/vector", "skipped"), without_time("csr/vector", "failed"), "untimed", "A was skipped"),
    ],
)
def test_every_case_of_the_baseline_has_its_row_with_a_time_or_without(
    before: dict[str, Any], after: dict[str, Any], verdict: str, reason: str
) -> None:
    shared = measurement("ell/thread", 1e-3)
    first, second = compare_results(results(before, shared), results(after, shared))
    assert (first.baseline, first.other, first.verdict, first.ratio) == ("csr/vector", "csr/vector", verdict, None)
    assert reason in first.reason
    assert (second.baseline, second.verdict) == ("ell/thread", "inconclusive")


def test_cases_of_other_axes_are_other_cases() -> None:
    sizes = [measurement("csr/smart", 1e-3, axes=f"batch={size}") for size in (100, 1000)]
    other = [measurement("csr/smart", 2e-3, axes="batch=1000")]
    small, large = compare_results(results(*sizes), results(*other))
    assert (small.axes, small.verdict) == ({"batch": "100"}, "missing")
    assert (large.axes, large.verdict) == ({"batch": "1000"}, "slower")
    assert large.slowdown == pytest.approx(1.0)


def test_what_is_ambiguous_between_jobs_says_why() -> None:
    wide = measurement("csr/vector", 2e-3) | {"ci_low_s": 0.5e-3, "ci_high_s": 3e-3}
    pairs = (measurement("csr/vector", 1.03e-3), "A difference of 2.9\u202f% between"), (wide, "intervals overlap")
    for after, reason in pairs:
        (found,) = compare_results(results(measurement("csr/vector", 1e-3)), results(after))
        assert found.verdict == "inconclusive"
        assert reason in found.reason


def test_each_cache_state_is_held_against_itself() -> None:
    before = results(measurement("csr/vector", 1e-3), measurement("csr/vector", 2e-3, cache="cold"))
    after = results(measurement("csr/vector", 4e-3, cache="cold"), measurement("csr/vector", 5e-4))
    assert [(d.cache, d.baseline_s, d.other_s, d.verdict) for d in compare_results(before, after)] == [
        ("warm", 1e-3, 5e-4, "faster"),
        ("cold", 2e-3, 4e-3, "slower"),
    ]
    job = results(*before["measurements"], measurement("ell/k", 3e-3), measurement("ell/k", 1e-3, cache="cold"))
    assert [(d.cache, d.other_s) for d in compare_kernels(job, "csr/vector", "ell/k")] == [
        ("warm", 3e-3),
        ("cold", 1e-3),
    ]


def test_each_device_is_held_against_itself() -> None:
    here, there = measurement("csr/vector", 1e-3), measurement("csr/vector", 3e-3) | {"device": "node/cpu"}
    found = compare_results(results(here, there), results(there | {"note": ""}, measurement("csr/vector", 2e-3)))
    assert [(d.device, d.baseline_s, d.other_s) for d in found] == [("cpu", 1e-3, 2e-3), ("node/cpu", 3e-3, 3e-3)]


def test_a_plain_gap_over_what_noise_explains_decides_between_jobs() -> None:
    before, after = (measurement("csr/vector", seconds) | {"aa_gap": 0.01} for seconds in (1e-3, 1.07e-3))
    (found,) = compare_results(results(before), results(after))
    assert found.verdict == "slower"
    assert found.slowdown == pytest.approx(0.07)


@pytest.mark.parametrize(
    ("seconds", "in_one_job", "between_jobs"),
    [
        (1.04e-3, "slower", "inconclusive"),
        (0.96e-3, "faster", "inconclusive"),
        (1.06e-3, "slower", "slower"),
        (0.94e-3, "faster", "faster"),
    ],
)
def test_a_gap_that_decides_in_one_job_has_to_be_over_five_percent_between_two(
    seconds: float, in_one_job: str, between_jobs: str
) -> None:
    def steady(kernel: str, median: float) -> dict[str, Any]:
        alike = dict.fromkeys(("median_s", "ci_low_s", "ci_high_s", "min_s", "q1_s", "q3_s"), median)
        return measurement(kernel, median) | alike | {"samples_s": [median] * 9, "aa_gap": 0.01}

    job = results(steady("csr/vector", 1e-3), steady("ell/thread", seconds))
    assert [d.verdict for d in compare_kernels(job, "csr/vector", "ell/thread")] == [in_one_job]
    (found,) = compare_results(results(steady("csr/vector", 1e-3)), results(steady("csr/vector", seconds)))
    assert found.verdict == between_jobs


@pytest.mark.parametrize(("seconds", "slowdown"), [(5e-4, 0.0), (1.02e-3, 0.0), (2e-3, 1.0)])
def test_only_what_is_slower_has_a_slowdown(seconds: float, slowdown: float) -> None:
    (found,) = compare_results(results(measurement("csr/vector", 1e-3)), results(measurement("csr/vector", seconds)))
    assert found.slowdown == pytest.approx(slowdown)


def test_kernels_are_paired_by_device_and_axes() -> None:
    here = [measurement("csr/vector", 1e-3, axes="op=1"), measurement("ell/k", 2e-3, axes="op=1")]
    other = [measurement("csr/vector", 3e-3, axes="op=2"), measurement("ell/k", 4e-3, axes="op=2")]
    there = [m | {"device": "cuda:0", "median_s": 10 * m["median_s"]} for m in here]
    found = compare_kernels(results(*here, *other, *there), "csr/vector", "ell/k")
    assert [(d.device, d.axes, d.baseline_s, d.other_s) for d in found] == [
        ("cpu", {"op": "1"}, 1e-3, 2e-3),
        ("cpu", {"op": "2"}, 3e-3, 4e-3),
        ("cuda:0", {"op": "1"}, pytest.approx(1e-2), pytest.approx(2e-2)),
    ]
