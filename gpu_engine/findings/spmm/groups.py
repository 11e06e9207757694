"""Comparison groups of the `spmm` study: the kernels on one matrix with one number of columns."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from gpu_engine.competitors.spmm import LIBRARIES
from gpu_engine.findings.data import FINDINGS_CACHED, StudyData
from gpu_engine.findings.ranking import Ranking, rank
from gpu_engine.findings.spmm.names import ORDER, ORDER_NAMES, SPMV, K
from gpu_engine.records import Measurement
from gpu_engine.text.words import amount
from gpu_engine.verdicts.verdict import Verdict, compare


@dataclass(frozen=True)
class SpmmGroup:
    """Comparable kernels: one matrix, device, cache state, order, and number of columns.

    measurements  the fastest first, those without a time last
    """

    matrix_id: str
    device: str
    cache: str
    order: str
    k: int
    measurements: tuple[Measurement, ...]

    @cached_property
    def ranking(self) -> Ranking:
        """Ranking of all kernels, with those of libraries and k SpMVs."""
        return rank(self.measurements)

    @cached_property
    def timed(self) -> tuple[Measurement, ...]:
        """Timed kernels, the fastest first."""
        return tuple(m for m in self.measurements if m.state == "ok" and m.median_s)

    @property
    def spmm(self) -> Measurement | None:
        """Fastest kernel that multiplies all columns at once, of Sparsight if one has a time."""
        at_once = [m for m in self.timed if m.format != SPMV]
        return next((m for m in at_once if m.format not in LIBRARIES), next(iter(at_once), None))

    @property
    def library(self) -> Measurement | None:
        """Fastest library kernel; None without one."""
        return next((m for m in self.timed if m.format in LIBRARIES), None)

    @property
    def spmvs(self) -> Measurement | None:
        """Fastest k SpMVs; None without a time."""
        return next((m for m in self.timed if m.format == SPMV), None)

    @property
    def baseline(self) -> Measurement | None:
        """Fastest library kernel, or fastest k SpMVs without one."""
        return self.library or self.spmvs

    @property
    def over_library(self) -> Verdict | None:
        """Verdict on the fastest SpMM of Sparsight against the fastest library kernel; None without two times."""
        return _verdict(self.library, self.spmm)

    @property
    def over_spmvs(self) -> Verdict | None:
        """Verdict on the fastest SpMM against k SpMVs; None without two times."""
        return _verdict(self.spmvs, self.spmm)

    @property
    def title(self) -> str:
        """Number of columns, and the order if it is not row major."""
        return columns_text(self.k, self.order)

    @property
    def series(self) -> "SeriesKey":
        """Matrix, device, cache state, and order, which the groups of a series share."""
        return self.matrix_id, self.device, self.cache, self.order

    def of_kernel(self, kernel: str) -> Measurement | None:
        """Return the timed measurement of a kernel; None without one."""
        return next((m for m in self.timed if m.kernel == kernel), None)


SeriesKey = tuple[str, str, str, str]
"""Matrix, device, cache state, and order."""


def columns_text(k: int, order: str) -> str:
    """Return `8 columns`, or `8 columns, column major`."""
    return f"{amount(k, 'column')}{order_text(order)}"


def order_text(order: str) -> str:
    """Return `, column major`; empty for row major."""
    return "" if order == "row" else f", {ORDER_NAMES.get(order, order)}"


@lru_cache(2 * FINDINGS_CACHED)
def spmm_groups(data: StudyData, every: bool = False) -> tuple[SpmmGroup, ...]:
    """Return the groups by matrix, device, cache state, and order in order of appearance, then by columns.

    every  all numbers of columns, also if one is chosen
    """
    chosen = 0 if every else data.number(K)
    by_key: dict[SeriesKey, dict[int, list[Measurement]]] = {}
    for m in data.measurements:
        if m.axes.get(K, "").isdecimal():
            key = m.matrix_id, m.device, m.cache, m.axes.get(ORDER, "row")
            by_key.setdefault(key, {}).setdefault(int(m.axes[K]), []).append(m)
    return tuple(
        SpmmGroup(*key, k, tuple(sorted(measurements, key=_fastest_first)))
        for key, by_k in by_key.items()
        for k, measurements in sorted(by_k.items())
        if chosen in (0, k)
    )


def series_of(groups: Iterable[SpmmGroup]) -> dict[SeriesKey, list[SpmmGroup]]:
    """Return the groups by matrix, device, cache state, and order."""
    by_series: dict[SeriesKey, list[SpmmGroup]] = {}
    for group in groups:
        by_series.setdefault(group.series, []).append(group)
    return by_series


def crossover(groups: Sequence[SpmmGroup]) -> int | None:
    """Return the smallest k from which one SpMM is faster than k SpMVs at each larger one; None without any.

    groups  of one series, by ascending k
    """
    smallest = None
    for group in reversed([group for group in groups if group.over_spmvs and not group.ranking.busy]):
        if group.over_spmvs is None or group.over_spmvs.kind != "faster":
            break
        smallest = group.k
    return smallest


def _verdict(base: Measurement | None, m: Measurement | None) -> Verdict | None:
    return compare(base, m) if base is not None and m is not None and base is not m else None


def _fastest_first(m: Measurement) -> tuple[bool, float]:
    return not (m.state == "ok" and m.median_s), m.median_s or 0.0
