"""Made-up runs of the study `seeded` as it yields them: times and iterations that tests can name."""

from collections.abc import Mapping
from typing import Any

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.seeded.names import COLD, EXTRAPOLATED, ONE_BY_ONE, TOGETHER, WARM
from gpu_engine.records import Case, Measurement
from gpu_engine.studies.seeded.experiment import SeededDetails

MATRICES = {
    "web": MatrixFeatures("web20k", 20_000, 20_000, 127_601, 6.4, 9.0, 300.0, 0),
    "del": MatrixFeatures("delaunay", 5_000, 5_000, 29_948, 6.0, 1.3, 10.0, 0),
}

RUNS: Mapping[tuple[str, str, str], tuple[float, int, int]] = {
    (TOGETHER, "1", ""): (1e-3, 60, 60),
    (TOGETHER, "8", ""): (2e-3, 62, 62),
    (ONE_BY_ONE, "8", ""): (8e-3, 62, 480),
    (TOGETHER, "32", ""): (5e-3, 64, 64),
    (ONE_BY_ONE, "32", ""): (32e-3, 64, 1930),
    (COLD, "32", "0.001"): (5e-3, 64, 64),
    (WARM, "32", "0.001"): (4e-3, 48, 48),
    (EXTRAPOLATED, "32", "0.001"): (2.5e-3, 30, 30),
}
"""Kernel, seed sets, and share of changed links → seconds, iterations, and passes."""


def ran(
    kernel: str = TOGETHER,
    seeds: str = "8",
    start: str = "",
    matrix: str = "web",
    device: str = "cuda:0",
    axes: tuple[tuple[str, str], ...] = (),
    **fields: Any,
) -> Measurement:
    """A run as RUNS says; one of other seed sets takes as long as eight."""
    time, iterations, passes = RUNS.get((kernel, seeds, start), RUNS[TOGETHER, "8", ""])
    sets = int(seeds) if seeds.isdecimal() else seeds.count(";") + 1
    case = Case(matrix, kernel, "warm", (*axes, ("seeds", seeds), *((("start", start),) if start else ())))
    values: dict[str, Any] = {
        "median_s": time,
        "ci_low_s": time * 0.998,
        "min_s": time * 0.997,
        "q1_s": time * 0.998,
        "q3_s": time * 1.002,
        "ci_high_s": time * 1.002,
        "gflops": 1.0,
        "roofline_s": 0.4 * time,
        "stored_bytes": 600_000,
        "sets": sets,
        "set_s": time / sets,
        "iterations": iterations,
        "passes": passes,
        "links": 127_601,
        "changed_links": 128 if start else None,
        "residual": 7e-11,
        "mass_error": 2e-16,
        "aa_gap": 0.001,
        "rounds": 9,
    }
    return Measurement.of(case, device, SeededDetails, **(values | fields))


def every(matrix: str = "web", device: str = "cuda:0", **options: Any) -> list[Measurement]:
    """All runs of a graph."""
    return [ran(*key, matrix=matrix, device=device, **options) for key in RUNS]


def refused(note: str, kernel: str = TOGETHER, matrix: str = "del", device: str = "cuda:0") -> Measurement:
    """A skipped run."""
    case = Case(matrix, kernel, "warm", (("seeds", "64"),))
    return Measurement.of(case, device, SeededDetails, "skipped", note=note)


def shown(*measurements: Measurement, **choices: Any) -> StudyData:
    """What figures are drawn from."""
    return StudyData(measurements, MATRICES, **choices)
