import pytest

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.scaling.groups import work_groups
from gpu_engine.findings.scaling.paper import ratio_of
from gpu_engine.findings.scaling.row_length_sweep import point_of, sweeps
from tests.samples.scaling import MATRICES, cold, cut_both_ways, shown, swept


def test_equal_rows_are_held_against_the_same_kernel_by_work_and_ratio() -> None:
    (sweep,) = sweeps(shown(*cold(), *cut_both_ways(), *reversed(swept(1.25))))
    assert (sweep.group.partitioning, sweep.devices) == ("pCSR", 4)
    assert sweep.allowed == [(1.0, 1.0), (2.0, pytest.approx(0.75)), (10.0, pytest.approx(0.55))]
    found = {work: [(point.ratio, point.measured) for point in own] for work, own in sweep.points.items()}
    assert list(found) == ["cold", "resident"]
    assert found["cold"] == [(1.0, 1.0), (2.0, pytest.approx(0.75)), (10.0, pytest.approx(0.55))]
    assert found["resident"] == [(1.0, 0.8), (2.0, pytest.approx(0.6)), (10.0, pytest.approx(0.44))]
    assert {point.series.label for point in sweep.points["cold"]} == {"pCSR/p*-opt, balance rows"}


def test_machines_are_swept_apart_and_one_ratio_is_no_sweep() -> None:
    both = sweeps(shown(*swept(), *swept(device="cpu")))
    assert [sweep.group.machine for sweep in both] == ["cuda:0", "cpu (simulated)"]
    assert sweeps(shown(*swept()[:4])) == []
    assert sweeps(StudyData(swept())) == [], "their sources are not known"


def test_the_ratio_is_that_of_the_generator() -> None:
    assert ratio_of(MATRICES["two-level-10"]) == 10.0
    assert ratio_of(MatrixFeatures("default", source={"generator": "two_level", "params": {}})) == 10.0
    assert ratio_of(MatrixFeatures("other", source={"generator": "rmat", "params": {"ratio": 3}})) is None


def test_a_point_has_both_measurements_on_any_number_of_devices() -> None:
    data = shown(*swept(1.25))
    group = next(g for g in work_groups(data) if (g.matrix_id, g.work) == ("two-level-10", "resident"))
    point = point_of(group, data, 4)
    assert point is not None
    assert point.balanced.median_s == 2e-3
    assert point.measurement.median_s == pytest.approx(2e-3 * 1.25 * 2 / 1.1)
    assert point_of(group, data, 2) is None
