"""Workloads of one matrix on groups of devices: each setting checked first, then all sampled in interleaved rounds."""

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
"""Of a part, at most: two indices and a value."""

VIRTUAL = "virtual devices: threads of this CPU; their times say nothing of a GPU"

SOURCES = (
    "gpu_engine.multigpu",
    "gpu_engine.multigpu.cluster",
    "gpu_engine.multigpu.from_host",
    "gpu_engine.formats",
    "gpu_engine.formats.csr",
    "gpu_engine.pagerank",
)
"""The packages of all that a workload launches, and of what the host does between."""


@dataclass(frozen=True, slots=True)
class ScalingDetails(Details):
    """What a measurement of the `scaling` study says beside what all say.

    Its `roofline_s` stays that of one device: the floor of all is `roofline_s` / `devices`.
    """

    study: ClassVar[str] = "scaling"

    partitioning: str = described("How the matrix is shared: `pCSR`, `pCSC`, `pCOO` or `pCOO-columns`.", "")
    strategy: str = described("A name of `STRATEGIES`; empty where the matrix stays on the devices.", "")
    devices: int | None = described("How many share the work.", None)
    entries_by_device: tuple[int, ...] = described("Nonzeros of each device's part.", ())
    exchanged_bytes: int | None = described("Bytes of vectors that cross between devices in one iteration.", None)
    phases_s: Mapping[str, float] = described(
        "Seconds by phase: of a product from the host `partition`, `distribute`, `compute`, `merge`, of a packed one "
        "`packing`; of an iteration `compute` and `exchange`. Those of iterations and of pipelined products are timed "
        "apart, so that their sum exceeds a median in which they overlap.",
        {},
    )
    phase_bytes: Mapping[str, int] = described(
        "Bytes that phases of a product from the host have to move: over the links, of packing in memory of the host, "
        "of `compute` in that of the devices.",
        {},
    )
    bounds_s: Mapping[str, float] = described(
        "Seconds that those bytes take at least: by copies to all devices at once, by reads on all cores of the host, "
        "both timed beside the products, and by the profile of a device.",
        {},
    )
    packing_s: float | None = described("Seconds of what `p*-prepacked` packs before its products, once.", None)
    iterations: int | None = described(
        "Of PageRank until γ < ε, or the most allowed; the times are those of its median iteration.", None
    )
    iterations_by_segments: tuple[int, ...] = described(
        "How many of them wrote 1, 2 … segments; empty for values without segments.", ()
    )
    residual: float | None = described("‖G(p) − p‖₁ of the ranks p, G one more iteration in extended precision.", None)
    mass_error: float | None = described("|‖p‖₁ − 1| of the ranks.", None)

    @property
    def is_one_product(self) -> bool:
        """On one device, unless it is an iteration of PageRank."""
        return self.devices == 1 and self.iterations is None


@dataclass(frozen=True, slots=True)
class ScalingPlan:
    """What to measure of a matrix: for each case its setting.

    nodes  NUMA nodes over which virtual devices are spread
    """

    settings: Mapping[str, Setting]
    rounds: int
    nodes: int


