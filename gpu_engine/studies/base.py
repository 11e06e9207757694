"""Study: the interface of a benchmark of matrices, used by everything that runs one."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import Finding
from gpu_engine.measure import Bench
from gpu_engine.records import Backend, Case, Details, DeviceInfo, MatrixInfo, Record


class Study(Protocol):
    """A kind of benchmark: a question, its parameters and its cases.

    A study does not print, store, or read the environment; it gets matrices, device and stopwatch from the caller.
    """

    name: str
    question: str
    several: bool
    """True if several GPUs can measure it together."""
    backends: tuple[Backend, ...]
    """Backends that have kernels for it."""
    Params: type[Any]
    """Frozen dataclass with a default for every field; its metadata (gpu_engine/parameters.py) give the JSON Schema.

    It has `rounds`, `sampling` and `time_limit_s`; `SamplingOptions.of` reads the last two.
    """

    @property
    def details(self) -> type[Details]:
        """Class of the fields specific to the study."""
        ...

    def findings(self, data: StudyData) -> tuple[Finding, ...]:
        """Return one finding per comparison group of its measurements; a pure function."""
        ...

    def names(self, backend: str) -> Mapping[str, tuple[str, ...]]:
        """Return the names that its parameters accept on a backend: parameter → names."""
        ...

    def refusal(self, matrix: MatrixInfo) -> str:
        """Return why the study cannot measure a matrix; empty if it can."""
        ...

    def cases(self, params: Any, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> Iterator[Case]:
        """Yield every case in a fixed order; pure, so that the total and the rest of a resumed job are known.

        Cases are created lazily, so that a caller can stop counting. Errors are raised before the first case.
        """
        ...

    def estimate_s(self, params: Any, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> float:
        """Return the expected seconds for all cases."""
        ...

    def run(
        self, params: Any, todo: Sequence[Case], matrices: Mapping[str, CsrMatrix], bench: Bench
    ) -> Iterator[Record]:
        """Measure the cases of `todo` and yield one Measurement each; a wrong kernel yields a failed Measurement.

        The Trace of a case precedes its Measurement, so that both are committed together.
        """
        ...


def check_device(study: Study, device: DeviceInfo) -> None:
    """Raise ParameterError for a device without kernels of the study, and for several devices if it needs one."""
    if device.backend not in study.backends:
        here, other = ("a CPU", "GPUs") if device.backend == "cpu" else ("a GPU", "CPUs")
        raise ParameterError(
            f"{device.id} is {here}, but the study {study.name} has kernels only for {other}. "
            f"Choose a {other.removesuffix('s')}, or auto."
        )
    if device.is_several and not study.several:
        together = (
            f"{sum(device.hosts)} devices of {len(device.hosts)} hosts"
            if device.hosts
            else (f"{len(device.uuids)} GPUs")
        )
        raise ParameterError(
            f"{device.id} is {together} together, but the study {study.name} measures one. Choose one of them, or auto."
        )
