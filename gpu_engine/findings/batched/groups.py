"""Comparison groups of the `batched` study, and properties of their kernels."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from gpu_engine.batched import KERNELS
from gpu_engine.competitors import BEST
from gpu_engine.competitors.batches import PEERS
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.finding import share_text
from gpu_engine.findings.ranking import NAMED, Ranking, join, rank
from gpu_engine.records import MIXTURE, Measurement
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING, count, number

BATCH, OPERATION = "batch", "operation"
"""Parameters chosen by the user: batch size, and operation (y=Ax+y or y=Ax)."""

ADDED = "y=Ax+y"
"""Operation of the paper, and the default."""

PAPER = ("coo/segmented", "csr/scalar", "csr/vector", "csr/smart", "csri/warp", "ell/thread")
"""Kernels of the paper."""

PADDED = "ell"
"""Format whose kernels read less than it stores."""

AUTO = "auto"
"""Format of the kernels that choose another kernel automatically."""

LOOPS = ("cusparse/loop", "cusparse/chain", "ell/loop", "ell/chain", "scipy/loop")
"""Kernels with one launch or call per matrix, on a GPU and on a CPU."""

LAUNCHED = frozenset(kernel.name for kernel in PEERS if not kernel.captured)
"""Kernels of LOOPS that the host launches inside the timed region, as in the paper."""

LIBRARIES = frozenset(name.partition("/")[0] for name in (BEST, *(kernel.name for kernel in PEERS))) - frozenset(
    kernel.name.partition("/")[0] for kernel in KERNELS
)
"""Libraries whose kernels are measured: the part of a kernel's name before the slash."""

CSR_LOOPS, ELL_LOOPS = ("cusparse/loop", "cusparse/chain", "scipy/loop"), ("ell/loop", "ell/chain", "scipy/loop")
"""Kernels of LOOPS by the format of their matrices; SciPy has no ELL. Those launched as in the paper come first."""

PADDING = 0.1
"""Share of its nonzeros that the padding of a balanced matrix in ELL stays below.

The paper defines balanced only by examples: gr_30_30, nos3, and dwt_992 (§4.2), with 5 %, 9 %, and 7 % padding.
"""


@dataclass(frozen=True)
class BatchGroup:
    """Comparable kernels: one batch, one device, one cache state.

    matrix_id     matrix of a uniform batch, or the first of a mixed batch
    mixture       key of the matrices of a mixed batch; empty for uniform batches and in older reference results
    compose       `uniform` or `mixed`
    operation     `y=Ax+y` or `y=Ax`
    batch_size    number of matrices
    measurements  the fastest first, those without a time last
    """

    matrix_id: str
    device: str
    cache: str
    mixture: str
    compose: str
    operation: str
    batch_size: int
    measurements: tuple[Measurement, ...]

    @property
    def key(self) -> str:
        """Key of the batch among those of its size: its mixture, or its matrix."""
        return self.mixture or (self.matrix_id if self.compose != "mixed" else f"{self.matrix_id}-{self.compose}")

    @cached_property
    def ranking(self) -> Ranking:
        """Ranking of all kernels, including library kernels."""
        return rank(self.measurements)

    @cached_property
    def timed(self) -> list[Measurement]:
        """Timed kernels, the fastest first."""
        return [m for m in self.measurements if m.state == "ok"]

    @property
    def ours(self) -> list[Measurement]:
        """Timed batched Sparsight kernels, the fastest first."""
        return [m for m in self.timed if is_ours(m.kernel)]

    @property
    def peer(self) -> Measurement | None:
        """Fastest library kernel; None without one."""
        return next((m for m in self.timed if m.format in LIBRARIES), None)

    @property
    def loop(self) -> Measurement | None:
        """Launch loop, timed or with the reason why not; one launched inside the timed region is preferred."""
        loops = [m for m in self.measurements if m.kernel in LOOPS]
        return min(loops, key=lambda m: (m.median_s is None, m.kernel not in LAUNCHED), default=None)

    def standard(self, kernel: str) -> Measurement | None:
        """Return the timed launch loop in the format of a kernel, one launched as in the paper first; None without one.

        COO has no standard kernel in the paper; its counterpart is the loop in CSR.
        """
        names = ELL_LOOPS if kernel.startswith(PADDED) else CSR_LOOPS
        return next(filter(None, map(self.of, names)), None)

    @property
    def auto(self) -> Measurement | None:
        """Fastest kernel that chooses another one automatically."""
        return next((m for m in self.ours if m.format == AUTO), None)

    @property
    def single(self) -> Measurement | None:
        """Fastest of the other Sparsight kernels."""
        return next((m for m in self.ours if m.format != AUTO), None)

    @property
    def leaders(self) -> tuple[str, ...]:
        """Fastest kernel and those equal to it; none if the timings are too noisy."""
        return tuple(m.kernel for m in self.ranking.leaders)

    @property
    def members(self) -> tuple[str, ...]:
        """Ids of the matrices in a mixed batch; empty for a uniform one."""
        return next(filter(None, (m.members for m in self.measurements)), ())

    @property
    def floor_gflops(self) -> float | None:
        """Throughput in GFLOP/s at the roofline time; None if unknown."""
        roofs = ((m.gflops * m.median_s / m.roofline_s) for m in self.timed if m.gflops and m.median_s and m.roofline_s)
        return next(roofs, None)

    def of(self, kernel: str) -> Measurement | None:
        """Return the timed measurement of a kernel; None without one."""
        return next((m for m in self.timed if m.kernel == kernel), None)

    def among(self, kernels: Sequence[str]) -> list[Measurement]:
        """Return the timed measurements of some kernels, the fastest first."""
        return [m for m in self.timed if m.kernel in kernels]


