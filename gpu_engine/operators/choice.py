"""Choice of the kernel of an operator: by name, from the results of a job, or by the performance model."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpu_engine import advisor
from gpu_engine.advisor import reasons
from gpu_engine.advisor.gpus import FITTED, gpu_named
from gpu_engine.advisor.model import MODELS, predict
from gpu_engine.advisor.work import Features
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.formats import find_kernel, kernel_names
from gpu_engine.matrices.features import product_features
from gpu_engine.records import DeviceInfo, backend_of

SHARED = "csc/atomic"
"""Kernel for an SpMV across the storage order: the CSC of a matrix is the CSR of its transpose."""

UNPREDICTED = "csr/smart"
"""Kernel without a prediction: it needs no conversion of CSR."""

DIVERSE_KERNELS = ("split/tile", "coo/segmented", "csr/smart", "sellp/t1")
"""Kernels that divide the work in different ways, so that errors of the model rarely affect all of them."""

PREDICTED_FIRST = 3
"""Number of predicted kernels that an auto-tuning run tries before the DIVERSE_KERNELS."""

SLOWDOWN_MAX = 4.0
"""Predicted slowdown above which a kernel is not tried."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A chosen kernel, with the reason and times of one SpMV.

    predicted_s  predicted seconds (warm); measured_s: seconds from an auto-tuning run or a job
    shared_s     seconds of SHARED on the same matrix, predicted or measured; None if unknown
    """

    kernel: str
    reason: str
    predicted_s: float | None = None
    measured_s: float | None = None
    shared_s: float | None = None

    @property
    def product_s(self) -> float | None:
        """Measured seconds of one SpMV, or else predicted seconds."""
        return self.predicted_s if self.measured_s is None else self.measured_s


def named_kernel(kernel: str, backend: str) -> Choice:
    """Return the choice of a named kernel; raises ParameterError if it does not run on the back end."""
    if not find_kernel(kernel)[1].runs_on(backend):
        known = ", ".join(kernel_names(backend))
        raise ParameterError(f"The matrix lies on {backend}, where {kernel} does not run. Choose one of: {known}.")
    return Choice(kernel, "requested by the caller")


def predicted_kernel(matrix: CsrMatrix, device: DeviceInfo) -> Choice:
    """Return the predicted kernel of a host matrix whose SpMV runs on a device; for CPUs, the default kernel."""
    if device.backend == "cpu":
        return Choice(
            UNPREDICTED,
            "default for CPUs (no conversion needed); use choose='measure' to benchmark alternatives",
        )
    features = product_features(matrix)
    if not advisor.can_advise(features):
        return Choice(UNPREDICTED, "default for a matrix without nonzeros")
    return _first(features, device)


def confident_kernel(matrix: CsrMatrix, device: DeviceInfo) -> Choice | None:
    """Return the predicted kernel for a GPU, or None if the confidence is low."""
    features, gpu = product_features(matrix), gpu_named(device.name)
    if gpu is None or not gpu.is_judged or not advisor.is_sure(features, gpu):
        return None
    return _first(features, device)


def _first(features: Features, device: DeviceInfo) -> Choice:
    model = gpu_named(device.name)
    gpu = model or FITTED
    kernel, prediction = advisor.rank(features, gpu)[0]
    text = reasons.reason(MODELS[kernel][0](features), prediction, features)
    where = f"predicted the fastest on {gpu.name}" + ("" if model else f" (there is no model of {device.name})")
    is_sure = model is not None and gpu.is_judged and advisor.is_sure(features, gpu)
    doubt = "" if is_sure else "; low confidence, as the model was calibrated on other matrices: use choose='measure'"
    why = f"{where}: {text[0].lower()}{text[1:].rstrip('.')}{doubt}"
    return Choice(kernel, why, prediction.seconds, shared_s=predict(SHARED, features, gpu).seconds)


def candidates(matrix: CsrMatrix, device: DeviceInfo) -> tuple[str, ...]:
    """Return the kernels for an auto-tuning run, most promising first; on a CPU in the order of FORMATS.

    The PREDICTED_FIRST fastest predictions are followed by the DIVERSE_KERNELS below the limit, then by one kernel per
    further format, because predictions for kernels of one format have similar errors.
    """
    available = kernel_names(device.backend)
    if device.backend == "cpu":
        return available
    ranking = advisor.rank(product_features(matrix), gpu_named(device.name) or FITTED)
    limit = SLOWDOWN_MAX * ranking[0][1].seconds
    near = [kernel for kernel, prediction in ranking if kernel in available and prediction.seconds <= limit]
    diverse = [kernel for kernel in near if kernel in DIVERSE_KERNELS]
    of_formats = {kernel.partition("/")[0]: kernel for kernel in reversed(near)}
    one_per_format = [kernel for kernel in near if kernel in of_formats.values()]
    return tuple(dict.fromkeys((*near[:PREDICTED_FIRST], *diverse, *one_per_format, *near)))


def kernel_from_results(results: Mapping[str, Any], backend: str) -> Choice:
    """Return the fastest Sparsight kernel in a results document of the study `formats`; warm times take precedence.

    Raises ParameterError if the document has no time for this back end, or times of several matrices.
    """
    measurements = [m for m in results.get("measurements", ()) if _is_usable(m, backend)]
    matrices = sorted({str(m["matrix_id"]) for m in measurements})
    if len(matrices) != 1:
        content = (
            f"times of {len(matrices)} matrices ({', '.join(matrices)})"
            if measurements
            else "no time of a Sparsight kernel"
        )
        raise ParameterError(
            f"The results in `like` have {content} on {backend}; expected the study formats on one matrix, such as "
            "client.results(job_id)."
        )
    warm = [m for m in measurements if m["cache"] == "warm"] or measurements
    best = min(warm, key=lambda m: float(m["median_s"]))
    fastest = {f["kernel"] for f in results.get("summary", {}).get("fastest", ()) if f["cache"] == best["cache"]}
    rank = "fastest kernel" if best["kernel"] in fastest else "fastest Sparsight kernel (no clear winner overall)"
    return Choice(best["kernel"], f"{rank} in the results of {best['matrix_id']}", measured_s=float(best["median_s"]))


def _is_usable(measurement: Mapping[str, Any], backend: str) -> bool:
    """Return whether a measurement has a time of a Sparsight kernel on this back end."""
    return (
        measurement["study"] == "formats"
        and measurement["median_s"] is not None
        and backend_of(measurement) == backend
        and measurement["kernel"] in kernel_names(backend)
    )
