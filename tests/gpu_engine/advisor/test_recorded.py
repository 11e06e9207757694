"""The advice held against the recorded times of an H200 on structures that its costs were not fitted to."""

from gpu_engine import recordings
from gpu_engine.advisor.judge import judge
from gpu_engine.gpu_bench.subjects import SUBJECTS


def test_the_first_choice_is_good_on_structures_that_it_was_not_fitted_to() -> None:
    recording = recordings.read(recordings.RECORDED / "h200" / "formats.json.gz")
    held_out = {subject.name for subject in SUBJECTS if subject.group == "held out"}
    measurements = [m for m in recording.measurements if m.matrix_id in held_out]
    found = judge(measurements, {matrix.id: matrix.features for matrix in recording.matrices})
    assert len(found.verdicts) == 2 * len(held_out)
    assert found.share_within_10_percent >= 0.9
    assert found.geometric_mean_regret <= 1.05
