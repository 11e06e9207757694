"""The advice held against times made up by hand, and what it learns from them."""

import math
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from gpu_engine.advisor import CLOSE, advise, is_sure, near_best, rank
from gpu_engine.advisor.evaluation import DOUBT, calibrate, evaluate
from gpu_engine.advisor.model import MODELS, predict
from gpu_engine.advisor.sureness import UNSTEADY
from gpu_engine.recordings import files as recordings
from gpu_engine.records import Case, Measurement
from gpu_engine.studies.formats.experiment import ProductDetails
from tests.gpu_engine.advisor.samples import EVEN, RANDOM, SKEWED
from tests.samples.recording import sample


def measurement(matrix: str, kernel: str, seconds: float | None, cache: Any = "warm") -> Measurement:
    state: Any = "ok" if seconds else "failed"
    return Measurement.of(Case(matrix, kernel, cache), "cuda:0", ProductDetails, state, median_s=seconds)


def times(factors: dict[str, float], matrix: str = "even") -> list[Measurement]:
    """So many times what is predicted of each kernel on EVEN."""
    return [measurement(matrix, kernel, factor * predict(kernel, EVEN).seconds) for kernel, factor in factors.items()]


def test_what_choices_have_in_common_is_the_devices() -> None:
    records = [
        *times(dict.fromkeys(near_best(EVEN), 2.0)),
        measurement("even", "cusparse/best", 1e-9),
        measurement("unknown", "split/tile", 1e-9),
        measurement("even", "csr/scalar", None),
    ]
    assert calibrate(records, {"even": EVEN}) == pytest.approx(dict.fromkeys(MODELS, 2.0))
    assert calibrate([], {"even": EVEN}) == dict.fromkeys(MODELS, 1.0)


@pytest.mark.parametrize("matrices", [1, 3, 30])
def test_what_a_kernel_differs_by_counts_the_more_the_more_matrices_say_so(matrices: int) -> None:
    slow, *others = near_best(EVEN)[:5]
    names = [str(number) for number in range(matrices)]
    records = [m for name in names for m in times({slow: 3.0} | dict.fromkeys(others, 2.0), name)]
    found = calibrate(records, dict.fromkeys(names, EVEN))
    assert found[slow] == pytest.approx(2.0 * 1.5 ** (matrices / (matrices + DOUBT)))
    assert [found[kernel] for kernel in others] == pytest.approx([2.0] * len(others))


def test_how_wrong_the_time_of_a_slow_kernel_is_changes_nothing() -> None:
    slow = rank(EVEN)[-1][0]
    choices = dict.fromkeys(near_best(EVEN), 1.0)
    assert calibrate(times(choices | {slow: 9.0}), {"even": EVEN}) == calibrate(times(choices), {"even": EVEN})
    # One that is faster than predicted may be the choice.
    assert calibrate(times(choices | {slow: 0.01}), {"even": EVEN})[slow] < 1.0


def test_calibration_changes_the_ranking_of_its_device_and_of_no_other() -> None:
    plain = advise(EVEN)
    first = plain[0].kernel
    slowed = advise(EVEN, calibration={first: 1.5})
    assert slowed[0].kernel == plain[1].kernel
    again = next(advice for advice in (*slowed, *advise(EVEN, calibration={first: 1.01})) if advice.kernel == first)
    assert again.predicted_s["H200"] != plain[0].predicted_s["H200"]
    assert again.predicted_s["V100"] == plain[0].predicted_s["V100"]


def test_judgement_by_hand() -> None:
    order = [kernel for kernel, _ in rank(EVEN)]
    first, second = order[:2]
    records = [
        measurement("a", first, 1.2e-5),
        measurement("a", second, 1.0e-5),
        measurement("a", "cusparse/best", 1e-7),
        measurement("a", first, 1.0e-5, "cold"),
        measurement("a", second, 3.0e-5, "cold"),
        # The first choice has no time here, so that the next one is chosen.
        measurement("b", first, None),
        measurement("b", second, 1.1e-5),
        measurement("b", order[2], 1.0e-5),
        measurement("no features", first, 1.0),
    ]
    found = evaluate(records, {"a": EVEN, "b": EVEN, "no features": {}})
    assert [(v.matrix_id, v.cache, v.advised, v.fastest) for v in found.outcomes] == [
        ("a", "warm", first, second),
        ("b", "warm", second, order[2]),
        ("a", "cold", first, first),
    ]
    assert [v.regret for v in found.outcomes] == pytest.approx([1.2, 1.1, 1.0])
    assert found.share_within_10_percent == pytest.approx(2 / 3)
    assert found.geometric_mean_regret == pytest.approx((1.2 * 1.1) ** (1 / 3))
    assert found.worst == found.outcomes[0]
    assert found.outcomes[0].predicted_s == predict(first, EVEN).seconds


def test_judging_nothing() -> None:
    found = evaluate([], {})
    assert math.isnan(found.share_within_10_percent)
    assert math.isnan(found.geometric_mean_regret)
    assert found.worst is None


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["advisor", *arguments])
    with pytest.raises(SystemExit) as stopped:
        runpy.run_module("gpu_engine.gpu_bench.advice", run_name="__main__")
    return int(stopped.value.code or 0)


