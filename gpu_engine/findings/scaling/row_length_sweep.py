"""Cost of equal rows on matrices with two row lengths, over their ratio: Figure 6 of the MSREP paper."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.scaling.cases import COLD, RESIDENT, imbalance
from gpu_engine.findings.scaling.groups import WorkGroup, number_of, work_groups
from gpu_engine.findings.scaling.paper import ratio_of
from gpu_engine.findings.scaling.series import BASELINE, LINES, Series
from gpu_engine.records import Measurement

SWEPT = (COLD, RESIDENT)
"""Workloads measured with both balances."""


@dataclass(frozen=True, slots=True)
class Point:
    """A matrix with equal rows per device: its speed relative to equal nonzeros.

    ratio     long rows / short rows
    series    series with equal rows
    allowed   relative speed that the largest partition allows: (1 + 1/ratio)/2 if half of the rows are long
    measured  measured relative speed
    measurement, balanced  with equal rows, and with equal nonzeros
    """

    matrix: str
    ratio: float
    series: Series
    devices: int
    allowed: float
    measured: float
    measurement: Measurement
    balanced: Measurement


@dataclass(frozen=True, slots=True)
class Sweep:
    """Matrices with one partitioning on the devices of one machine; points: by workload, in ascending ratio."""

    group: WorkGroup
    devices: int
    points: Mapping[str, tuple[Point, ...]]

    @property
    def allowed(self) -> list[tuple[float, float]]:
        """(ratio, allowed relative speed), by ascending ratio."""
        return sorted({point.ratio: point.allowed for points in self.points.values() for point in points}.items())


def sweeps(data: StudyData) -> list[Sweep]:
    """Return a sweep per machine, partitioning, and number of devices that has several ratios."""
    by_key: dict[tuple[str, str, str, int], dict[str, list[Point]]] = {}
    groups: dict[tuple[str, str, str, int], WorkGroup] = {}
    for group in work_groups(data, SWEPT):
        if point := point_of(group, data):
            key = group.device, group.cache, group.partitioning, point.devices
            groups.setdefault(key, group)
            by_key.setdefault(key, {}).setdefault(group.work, []).append(point)
    made = [
        Sweep(
            groups[key],
            key[3],
            {
                work: tuple(sorted(by_workload[work], key=lambda point: point.ratio))
                for work in SWEPT
                if work in by_workload
            },
        )
        for key, by_workload in by_key.items()
    ]
    return [sweep for sweep in made if len(sweep.allowed) > 1]


def point_of(group: WorkGroup, data: StudyData, devices: int = 0) -> Point | None:
    """Return the point for a number of devices; None for other matrices, or without both balances.

    devices  0: the number chosen by the user, else the most
    """
    matrix, devices = data.matrix(group.matrix_id), devices or number_of(group, data)
    ratio = ratio_of(matrix)
    excluded = BASELINE if group.work == COLD else ""
    lines = (s for s in group.series if s.balance == LINES and s.variant != excluded and not s.competitor)
    equal_rows = next(((series, m) for series in lines if (m := series.on(devices))), None)
    if ratio is None or equal_rows is None:
        return None
    speed, uneven, balanced = group.cut_speed(*equal_rows), imbalance(equal_rows[1]), group.balanced(*equal_rows)
    if not speed or not uneven or balanced is None:
        return None
    return Point(matrix.name, ratio, equal_rows[0], devices, 1 / uneven, speed, equal_rows[1], balanced)
