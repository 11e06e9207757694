"""ScalingExperiment: verifies the workloads of one matrix on groups of devices, and samples them in the same rounds."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache as once
from importlib import resources
from itertools import groupby
from typing import Any, ClassVar

from gpu_engine.competitors import cusparse_library
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource, digest
from gpu_engine.formats.base import check_room
from gpu_engine.measure import Bench, Rounds, Timing
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.device_group import ProductName, device_count, open_devices
from gpu_engine.multigpu.generated import GeneratedMatrix
from gpu_engine.multigpu.workload import Clock, Setting, Workload, WorkloadData
from gpu_engine.multigpu.workloads import WORKLOADS
from gpu_engine.records import Cache, Case, Details, described
from gpu_engine.sampling.experiment import Candidate, Experiment, Fields

ENTRY_BYTES = 16
"""Most bytes per nonzero of a partition: two indices and a value."""

VIRTUAL = "virtual devices: CPU threads stand in for GPUs; their times say nothing about GPUs"

SOURCES = (
    "gpu_engine.multigpu",
    "gpu_engine.multigpu.cluster",
    "gpu_engine.multigpu.from_host",
    "gpu_engine.formats",
    "gpu_engine.formats.csr",
    "gpu_engine.pagerank",
    "gpu_engine.solvers",
)
"""Packages of the kernels that a workload launches, and of the host code between them."""


@dataclass(frozen=True, slots=True)
class ScalingDetails(Details):
    """Fields specific to measurements of the study `scaling`.

    `roofline_s` is the roofline time of one device; that of all devices is `roofline_s` / `devices`.
    """

    study: ClassVar[str] = "scaling"

    partitioning: str = described("Partitioning: `pCSR`, `pCSC`, `pCOO` or `pCOO-columns`.", "")
    strategy: str = described("Strategy of a `cold` SpMV; empty for the other workloads.", "")
    devices: int | None = described("Number of devices.", None)
    nonzeros_by_device: tuple[int, ...] = described("Nonzeros per device.", ())
    exchanged_bytes: int | None = described("Bytes of vectors exchanged between devices per iteration.", None)
    phases_s: Mapping[str, float] = described(
        "Seconds by phase. `cold`: `partition`, `distribute`, `compute`, `merge`, and `packing`. Iterations: "
        "`compute`, `exchange`. Overlapping phases are timed separately, so their sum can exceed the median.",
        {},
    )
    phase_bytes: Mapping[str, int] = described(
        "Bytes that each phase of a `cold` SpMV must move.",
        {},
    )
    bounds_s: Mapping[str, float] = described(
        "Lower bound in seconds for these bytes, from measured copy, host read and device bandwidth.",
        {},
    )
    packing_s: float | None = described("Seconds of the one-time packing of `p*-prepacked`.", None)
    iterations: int | None = described(
        "Iterations of PageRank until γ < ε, or the maximum, or of CG until it has converged; times are those of an "
        "iteration.",
        None,
    )
    iterations_by_segments: tuple[int, ...] = described(
        "Iterations that wrote 1, 2 … segments; empty without segments.", ()
    )
    residual: float | None = described(
        "PageRank: ‖G(p) − p‖₁, with G one more iteration in extended precision. CG: ‖b − A·x‖ / ‖b‖.", None
    )
    mass_error: float | None = described("|‖p‖₁ − 1|.", None)

    @property
    def is_one_product(self) -> bool:
        """True for an SpMV on one device that is not an iteration of PageRank or CG."""
        return self.devices == 1 and self.iterations is None


@dataclass(frozen=True, slots=True)
class ScalingPlan:
    """Plan of the measurements of a matrix: the setting of each case.

    nodes  NUMA nodes over which virtual devices are spread
    """

    settings: Mapping[str, Setting]
    rounds: int
    nodes: int


class ScalingExperiment(Experiment):
    """Experiment with all workloads of one matrix; equal workloads with equal partitioning are sampled together."""

    details = ScalingDetails

    def __init__(
        self, plan: ScalingPlan, cases: Sequence[Case], matrix: CsrMatrix | GeneratedMatrix, bench: Bench
    ) -> None:
        super().__init__(cases, ("warm",), plan.rounds, bench)
        self.plan, self.matrix = plan, matrix

    def known(self, case: Case) -> Fields:
        """Return partitioning, strategy and number of devices, the fields of every record."""
        setting = self.plan.settings[case.key]
        return {"partitioning": setting.partitioning, "devices": setting.devices}

    def load(self) -> Sequence[Candidate]:
        """Load the matrix and the expected result; return the candidates, per kind first one with the most devices."""
        self.data = self._data()
        candidates = [self.candidate(case, self.plan.settings[case.key]) for case in self.cases]
        ordered: list[Candidate] = []
        for _, alike in groupby(candidates, lambda c: c.kind):
            group = list(alike)
            reference = max(group, key=lambda c: c.setting.devices)
            ordered += [reference, *(c for c in group if c is not reference)]
        return ordered

    def candidate(self, case: Case, setting: Setting) -> "ScalingCandidate":
        """Return the candidate of a setting on its device group."""
        return ScalingCandidate(self, case, setting)

    @contextmanager
    def group(self) -> Iterator[None]:
        """Keep the device groups open."""
        with super().group(), ExitStack() as self._open:
            self._groups: dict[tuple[int, ProductName], tuple[Device, ...]] = {}
            yield

    def devices(self, setting: Setting) -> tuple[Device, ...]:
        """Return the devices of a setting, shared by all settings with the same number."""
        key = setting.devices, setting.kernel_library
        if key not in self._groups:
            group = open_devices(self.bench.device, setting.devices, self.plan.nodes, setting.kernel_library)
            self._groups[key] = self._open.enter_context(group)
        return self._groups[key]

    def bytes_needed(self, setting: Setting) -> float:
        """Return the most bytes that a device holds with equal partitions; virtual devices share the host memory."""
        part = ENTRY_BYTES * self.matrix.nnz / setting.devices
        vectors = 8.0 * (3 * self.matrix.n_rows + 2 * self.matrix.n_cols)
        return (part + vectors) * (setting.devices if self.bench.device.backend == "cpu" else 1)

    def _data(self) -> Any:
        if isinstance(self.matrix, GeneratedMatrix):
            return self.matrix.data([setting.workload for setting in self.plan.settings.values()], self.bench.xp)
        available = device_count(self.bench.device)
        counts = [setting.devices for setting in self.plan.settings.values()]
        most = max((count for count in counts if count <= available), default=1)
        with open_devices(self.bench.device, most, self.plan.nodes) as devices:
            allocate = None if self.bench.device.backend == "cpu" else devices[0].allocate_host
            return WorkloadData(self.matrix, allocate, self.bench.xp, devices)


class ScalingCandidate(Candidate):
    """A setting on its device group, as a candidate."""

    def __init__(self, experiment: ScalingExperiment, case: Case, setting: Setting) -> None:
        super().__init__(case.key, case.kernel, {case.cache: case})
        self._experiment, self._bench, self.setting = experiment, experiment.bench, setting
        self.kind = setting.partitioning, setting.workload
        # Cold workloads leave nothing on the devices.
        self.bytes_needed = 0.0 if setting.workload == "cold" else experiment.bytes_needed(setting)
        self._devices: tuple[Device, ...] = ()
        self._workload: Workload | None = None

    @property
    def environment(self) -> Mapping[str, str]:
        """Hash of all sources, version of a library, and the devices with their NUMA nodes."""
        environment = {"source": source_hash()}
        if self.setting.kernel_library != "sparsight" and self._devices:
            environment |= cusparse_library.version()
        if self._devices:
            environment["devices"] = ", ".join(device.name for device in self._devices)
            environment["nodes"] = ", ".join(str(device.node) for device in self._devices)
        return environment

    @property
    def sources(self) -> Collection[CudaSource]:
        """All CUDA sources, because those of a workload are known only after it has run."""
        from gpu_engine.multigpu import cuda_chunks, cuda_operations

        return (*cuda_operations.SOURCES, cuda_chunks.SOURCE)

    def prepare(self) -> Callable[[], Fields]:
        """Run the workload once and verify its result."""
        check_room(self._experiment.bytes_needed(self.setting), self._bench.layout_bytes)
        self._workload = workload = self._start(self._bench.stopwatch.now)
        workload.check()
        return workload.fields

    def turns(self, cache: Cache) -> Callable[[], float]:  # noqa: ARG002
        """Return a function that times one turn of the workload by the clock of the host."""

        def turn() -> float:
            with self._bench.stopwatch.guard():
                return self._ready().turn()

        return turn

    def least_s(self, cache: Cache) -> float:
        """Return the least seconds for the bytes per memory; virtual devices share one."""
        memories = 1 if self._is_virtual else self.setting.devices
        return self._bench.least_s(self._ready().moved_bytes / memories, cache)

    def rates(self, timing: Timing, cache: Cache, rounds: Rounds) -> Fields:  # noqa: ARG002
        """Return GFLOP/s, the roofline time of one device, and the fields of the workload."""
        matrix, compulsory = self._experiment.matrix, self._experiment.matrix.compulsory_bytes
        # Read after sampling, so that the phases cover all turns.
        fields = self._ready().fields()
        if "bounds_s" in fields:
            each = fields["phase_bytes"]["compute"] // (1 if self._is_virtual else self.setting.devices)
            fields["bounds_s"] |= {"compute": each / self._bench.profile.rate(each, cache)}
        return {
            **fields,
            "gflops": 2 * matrix.nnz / timing.median_s / 1e9,
            "roofline_s": compulsory / self._bench.profile.rate(compulsory // self.setting.devices, cache),
            "note": "; ".join(filter(None, (fields.get("note", ""), VIRTUAL if self._is_virtual else ""))),
        }

    def release(self) -> None:
        """Free the memory of the workload."""
        self._workload = None

    def _start(self, clock: Clock) -> Workload:
        """Return the workload on its devices, not yet verified."""
        self._devices = self._experiment.devices(self.setting)
        return WORKLOADS[self.setting.workload](self._experiment.data, self.setting, self._devices, clock)

    @property
    def _is_virtual(self) -> bool:
        return self._bench.device.backend == "cpu"

    def _ready(self) -> Workload:
        if self._workload is None:
            raise RuntimeError("A case whose workload failed cannot be sampled.")
        return self._workload


@once
def source_hash() -> str:
    """Return the hash of all sources in SOURCES."""
    folders = (resources.files(package) for package in SOURCES)
    files = sorted((f for folder in folders for f in folder.iterdir() if f.name.endswith((".py", ".cu"))), key=str)
    return digest("".join(file.read_text(encoding="utf-8") for file in files))
