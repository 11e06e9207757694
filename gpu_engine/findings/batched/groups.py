"""Batches: what their cases say, and which of their measurements may be compared."""

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
"""What the reader chooses of batches: how many problems, and y=Ax+y or y=Ax."""

ADDED = "y=Ax+y"
"""The paper's product: shown where the reader has chosen none."""

PAPER = ("coo/segmented", "csr/scalar", "csr/vector", "csr/smart", "csri/warp", "ell/thread")
"""The kernels of the paper; all others are ours, or of libraries."""

PADDED = "ell"
"""The format whose products read less than it stores."""

AUTO = "auto"
"""The format of the kernels that choose for themselves."""

LOOPS = ("cusparse/loop", "cusparse/chain", "ell/loop", "ell/chain", "scipy/loop")
"""One product after the other, on a GPU and on a CPU."""

LAUNCHED = frozenset(kernel.name for kernel in PEERS if not kernel.captured)
"""Those of LOOPS that the host launches while the clock runs, as in the paper."""

LIBRARIES = frozenset(name.partition("/")[0] for name in (BEST, *(kernel.name for kernel in PEERS))) - frozenset(
    kernel.name.partition("/")[0] for kernel in KERNELS
)

BALANCED = 0.1
"""A matrix is balanced where σ of its row lengths is below this share of their mean."""


@dataclass(frozen=True)
class BatchGroup:
    """The kernels that may be compared: on one batch, on one device, in one cache state.

    matrix_id     of the copies, or the first of a mixed batch
    mixture       of which matrices a mixed batch is, told from any others; empty of copies and in older recordings
    compose       `copies` or `mixed`
    operation     `y=Ax+y` or `y=Ax`
    measurements  the fastest first, then those without a time
    """

    matrix_id: str
    device: str
    cache: str
    mixture: str
    compose: str
    operation: str
    batch_size: int
    measurements: tuple[Measurement, ...]

    @cached_property
    def ranking(self) -> Ranking:
        """All kernels, those of libraries among them."""
        return rank(self.measurements)

    @cached_property
    def timed(self) -> list[Measurement]:
        """The kernels with a time, fastest first."""
        return [m for m in self.measurements if m.state == "ok"]

    @property
    def ours(self) -> list[Measurement]:
        """The batched kernels with a time that are of no library, fastest first."""
        return [m for m in self.timed if is_ours(m.kernel)]

    @property
    def peer(self) -> Measurement | None:
        """The fastest of libraries."""
        return next((m for m in self.timed if m.format in LIBRARIES), None)

    @property
    def loop(self) -> Measurement | None:
        """One product after the other, launched as in the paper where it was; with a time, or why it has none."""
        found = [m for m in self.measurements if m.kernel in LOOPS]
        return min(found, key=lambda m: (m.median_s is None, m.kernel not in LAUNCHED), default=None)

    @property
    def auto(self) -> Measurement | None:
        """The fastest of the kernels that choose for themselves."""
        return next((m for m in self.ours if m.format == AUTO), None)

    @property
    def single(self) -> Measurement | None:
        """The fastest of our other kernels."""
        return next((m for m in self.ours if m.format != AUTO), None)

    @property
    def leaders(self) -> tuple[str, ...]:
        """The fastest kernel and those that are `same` with it; none where the machine was busy."""
        return tuple(m.kernel for m in self.ranking.leaders)

    @property
    def members(self) -> tuple[str, ...]:
        """Ids of the matrices in a mixed batch; none of copies."""
        return next(filter(None, (m.members for m in self.measurements)), ())

    @property
    def floor_gflops(self) -> float | None:
        """The rate of a product that takes as long as the floor."""
        found = ((m.gflops * m.median_s / m.roofline_s) for m in self.timed if m.gflops and m.median_s and m.roofline_s)
        return next(found, None)

    def of(self, kernel: str) -> Measurement | None:
        """The kernel of that name, if it has a time."""
        return next((m for m in self.timed if m.kernel == kernel), None)

    def among(self, kernels: Sequence[str]) -> list[Measurement]:
        """Those of these names with a time, fastest first."""
        return [m for m in self.timed if m.kernel in kernels]


