"""The advice held against the recorded times of an H200 on matrices that its costs were not fitted to."""

import pytest

from gpu_engine import recordings
from gpu_engine.advisor.evaluation import Evaluation, evaluate
from gpu_engine.gpu_bench.subjects import SUBJECTS


def _judged(group: str) -> Evaluation:
    recording = recordings.read(recordings.RECORDED / "h200" / "formats.json.gz")
    judged = {subject.name for subject in SUBJECTS if subject.group == group}
    measurements = [m for m in recording.measurements if m.matrix_id in judged]
    found = evaluate(measurements, {matrix.id: matrix.features for matrix in recording.matrices})
    assert len(found.outcomes) == 2 * len(judged)
    return found


@pytest.mark.parametrize("group", ["held out", "collection"])
def test_the_first_choice_costs_little_on_matrices_that_it_was_not_fitted_to(group: str) -> None:
    assert _judged(group).geometric_mean_regret <= 1.05


def test_the_first_choice_is_mostly_among_the_fastest_on_structures_that_it_was_not_fitted_to() -> None:
    assert _judged("held out").share_within_10_percent >= 0.9


def test_where_it_is_sure_the_first_choice_is_nearly_always_among_the_fastest() -> None:
    outcomes = tuple(v for group in ("held out", "collection") for v in _judged(group).outcomes)
    sure, doubtful = (Evaluation(outcomes).where(sure=told) for told in (True, False))
    assert len(sure.outcomes) >= 20
    assert sure.share_within_10_percent >= 0.95
    assert doubtful.share_within_10_percent < 0.9