def batch_groups(data: StudyData, every_operation: bool = False) -> list[BatchGroup]:
    """Return the batches of the chosen operation, or of all, in order of appearance and size; mixed ones first."""
    chosen = operations(data) if every_operation else (operation_of(data),)
    by_key: dict[tuple[str, str, str, str, str, str, int], list[Measurement]] = {}
    for m in data.measurements:
        axes = m.axes
        if axes.get("operation") in chosen:
            setting = m.matrix_id, m.device, m.cache, axes.get(MIXTURE, "")
            by_key.setdefault((*setting, axes["compose"], axes["operation"], int(axes["batch"])), []).append(m)
    groups = [BatchGroup(*key, tuple(sorted(group, key=_fastest_first))) for key, group in by_key.items()]
    positions = {key[:6]: index for index, key in reversed(list(enumerate(by_key)))}
    return sorted(groups, key=lambda g: (g.compose != "mixed", positions[_series(g)], g.batch_size))


def operations(data: StudyData) -> tuple[str, ...]:
    """Return the measured operations, that of the paper first."""
    names = dict.fromkeys(m.axes.get("operation", "") for m in data.measurements)
    return tuple(sorted(filter(None, names), key=lambda operation: operation != ADDED))


def operation_of(data: StudyData) -> str:
    """Return the operation chosen by the user, else the first measured one."""
    return data.choice(OPERATION) or next(iter(operations(data)), ADDED)


def largest(groups: Iterable[BatchGroup], batch_size: int = 0) -> list[BatchGroup]:
    """Return the batch of a given size per matrix and mixture; for size 0 the largest timed one, else the largest."""
    chosen: dict[tuple[str, ...], BatchGroup] = {}
    for group in groups:
        previous = chosen.get(_series(group))
        if (not batch_size or group.batch_size == batch_size) and (
            previous is None or group.timed or not previous.timed
        ):
            chosen[_series(group)] = group
    return list(chosen.values())


def is_ours(kernel: str) -> bool:
    """Return whether a kernel is a batched Sparsight kernel."""
    return kernel.partition("/")[0] not in LIBRARIES and kernel not in LOOPS


def is_balanced(matrix: MatrixFeatures) -> bool | None:
    """Return whether the rows of a matrix are about equally long, so that ELL has little PADDING; None if unknown."""
    longest = matrix.stored.get("max")
    if not matrix.ave or longest is None:
        return None
    return bool(longest < (1 + PADDING) * matrix.ave)


def name_of(group: BatchGroup, data: StudyData) -> str:
    """Return `west0989`, or `12 matrices mixed (arc130, ash292, nos3 and 9 more)`; older results lack the names."""
    if group.compose != "mixed":
        return data.matrix(group.matrix_id).name
    if not group.members:
        return "mixed"
    # The number comes first, because titles are cut and a mixture must not look like its first matrix.
    names = f" ({join([data.matrix(member).name for member in group.members], NAMED)})" if group.mixture else ""
    return f"{count(len(group.members))} matrices mixed{names}"


def matrices_of(group: BatchGroup, data: StudyData) -> list[str]:
    """Return the ids of the matrices of a batch; reference results have the names of those of a mixed one."""
    by_name = {known.name: matrix_id for matrix_id, known in data.matrices.items()}
    members = group.members or (group.matrix_id,)
    return [known for each in members if (known := each if each in data.matrices else by_name.get(each))]


def rates(groups: Sequence[BatchGroup], data: StudyData) -> Table:
    """Return a table of GFLOP/s per timed kernel, one row per batch by mean row length, library kernels last."""
    kernels = sorted({m.kernel for group in groups for m in group.timed}, key=lambda name: (not is_ours(name), name))
    rows = []
    for group in sorted(groups, key=lambda group: data.matrix(group.matrix_id).ave or 0.0):
        gflops = {m.kernel: number(m.gflops) for m in group.timed}
        names = name_of(group, data), count(group.batch_size), group.cache, number(data.matrix(group.matrix_id).ave)
        of_roofline = share_text(group.ours[0].roofline_s, group.ours[0]) if group.ours else MISSING
        rows.append((*names, *(gflops.get(kernel, MISSING) for kernel in kernels), of_roofline))
    heads = (Head("matrix", numeric=False), Head("batch size"), Head("cache", numeric=False), Head("mean row"))
    return Table((*heads, *map(Head, kernels), Head("% of roofline", "fastest Sparsight kernel")), tuple(rows))


def bandwidth(m: Measurement) -> float | None:
    """Return the sustained bandwidth in bytes per second: bytes read of the layout, x, and y over the time.

    None if the bytes read were not recorded: ELL stores padding that it does not read.
    """
    moved = m.details.moved_bytes
    if moved is None and m.format != PADDED:
        moved = m.stored_bytes
    if not m.median_s or moved is None or m.details.vector_bytes is None:
        return None
    return float((moved + m.details.vector_bytes) / m.median_s)


def bandwidth_with_padding(m: Measurement) -> float | None:
    """Return the bandwidth in bytes per second as the paper counts it: padding is read too (§4.2, Figures 6 and 7)."""
    if not m.median_s or m.stored_bytes is None or m.details.vector_bytes is None:
        return None
    return float((m.stored_bytes + m.details.vector_bytes) / m.median_s)


def _series(group: BatchGroup) -> tuple[str, str, str, str, str, str]:
    return group.matrix_id, group.device, group.cache, group.mixture, group.compose, group.operation


def _fastest_first(m: Measurement) -> tuple[bool, float]:
    return m.median_s is None, m.median_s or 0.0
