"""Sampler: how often a sample repeats its launch."""

import pytest

from gpu_engine.multigpu.sampler import REPEATS_MAX, SAMPLE_S, Sampler, repeats


@pytest.mark.parametrize(
    ("seconds", "batch", "expected"),
    [(2 * SAMPLE_S, 10, 1), (SAMPLE_S / 3, 10, 10), (SAMPLE_S / 47, 10, 50), (0.0, 10, REPEATS_MAX), (0.0, 6, 96)],
)
def test_a_sample_has_one_repetition_or_complete_batches(seconds: float, batch: int, expected: int) -> None:
    assert repeats(seconds, batch) == expected


def test_the_first_launch_of_all_does_not_decide() -> None:
    now, launched = 0.0, list[int]()

    def launch(times: int) -> None:
        nonlocal now
        now += SAMPLE_S / 20 * times if launched else 1.0
        launched.append(times)

    sampler = Sampler(lambda: None, lambda: now, 10)
    sampler.calibrate(launch)
    assert launched == [1, 1, 20]
    assert sampler.turn(launch) == pytest.approx(SAMPLE_S / 20)
