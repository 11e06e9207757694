"""Two devices side by side: what the second gains over the first, kernel by kernel and matrix by matrix.

On each device kernels are ranked by themselves. The rounds of two devices are not interleaved: there is no verdict.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import geometric_mean

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.formats.groups import group_by_facet, of_matrices, without_duplicates
from gpu_engine.findings.ranking import rank
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table

Timed = Mapping[str, Measurement]
"""Kernel → its measurement with a time, the fastest first."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A matrix that both devices have plausible times of."""

    matrix: MatrixFeatures
    first: Timed
    second: Timed

    @property
    def gain(self) -> float:
        """How many times as fast the second is, each with its own fastest kernel."""
        return _over(_leader(self.first), _leader(self.second))

    @property
    def bandwidth(self) -> float | None:
        """How many times the measured bandwidth of the second is that of the first, at the size of this matrix."""
        floors = _leader(self.first).roofline_s, _leader(self.second).roofline_s
        return floors[0] / floors[1] if floors[0] and floors[1] else None

    @property
    def carried(self) -> float | None:
        """What the fastest kernel of the first costs on the second: its time there over that of the fastest there."""
        kernel = _leader(self.first).kernel
        return _over(self.second[kernel], _leader(self.second)) if kernel in self.second else None


@dataclass(frozen=True, slots=True)
class DevicePair:
    """The matrices that both devices have measured in one cache state, by ascending nnz.

    busy  how many more do not count
    """

    first: str
    second: str
    cache: str
    matrices: tuple[Shared, ...]
    busy: int = 0

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the second gains, what its bandwidth gives, and whether what is fastest on one is on the other."""
        if not self.matrices:
            return (f"{self.first} and {self.second} share no matrix with plausible times, {self.cache}.",)
        gains = _spread([shared.gain for shared in self.matrices])
        rate = _bandwidth(self.matrices)
        told = f"; its measured bandwidth is {units.ratio(rate)} as large there" if rate else ""
        return (
            f"{self.second} against {self.first}, {self.cache}, {self._counted}, each device with its own fastest "
            f"kernel: {gains} as fast{told}.",
            *self._carried(),
        )

    @property
    def _counted(self) -> str:
        number = len(self.matrices)
        more = f" ({units.count(self.busy)} more without plausible times)" if self.busy else ""
        return f"{units.count(number)} {'matrix' if number == 1 else 'matrices'}{more}"

    def _carried(self) -> Iterable[str]:
        found = [carried for shared in self.matrices if (carried := shared.carried)]
        if found:
            near = sum(carried <= NEAR for carried in found)
            yield (
                f"The kernel that is fastest on {self.first} is within {round(100 * (NEAR - 1))} % of the fastest on "
                f"{self.second} on {near} of {len(found)} matrices, and takes {_spread(found)} as long."
            )

    @property
    def kernels(self) -> Table:
        """A row a kernel with times on both: by how much more than the bandwidth it gains, the most first."""
        numbers = "matrices", "times as fast", "lowest", "highest", "times the bandwidth", "share"
        heads = Head("kernel", numeric=False), *map(Head, numbers)
        return Table(heads, tuple(row for _, row in sorted(self._kernel_rows(), reverse=True)))

    def _kernel_rows(self) -> Iterable[tuple[float, tuple[str, ...]]]:
        for kernel in dict.fromkeys(kernel for shared in self.matrices for kernel in shared.first):
            both = [shared for shared in self.matrices if kernel in shared.first and kernel in shared.second]
            gains = [_over(shared.first[kernel], shared.second[kernel]) for shared in both]
            if not gains:
                continue
            mean = geometric_mean(gains)
            rate = _bandwidth(both)
            cells = (mean, min(gains), max(gains), rate, mean / rate if rate else None)
            yield mean / (rate or 1.0), (kernel, units.count(len(both)), *map(units.ratio, cells))

    @property
    def by_matrix(self) -> Table:
        """A row a matrix: the fastest kernel on each, and what the choice made on the first costs on the second."""
        heads = (
            Head("matrix", numeric=False),
            Head("nnz"),
            Head("fastest on the first", numeric=False),
            Head("time", "first"),
            Head("fastest on the second", numeric=False),
            Head("time", "second"),
            *map(Head, ("times as fast", "times the bandwidth", "first’s kernel there")),
        )
        return Table(heads, tuple(map(_matrix_row, self.matrices)))


NEAR = 1.1
"""A choice that costs less is as good as the best one."""


def pair(data: StudyData, first: str, second: str, cache: str) -> DevicePair:
    """The products of matrices that both devices have in that cache state; of a library its best stands for all."""
    found: dict[str, dict[str, Timed]] = {}
    quiet: dict[str, list[bool]] = {}
    for (matrix_id, device, state), group in group_by_facet(of_matrices(data.measurements)).items():
        timed = [m for m in without_duplicates(group) if m.state == "ok" and m.median_s]
        if state == cache and device in (first, second) and timed:
            found.setdefault(matrix_id, {})[device] = {m.kernel: m for m in timed}
            quiet.setdefault(matrix_id, []).append(not rank(timed).busy)
    both = [matrix_id for matrix_id, own in found.items() if {first, second} <= own.keys()]
    counted = [matrix_id for matrix_id in both if all(quiet[matrix_id])]
    shared = [Shared(data.matrix(each), found[each][first], found[each][second]) for each in counted]
    shared.sort(key=lambda s: (s.matrix.nnz, s.matrix.name))
    return DevicePair(first, second, cache, tuple(shared), len(both) - len(counted))


def _leader(timed: Timed) -> Measurement:
    return next(iter(timed.values()))


def _over(one: Measurement, other: Measurement) -> float:
    return (one.median_s or 0.0) / (other.median_s or 1.0)


def _bandwidth(matrices: Iterable[Shared]) -> float | None:
    """The geometric mean over those of which it is known."""
    rates = [rate for shared in matrices if (rate := shared.bandwidth)]
    return geometric_mean(rates) if rates else None


def _spread(ratios: Iterable[float]) -> str:
    """`1.2 × (1.0 × to 1.5 ×)`: geometric mean, lowest and highest."""
    found = sorted(ratios)
    return f"{units.ratio(geometric_mean(found))} ({units.ratio(found[0])} to {units.ratio(found[-1])})"


def _matrix_row(shared: Shared) -> tuple[str, ...]:
    sides = (cell for timed in (shared.first, shared.second) for cell in _side(_leader(timed)))
    ratios = map(units.ratio, (shared.gain, shared.bandwidth, shared.carried))
    return (shared.matrix.name, units.count(shared.matrix.nnz), *sides, *ratios)


def _side(m: Measurement) -> tuple[str, str]:
    return m.kernel, units.seconds(m.median_s)