def batch_groups(shown: StudyData, every_operation: bool = False) -> list[BatchGroup]:
    """The batches of the shown operation, or of all, in order of appearance, of a matrix by size; mixed ones first."""
    operations_shown = operations(shown) if every_operation else (operation_of(shown),)
    found: dict[tuple[str, str, str, str, str, str, int], list[Measurement]] = {}
    for m in shown.measurements:
        axes = m.axes
        if axes.get("operation") in operations_shown:
            place = m.matrix_id, m.device, m.cache, axes.get(MIXTURE, "")
            found.setdefault((*place, axes["compose"], axes["operation"], int(axes["batch"])), []).append(m)
    groups = [BatchGroup(*key, tuple(sorted(group, key=_fastest_first))) for key, group in found.items()]
    order = {key[:6]: place for place, key in reversed(list(enumerate(found)))}
    return sorted(groups, key=lambda g: (g.compose != "mixed", order[_series(g)], g.batch_size))


def operations(shown: StudyData) -> tuple[str, ...]:
    """The operations measured, the paper's first."""
    found = dict.fromkeys(m.axes.get("operation", "") for m in shown.measurements)
    return tuple(sorted(filter(None, found), key=lambda operation: operation != ADDED))


def operation_of(shown: StudyData) -> str:
    """The operation that is shown: the reader's, else the first measured."""
    return shown.choice(OPERATION) or next(iter(operations(shown)), ADDED)


def largest(groups: Iterable[BatchGroup], batch_size: int = 0) -> list[BatchGroup]:
    """Of each matrix and mixture the batch of so many problems; of 0: the largest with a time, else the largest."""
    found: dict[tuple[str, ...], BatchGroup] = {}
    for group in groups:
        kept = found.get(_series(group))
        if (not batch_size or group.batch_size == batch_size) and (kept is None or group.timed or not kept.timed):
            found[_series(group)] = group
    return list(found.values())


def is_ours(kernel: str) -> bool:
    """Whether it is a batched kernel of no library."""
    return kernel.partition("/")[0] not in LIBRARIES and kernel not in LOOPS


def is_balanced(matrix: MatrixFeatures) -> bool | None:
    """Whether its rows are about equally long; None where that is not known."""
    if not matrix.ave or matrix.sigma is None:
        return None
    return matrix.sigma < BALANCED * matrix.ave


def name_of(group: BatchGroup, shown: StudyData) -> str:
    """`west0989`, or `12 matrices mixed (arc130, ash292, nos3 and 9 more)`, without their names in older recordings."""
    if group.compose != "mixed":
        return shown.matrix(group.matrix_id).name
    if not group.members:
        return "mixed"
    # The number first: titles are cut, and a mixture is not to look like its first matrix.
    names = f" ({join([shown.matrix(member).name for member in group.members], NAMED)})" if group.mixture else ""
    return f"{count(len(group.members))} matrices mixed{names}"


def rates(groups: Sequence[BatchGroup], shown: StudyData) -> Table:
    """Return GFLOP/s of every kernel with a time, a row per batch by ascending mean row length, libraries last."""
    kernels = sorted({m.kernel for group in groups for m in group.timed}, key=lambda name: (not is_ours(name), name))
    rows = []
    for group in sorted(groups, key=lambda group: shown.matrix(group.matrix_id).ave or 0.0):
        gflops = {m.kernel: number(m.gflops) for m in group.timed}
        names = name_of(group, shown), count(group.batch_size), group.cache, number(shown.matrix(group.matrix_id).ave)
        of_floor = share_text(group.ours[0].roofline_s, group.ours[0]) if group.ours else MISSING
        rows.append((*names, *(gflops.get(kernel, MISSING) for kernel in kernels), of_floor))
    heads = (Head("matrix", numeric=False), Head("batch_size"), Head("cache", numeric=False), Head("mean row"))
    return Table((*heads, *map(Head, kernels), Head("share of floor", "fastest of ours")), tuple(rows))


def bandwidth(m: Measurement) -> float | None:
    """Sustained bytes per second: what a product reads of the layout, and x and y, over the time.

    None where that was not recorded: ELL stores values of padding that it does not read.
    """
    moved = m.details.moved_bytes
    if moved is None and m.format != PADDED:
        moved = m.stored_bytes
    if not m.median_s or moved is None or m.details.vector_bytes is None:
        return None
    return float((moved + m.details.vector_bytes) / m.median_s)


def _series(group: BatchGroup) -> tuple[str, str, str, str, str, str]:
    return group.matrix_id, group.device, group.cache, group.mixture, group.compose, group.operation


def _fastest_first(m: Measurement) -> tuple[bool, float]:
    return m.median_s is None, m.median_s or 0.0
