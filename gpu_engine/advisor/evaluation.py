"""How good the advice is against measured times, and what measured times teach it."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpu_engine.advisor import Calibration, can_advise, contenders, is_sure, rank
from gpu_engine.advisor.gpus import FITTED, Gpu
from gpu_engine.advisor.model import MODELS, Prediction, predict
from gpu_engine.advisor.work import Features
from gpu_engine.records import Cache, Measurement

WITHIN = 1.10


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
    cases: dict[tuple[str, str, Cache], dict[str, float]] = {}
    for m, seconds in _timed(measurements, features):
        cases.setdefault((m.matrix_id, m.device, m.cache), {})[m.kernel] = seconds
    outcomes = [
        _outcome(
            case,
            times,
            rank(features[case[0]], gpu, case[2], calibration),
            is_sure(contenders(features[case[0]], gpu, case[2], calibration)),
        )
        for case, times in cases.items()
    ]
    return Evaluation(tuple(sorted((v for v in outcomes if v is not None), key=lambda v: (-v.regret, v.matrix_id))))


def calibrate(
    measurements: Iterable[Measurement], features: Mapping[str, Features], gpu: Gpu = FITTED
) -> dict[str, float]:
    """Measured over predicted time by kernel: the geometric mean over the measurements of one device.

    A few matrices unlike each other are enough. Kernels that were not measured get the mean of all that were, so that
    a device slower than its published figures does not favour them.
    """
    ratios: dict[str, list[float]] = {}
    for m, seconds in _timed(measurements, features):
        predicted = predict(m.kernel, features[m.matrix_id], gpu, m.cache).seconds
        ratios.setdefault(m.kernel, []).append(seconds / predicted)
    known = {kernel: _geometric_mean(found) for kernel, found in ratios.items()}
    others = _geometric_mean(known.values()) if known else 1.0
    return {kernel: known.get(kernel, others) for kernel in MODELS}


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
