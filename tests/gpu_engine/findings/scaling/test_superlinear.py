"""Speedups above the number of devices: when they are explained, and by which numbers."""

import re
from dataclasses import replace

import pytest

from gpu_engine.findings.data import MatrixFeatures
from gpu_engine.findings.scaling.cases import speed_up
from gpu_engine.findings.scaling.groups import WorkGroup, work_groups
from gpu_engine.findings.scaling.series import Series
from gpu_engine.findings.scaling.superlinear import is_superlinear, superlinear_text
from gpu_engine.records import Measurement
from tests.samples.scaling import shown, worked

MATRIX = MatrixFeatures("web", 1_000_000, 1_000_000, 4_000_000)


def iteration(devices: int, median_s: float, overlap: str, compute_s: float = 0.0) -> Measurement:
    """Return an iteration; compute_s: its phase `compute`."""
    options = {"exchange": "halo", "overlap": overlap}
    return worked("pCSR/iterate", median_s, devices, "iterate", options=options, phases_s={"compute": compute_s})


def group_of(*measurements: Measurement) -> tuple[WorkGroup, Series, Measurement, Measurement]:
    """Return the group with its fastest series on two devices, and the base."""
    (group,) = work_groups(shown(*measurements))
    series, m = group.ranked(2)[0]
    base = group.ranked(1)[0][1]
    return group, series, m, base


def numbers(text: str) -> list[str]:
    return re.findall(r"\d+(?:\.\d+)?", text)


def test_split_columns_explain_what_the_run_without_overlap_does_not_reach() -> None:
    runs = [iteration(n, s, overlap) for overlap, (one, two) in {"on": (8e-3, 2e-3), "off": (8e-3, 5e-3)}.items()
            for n, s in ((1, one), (2, two))]  # fmt: skip
    text = superlinear_text(*group_of(*runs), MATRIX)
    # 8 MB of x, half of it on each device; 8 ms over 5 ms without overlap.
    assert numbers(text) == ["2", "4.00", "8.00", "2", "1.60"]
    same = [*runs[:3], iteration(2, 3e-3, "off")]
    assert "1.60" not in superlinear_text(*group_of(*same), MATRIX), "it is above two without overlap too"


def test_the_phase_that_gains_is_named_and_else_that_nothing_is_known() -> None:
    phases = (iteration(1, 8e-3, "off", 8e-3), iteration(2, 2e-3, "off", 2e-3))
    assert numbers(superlinear_text(*group_of(*phases), MATRIX))[:2] == ["2", "4.00"]
    unknown = superlinear_text(*group_of(iteration(1, 8e-3, "off"), iteration(2, 2e-3, "off")), MATRIX)
    assert numbers(unknown) == ["2"]


@pytest.mark.parametrize(("seconds", "expected"), [(2e-3, True), (3.9e-3, True), (3.97e-3, False), (5e-3, False)])
def test_a_speedup_up_to_the_number_of_devices_needs_no_reason(seconds: float, expected: bool) -> None:
    group, series, m, base = group_of(iteration(1, 8e-3, "off"), iteration(2, seconds, "off"))
    assert bool(superlinear_text(group, series, m, base, MATRIX)) == expected
    assert is_superlinear(speed_up(base, m), 2) == expected
    assert not superlinear_text(group, series, m, None, MATRIX)
    assert not is_superlinear(replace(speed_up(base, m), kind="inconclusive"), 2)  # type: ignore[type-var]
