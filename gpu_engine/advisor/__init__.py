"""The advisor: predicts the best kernels of a matrix from its features, with times and reasons.

It measures nothing. `model.py` has the formula and its costs, `work.py` the work of each kernel, `gpus.py` the GPUs,
`sureness.py` the limits of high confidence.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gpu_engine.advisor import reasons
from gpu_engine.advisor.gpus import FITTED, GPUS, Gpu
from gpu_engine.advisor.model import MODELS, Prediction, predict
from gpu_engine.advisor.sureness import UNSTEADY, is_familiar
from gpu_engine.advisor.work import Features
from gpu_engine.records import Cache

NEEDED = (
    "n_rows",
    "n_cols",
    "nnz",
    "ave",
    "sigma",
    "max",
    "distinct_values",
    "float_values",
    "n_iter_ellr",
    "n_iter_pellr",
    "n_iter_sorted",
    "narrow_runs",
    "narrow_slices",
    "sectors_run",
    "sectors_slice",
)
"""Features that a prediction needs."""

ADVISED = 5
EQUAL = 1.03
"""Factor within which predictions count as tied."""

CLOSE = 1.2
"""Factor of the fastest prediction within which kernels are near-best."""

REMEMBERED = 1024
"""Number of matrices whose predictions are cached, for lists of matrices."""

FILLED = 0.8
"""Maximum share of GPU memory that a layout may use."""

Calibration = Mapping[str, float]
"""Kernel → measured over predicted time on one device, from `evaluation.calibrate`."""


@dataclass(frozen=True, slots=True)
class Advice:
    """A predicted kernel.

    predicted_s  GPU model → warm seconds per SpMV; None if the layout does not fit into its memory
    equal        whether the prediction is within EQUAL of the fastest
    cold_place   rank for cold caches, from 1
    reason       one sentence
    """

    kernel: str
    predicted_s: Mapping[str, float | None]
    equal: bool
    cold_place: int
    reason: str


def can_advise(features: Features) -> bool:
    """Return whether all needed features are known and the matrix has nonzeros."""
    return all(features.get(name) is not None for name in NEEDED) and features["nnz"] > 0


def advise(
    features: Features, gpu: Gpu = FITTED, calibration: Calibration | None = None, also: Sequence[str] = ()
) -> tuple[Advice, ...]:
    """Return the ADVISED fastest kernels for warm SpMVs on `gpu`, and those of `also`; empty without features."""
    if not can_advise(features):
        return ()
    return _advise(_needed(features), gpu, tuple(sorted((calibration or {}).items())), tuple(also))


def stored_bytes(kernel: str, features: Features) -> float:
    """Return the predicted bytes of the layout of a kernel; requires the features of NEEDED."""
    return MODELS[kernel][0](features).stored_bytes


def near_best(
    features: Features, gpu: Gpu = FITTED, cache: Cache = "warm", calibration: Calibration | None = None
) -> tuple[str, ...]:
    """Return the near-best kernels, within CLOSE of the fastest prediction; empty if features are missing."""
    if not can_advise(features):
        return ()
    ranked = rank(features, gpu, cache, calibration)
    return tuple(kernel for kernel, prediction in ranked if prediction.seconds <= CLOSE * ranked[0][1].seconds)


def is_sure(features: Features, gpu: Gpu = FITTED, calibration: Calibration | None = None) -> bool:
    """Return whether the confidence in the predicted kernel for warm SpMVs on `gpu` is high.

    The matrix must resemble those of the calibration, and features must determine the time of the kernel.
    """
    if not can_advise(features) or not is_familiar(features):
        return False
    return rank(features, gpu, "warm", calibration)[0][0] not in UNSTEADY


def _needed(features: Features) -> tuple[Any, ...]:
    """Return the needed features of a matrix, in the order of NEEDED."""
    return tuple(features[name] for name in NEEDED)


@lru_cache(maxsize=REMEMBERED)
def _advise(
    needed: tuple[Any, ...], gpu: Gpu, factors: tuple[tuple[str, float], ...], also: tuple[str, ...]
) -> tuple[Advice, ...]:
    features, calibration = dict(zip(NEEDED, needed, strict=True)), dict(factors)
    ranked = rank(features, gpu, "warm", calibration)
    cold = [kernel for kernel, _ in rank(features, gpu, "cold", calibration)]
    return tuple(
        Advice(
            kernel,
            {model.name: _seconds(kernel, features, model, calibration if model == gpu else {}) for model in GPUS},
            prediction.seconds <= EQUAL * ranked[0][1].seconds,
            cold.index(kernel) + 1,
            reasons.reason(MODELS[kernel][0](features), prediction, features),
        )
        for place, (kernel, prediction) in enumerate(ranked)
        if place < ADVISED or kernel in also
    )


def rank(
    features: Features, gpu: Gpu = FITTED, cache: Cache = "warm", calibration: Calibration | None = None
) -> list[tuple[str, Prediction]]:
    """Return all kernels whose layout fits the GPU, the fastest first; requires the features of NEEDED."""
    predicted = _predictions(_needed(features), gpu, cache)
    ranking = [(kernel, _calibrated(kernel, prediction, calibration)) for kernel, prediction in predicted]
    return sorted(ranking, key=lambda entry: entry[1].seconds)


@lru_cache(maxsize=REMEMBERED)
def _predictions(needed: tuple[Any, ...], gpu: Gpu, cache: Cache) -> tuple[tuple[str, Prediction], ...]:
    features = dict(zip(NEEDED, needed, strict=True))
    fitting = (kernel for kernel in MODELS if _fits(kernel, features, gpu))
    return tuple((kernel, predict(kernel, features, gpu, cache)) for kernel in fitting)


def _fits(kernel: str, features: Features, gpu: Gpu) -> bool:
    return MODELS[kernel][0](features).stored_bytes <= FILLED * gpu.memory_bytes


def _calibrated(kernel: str, prediction: Prediction, calibration: Calibration | None) -> Prediction:
    if not calibration:
        return prediction
    return dataclasses.replace(prediction, seconds=prediction.seconds * calibration.get(kernel, 1.0))


def _seconds(kernel: str, features: Features, gpu: Gpu, calibration: Calibration) -> float | None:
    if not _fits(kernel, features, gpu):
        return None
    return _calibrated(kernel, predict(kernel, features, gpu), calibration).seconds
