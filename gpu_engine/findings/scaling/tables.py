"""Tables of the `scaling` study: one row per case of a workload."""

from collections.abc import Iterator, Sequence

from gpu_engine.findings.finding import INTERVAL, Row, interval_text, row_of, with_intervals
from gpu_engine.findings.scaling.cases import COLD, ITERATE, PAGERANK, SOLVE, imbalance
from gpu_engine.findings.scaling.groups import WorkGroup
from gpu_engine.findings.scaling.series import BASELINE, Series
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.verdicts.verdict import compare, verdict_text

BESIDE = {
    COLD: (Head("speedup", "vs baseline"), Head("verdict", "vs baseline", numeric=False)),
    ITERATE: (Head("exchanged", "per iteration"),),
    PAGERANK: (Head("exchanged", "per iteration"), Head("iterations")),
    SOLVE: (Head("exchanged", "per iteration"), Head("iterations")),
}
"""Workload → heads of the columns that only this workload has."""

BESIDE_LIBRARY = (Head("speedup", "vs library"), Head("verdict", "vs library", numeric=False))
"""Heads of the comparison with the same strategy and library kernels, if these were measured."""


def heads(groups: Sequence[WorkGroup]) -> tuple[Head, ...]:
    """Return the heads of the numbers of one workload."""
    return (
        Head("devices"),
        Head("time", "median"),
        Head(INTERVAL),
        Head("throughput", "GFLOP/s"),
        *BESIDE.get(groups[0].work, ()),
        *(BESIDE_LIBRARY if _has_library(groups) else ()),
        Head("imbalance", "largest/mean"),
        Head("storage"),
        Head("max error", "ε(|A||x|)"),
        Head("note", numeric=False),
    )


def rows(groups: Sequence[WorkGroup], leaders: set[str]) -> tuple[Row, ...]:
    """Return a row per kernel and number of devices, compared with the same kernel on one device.

    leaders  cases of the fastest or tied kernels
    """
    return tuple(row_of(m, series.label, m.case in leaders, series.base) for _, series, m in _each(groups))


def numbers(groups: Sequence[WorkGroup]) -> Table:
    """Return the table of all measurements: one row per case, with the columns that any of them fills."""
    library = _has_library(groups)
    table = Table(heads(groups), tuple(_cells(*each, library) for each in _each(groups)))
    return with_intervals(table, (m for _, _, m in _each(groups)))


def _each(groups: Sequence[WorkGroup]) -> Iterator[tuple[WorkGroup, Series, Measurement]]:
    return ((group, series, m) for group in groups for series in group.series for m in series.measurements)


def _has_library(groups: Sequence[WorkGroup]) -> bool:
    return any(series.competitor for group in groups for series in group.series)


def _cells(group: WorkGroup, series: Series, m: Measurement, library: bool) -> tuple[str, ...]:
    return (
        units.count(m.details.devices),
        units.seconds(m.median_s),
        interval_text(m),
        units.number(m.gflops),
        *_beside(group, series, m),
        *(_speedup(group.twin(series, m), m) if library else ()),
        units.ratio(imbalance(m)),
        units.size(m.stored_bytes),
        units.number(m.max_error),
        m.note,
    )


def _beside(group: WorkGroup, series: Series, m: Measurement) -> tuple[str, ...]:
    """Return the cells under BESIDE."""
    if group.work == COLD:
        baseline = group.baseline(m.details.devices or 0, series.competitor) if series.variant != BASELINE else None
        return _speedup(baseline[1] if baseline else None, m)
    exchanged = "none" if m.details.exchanged_bytes == 0 else units.size(m.details.exchanged_bytes)
    return (exchanged, units.count(m.details.iterations))[: len(BESIDE.get(group.work, ()))]


def _speedup(other: Measurement | None, m: Measurement) -> tuple[str, str]:
    """Return speedup and verdict; dashes without two times."""
    if other is None or not m.median_s:
        return units.MISSING, units.MISSING
    verdict = compare(other, m)
    return units.speedup(verdict.ratio), verdict_text(verdict.kind)
