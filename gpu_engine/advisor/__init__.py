"""The advisor: from the features of a matrix alone, which kernel to choose, how long it would take, and why.

It times nothing. `model.py` holds the formula and its costs, `work.py` what a kernel has to do, `gpus.py` the GPUs,
`sureness.py` of which matrices it is sure.
"""

import dataclasses
from collections.abc import Mapping
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
"""Features without which nothing is predicted."""

ADVISED = 5
EQUAL = 1.03
"""Predictions within this factor of each other are one choice."""

CLOSE = 1.2
"""Kernels predicted within this factor of the first are its near_best."""

REMEMBERED = 1024
"""Matrices whose advice is kept, for lists of them."""

FILLED = 0.8
"""A layout may take this share of a GPU's memory."""

Calibration = Mapping[str, float]
"""By kernel: measured over predicted time on a device, as `evaluation.calibrate` finds it; of no other device."""


@dataclass(frozen=True, slots=True)
class Advice:
    """A kernel to consider.

    predicted_s  warm seconds of a product by model of GPU; None where the layout does not fit its memory
    equal        predicted within EQUAL of the first choice
    cold_place   its place in the ranking for cold caches, from 1
    reason       one sentence
    """

    kernel: str
    predicted_s: Mapping[str, float | None]
    equal: bool
    cold_place: int
    reason: str


def can_advise(features: Features) -> bool:
    """Whether all features are there and the matrix has entries."""
    return all(features.get(name) is not None for name in NEEDED) and features["nnz"] > 0


def advise(features: Features, gpu: Gpu = FITTED, calibration: Calibration | None = None) -> tuple[Advice, ...]:
    """The ADVISED best kernels for warm products on `gpu`; none for features that cannot be advised on."""
    if not can_advise(features):
        return ()
    return _advise(_needed(features), gpu, tuple(sorted((calibration or {}).items())))


def near_best(
    features: Features, gpu: Gpu = FITTED, cache: Cache = "warm", calibration: Calibration | None = None
) -> tuple[str, ...]:
    """The kernels that are predicted within CLOSE of the first one, which stands among them; none without features."""
    if not can_advise(features):
        return ()
    ranked = rank(features, gpu, cache, calibration)
    return tuple(kernel for kernel, prediction in ranked if prediction.seconds <= CLOSE * ranked[0][1].seconds)


def is_sure(features: Features, gpu: Gpu = FITTED, calibration: Calibration | None = None) -> bool:
    """Return whether the first choice for warm products on `gpu` can be taken unmeasured.

    The matrix must be like those that the costs were fitted to, and the choice a kernel whose time features tell.
    """
    if not can_advise(features) or not is_familiar(features):
        return False
    return rank(features, gpu, "warm", calibration)[0][0] not in UNSTEADY


def _needed(features: Features) -> tuple[Any, ...]:
    """All that is asked of a matrix, in the order of NEEDED."""
    return tuple(features[name] for name in NEEDED)


@lru_cache(maxsize=REMEMBERED)
def _advise(needed: tuple[Any, ...], gpu: Gpu, factors: tuple[tuple[str, float], ...]) -> tuple[Advice, ...]:
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
        for kernel, prediction in ranked[:ADVISED]
    )


def rank(
    features: Features, gpu: Gpu = FITTED, cache: Cache = "warm", calibration: Calibration | None = None
) -> list[tuple[str, Prediction]]:
    """Every kernel whose layout fits the GPU, the fastest first; needs the features of NEEDED."""
    predicted = _predictions(_needed(features), gpu, cache)
    found = [(kernel, _calibrated(kernel, prediction, calibration)) for kernel, prediction in predicted]
    return sorted(found, key=lambda entry: entry[1].seconds)


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
