"""Study: the contract between a question about matrices and whoever runs it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import Finding
from gpu_engine.measure import Bench
from gpu_engine.records import Backend, Case, Details, DeviceInfo, MatrixInfo, Record


class Study(Protocol):
    """A question, its parameters and the measurements that answer it.

    A study neither prints nor stores nor reads the environment: matrices, device and stopwatch are handed in.
    """

    name: str
    question: str
    several: bool
    """Whether several GPUs may measure it together."""
    backends: tuple[Backend, ...]
    """What has kernels for it: a CPU, GPUs, or both."""
    Params: type[Any]
    """Frozen dataclass, a default for every field, its metadata (gpu_engine/parameters.py) gives the JSON Schema.

    `rounds`, `sampling` and `time_limit_s` are among them: `Effort.of` (sampling/effort.py) reads the last two.
    """

    @property
    def details(self) -> type[Details]:
        """What only its measurements say."""
        ...

    def findings(self, data: StudyData) -> tuple[Finding, ...]:
        """What its measurements allow to say: a pure function, a finding for what was sampled together."""
        ...

    def names(self, backend: str) -> Mapping[str, tuple[str, ...]]:
        """What its parameters of names take on a backend: parameter → every name."""
        ...

    def refusal(self, matrix: MatrixInfo) -> str:
        """Why none of its cases of a matrix can have a time, in words; empty where some may."""
        ...

    def cases(self, params: Any, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> Iterator[Case]:
        """Every case, in a fixed order: pure, so that the total and what a resumed job owes are known.

        Cases are made as they are asked for: whoever counts them can stop. Errors are raised before the first.
        """
        ...

    def estimate_s(self, params: Any, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> float:
        """Expected seconds for all cases."""
        ...

    def run(
        self, params: Any, todo: Sequence[Case], matrices: Mapping[str, CsrMatrix], bench: Bench
    ) -> Iterator[Record]:
        """Measures the cases of `todo`, yielding one Measurement for each; a wrong kernel is a failed Measurement.

        A Measurement closes its case: a Trace of the case comes before it, so that both commit together.
        """
        ...


def check_device(study: Study, device: DeviceInfo) -> None:
    """Raises ParameterError for a device that has no kernels of the study, and for several that it cannot share."""
    if device.backend not in study.backends:
        here, other = ("a CPU", "GPUs") if device.backend == "cpu" else ("a GPU", "CPUs")
        raise ParameterError(
            f"{device.id} is {here}, and the study {study.name} has kernels for {other} alone. "
            f"Choose a {other.removesuffix('s')}, or auto."
        )
    if device.is_several and not study.several:
        together = (
            f"{sum(device.hosts)} devices of {len(device.hosts)} hosts"
            if device.hosts
            else (f"{len(device.uuids)} GPUs")
        )
        raise ParameterError(
            f"{device.id} is {together} together, and the study {study.name} measures one. Choose one of them, or auto."
        )
