"""Weak scaling: matrices of one kind that grow with the number of devices, each device having as much as before."""

from collections.abc import Iterator

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.scaling.cases import ONCE, STAYING
from gpu_engine.findings.scaling.groups import Series, WorkGroup, work_groups
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table

ALIKE = 0.1
"""How much nonzeros of a device, and mean row lengths, may differ in what is called as much, and of one kind."""

HEADS = (
    Head("time of", numeric=False),
    Head("device", numeric=False),
    Head("kernel", numeric=False),
    Head("devices"),
    Head("matrix", numeric=False),
    Head("nonzeros", "a device"),
    Head("time", "median"),
    Head("on one device", numeric=False),
    Head("weak efficiency"),
)


def weak_scaling(data: StudyData) -> Table:
    """A row for each matrix on several devices that has one on one device beside it with as much for each of them.

    Other matrices were sampled in rounds of their own, so that the share carries no verdict.
    """
    groups = work_groups(data, STAYING)
    return Table(HEADS, tuple(row for group in groups for series in group.series for row in _rows(group, series, data)))


def _rows(group: WorkGroup, series: Series, data: StudyData) -> Iterator[tuple[str, ...]]:
    for m in series.ranked:
        devices = m.details.devices or 1
        alone = _alone(group, series, m, data) if devices > 1 else None
        if alone is not None and m.median_s:
            yield (
                ONCE[group.work],
                group.machine,
                series.label,
                units.count(devices),
                data.matrix(group.matrix_id).name,
                units.count(_entries(m)),
                units.seconds(m.median_s),
                f"{data.matrix(alone.matrix_id).name}, {units.seconds(alone.median_s)}",
                units.percent((alone.median_s or 0.0) / m.median_s),
            )


def _alone(group: WorkGroup, series: Series, m: Measurement, data: StudyData) -> Measurement | None:
    """On one device, by the same kernel and options, the matrix of its kind that is nearest in nonzeros a device."""
    found = [
        other
        for each in work_groups(data, (group.work,))
        if (each.device, each.cache, each.partitioning) == (group.device, group.cache, group.partitioning)
        for own in each.series
        if (own.kernel, own.options) == (series.kernel, series.options)
        and (other := own.on(1)) is not None
        and other.matrix_id != m.matrix_id
        and _near(_entries(other), _entries(m))
        and _near(data.matrix(other.matrix_id).ave, data.matrix(m.matrix_id).ave)
    ]
    return min(found, key=lambda other: abs(_entries(other) - _entries(m)), default=None)


def _entries(m: Measurement) -> int:
    """Nonzeros of its mean part."""
    entries: tuple[int, ...] = m.details.entries_by_device
    return sum(entries) // max(len(entries), 1)


def _near(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and abs(one - other) <= ALIKE * max(one, other)
