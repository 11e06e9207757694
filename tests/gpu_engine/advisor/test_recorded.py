"""The advice held against the recorded times of two GPUs on matrices that its costs were not fitted to."""

import statistics

import pytest

from gpu_engine import recordings
from gpu_engine.advisor.evaluation import Evaluation, evaluate
from gpu_engine.advisor.gpus import gpu_named
from gpu_engine.gpu_bench.subjects import SUBJECTS

DEVICES = ("h200", "h100")


def _judged(device: str) -> Evaluation:
    recording = recordings.read(recordings.RECORDED / device / "formats.json.gz")
    judged = {subject.name for subject in SUBJECTS if subject.group in ("held out", "collection")}
    measurements = [m for m in recording.measurements if m.matrix_id in judged]
    gpu = gpu_named(recording.device.name)
    assert gpu is not None
    found = evaluate(measurements, {matrix.id: matrix.features for matrix in recording.matrices}, gpu)
    assert len(found.outcomes) == 2 * len(judged)
    return found


@pytest.mark.parametrize("device", DEVICES)
def test_the_first_choice_is_mostly_among_the_fastest_on_matrices_that_it_was_not_fitted_to(device: str) -> None:
    found = _judged(device)
    assert found.geometric_mean_regret <= 1.05
    assert found.share_within_10_percent >= 0.9
    assert statistics.median(abs(v.predicted_s / v.advised_s - 1) for v in found.outcomes) <= 0.15


def test_where_it_is_sure_the_first_choice_is_nearly_always_among_the_fastest() -> None:
    found = Evaluation(tuple(v for device in DEVICES for v in _judged(device).outcomes))
    sure, doubtful = (found.where(sure=told) for told in (True, False))
    assert len(sure.outcomes) >= 100
    assert sure.share_within_10_percent >= 0.93
    assert doubtful.share_within_10_percent < 0.75
