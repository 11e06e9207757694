"""`python -m tools.advisor_fit KERNEL…`: fit costs of the performance model to published times, and print them.

Least squares of log(predicted / measured) over all matrices except those of the evaluation, on all recorded GPUs.
"""

import argparse
import dataclasses
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
from scipy.optimize import least_squares

from gpu_engine.advisor import can_advise, model
from gpu_engine.advisor.evaluation import calibrate
from gpu_engine.advisor.gpus import GPUS, Gpu
from gpu_engine.advisor.model import MODELS, Costs
from gpu_engine.advisor.work import Features
from gpu_engine.gpu_bench.benchmark_matrices import SUBJECTS
from gpu_engine.recordings import files as recordings
from gpu_engine.records import Cache

EVALUATION_GROUPS = ("collection", "held out")
"""Groups of matrices that evaluate the advisor; no cost is fitted to them."""

PRIOR = 0.1
"""Weight of the former costs: a change by a factor of e counts like a time that is wrong by this."""

COSTS = tuple(field.name for field in dataclasses.fields(Costs))

CLOSE = 1.5
"""Only times within this factor of the fastest of their matrix count, because others are never chosen."""


@dataclass(frozen=True, slots=True)
class Time:
    """A measured time of a kernel, and the inputs of its prediction."""

    kernel: str
    features: Features
    gpu: Gpu
    cache: Cache
    seconds: float


def times(devices: Sequence[str], kernels: Sequence[str]) -> Iterator[Time]:
    """Yield the times of these kernels in the recordings of formats that are near the fastest of their matrix."""
    for device in devices:
        recording = recordings.read(recordings.RECORDED / device / "formats.json.gz")
        gpu, features = dataclasses.replace(_gpu(recording.device.name), factors={}), _features(recording)
        seconds_by_case: dict[tuple[str, Cache], dict[str, float]] = {}
        for m in recording.measurements:
            if m.median_s is not None and m.kernel in MODELS and m.matrix_id in features:
                seconds_by_case.setdefault((m.matrix_id, m.cache), {})[m.kernel] = m.median_s
        for (matrix_id, cache), seconds in seconds_by_case.items():
            limit = CLOSE * min(seconds.values())
            for kernel in kernels:
                if seconds.get(kernel, math.inf) <= limit:
                    yield Time(kernel, features[matrix_id], gpu, cache, seconds[kernel])


@dataclass(frozen=True, slots=True)
class Fit:
    """Quantities to fit: the costs of kernels, and constants of `model.py` by name."""

    kernels: Sequence[str]
    constants: Sequence[str]

    @property
    def start(self) -> Any:
        """Return the logarithms of the current values."""
        costs = (getattr(MODELS[kernel][1], cost) for kernel in self.kernels for cost in COSTS)
        return np.log([*costs, *(getattr(model, name) for name in self.constants)])

    def of(self, logs: Any) -> dict[str, Any]:
        """Return the values by name: a Costs for each kernel, and the constants."""
        each = iter(np.exp(logs).tolist())
        costs = {kernel: Costs(*(next(each) for _ in COSTS)) for kernel in self.kernels}
        return costs | {name: next(each) for name in self.constants}

    def differences(self, logs: Any, measured: Sequence[Time]) -> list[float]:
        """Return the logarithms of predicted over measured time."""
        chosen = self.of(logs)
        models = {kernel: (MODELS[kernel][0], chosen[kernel]) for kernel in self.kernels}
        with mock.patch.multiple(model, MODELS={**MODELS, **models}, **{name: chosen[name] for name in self.constants}):
            errors = [
                math.log(model.predict(t.kernel, t.features, t.gpu, t.cache).seconds / t.seconds) for t in measured
            ]
        return [*errors, *(PRIOR * (logs - self.start))]


def factors(device: str) -> dict[str, float]:
    """Return measured over predicted time by kernel on a GPU without fitted costs, over the same matrices."""
    recording = recordings.read(recordings.RECORDED / device / "formats.json.gz")
    gpu = dataclasses.replace(_gpu(recording.device.name), factors={})
    return calibrate(recording.measurements, _features(recording), gpu)


def _gpu(device_name: str) -> Gpu:
    return next(gpu for gpu in GPUS if gpu.name.partition("-")[0] in device_name)


def _features(recording: recordings.Recording) -> dict[str, Features]:
    """Return the features of all matrices except those of the evaluation."""
    excluded = {subject.name for subject in SUBJECTS if subject.group in EVALUATION_GROUPS}
    return {m.id: m.features for m in recording.matrices if m.id not in excluded and can_advise(m.features)}


def main() -> None:
    """Fit, and print the values."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernel", nargs="*", metavar="KERNEL", help="such as split/tile packed/tile")
    parser.add_argument("--factors", metavar="DEVICE", help="print the factors of a GPU for advisor/gpus.py instead")
    parser.add_argument(
        "--constants", nargs="*", default=(), help="constants of advisor/model.py to fit, such as LONG_S"
    )
    parser.add_argument(
        "--devices", nargs="+", default=("h200", "h100"), help="devices whose recordings are used; default both"
    )
    arguments = parser.parse_args()
    if arguments.factors:
        lines = (f'    "{kernel}": {factor:.2f},' for kernel, factor in factors(arguments.factors).items())
        sys.stdout.write("\n".join(lines) + "\n")
        return
    chosen, measured = Fit(arguments.kernel, arguments.constants), list(times(arguments.devices, arguments.kernel))
    best = least_squares(chosen.differences, chosen.start, args=(measured,))
    for name, value in chosen.of(best.x).items():
        numbers = dataclasses.astuple(value) if isinstance(value, Costs) else (value,)
        sys.stdout.write(f"{name}: {', '.join(f'{number:.2g}' for number in numbers)}\n")
    errors = best.fun[: len(measured)]
    sys.stdout.write(f"median error of {len(measured)} times: {np.median(abs(np.expm1(errors))):.1%}\n")


if __name__ == "__main__":
    main()
