"""Equal rows on matrices whose rows have two lengths, over the ratio of these; Figure 6 of the MSREP paper."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.scaling.cases import COLD, RESIDENT, imbalance
from gpu_engine.findings.scaling.groups import BASELINE, LINES, Series, WorkGroup, number_of, work_groups
from gpu_engine.generators import two_level
from gpu_engine.generators.two_level import TwoLevelParams
from gpu_engine.records import Measurement

SWEPT = (COLD, RESIDENT)
"""The works that are cut both ways."""


@dataclass(frozen=True, slots=True)
class Point:
    """One matrix with equal rows, in shares of its speed with equal nonzeros and all else alike.

    ratio    of the lengths of its rows
    series   that of equal rows
    allowed  by the largest part: (1 + 1/ratio)/2 where half of the rows are long
    """

    matrix: str
    ratio: float
    series: Series
    devices: int
    allowed: float
    measured: float
    measurement: Measurement


@dataclass(frozen=True, slots=True)
class Sweep:
    """The matrices that were cut one way by the devices of one machine; points by work, by ascending ratio."""

    group: WorkGroup
    devices: int
    points: Mapping[str, tuple[Point, ...]]

    @property
    def allowed(self) -> list[tuple[float, float]]:
        """(ratio, speed that the cut allows), by ascending ratio."""
        return sorted({point.ratio: point.allowed for own in self.points.values() for point in own}.items())


def sweeps(data: StudyData) -> list[Sweep]:
    """Of each machine, partitioning and number of devices what has several ratios."""
    found: dict[tuple[str, str, str, int], dict[str, list[Point]]] = {}
    groups: dict[tuple[str, str, str, int], WorkGroup] = {}
    for group in work_groups(data, SWEPT):
        if point := point_of(group, data):
            key = group.device, group.cache, group.partitioning, point.devices
            groups.setdefault(key, group)
            found.setdefault(key, {}).setdefault(group.work, []).append(point)
    made = [
        Sweep(
            groups[key],
            key[3],
            {work: tuple(sorted(own[work], key=lambda point: point.ratio)) for work in SWEPT if work in own},
        )
        for key, own in found.items()
    ]
    return [sweep for sweep in made if len(sweep.allowed) > 1]


def point_of(group: WorkGroup, data: StudyData) -> Point | None:
    """With the number of devices that is spoken of; None for other matrices, and without both cuts of one kernel."""
    matrix, devices = data.matrix(group.matrix_id), number_of(group, data)
    ratio = ratio_of(matrix)
    unlike = BASELINE if group.work == COLD else ""
    lines = (s for s in group.series if s.balance == LINES and s.variant != unlike and not s.competitor)
    found = next(((series, m) for series in lines if (m := series.on(devices))), None)
    if ratio is None or found is None:
        return None
    speed, uneven = group.cut_speed(*found), imbalance(found[1])
    return Point(matrix.name, ratio, found[0], devices, 1 / uneven, speed, found[1]) if speed and uneven else None


def ratio_of(matrix: MatrixFeatures) -> float | None:
    """Of a matrix of the family `two_level`."""
    if matrix.source.get("generator") != two_level.GENERATOR.name:
        return None
    params: Mapping[str, Any] = matrix.source.get("params", {})
    return float(params.get("ratio", TwoLevelParams().ratio))
