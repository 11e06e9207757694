"""Evaluation and calibration of the performance model with measured times."""

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpu_engine.advisor import CLOSE, Calibration, can_advise, is_sure, rank
from gpu_engine.advisor.gpus import FITTED, Gpu
from gpu_engine.advisor.model import MODELS, Prediction, predict
from gpu_engine.advisor.work import Features
from gpu_engine.records import Cache, Measurement

WITHIN = 1.10

DOUBT = 3.0
"""Weight of the fitted costs in a calibration, as a number of matrices."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The predicted kernel of one matrix, compared with the fastest measured kernel.

    regret       measured time of the predicted kernel over the time of the fastest
    sure         whether the confidence was high
    predicted_s  predicted seconds of the predicted kernel; advised_s and fastest_s: measured seconds
    """

    matrix_id: str
    device: str
    cache: Cache
    advised: str
    fastest: str
    predicted_s: float
    advised_s: float
    fastest_s: float
    sure: bool

    @property
    def regret(self) -> float:
        """Slowdown of the predicted kernel; 1 if it is the fastest."""
        return self.advised_s / self.fastest_s


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All outcomes, the worst first; library kernels do not take part."""

    outcomes: tuple[Outcome, ...]

    @property
    def share_within_10_percent(self) -> float:
        """Share of the outcomes with a regret of at most WITHIN; NaN without outcomes."""
        return sum(v.regret <= WITHIN for v in self.outcomes) / len(self.outcomes) if self.outcomes else math.nan

    @property
    def geometric_mean_regret(self) -> float:
        """Geometric mean of the regret; NaN without outcomes."""
        return _geometric_mean(v.regret for v in self.outcomes)

    def where(self, *, sure: bool) -> "Evaluation":
        """Return the outcomes with high confidence, or with low confidence."""
        return Evaluation(tuple(v for v in self.outcomes if v.sure is sure))

    @property
    def worst(self) -> Outcome | None:
        """Outcome with the largest regret."""
        return self.outcomes[0] if self.outcomes else None


def evaluate(
    measurements: Iterable[Measurement],
    features: Mapping[str, Features],
    gpu: Gpu = FITTED,
    calibration: Calibration | None = None,
) -> Evaluation:
    """Return the outcome of the first measured kernel in the ranking, per matrix, device, and cache state.

    features  matrix id → features; matrices with missing features are ignored
    """
    outcomes = [
        _outcome(
            case,
            times,
            rank(features[case[0]], gpu, case[2], calibration),
            is_sure(features[case[0]], gpu, calibration),
        )
        for case, times in _by_case(measurements, features).items()
    ]
    return Evaluation(tuple(sorted((v for v in outcomes if v is not None), key=lambda v: (-v.regret, v.matrix_id))))


def calibrate(
    measurements: Iterable[Measurement], features: Mapping[str, Features], gpu: Gpu = FITTED
) -> dict[str, float]:
    """Return measured over predicted time per kernel, from the measurements of one device.

    Per matrix only the kernels near the fastest count, because errors for slow kernels say nothing about them.
    The common factor belongs to the device; the deviation of a kernel from it is weighted by the number of matrices.
    A few different matrices are sufficient.
    """
    common: list[float] = []
    deviations: dict[str, list[float]] = {}
    for (matrix_id, _, cache), times in _by_case(measurements, features).items():
        ratios = _ratios_of_choices(times, features[matrix_id], gpu, cache)
        middle = statistics.median(ratios.values())
        common.append(middle)
        for kernel, ratio in ratios.items():
            deviations.setdefault(kernel, []).append(ratio - middle)
    of_device = statistics.median(common) if common else 0.0
    damped = {kernel: sum(values) / (len(values) + DOUBT) for kernel, values in deviations.items()}
    return {kernel: math.exp(of_device + damped.get(kernel, 0.0)) for kernel in MODELS}


def _ratios_of_choices(times: Mapping[str, float], features: Features, gpu: Gpu, cache: Cache) -> dict[str, float]:
    """Return log(measured / predicted) of the kernels that were measured or predicted within CLOSE of the fastest."""
    predicted = {kernel: predict(kernel, features, gpu, cache).seconds for kernel in times}
    limits = CLOSE * min(times.values()), CLOSE * min(predicted.values())
    return {
        kernel: math.log(seconds / predicted[kernel])
        for kernel, seconds in times.items()
        if seconds <= limits[0] or predicted[kernel] <= limits[1]
    }


def _by_case(
    measurements: Iterable[Measurement], features: Mapping[str, Features]
) -> dict[tuple[str, str, Cache], dict[str, float]]:
    """Return (matrix, device, cache state) → kernel → seconds."""
    cases: dict[tuple[str, str, Cache], dict[str, float]] = {}
    for m, seconds in _timed(measurements, features):
        cases.setdefault((m.matrix_id, m.device, m.cache), {})[m.kernel] = seconds
    return cases


def _timed(
    measurements: Iterable[Measurement], features: Mapping[str, Features]
) -> Iterable[tuple[Measurement, float]]:
    """Yield the timed measurements of kernels and matrices with predictions."""
    advisable = {matrix_id for matrix_id, values in features.items() if can_advise(values)}
    for m in measurements:
        if m.median_s is not None and m.kernel in MODELS and m.matrix_id in advisable:
            yield m, m.median_s


def _outcome(
    case: tuple[str, str, Cache], times: Mapping[str, float], ranked: Iterable[tuple[str, Prediction]], sure: bool
) -> Outcome | None:
    """Return the outcome of a case; None if no measured kernel is in the ranking."""
    first = next(((kernel, prediction) for kernel, prediction in ranked if kernel in times), None)
    if first is None:
        return None
    advised, fastest = first[0], min(times, key=lambda kernel: times[kernel])
    return Outcome(*case, advised, fastest, first[1].seconds, times[advised], times[fastest], sure)


def _geometric_mean(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan
