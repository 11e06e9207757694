"""Load balance: nonzeros per device, the efficiency that it allows, and the measured speed."""

from collections.abc import Iterable
from dataclasses import dataclass

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.scaling.cases import COLD, RESIDENT, STAYING, WORKS, imbalance
from gpu_engine.findings.scaling.groups import WorkGroup, number_of, work_groups
from gpu_engine.findings.scaling.series import Series
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
    Head("efficiency limit", "mean/largest"),
    Head("relative speed", "balanced = 100 %"),
)


@dataclass(frozen=True, slots=True)
class Cut:
    """Load balance of a case with several partitions.

    entries    nonzeros of each device
    imbalance  largest partition / mean; its inverse limits the efficiency
    speed      measured speed relative to equal nonzeros; None unless the case has equal rows
    """

    series: Series
    devices: int
    entries: tuple[int, ...]
    imbalance: float
    speed: float | None

    @property
    def mean(self) -> float:
        """Mean number of nonzeros per partition."""
        return sum(self.entries) / len(self.entries)


@dataclass(frozen=True, slots=True)
class LinesSpeed:
    """Speed with equal rows relative to equal nonzeros: limit by the imbalance, and measured value."""

    devices: int
    allowed: float
    measured: float
    measurement: Measurement


def cuts(data: StudyData, works: Iterable[str]) -> list[tuple[WorkGroup, list[Cut]]]:
    """Return the cases with several partitions per group, by number of devices."""
    groups = [(group, _cuts(group)) for group in work_groups(data, works)]
    return [(group, cases) for group, cases in groups if cases]


def chosen_cuts(data: StudyData) -> list[tuple[WorkGroup, list[Cut]]]:
    """Return the cases of the first workload per matrix and partitioning, for the chosen number of devices if several.

    Of cases with equal partitions, only the first is returned.
    """
    first: dict[tuple[str, str, str], tuple[WorkGroup, list[Cut]]] = {}
    for group, cases in cuts(data, WORKS):
        number = number_of(group, data)
        devices = number if number > 1 else group.most
        different = {cut.entries: cut for cut in reversed(cases) if cut.devices == devices}
        if different:
            first.setdefault((group.matrix_id, group.device, group.partitioning), (group, [*different.values()][::-1]))
    return list(first.values())


def lines_speeds(data: StudyData) -> list[tuple[WorkGroup, list[LinesSpeed]]]:
    """Return the relative speeds of resident SpMV with equal rows and with equal nonzeros, by number of devices."""
    groups = [(group, _lines_speeds(group)) for group in work_groups(data, (RESIDENT,))]
    return [(group, speeds) for group, speeds in groups if speeds]


def tables(data: StudyData) -> list[tuple[str, Table]]:
    """Return a table per workload, one row per kernel and number of devices: partitions, limit, and measured speed.

    SpMV from the host and resident SpMV, which have several balances; without these, the other workloads.
    """
    rows: dict[str, list[tuple[str, ...]]] = {}
    for group, cases in cuts(data, (COLD, RESIDENT)) or cuts(data, STAYING):
        rows.setdefault(group.work, []).extend(
            (data.matrix(group.matrix_id).name, group.machine, *_cells(cut)) for cut in cases
        )
    return [(work, Table(HEADS, tuple(rows[work]))) for work in WORKS if work in rows]


def _cuts(group: WorkGroup) -> list[Cut]:
    every = [
        Cut(series, m.details.devices or 0, m.details.nonzeros_by_device, uneven, group.cut_speed(series, m))
        for series in group.series
        for m in series.timed
        if len(m.details.nonzeros_by_device) > 1 and (uneven := imbalance(m))
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
