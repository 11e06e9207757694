"""Check of equation (1) of the PELLR paper: predicted and measured speedup of PELLR over ELLR."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from statistics import StatisticsError, correlation, geometric_mean

from gpu_engine.advisor import NEEDED
from gpu_engine.advisor.gpus import gpu_named
from gpu_engine.advisor.model import MODELS
from gpu_engine.advisor.work import Work
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.formats.groups import group_by_facet, of_matrices, without_duplicates
from gpu_engine.findings.ranking import rank
from gpu_engine.matrices.pellr_counts import WARP
from gpu_engine.records import Measurement
from gpu_engine.verdicts.verdict import interval_of_ratio

ELLR, PELLR = "ellr/thread", "pellr/thread"
"""Kernels that equation (1) covers: each thread walks to the end of its row."""

SLOTS_OF_A_SECTOR = 32 / 12
"""Slots per memory sector: a sector of x has 32 bytes, a slot 12."""

Place = tuple[str, str]
"""(device, cache)."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Predicted and measured speedup of PELLR over ELLR on a matrix.

    iterations    prediction of equation (1): ratio of n_iter
    steps         prediction by `steps`; None if resident warps or features are unknown
    measured      ratio of the times; interval: its 95 % CI, None if a time has none
    measurements  measurements of both kernels
    busy          whether the timings are too noisy
    """

    matrix: MatrixFeatures
    iterations: float
    steps: float | None
    measured: float
    interval: tuple[float, float] | None
    measurements: tuple[Measurement, ...] = ()
    busy: bool = False

    @property
    def runs_at_once(self) -> bool | None:
        """Whether the GPU can run all warps of the matrix at once; None if its model is unknown."""
        resident = resident_warps(self.measurements[-1]) if self.measurements else None
        return self.matrix.n_rows <= WARP * resident if resident else None


@dataclass(frozen=True, slots=True)
class MeanSpeedups:
    """Geometric means of the speedup by equation (1) and of the measured one over some matrices."""

    matrices: int
    iterations: float
    measured: float


def forecasts(data: StudyData) -> dict[Place, tuple[Forecast, ...]]:
    """Return the matrices with times of both kernels and a known n_iter, by (device, cache)."""
    by_place: dict[Place, list[Forecast]] = {}
    for (matrix_id, device, cache), group in group_by_facet(of_matrices(data.measurements)).items():
        timed = {m.kernel: m for m in group if m.state == "ok" and m.median_s}
        if ELLR in timed and PELLR in timed:
            is_busy = bool(rank(without_duplicates(group)).busy)
            forecast = _forecast(data.matrix(matrix_id), timed[ELLR], timed[PELLR], is_busy)
            if forecast is not None:
                by_place.setdefault((device, cache), []).append(forecast)
    return {place: tuple(members) for place, members in by_place.items()}


def iterations_saved(matrix: MatrixFeatures) -> float | None:
    """Return n_iter of ELLR / n_iter of PELLR; None if unknown or the matrix is empty."""
    given, permuted = (matrix.stored.get(f"n_iter_{name}") for name in ("ellr", "pellr"))
    return given / permuted if given and permuted else None


def resident_warps(m: Measurement) -> int | None:
    """Return the number of warps that the GPU of a measurement holds at once; None if its model is unknown."""
    gpu = gpu_named(m.environment.get("device", ""))
    return gpu.resident_warps if gpu else None


def steps(work: Work, resident: int) -> float:
    """Return the sequential warp iterations with `resident` warps at once: those of the longest row, and the others.

    The bound of list scheduling (Graham, 1966). A sector of x counts as the slots that fill it. No parameter is
    fitted to times.
    """
    return work.longest + (work.slots + SLOTS_OF_A_SECTOR * work.sectors) / (WARP * resident)


def correlation_of_logs(pairs: Iterable[tuple[float | None, float]]) -> float | None:
    """Return Pearson's correlation of log(predicted) and log(measured); None for under 3 pairs or constant ones."""
    logs = [(math.log(predicted), math.log(measured)) for predicted, measured in pairs if predicted]
    if len(logs) < 3:
        return None
    try:
        return correlation(*zip(*logs, strict=True))
    except StatisticsError:
        return None


def correlations(every: Sequence[Forecast]) -> tuple[float | None, float | None]:
    """Return the correlations of equation (1) and of `steps` with the measured speedup, without noisy timings."""
    quiet = [each for each in every if not each.busy]
    return (
        correlation_of_logs((each.iterations, each.measured) for each in quiet),
        correlation_of_logs((each.steps, each.measured) for each in quiet),
    )


def mean_speedups(every: Iterable[Forecast], runs_at_once: bool) -> MeanSpeedups | None:
    """Return the means over the matrices whose warps run at once, or over those with more; None without any.

    If equation (1) decided, both groups would reach its speedup. Noisy timings do not count.
    """
    of_group = [each for each in every if each.runs_at_once is runs_at_once and not each.busy]
    if not of_group:
        return None
    means = (geometric_mean(map(value, of_group)) for value in (attrgetter("iterations"), attrgetter("measured")))
    return MeanSpeedups(len(of_group), *means)


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
