"""How good the advice is against measured times, and what measured times teach it."""

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
"""The costs as they were fitted count as much as so many matrices."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The first choice on one matrix, against the kernel that was fastest there.

    regret       measured time of the first choice over that of the fastest
    sure         whether the advisor said that it need not be measured
    predicted_s  of the first choice; advised_s and fastest_s were measured
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
        """1 where the fastest was chosen."""
        return self.advised_s / self.fastest_s


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All outcomes, the worst first; competitors are no choice and do not count."""

    outcomes: tuple[Outcome, ...]

    @property
    def share_within_10_percent(self) -> float:
        """Of the outcomes, those whose first choice is within WITHIN of the fastest; NaN where there are none."""
        return sum(v.regret <= WITHIN for v in self.outcomes) / len(self.outcomes) if self.outcomes else math.nan

    @property
    def geometric_mean_regret(self) -> float:
        """NaN where there are no outcomes."""
        return _geometric_mean(v.regret for v in self.outcomes)

    def where(self, *, sure: bool) -> "Evaluation":
        """The outcomes of which the advisor was sure, or those of which it was not."""
        return Evaluation(tuple(v for v in self.outcomes if v.sure is sure))

    @property
    def worst(self) -> Outcome | None:
        """The outcome with the largest regret."""
        return self.outcomes[0] if self.outcomes else None


def evaluate(
    measurements: Iterable[Measurement],
    features: Mapping[str, Features],
    gpu: Gpu = FITTED,
    calibration: Calibration | None = None,
) -> Evaluation:
    """The first choice among the kernels measured, for each matrix, device and cache state of these measurements.

    features  by matrix id; a matrix without, or with too few of them, is not judged
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
    """Measured over predicted time by kernel, from the measurements of one device.

    Of each matrix only the kernels count that may be the choice there: how wrong the time of a slow one is tells
    nothing of them. What they have in common is the device's; what a kernel differs from that by is its own, and counts
    the more the more matrices say so. A few matrices unlike each other are enough.
    """
    common: list[float] = []
    own: dict[str, list[float]] = {}
    for (matrix_id, _, cache), times in _by_case(measurements, features).items():
        ratios = _ratios_of_choices(times, features[matrix_id], gpu, cache)
        middle = statistics.median(ratios.values())
        common.append(middle)
        for kernel, ratio in ratios.items():
            own.setdefault(kernel, []).append(ratio - middle)
    of_device = statistics.median(common) if common else 0.0
    doubted = {kernel: sum(found) / (len(found) + DOUBT) for kernel, found in own.items()}
    return {kernel: math.exp(of_device + doubted.get(kernel, 0.0)) for kernel in MODELS}


def _ratios_of_choices(times: Mapping[str, float], features: Features, gpu: Gpu, cache: Cache) -> dict[str, float]:
    """Logarithms of measured over predicted time of the kernels measured, or predicted, within CLOSE of the first."""
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
    """(matrix, device, cache state) → kernel → seconds."""
    cases: dict[tuple[str, str, Cache], dict[str, float]] = {}
    for m, seconds in _timed(measurements, features):
        cases.setdefault((m.matrix_id, m.device, m.cache), {})[m.kernel] = seconds
    return cases


def _timed(
    measurements: Iterable[Measurement], features: Mapping[str, Features]
) -> Iterable[tuple[Measurement, float]]:
    """The measurements that have a time, of kernels and matrices that can be predicted."""
    advisable = {name for name, found in features.items() if can_advise(found)}
    for m in measurements:
        if m.median_s is not None and m.kernel in MODELS and m.matrix_id in advisable:
            yield m, m.median_s


def _outcome(
    case: tuple[str, str, Cache], times: Mapping[str, float], ranked: Iterable[tuple[str, Prediction]], sure: bool
) -> Outcome | None:
    """None where no kernel that was measured can be chosen."""
    first = next(((kernel, prediction) for kernel, prediction in ranked if kernel in times), None)
    if first is None:
        return None
    advised, fastest = first[0], min(times, key=lambda kernel: times[kernel])
    return Outcome(*case, advised, fastest, first[1].seconds, times[advised], times[fastest], sure)


def _geometric_mean(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan
