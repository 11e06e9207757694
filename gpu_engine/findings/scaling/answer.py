"""Whether more devices pay: the fastest run on several devices against the fastest on one, per matrix and workload."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.scaling.cases import COLD, WORKS, SpeedUp, speed_up
from gpu_engine.findings.scaling.groups import DEVICES, Entry, WorkGroup, by_work, work_groups
from gpu_engine.findings.scaling.series import LINES
from gpu_engine.records import Measurement
from gpu_engine.verdicts.verdict import compare


@dataclass(frozen=True, slots=True)
class Scaled:
    """A workload on one matrix, in the partitioning that is fastest on one device.

    fastest     fastest Sparsight run on `devices` devices; one: on one device
    equal_rows  fastest run with equal rows on as many devices; None without one, or if it is the fastest
    """

    group: WorkGroup
    devices: int
    fastest: Entry
    one: Measurement
    equal_rows: Measurement | None

    @property
    def speedup(self) -> SpeedUp:
        """Speedup over one device."""
        gain = speed_up(self.one, self.fastest[1])
        if gain is None:
            raise ValueError("Both runs of a Scaled have a time.")
        return gain

    def on(self, devices: int) -> SpeedUp | None:
        """Return the speedup of the fastest run on another number of devices; None without one."""
        ranked = self.group.ranked(devices)
        return speed_up(self.one, ranked[0][1]) if ranked else None

    @property
    def fewer(self) -> int | None:
        """Number of devices below `devices` on which the workload is fastest, if it is faster there; else None."""
        counts = {m.details.devices for series in self.group.series for m in series.ranked if m.details.devices}
        runs = {n: self.group.ranked(n)[0][1] for n in counts if n < self.devices and self.group.ranked(n)}
        best = min(runs, key=lambda n: runs[n].median_s or 0.0, default=0)
        is_faster = best > 1 and compare(self.fastest[1], runs[best]).kind == "faster"
        return best if is_faster else None

    @property
    def of_rows(self) -> SpeedUp | None:
        """Speedup of equal rows over one device."""
        return speed_up(self.one, self.equal_rows) if self.equal_rows else None

    @property
    def balance_gain(self) -> float | None:
        """Time with equal rows / time of the fastest run; None without equal rows."""
        rows, fastest = self.equal_rows, self.fastest[1]
        return rows.median_s / fastest.median_s if rows and rows.median_s and fastest.median_s else None


@dataclass(frozen=True, slots=True)
class Machine:
    """All matrices of a machine on as many devices as possible, or on as many as chosen; scaled: at least one."""

    device: str
    devices: int
    scaled: tuple[Scaled, ...]

    @property
    def virtual(self) -> bool:
        """Whether its devices are simulated."""
        return any(each.group.virtual for each in self.scaled)

    def of(self, work: str) -> tuple[Scaled, ...]:
        """Return the matrices of a workload."""
        return tuple(each for each in self.scaled if each.group.work == work)

    @property
    def works(self) -> tuple[str, ...]:
        """Workloads in the order of WORKS."""
        return tuple(work for work in WORKS if self.of(work))

    @property
    def balance_gain(self) -> float | None:
        """Geometric mean of the speedups of equal nonzeros over equal rows from the host; None without both."""
        gains = [gain for each in self.of(COLD) if (gain := each.balance_gain)]
        return geometric_mean(gains) if gains else None


def machines(data: StudyData) -> list[Machine]:
    """Return the machines with a run on several devices and one on one device, in order of appearance."""
    by_device: dict[str, list[list[WorkGroup]]] = {}
    for groups in by_work(work_groups(data)):
        by_device.setdefault(groups[0].device, []).append(groups)
    made = []
    for device, works in by_device.items():
        most = max((group.most for groups in works for group in groups), default=0)
        devices = data.number(DEVICES) or most
        scaled = tuple(each for groups in works if (each := _scaled(groups, devices)))
        made += [Machine(device, devices, scaled)] if scaled and devices > 1 else []
    return made


def _scaled(groups: Sequence[WorkGroup], devices: int) -> Scaled | None:
    """Return a matrix and workload; None if no partitioning ran on one and on several devices."""
    timed = [(group, group.ranked(devices), group.ranked(1)) for group in groups]
    both = [(group, several[0], one[0][1]) for group, several, one in timed if several and one]
    if not both:
        return None
    group, fastest, one = min(both, key=lambda each: each[2].median_s or 0.0)
    rows = next((m for series, m in group.ranked(devices) if series.balance == LINES), None)
    return Scaled(group, devices, fastest, one, rows if rows is not fastest[1] else None)