class ScalingExperiment(Experiment):
    """All workloads of one matrix: those alike in partitioning and name are sampled together, on all device groups."""

    details = ScalingDetails

    def __init__(
        self, plan: ScalingPlan, cases: Sequence[Case], matrix: CsrMatrix | GeneratedMatrix, bench: Bench
    ) -> None:
        super().__init__(cases, ("warm",), plan.rounds, bench)
        self.plan, self.matrix = plan, matrix

    def known(self, case: Case) -> Fields:
        """How the matrix is cut, and for how many devices."""
        setting = self.plan.settings[case.key]
        return {"partitioning": setting.partitioning, "devices": setting.devices}

    def load(self) -> Sequence[Candidate]:
        """The matrix on the host and the expected product; of each kind first one with the most devices."""
        self.data = self._data()
        candidates = [self.candidate(case, self.plan.settings[case.key]) for case in self.cases]
        ordered: list[Candidate] = []
        for _, alike in groupby(candidates, lambda c: c.kind):
            group = list(alike)
            reference = max(group, key=lambda c: c.setting.devices)
            ordered += [reference, *(c for c in group if c is not reference)]
        return ordered

    def candidate(self, case: Case, setting: Setting) -> "ScalingCandidate":
        """A setting on its device group."""
        return ScalingCandidate(self, case, setting)

    @contextmanager
    def group(self) -> Iterator[None]:
        """Keeps the device groups open."""
        with super().group(), ExitStack() as self._open:
            self._groups: dict[tuple[int, ProductName], tuple[Device, ...]] = {}
            yield

    def devices(self, setting: Setting) -> tuple[Device, ...]:
        """The devices of a setting, which others with as many share."""
        key = setting.devices, setting.kernel_library
        if key not in self._groups:
            group = open_devices(self.bench.device, setting.devices, self.plan.nodes, setting.kernel_library)
            self._groups[key] = self._open.enter_context(group)
        return self._groups[key]

    def bytes_needed(self, setting: Setting) -> float:
        """Upper bound of what a device of equal parts holds; virtual ones share the memory of the host."""
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
    """A setting on its device group."""

    def __init__(self, experiment: ScalingExperiment, case: Case, setting: Setting) -> None:
        super().__init__(case.key, case.kernel, {case.cache: case})
        self._experiment, self._bench, self.setting = experiment, experiment.bench, setting
        self.kind = setting.partitioning, setting.workload
        # Cold products leave nothing there.
        self.bytes_needed = 0.0 if setting.workload == "cold" else experiment.bytes_needed(setting)
        self._devices: tuple[Device, ...] = ()
        self._workload: Workload | None = None

    @property
    def environment(self) -> Mapping[str, str]:
        """The hash of all sources, the version of a competitor, and the devices with their NUMA nodes."""
        environment = {"source": source_hash()}
        if self.setting.kernel_library != "sparsight" and self._devices:
            environment |= cusparse_library.version()
        if self._devices:
            environment["devices"] = ", ".join(device.name for device in self._devices)
            environment["nodes"] = ", ".join(str(device.node) for device in self._devices)
        return environment

    @property
    def sources(self) -> Collection[CudaSource]:
        """All of them: which a workload launches is known once it has run."""
        from gpu_engine.multigpu import cuda_chunks, cuda_operations

        return (*cuda_operations.SOURCES, cuda_chunks.SOURCE)

    def prepare(self) -> Callable[[], Fields]:
        """Runs the workload once and checks what comes out."""
        check_room(self._experiment.bytes_needed(self.setting), self._bench.layout_bytes)
        self._workload = workload = self._start(self._bench.stopwatch.now)
        workload.check()
        return workload.fields

    def turns(self, cache: Cache) -> Callable[[], float]:  # noqa: ARG002
        """Turns of the workload, on the clock of the host."""

        def turn() -> float:
            with self._bench.stopwatch.guard():
                return self._ready().turn()

        return turn

    def least_s(self, cache: Cache) -> float:
        """By the bytes that each memory moves: virtual devices share one."""
        memories = 1 if self._is_virtual else self.setting.devices
        return self._bench.least_s(self._ready().moved_bytes / memories, cache)

    def rates(self, timing: Timing, cache: Cache, rounds: Rounds) -> Fields:  # noqa: ARG002
        """GFLOP/s, the floor of one device, and what the workload says of itself."""
        matrix, compulsory = self._experiment.matrix, self._experiment.matrix.compulsory_bytes
        # By now the phases are those of all turns.
        own = self._ready().fields()
        if "bounds_s" in own:
            each = own["phase_bytes"]["compute"] // (1 if self._is_virtual else self.setting.devices)
            own["bounds_s"] |= {"compute": each / self._bench.profile.rate(each, cache)}
        return {
            **own,
            "gflops": 2 * matrix.nnz / timing.median_s / 1e9,
            "roofline_s": compulsory / self._bench.profile.rate(compulsory // self.setting.devices, cache),
            "note": "; ".join(filter(None, (own.get("note", ""), VIRTUAL if self._is_virtual else ""))),
        }

    def release(self) -> None:
        """Gives back what the workload holds."""
        self._workload = None

    def _start(self, clock: Clock) -> Workload:
        """The workload on its devices, not yet checked."""
        self._devices = self._experiment.devices(self.setting)
        return WORKLOADS[self.setting.workload](self._experiment.data, self.setting, self._devices, clock)

    @property
    def _is_virtual(self) -> bool:
        return self._bench.device.backend == "cpu"

    def _ready(self) -> Workload:
        if self._workload is None:
            raise RuntimeError("A case whose workload failed is not sampled.")
        return self._workload


@once
def source_hash() -> str:
    """The hash of every source in SOURCES."""
    folders = (resources.files(package) for package in SOURCES)
    files = sorted((f for folder in folders for f in folder.iterdir() if f.name.endswith((".py", ".cu"))), key=str)
    return digest("".join(file.read_text(encoding="utf-8") for file in files))
