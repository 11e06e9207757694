"""Products of one matrix on fleets of devices: each setting checked first, then all sampled in interleaved rounds."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache as once
from importlib import resources
from itertools import groupby

from gpu_engine.competitors import cusparse
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import digest
from gpu_engine.experiment import Candidate, Experiment, Fields
from gpu_engine.formats.base import check_room
from gpu_engine.measure import Bench, Rounds, Timing
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.fleet import ProductName, devices_of, open_fleet
from gpu_engine.multigpu.numa import allocator
from gpu_engine.multigpu.work import Setting, Subject, Work
from gpu_engine.multigpu.works import WORKS
from gpu_engine.records import Cache, Case

ENTRY_BYTES = 16
"""Of a part, at most: two indices and a value."""

VIRTUAL = "virtual devices: threads of this CPU; their times say nothing of a GPU"

SOURCES = ("gpu_engine.multigpu", "gpu_engine.formats", "gpu_engine.formats.csr", "gpu_engine.pagerank")
"""The packages of all that a work launches, and of what the host does between."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure of a matrix: for each case its setting.

    nodes  NUMA nodes over which virtual devices are spread
    """

    settings: Mapping[str, Setting]
    rounds: int
    nodes: int


class SharedWorks(Experiment):
    """All works of one matrix: those of one partitioning and one work are sampled together, on all fleets."""

    def __init__(self, plan: Plan, cases: Sequence[Case], matrix: CsrMatrix, bench: Bench) -> None:
        super().__init__(cases, ("warm",), plan.rounds, bench)
        self.plan, self.matrix = plan, matrix

    def known(self, case: Case) -> Fields:
        """How the matrix is cut, and for how many devices."""
        setting = self.plan.settings[case.key]
        return {"partitioning": setting.partitioning, "devices": setting.devices}

    def load(self) -> Sequence[Candidate]:
        """The matrix on the host and the expected product; of each kind first one with the most devices."""
        self.subject = self._subject()
        found = [SharedWork(self, case, self.plan.settings[case.key]) for case in self.cases]
        ordered: list[Candidate] = []
        for _, alike in groupby(found, lambda c: c.kind):
            group = list(alike)
            reference = max(group, key=lambda c: c.setting.devices)
            ordered += [reference, *(c for c in group if c is not reference)]
        return ordered

    @contextmanager
    def group(self) -> Iterator[None]:
        """Keeps the fleets open."""
        with super().group(), ExitStack() as self._fleets:
            self._opened: dict[tuple[int, ProductName], tuple[Device, ...]] = {}
            yield

    def fleet(self, setting: Setting) -> tuple[Device, ...]:
        """The devices of a setting, which others with as many share."""
        key = setting.devices, setting.product
        if key not in self._opened:
            fleet = open_fleet(self.bench.device, setting.devices, self.plan.nodes, setting.product)
            self._opened[key] = self._fleets.enter_context(fleet)
        return self._opened[key]

    def bytes_needed(self, setting: Setting) -> float:
        """Upper bound of what a device of equal parts holds; virtual ones share the memory of the host."""
        part = ENTRY_BYTES * self.matrix.nnz / setting.devices
        vectors = 8.0 * (3 * self.matrix.n_rows + 2 * self.matrix.n_cols)
        return (part + vectors) * (setting.devices if self.bench.device.backend == "cpu" else 1)

    def _subject(self) -> Subject:
        if self.bench.device.backend == "cpu":
            return Subject(self.matrix)
        there, asked = devices_of(self.bench.device), [setting.devices for setting in self.plan.settings.values()]
        most = max((count for count in asked if count <= there), default=1)
        with open_fleet(self.bench.device, most) as devices:
            return Subject(self.matrix, allocator(devices), self.bench.xp)


class SharedWork(Candidate):
    """A setting on its fleet."""

    def __init__(self, works: SharedWorks, case: Case, setting: Setting) -> None:
        super().__init__(case.key, case.kernel, {case.cache: case})
        self._works, self._bench, self.setting = works, works.bench, setting
        self.kind = setting.partitioning, setting.work
        # Cold products leave nothing there.
        self.bytes_needed = 0.0 if setting.work == "cold" else works.bytes_needed(setting)
        self._devices: tuple[Device, ...] = ()
        self._work: Work | None = None

    @property
    def environment(self) -> Mapping[str, str]:
        """The hash of all sources, the version of a competitor, and the devices with their NUMA nodes."""
        found = {"source": source_hash()}
        if self.setting.product != "ours" and self._devices:
            found |= cusparse.version()
        if self._devices:
            found["devices"] = ", ".join(device.name for device in self._devices)
            found["nodes"] = ", ".join(str(device.node) for device in self._devices)
        return found

    def prepare(self) -> Callable[[], Fields]:
        """Does the work once and checks what comes out."""
        check_room(self._works.bytes_needed(self.setting), self._bench.layout_bytes)
        self._devices = self._works.fleet(self.setting)
        clock = self._bench.stopwatch.now
        self._work = work = WORKS[self.setting.work](self._works.subject, self.setting, self._devices, clock)
        work.check()
        return work.fields

    def turns(self, cache: Cache) -> Callable[[], float]:  # noqa: ARG002
        """Turns of the work, on the clock of the host."""

        def turn() -> float:
            with self._bench.stopwatch.guard():
                return self._ready().turn()

        return turn

    def least_s(self, cache: Cache) -> float:
        """By the bytes that each memory moves: virtual devices share one."""
        memories = 1 if self._is_virtual else self.setting.devices
        return self._bench.least_s(self._ready().moved_bytes / memories, cache)

    def rates(self, timing: Timing, cache: Cache, rounds: Rounds) -> Fields:  # noqa: ARG002
        """GFLOP/s, the floor of one device, and what the work says of itself."""
        matrix, compulsory = self._works.matrix, self._works.matrix.compulsory_bytes
        # By now the phases are those of all turns.
        own = self._ready().fields()
        return {
            **own,
            "gflops": 2 * matrix.nnz / timing.median_s / 1e9,
            "floor_s": compulsory / self._bench.profile.rate(compulsory // self.setting.devices, cache),
            "note": "; ".join(filter(None, (own.get("note", ""), VIRTUAL if self._is_virtual else ""))),
        }

    def release(self) -> None:
        """Gives back what the work holds."""
        self._work = None

    @property
    def _is_virtual(self) -> bool:
        return any(device.virtual for device in self._devices)

    def _ready(self) -> Work:
        if self._work is None:
            raise RuntimeError("A case whose work failed is not sampled.")
        return self._work


@once
def source_hash() -> str:
    """The hash of every source in SOURCES."""
    folders = (resources.files(package) for package in SOURCES)
    files = sorted((f for folder in folders for f in folder.iterdir() if f.name.endswith((".py", ".cu"))), key=str)
    return digest("".join(file.read_text(encoding="utf-8") for file in files))
