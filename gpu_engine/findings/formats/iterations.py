"""Equation (1) of the PELLR paper on trial: what it predicts of PELLR against ELLR beside what was measured."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import StatisticsError, correlation

from gpu_engine.advisor import NEEDED
from gpu_engine.advisor.gpus import gpu_named
from gpu_engine.advisor.model import MODELS
from gpu_engine.advisor.work import Work
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.formats.groups import group_by_facet, of_matrices, without_duplicates
from gpu_engine.findings.ranking import rank
from gpu_engine.matrices.warps import WARP
from gpu_engine.records import Measurement
from gpu_engine.verdicts.verdict import interval_of_ratio

ELLR, PELLR = "ellr/thread", "pellr/thread"
"""The kernels that equation (1) is about: each thread walks its row to the end of that row."""

SLOTS_OF_A_SECTOR = 32 / 12
"""A sector of x is 32 bytes, a slot 12."""

Place = tuple[str, str]
"""(device, cache)."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """How many times as fast PELLR is as ELLR on a matrix.

    iterations  ratio of n_iter, as equation (1) has it; steps: that of the steps, None where the warps that the device
                holds at once, or features, are not known
    measured    ratio of the times; interval: its 95 % interval, None where a time has none
    measurements  those of both kernels; busy: whether the machine was
    """

    matrix: MatrixFeatures
    iterations: float
    steps: float | None
    measured: float
    interval: tuple[float, float] | None
    measurements: tuple[Measurement, ...] = ()
    busy: bool = False


def forecasts(data: StudyData) -> dict[Place, tuple[Forecast, ...]]:
    """The matrices with a time in both kernels and a known n_iter, by device and cache state."""
    found: dict[Place, list[Forecast]] = {}
    for (matrix_id, device, cache), group in group_by_facet(of_matrices(data.measurements)).items():
        timed = {m.kernel: m for m in group if m.state == "ok" and m.median_s}
        if ELLR in timed and PELLR in timed:
            is_busy = bool(rank(without_duplicates(group)).busy)
            forecast = _forecast(data.matrix(matrix_id), timed[ELLR], timed[PELLR], is_busy)
            if forecast is not None:
                found.setdefault((device, cache), []).append(forecast)
    return {place: tuple(own) for place, own in found.items()}


def iterations_saved(matrix: MatrixFeatures) -> float | None:
    """n_iter of ELLR over that of PELLR; None where it is not known, or the matrix has no entry."""
    given, permuted = (matrix.stored.get(f"n_iter_{name}") for name in ("ellr", "pellr"))
    return given / permuted if given and permuted else None


def resident_warps(m: Measurement) -> int | None:
    """How many warps the GPU of a measurement holds at once; None where its model is not known."""
    gpu = gpu_named(m.environment.get("device", ""))
    return gpu.resident_warps if gpu else None


def steps(work: Work, resident: int) -> float:
    """Warp iterations one after the other, with so many warps at once: those of the longest row, and the others.

    The bound of list scheduling (Graham, 1966); a sector of x takes as long as the slots that fill it. Nothing here is
    fitted to times.
    """
    return work.longest + (work.slots + SLOTS_OF_A_SECTOR * work.sectors) / (WARP * resident)


def correlation_of_logs(pairs: Iterable[tuple[float | None, float]]) -> float | None:
    """Pearson's, of the logarithms of (predicted, measured); None of fewer than three pairs or of equal ones."""
    logs = [(math.log(predicted), math.log(measured)) for predicted, measured in pairs if predicted]
    if len(logs) < 3:
        return None
    try:
        return correlation(*zip(*logs, strict=True))
    except StatisticsError:
        return None


def correlations(found: Sequence[Forecast]) -> tuple[float | None, float | None]:
    """Return those with the measured ratio, of equation (1) and of the steps, over what was not measured busy."""
    quiet = [each for each in found if not each.busy]
    return (
        correlation_of_logs((each.iterations, each.measured) for each in quiet),
        correlation_of_logs((each.steps, each.measured) for each in quiet),
    )


def _forecast(matrix: MatrixFeatures, ellr: Measurement, pellr: Measurement, is_busy: bool) -> Forecast | None:
    saved = iterations_saved(matrix)
    if saved is None or not ellr.median_s or not pellr.median_s:
        return None
    resident, known = resident_warps(pellr), matrix.stored
    modelled = None
    if resident and all(known.get(name) is not None for name in NEEDED):
        given, permuted = (steps(MODELS[kernel][0](known), resident) for kernel in (ELLR, PELLR))
        modelled = given / permuted
    gain, interval = ellr.median_s / pellr.median_s, interval_of_ratio(ellr, pellr)
    return Forecast(matrix, saved, modelled, gain, interval, (ellr, pellr), is_busy)
