"""Change points: steps that hold are found where they are, spikes are not; each by value."""

import math
from typing import Any

import numpy as np
import pytest

from gpu_engine.findings.history import change_points
from gpu_engine.findings.history.change_points import LOOKED_FROM, PERIOD_MIN, history, noise_of
from gpu_engine.findings.history.records import Change, changes
from tests.samples.history import FLAT, NEW, OLD, measured, scaled, taken

SLOWER = (*FLAT, *scaled(FLAT, 1.05))


def levels(times: tuple[float, ...]) -> list[tuple[int, float]]:
    """How many measurements each period has, and its level in microseconds."""
    return [(len(period.timeline), round(1e6 * period.level_s, 3)) for period in history(taken(times)).periods]


def test_a_step_that_holds_is_a_change_point_with_its_levels_and_its_verdict() -> None:
    found = history(taken(SLOWER))
    (point,) = found.points
    assert levels(SLOWER) == [(6, 20.0), (6, 21.0)]
    assert (point.first.job_id, point.verdict.kind, found.changed) == ("j6", "slower", (point,))
    assert point.growth == pytest.approx(0.05)
    assert point.verdict.ratio == pytest.approx(1 / 1.05)
    assert history(taken(SLOWER[::-1])).points[0].verdict.kind == "faster"


def test_the_shortest_periods_are_of_three_jobs() -> None:
    assert levels((20.0, 20.02, 19.98, 22.0, 22.02, 21.98)) == [(3, 20.0), (3, 22.0)]
    assert levels((20.0, 20.02, 22.0, 22.02, 21.98)) == [(5, 21.98)]
    assert (LOOKED_FROM, PERIOD_MIN) == (6, 3)


@pytest.mark.parametrize("spikes", [(5,), (4, 5), (0,), (11,), (10, 11), (2, 6, 9)])
def test_times_that_are_off_and_do_not_hold_are_no_change_points(spikes: tuple[int, ...]) -> None:
    times = [*FLAT, *FLAT]
    for place in spikes:
        times[place] *= 1.5
    assert [(number, round(level, 1)) for number, level in levels(tuple(times))] == [(12, 20.0)]


def test_a_step_is_found_beside_spikes() -> None:
    times = list(SLOWER)
    times[2] *= 1.4
    times[9] *= 1.3
    assert [(number, round(level, 1)) for number, level in levels(tuple(times))] == [(6, 20.0), (6, 21.0)]


def test_several_steps_are_found_each_for_itself() -> None:
    there_and_back = (*SLOWER, *FLAT, *scaled(FLAT, 0.5))
    found = history(taken(there_and_back))
    assert [point.verdict.kind for point in found.points] == ["slower", "faster", "faster"]
    assert [point.first.job_id for point in found.points] == ["j6", "j12", "j18"]


def test_a_gap_that_nobody_would_act_on_is_none() -> None:
    assert len(levels((*FLAT * 3, *scaled(FLAT * 3, 1.008)))) == 1
    # What separates them is seen, and within what the kernel differs from itself by in these rounds.
    assert len(history(taken(SLOWER, aa_gap=0.08)).points) == 0


def test_a_step_that_is_one_of_the_clock_is_left_open() -> None:
    jobs = taken(SLOWER)
    slow = taken(SLOWER, clock_hz=1.98e9 / 1.05)
    (point,) = history([*jobs[:6], *slow[6:]]).points
    assert point.verdict.kind == "inconclusive"
    assert "clock" in point.verdict.reason
    assert history([*jobs[:6], *slow[6:]]).changed == ()


def test_what_scatters_more_than_it_steps_has_no_change_point() -> None:
    rough = tuple(20.0 * factor for factor in (1.0, 1.2, 0.9, 1.1, 0.95, 1.15))
    assert len(levels((*rough, *scaled(rough, 1.1)))) == 1


def test_the_noise_is_the_largest_of_what_jobs_intervals_and_a_floor_say() -> None:
    def noise(times: tuple[float, ...], device: str = "cuda:0", width: float = 0.002) -> float:
        ends: list[dict[str, Any]] = [
            {"ci_low_s": t * 1e-6 / (1 + width), "ci_high_s": t * 1e-6 * (1 + width)} for t in times
        ]
        own = [measured(t, device=device, **end) for t, end in zip(times, ends, strict=True)]
        return noise_of(np.log(times), own)

    assert noise((20.0,) * 6) == pytest.approx(0.01 / 3)
    assert noise((20.0,) * 6, device="cpu") == pytest.approx(0.02 / 3)
    assert noise((20.0,) * 6, width=0.05) == pytest.approx(2 * math.log(1.05) / 3.92)
    # Consecutive times are 10 % apart: over √2, and from a median to a standard deviation.
    assert noise((20.0, 22.0) * 3) == pytest.approx(1.4826 * math.log(1.1) / math.sqrt(2))
    assert noise((20.0,)) == pytest.approx(0.01 / 3)


def test_a_change_point_says_what_changed_underneath_there() -> None:
    (point,) = history(taken(SLOWER, [OLD] * 6 + [NEW] * 6)).points
    assert point.changes == (Change("driver", "580.1", "590.2"),)
    (unchanged,) = history(taken(SLOWER)).points
    assert unchanged.changes == ()


@pytest.mark.parametrize(("before", "expected"), [(5, True), (7, True), (4, False), (8, False)])
def test_where_a_step_lies_is_known_to_one_measurement(before: int, expected: bool) -> None:
    (point,) = history(taken(SLOWER, [OLD] * before + [NEW] * (12 - before))).points
    assert bool(point.changes) == expected
    assert (f"j{before}" in point.beside) == expected


def test_changes_underneath_are_found_without_a_step_too() -> None:
    found = history(taken((*FLAT, *FLAT), [OLD] * 9 + [NEW] * 3))
    assert found.points == ()
    assert [(each.first.job_id, [str(change) for change in each.changes]) for each in found.underneath] == [
        ("j9", ["driver 580.1 → 590.2"])
    ]


def test_changes_name_what_one_of_two_environments_does_not_say() -> None:
    before = {"driver": "580.1", "cuSPARSE": "12.6", "matrices": "a, b", "source": "e0ab0ce32150768c"}
    after = {"driver": "580.1", "NVRTC": "13.0", "matrices": "b", "source": "77aa91c09f3e21d0"}
    assert [str(change) for change in changes(before, after)] == [
        "cuSPARSE 12.6 → –",
        "kernel source e0ab0ce3 → 77aa91c0",
        "NVRTC – → 13.0",
    ]


def test_a_case_is_called_by_its_kernel_and_what_else_tells_it_apart() -> None:
    assert history(taken(FLAT)).label == "split/tile"
    assert history(taken(FLAT, transposed=True)).label == "split/tile · op=AT"


def test_without_the_library_there_is_one_period_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_points, "find_spec", lambda name: None)
    found = history(taken(SLOWER))
    assert (found.searched, len(found.periods), found.points) == (False, 1, ())
