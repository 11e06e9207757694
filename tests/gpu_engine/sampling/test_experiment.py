"""What an experiment derives from the records of others."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from gpu_engine.records import Cache, Case, Details, Measurement
from gpu_engine.sampling.experiment import REPEATS, REPEATS_S, best_of, time_few


@pytest.mark.parametrize(
    ("seconds", "runs", "median"),
    [
        ((5e-3, 1e-3, 2e-3, 1e-3, 9e-3), REPEATS, 2e-3),
        ((2 * REPEATS_S,), 1, 2 * REPEATS_S),
        ((0.6 * REPEATS_S, 0.8 * REPEATS_S), 2, 0.7 * REPEATS_S),
    ],
    ids=["quick", "slow", "between"],
)
def test_work_needed_once_has_the_median_of_a_few_times(seconds: Sequence[float], runs: int, median: float) -> None:
    left = list(seconds)

    def time_once(work: Callable[[], Any]) -> tuple[Any, float]:
        return work(), left.pop(0)

    made: list[int] = []
    result, median_s = time_few(SimpleNamespace(time_once=time_once), lambda: made.append(1) or len(made))  # type: ignore[func-returns-value]
    assert (result, len(made)) == (runs, runs)
    assert median_s == pytest.approx(median)


def test_the_best_of_some_kernels_is_a_case_of_its_own() -> None:
    case = Case("m", "cusparse/best", "warm")

    def of(kernel: str, cache: Cache, seconds: float | None) -> Measurement:
        return Measurement.of(Case("m", kernel, cache), "cpu", Details, median_s=seconds, note="why")

    slow, quick = of("cusparse/one", "warm", 2.0), of("cusparse/two", "warm", 1.0)
    failed, other = of("cusparse/three", "warm", None), of("cusparse/one", "cold", 0.1)
    best = best_of([slow, quick, failed, other], case)
    assert (best.case, best.kernel, best.note, best.median_s) == (case.key, case.kernel, "two", 1.0)
    none = best_of([failed], case)
    assert (none.kernel, none.median_s, none.note) == (case.kernel, None, "no algorithm of the library ran: why")
