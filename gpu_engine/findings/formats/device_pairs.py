"""Comparison of two devices: speedup of the second over the first, per kernel and per matrix.

The rounds of two devices are not interleaved, so there is no verdict. Each device has its own ranking of kernels.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.formats.groups import group_by_facet, of_matrices, without_duplicates
from gpu_engine.findings.ranking import rank
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.words import amount

Timed = Mapping[str, Measurement]
"""Kernel → timed measurement, the fastest first."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A matrix with usable timings on both devices."""

    matrix: MatrixFeatures
    first: Timed
    second: Timed

    @property
    def gain(self) -> float:
        """Speedup of the second device, each with its own fastest kernel."""
        return _over(_leader(self.first), _leader(self.second))

    @property
    def bandwidth(self) -> float | None:
        """Measured bandwidth of the second device / the first, at the size of this matrix; None if unknown."""
        first_s, second_s = _leader(self.first).roofline_s, _leader(self.second).roofline_s
        return first_s / second_s if first_s and second_s else None

    @property
    def carried(self) -> float | None:
        """Slowdown on the second device of the fastest kernel of the first; None if it was not measured there."""
        kernel = _leader(self.first).kernel
        return _over(self.second[kernel], _leader(self.second)) if kernel in self.second else None


@dataclass(frozen=True, slots=True)
class KernelGain:
    """A kernel timed on both devices; speedups: of the second device, in the order of the matrices."""

    kernel: str
    matrices: tuple[Shared, ...]
    speedups: tuple[float, ...]

    @property
    def bandwidth(self) -> float | None:
        """Geometric mean of the ratios of bandwidths; None if none is known."""
        return _bandwidth(self.matrices)


@dataclass(frozen=True, slots=True)
class DevicePair:
    """Matrices measured on both devices in one cache state, by ascending nnz.

    busy  number of further matrices whose timings are too noisy
    """

    first: str
    second: str
    cache: str
    matrices: tuple[Shared, ...]
    busy: int = 0

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences on the speedup, its range, and the transfer of the kernel choice; the first one is the answer."""
        if not self.matrices:
            return (f"{self.first} and {self.second} have no matrix in common with usable timings ({self.cache}).",)
        gains = [shared.gain for shared in self.matrices]
        rate = _bandwidth(self.matrices)
        bandwidth = f"; the ratio of bandwidths at their sizes is {units.ratio(rate)}" if rate else ""
        return (
            f"Speedup of {self.second} over {self.first}: {units.ratio(geometric_mean(gains))} on "
            f"{self._matrices_text}{bandwidth}.",
            f"Each matrix with its fastest kernel, {self.cache}{_range(gains)}.{self._busy_text}",
            *self._carried(),
        )

    @property
    def _matrices_text(self) -> str:
        return amount(len(self.matrices), "matrix", "matrices")

    @property
    def _busy_text(self) -> str:
        return f" Left out, because their timings are too noisy: {units.count(self.busy)}." if self.busy else ""

    def _carried(self) -> Iterable[str]:
        slowdowns = [carried for shared in self.matrices if (carried := shared.carried)]
        if slowdowns:
            near = sum(carried <= NEAR for carried in slowdowns)
            mean = units.ratio(geometric_mean(slowdowns))
            yield (
                f"Mean slowdown on {self.second} with the fastest kernel of {self.first}: {mean}; within "
                f"{round(100 * (NEAR - 1))} % on {near} of {amount(len(slowdowns), 'matrix', 'matrices')}."
            )

    @property
    def gains(self) -> tuple[KernelGain, ...]:
        """Kernels timed on both devices, in the order of their first matrix."""
        return tuple(gain for kernel in self._kernel_names() if (gain := self._gain(kernel)).matrices)

    def _kernel_names(self) -> Iterable[str]:
        return dict.fromkeys(kernel for shared in self.matrices for kernel in shared.first)

    def _gain(self, kernel: str) -> KernelGain:
        both = tuple(shared for shared in self.matrices if kernel in shared.first and kernel in shared.second)
        return KernelGain(kernel, both, tuple(_over(shared.first[kernel], shared.second[kernel]) for shared in both))

    @property
    def kernels(self) -> Table:
        """Table with one row per kernel timed on both: its speedup / ratio of bandwidths, the largest first."""
        numbers = Head("matrices"), Head("speedup", "geometric mean"), Head("lowest"), Head("highest")
        bandwidth = Head("bandwidth", "second / first"), Head("speedup", "/ bandwidth")
        heads = Head("kernel", numeric=False), *numbers, *bandwidth
        return Table(heads, tuple(row for _, row in sorted(self._kernel_rows(), reverse=True)))

    def _kernel_rows(self) -> Iterable[tuple[float, tuple[str, ...]]]:
        for gain in self.gains:
            mean, rate = geometric_mean(gain.speedups), gain.bandwidth
            cells = (mean, min(gain.speedups), max(gain.speedups), rate, mean / rate if rate else None)
            yield mean / (rate or 1.0), (gain.kernel, units.count(len(gain.matrices)), *map(units.ratio, cells))

    @property
    def by_matrix(self) -> Table:
        """Table with one row per matrix: fastest kernels, speedup, and slowdown of the first's choice on the second."""
        heads = (
            Head("matrix", numeric=False),
            Head("nnz"),
            Head("fastest", "first", numeric=False),
            Head("time", "first"),
            Head("fastest", "second", numeric=False),
            Head("time", "second"),
            *(Head("speedup"), Head("bandwidth", "second / first"), Head("slowdown", "first’s kernel on second")),
        )
        return Table(heads, tuple(map(_matrix_row, self.matrices)))


