"""Which kernel an operator multiplies by: named, taken from a job's results, or what the advisor predicts."""

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
"""The kernel that multiplies across the order in which a matrix is stored: its CSC is the CSR of the transpose."""

UNPREDICTED = "csr/smart"
"""The kernel where nothing is predicted: it takes the arrays of the matrix as they are."""

UNLIKE = ("split/tile", "coo/segmented", "csr/smart", "sellp/t1")
"""Kernels that share rows and entries out in ways unlike each other: where one errs, another is right."""

LEADERS = 3
"""First kernels of the ranking that a trial tries before those of UNLIKE."""

HOPELESS = 4.0
"""Kernels predicted to take so many times as long as the first are not tried."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A kernel and why.

    predicted_s  warm seconds of a product by the advisor; measured_s  by a trial or a job
    shared_s     seconds of SHARED on the same matrix, predicted or measured; None where unknown
    """

    kernel: str
    reason: str
    predicted_s: float | None = None
    measured_s: float | None = None
    shared_s: float | None = None

    @property
    def product_s(self) -> float | None:
        """Measured seconds of a product, else predicted ones."""
        return self.predicted_s if self.measured_s is None else self.measured_s


def named(kernel: str, backend: str) -> Choice:
    """A kernel by its name; raises ParameterError where it does not exist on the backend."""
    if not find_kernel(kernel)[1].runs_on(backend):
        known = ", ".join(kernel_names(backend))
        raise ParameterError(f"The kernel {kernel} does not exist on {backend}, where the matrix lies; there: {known}.")
    return Choice(kernel, "named by the caller")


def predicted(matrix: CsrMatrix, device: DeviceInfo) -> Choice:
    """What the advisor puts first for a host matrix whose products run on that device; CPUs are not predicted."""
    if device.backend == "cpu":
        return Choice(
            UNPREDICTED,
            "the advisor predicts GPUs alone, and this kernel takes the arrays as they are; choose='measure' tries",
        )
    features = product_features(matrix)
    if not advisor.can_advise(features):
        return Choice(UNPREDICTED, "the matrix has no entries")
    return _first(features, device)


def certain(matrix: CsrMatrix, device: DeviceInfo) -> Choice | None:
    """Return what the advisor puts first on a GPU, or None where it is not sure that this is among the fastest."""
    features, gpu = product_features(matrix), gpu_named(device.name)
    if gpu is None or not gpu.is_judged or not advisor.is_sure(features, gpu):
        return None
    return _first(features, device)


def _first(features: Features, device: DeviceInfo) -> Choice:
    model = gpu_named(device.name)
    gpu = model or FITTED
    kernel, prediction = advisor.rank(features, gpu)[0]
    text = reasons.reason(MODELS[kernel][0](features), prediction, features)
    where = f"predicted the fastest on {gpu.name}" + ("" if model else f", for want of a model of {device.name}")
    is_sure = model is not None and gpu.is_judged and advisor.is_sure(features, gpu)
    doubt = "" if is_sure else "; the costs were fitted to other matrices: choose='measure' decides"
    why = f"{where}: {text[0].lower()}{text[1:].rstrip('.')}{doubt}"
    return Choice(kernel, why, prediction.seconds, shared_s=predict(SHARED, features, gpu).seconds)


def candidates(matrix: CsrMatrix, device: DeviceInfo) -> tuple[str, ...]:
    """The kernels that a trial tries, the most promising first: by the advisor, on a CPU in the order of FORMATS.

    The first of the ranking are followed by those of UNLIKE that may be near them, then by one kernel of each further
    format: kernels of a format err together.
    """
    available = kernel_names(device.backend)
    if device.backend == "cpu":
        return available
    ranking = advisor.rank(product_features(matrix), gpu_named(device.name) or FITTED)
    limit = HOPELESS * ranking[0][1].seconds
    near = [kernel for kernel, prediction in ranking if kernel in available and prediction.seconds <= limit]
    unlike = [kernel for kernel in near if kernel in UNLIKE]
    of_formats = {kernel.partition("/")[0]: kernel for kernel in reversed(near)}
    one_a_format = [kernel for kernel in near if kernel in of_formats.values()]
    return tuple(dict.fromkeys((*near[:LEADERS], *unlike, *one_a_format, *near)))


def like(results: Mapping[str, Any], backend: str) -> Choice:
    """The fastest of our kernels in a results document of the study `formats`, warm where it was measured warm.

    Raises ParameterError where the document has no time of one on this backend, or times of several matrices.
    """
    found = [m for m in results.get("measurements", ()) if _is_ours(m, backend)]
    matrices = sorted({str(m["matrix_id"]) for m in found})
    if len(matrices) != 1:
        what = f"times of {len(matrices)} matrices, {', '.join(matrices)}," if found else "no time of a kernel of ours"
        raise ParameterError(
            f"`like` has {what} on {backend}; the results of the study formats on one matrix there were expected: "
            "client.results(job_id)."
        )
    warm = [m for m in found if m["cache"] == "warm"] or found
    best = min(warm, key=lambda m: float(m["median_s"]))
    leaders = {f["kernel"] for f in results.get("summary", {}).get("fastest", ()) if f["cache"] == best["cache"]}
    said = "the fastest" if best["kernel"] in leaders else "the fastest of ours, though not clearly of all,"
    return Choice(best["kernel"], f"{said} in the results of {best['matrix_id']}", measured_s=float(best["median_s"]))


def _is_ours(measurement: Mapping[str, Any], backend: str) -> bool:
    """Whether it has the time of a product by a kernel that this backend has, measured on that backend."""
    return (
        measurement["study"] == "formats"
        and measurement["median_s"] is not None
        and backend_of(measurement) == backend
        and measurement["kernel"] in kernel_names(backend)
    )
