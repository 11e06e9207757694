"""How evenly devices share the nonzeros, the speed that this allows, and what is measured of it."""

from collections.abc import Iterable
from dataclasses import dataclass

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.scaling.cases import COLD, RESIDENT, STAYING, WORKS, imbalance
from gpu_engine.findings.scaling.groups import Series, WorkGroup, number_of, work_groups
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table

HEADS = (
    Head("matrix", numeric=False),
    Head("machine", numeric=False),
    Head("kernel", numeric=False),
    Head("devices"),
    Head("smallest", "nonzeros"),
    Head("mean", "nonzeros"),
    Head("largest", "nonzeros"),
    Head("imbalance", "largest/mean"),
    Head("allows", "mean/largest"),
    Head("SpMV", "balanced/this"),
)


@dataclass(frozen=True, slots=True)
class Cut:
    """A case of several parts.

    entries    nonzeros of each device
    imbalance  of the largest part over the mean; the inverse is the share of the ideal speed that the cut allows
    speed      measured, over that of equal nonzeros; None for what does not cut equal lines
    """

    series: Series
    devices: int
    entries: tuple[int, ...]
    imbalance: float
    speed: float | None

    @property
    def mean(self) -> float:
        """Nonzeros of a part."""
        return sum(self.entries) / len(self.entries)


@dataclass(frozen=True, slots=True)
class LinesSpeed:
    """Of equal lines, in shares of the speed of equal nonzeros: what their cut allows, and what was measured."""

    devices: int
    allowed: float
    measured: float
    measurement: Measurement


def cuts(data: StudyData, works: Iterable[str]) -> list[tuple[WorkGroup, list[Cut]]]:
    """Of each group what has several parts, by number of devices."""
    groups = [(group, _cuts(group)) for group in work_groups(data, works)]
    return [(group, own) for group, own in groups if own]


def chosen_cuts(data: StudyData) -> list[tuple[WorkGroup, list[Cut]]]:
    """Of each matrix and partitioning the first work, with the devices that are spoken of, if several.

    Of those that cut alike the first.
    """
    first: dict[tuple[str, str, str], tuple[WorkGroup, list[Cut]]] = {}
    for group, own in cuts(data, WORKS):
        number = number_of(group, data)
        devices = number if number > 1 else group.most
        different = {cut.entries: cut for cut in reversed(own) if cut.devices == devices}
        if different:
            first.setdefault((group.matrix_id, group.device, group.partitioning), (group, [*different.values()][::-1]))
    return list(first.values())


def lines_speeds(data: StudyData) -> list[tuple[WorkGroup, list[LinesSpeed]]]:
    """Our resident products that were measured with equal lines and with equal nonzeros, by number of devices."""
    groups = [(group, _lines_speeds(group)) for group in work_groups(data, (RESIDENT,))]
    return [(group, speeds) for group, speeds in groups if speeds]


def tables(data: StudyData) -> list[tuple[str, Table]]:
    """Of each work a row per kernel and number of devices: its parts, the speed that they allow, and what is measured.

    Products from the host and resident ones, which are cut in several ways; where there are neither, the other works.
    """
    rows: dict[str, list[tuple[str, ...]]] = {}
    for group, own in cuts(data, (COLD, RESIDENT)) or cuts(data, STAYING):
        rows.setdefault(group.work, []).extend(
            (data.matrix(group.matrix_id).name, group.machine, *_cells(cut)) for cut in own
        )
    return [(work, Table(HEADS, tuple(rows[work]))) for work in WORKS if work in rows]


def _cuts(group: WorkGroup) -> list[Cut]:
    every = [
        Cut(series, m.details.devices or 0, m.details.entries_by_device, uneven, group.cut_speed(series, m))
        for series in group.series
        for m in series.timed
        if len(m.details.entries_by_device) > 1 and (uneven := imbalance(m))
    ]
    return sorted(every, key=lambda cut: cut.devices)


def _lines_speeds(group: WorkGroup) -> list[LinesSpeed]:
    numbers = sorted({m.details.devices or 0 for series in group.series for m in series.timed})
    return [speed for devices in numbers if (speed := _lines_speed(group, devices))]


def _lines_speed(group: WorkGroup, devices: int) -> LinesSpeed | None:
    lines = group.baseline(devices)
    measured, uneven = (group.cut_speed(*lines), imbalance(lines[1])) if lines else (None, None)
    return LinesSpeed(devices, 1 / uneven, measured, lines[1]) if lines and measured and uneven else None


def _cells(cut: Cut) -> tuple[str, ...]:
    return (
        cut.series.label,
        units.count(cut.devices),
        *(units.count(size) for size in (min(cut.entries), cut.mean, max(cut.entries))),
        units.ratio(cut.imbalance),
        units.percent(1 / cut.imbalance),
        units.percent(cut.speed),
    )