NEAR = 1.1
"""Slowdown up to which a kernel choice counts as good."""


def pair(data: StudyData, first: str, second: str, cache: str) -> DevicePair:
    """Return the comparison of two devices in one cache state; for a library, only its best algorithm counts."""
    by_matrix: dict[str, dict[str, Timed]] = {}
    quiet: dict[str, list[bool]] = {}
    for (matrix_id, device, state), group in group_by_facet(of_matrices(data.measurements)).items():
        timed = [m for m in without_duplicates(group) if m.state == "ok" and m.median_s]
        if state == cache and device in (first, second) and timed:
            by_matrix.setdefault(matrix_id, {})[device] = {m.kernel: m for m in timed}
            quiet.setdefault(matrix_id, []).append(not rank(timed).busy)
    both = [matrix_id for matrix_id, by_device in by_matrix.items() if {first, second} <= by_device.keys()]
    usable = [matrix_id for matrix_id in both if all(quiet[matrix_id])]
    shared = [Shared(data.matrix(each), by_matrix[each][first], by_matrix[each][second]) for each in usable]
    shared.sort(key=lambda s: (s.matrix.nnz, s.matrix.name))
    return DevicePair(first, second, cache, tuple(shared), len(both) - len(usable))


def _leader(timed: Timed) -> Measurement:
    return next(iter(timed.values()))


def _over(one: Measurement, other: Measurement) -> float:
    return (one.median_s or 0.0) / (other.median_s or 1.0)


def _bandwidth(matrices: Iterable[Shared]) -> float | None:
    """Return the geometric mean of the known ratios of bandwidths; None if none is known."""
    rates = [rate for shared in matrices if (rate := shared.bandwidth)]
    return geometric_mean(rates) if rates else None


def _range(ratios: Sequence[float]) -> str:
    """Return the lowest and the highest ratio, `: 1.0 × to 1.5 ×`; empty for a single one."""
    return f": {units.ratio(min(ratios))} to {units.ratio(max(ratios))}" if len(ratios) > 1 else ""


def _matrix_row(shared: Shared) -> tuple[str, ...]:
    sides = (cell for timed in (shared.first, shared.second) for cell in _side(_leader(timed)))
    ratios = map(units.ratio, (shared.gain, shared.bandwidth, shared.carried))
    return (shared.matrix.name, units.count(shared.matrix.nnz), *sides, *ratios)


def _side(m: Measurement) -> tuple[str, str]:
    return m.kernel, units.seconds(m.median_s)