def test_judge_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "h200" / "formats.json.gz"
    recordings.write(path, sample())
    assert run(monkeypatch, "--judge", str(path)) == 0
    recording = sample()
    found = evaluate(recording.measurements, {m.id: m.features for m in recording.matrices})
    lines = capsys.readouterr().out.splitlines()
    parts = [found, *filter(lambda part: part.outcomes, (found.where(sure=told) for told in (True, False)))]
    assert len(lines) == 1 + len(found.outcomes) + len(parts)
    for line, part in zip(lines[-len(parts) :], parts, strict=True):
        assert f": {len(part.outcomes)}, {part.share_within_10_percent:.1%} within 10 %" in line
        assert line.endswith(f"{part.geometric_mean_regret:.3f}")
    assert run(monkeypatch, "--judge", str(path), "--calibrate", str(path)) == 0
    path.write_bytes(b"no gzip")
    assert run(monkeypatch, "--judge", str(path)) == 2
    assert "is not gzipped JSON" in capsys.readouterr().err


def test_outcomes_are_told_apart_by_whether_the_advisor_was_sure() -> None:
    assert is_sure(RANDOM)
    assert not is_sure(SKEWED)
    records = [
        measurement("random", rank(RANDOM)[0][0], 1.0e-5),
        measurement("skewed", rank(SKEWED)[0][0], 1.0e-5),
    ]
    found = evaluate(records, {"skewed": SKEWED, "random": RANDOM})
    assert [v.matrix_id for v in found.where(sure=False).outcomes] == ["skewed"]
    assert [v.matrix_id for v in found.where(sure=True).outcomes] == ["random"]


def test_one_matrix_unlike_the_others_does_not_move_what_they_have_in_common() -> None:
    choices = near_best(EVEN)
    records = [
        m for name, factor in (("a", 1.0), ("b", 1.0), ("c", 8.0)) for m in times(dict.fromkeys(choices, factor), name)
    ]
    assert calibrate(records, dict.fromkeys("abc", EVEN)) == pytest.approx(dict.fromkeys(MODELS, 1.0))


def test_one_choice_unlike_the_others_does_not_move_its_matrix() -> None:
    slow, *others = near_best(EVEN)[:5]
    found = calibrate(times({slow: 1.1} | dict.fromkeys(others, 1.0)), {"even": EVEN})
    assert [found[kernel] for kernel in others] == pytest.approx([1.0] * len(others))


def test_cold_times_are_held_against_cold_predictions() -> None:
    kernels = near_best(EVEN, cache="cold")
    records = [
        measurement("even", kernel, 2.0 * predict(kernel, EVEN, cache="cold").seconds, "cold") for kernel in kernels
    ]
    assert calibrate(records, {"even": EVEN}) == pytest.approx(dict.fromkeys(MODELS, 2.0))
    (outcome,) = evaluate(records, {"even": EVEN}).outcomes
    first, prediction = rank(EVEN, cache="cold")[0]
    assert (outcome.cache, outcome.advised, outcome.predicted_s) == ("cold", first, prediction.seconds)


def test_warm_and_cold_times_of_a_kernel_are_two() -> None:
    first = rank(EVEN)[0][0]
    records = [measurement("even", first, seconds, cache) for cache, seconds in (("warm", 1e-5), ("cold", 3e-5))]
    found = evaluate(records, {"even": EVEN})
    assert sorted((v.cache, v.advised_s) for v in found.outcomes) == [("cold", 3e-5), ("warm", 1e-5)]


def test_what_is_close_by_prediction_or_by_time_is_a_choice_and_nothing_else() -> None:
    ranked = rank(EVEN)
    first = ranked[0][0]
    by_prediction = next(kernel for kernel, p in reversed(ranked) if p.seconds <= CLOSE * ranked[0][1].seconds)
    by_time, neither = ranked[-1][0], ranked[-2][0]
    times_s = {
        first: 1.0e-5,
        by_prediction: 9.0e-5,
        by_time: 1.19e-5,
        neither: 1.21e-5,
    }
    found = calibrate([measurement("even", kernel, seconds) for kernel, seconds in times_s.items()], {"even": EVEN})
    # What is no choice has what all have in common, as the middle one of the three that are.
    own = {kernel for kernel in times_s if found[kernel] != pytest.approx(found[neither])}
    assert own == {by_prediction, by_time}


def test_an_evaluation_is_as_sure_as_its_calibration_lets_it_be() -> None:
    unsteady = UNSTEADY[0]
    records = [measurement("even", kernel, 1e-5) for kernel in (unsteady, rank(EVEN)[0][0])]
    calibration = {kernel: 1e6 for kernel in MODELS if kernel != unsteady}
    (outcome,) = evaluate(records, {"even": EVEN}, calibration=calibration).outcomes
    assert (outcome.advised, outcome.sure) == (unsteady, False)
    assert evaluate(records, {"even": EVEN}).outcomes[0].sure


def test_the_worst_outcome_comes_first_and_a_regret_is_over_the_fastest() -> None:
    order = [kernel for kernel, _ in rank(EVEN)]
    records = [
        measurement(matrix, kernel, seconds)
        for matrix, factor in (("a", 1.05), ("b", 4.0), ("c", 1.0))
        for kernel, seconds in ((order[0], factor * 1e-5), (order[1], 1e-5))
    ]
    found = evaluate(records, dict.fromkeys("abc", EVEN))
    assert [(v.matrix_id, v.regret) for v in found.outcomes] == [
        ("b", pytest.approx(4.0)),
        ("a", pytest.approx(1.05)),
        ("c", 1.0),
    ]
    assert found.geometric_mean_regret == pytest.approx(4.2 ** (1 / 3))


def test_ten_percent_is_within_ten_percent() -> None:
    first, second = (kernel for kernel, _ in rank(EVEN)[:2])
    for seconds, share in ((1.1, 1.0), (1.11, 0.0)):
        found = evaluate([measurement("a", first, seconds), measurement("a", second, 1.0)], {"a": EVEN})
        assert found.share_within_10_percent == share
