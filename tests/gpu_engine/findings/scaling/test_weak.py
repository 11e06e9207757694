"""Weak scaling: which matrices are held against each other, and the share of the time on one device."""

from dataclasses import replace
from typing import Any

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.scaling.weak_scaling import weak_scaling
from gpu_engine.records import Measurement
from gpu_engine.text.units import THIN
from tests.samples.scaling import NNZ, worked

GROWN = {
    f"grown-{k}": MatrixFeatures(f"grid × {k}", 100_000 * k, 100_000 * k, NNZ * k, 40.0, 1.0, 3.0) for k in (1, 2, 4)
}
OTHER = {"other": MatrixFeatures("denser", 50_000, 50_000, NNZ, 80.0, 1.0, 3.0)}


def iterated(matrix: str, devices: int, median_s: float, each: int, **fields: Any) -> Measurement:
    options = {"exchange": "halo", "overlap": "on"}
    entries = (each,) * devices
    return worked(
        "pCSR/iterate", median_s, devices, "iterate", matrix, "cluster", options, nonzeros_by_device=entries, **fields
    )


def cells(*measurements: Measurement) -> list[tuple[str, ...]]:
    rows = weak_scaling(StudyData(measurements, GROWN | OTHER)).rows
    return [tuple(cell.replace(THIN, " ") for cell in row) for row in rows]


def test_a_matrix_on_several_devices_is_held_against_the_one_of_its_kind_that_fills_one() -> None:
    """Not against one with longer rows, nor against itself, which is strong scaling."""
    found = cells(
        iterated("grown-1", 1, 8e-3, NNZ),
        iterated("grown-1", 4, 3e-3, NNZ // 4),
        iterated("grown-2", 2, 10e-3, NNZ),
        iterated("grown-4", 1, 32e-3, 4 * NNZ),
        iterated("grown-4", 4, 16e-3, NNZ),
        iterated("other", 1, 1e-3, NNZ),
    )
    assert [(row[3], row[4], row[7], row[8]) for row in found] == [
        ("2", "grid × 2", "grid × 1, 8.00 ms", "80 %"),
        ("4", "grid × 4", "grid × 1, 8.00 ms", "50 %"),
    ]


def test_nothing_is_held_against_what_was_not_measured_alike() -> None:
    alone = iterated("grown-1", 1, 8e-3, NNZ)
    assert cells(alone, replace(iterated("grown-2", 2, 10e-3, NNZ), device="cuda:all")) == []
    assert cells(alone, iterated("grown-2", 2, 10e-3, NNZ * 2)) == []
    assert cells(replace(alone, state="unconverged"), iterated("grown-2", 2, 10e-3, NNZ)) == []


def test_partitions_that_devices_generate_are_of_a_kind_without_features() -> None:
    def made(name: str, times: int, generator: str) -> MatrixFeatures:
        return MatrixFeatures(name, 100_000 * times, 100_000 * times, NNZ * times, source={"generator": generator})

    matrices = {"half": made("half", 1, "stencil"), "whole": made("whole", 2, "stencil"), "law": made("law", 1, "law")}
    found = [iterated("half", 1, 8e-3, NNZ), iterated("law", 1, 1e-3, NNZ), iterated("whole", 2, 10e-3, NNZ)]
    (row,) = weak_scaling(StudyData(found, matrices)).rows
    assert (row[4], row[8].replace(THIN, " ")) == ("whole", "80 %")
    assert weak_scaling(StudyData(found[1:], matrices)).rows == (), "of another generator"
