"""Functions that check the statements of the MSREP paper, each on one matrix, partitioning, and number of devices.

Source: MSREP paper, §2.3 and §5.4 to §5.7.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpu_engine.findings.conclusions import Trial
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.printed import Printed
from gpu_engine.findings.scaling.cases import COLD, RESIDENT, phases_of, share_of
from gpu_engine.findings.scaling.groups import WorkGroup, devices_in_words
from gpu_engine.findings.scaling.paper import is_large
from gpu_engine.findings.scaling.row_length_sweep import Point, point_of
from gpu_engine.findings.scaling.series import Series
from gpu_engine.multigpu.from_host.strategies import PAPER_STRATEGIES, find_strategy
from gpu_engine.multigpu.partition import PARTITIONINGS
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.verdicts.verdict import UNKNOWN_GAP, compare, noise_threshold, verdict_text

BASELINE, BALANCED, OPTIMIZED = (strategy.name for strategy in PAPER_STRATEGIES)

AXES = {partitioning.name: partitioning.axis for partitioning in PARTITIONINGS}
"""Partitioning → the axis that it divides: rows or columns."""

PARTITION_MAX = Printed("2")
"""Largest share of partitioning in the time, in percent, in most cases with p*-opt (§5.4)."""

HALVED = Printed("2")
"""Slowdown of equal rows if half of the GPUs have a tenth of the others' nonzeros: to about half (Figure 6)."""

FIGURE_6_RATIO = 10.0
"""Ratio of the nonzeros for which the caption of Figure 6 has a number."""

EFFICIENCY_MIN = Printed("6.2").least / 8
"""Least efficiency that the paper calls near linear: a speedup of 6.2 with eight GPUs (§5.7, §8)."""

PERCENT = f"{units.THIN}%"

NUMA_OFF = {("placement", "none"), ("placement", "one"), ("affinity", "off")}
"""Options that switch off the NUMA optimizations of p*-opt."""


@dataclass(frozen=True, slots=True)
class DeviceCase:
    """A workload of a matrix with one partitioning on a number of devices.

    peers  groups of the matrix with the same workload, by partitioning
    """

    matrix: MatrixFeatures
    group: WorkGroup
    devices: int
    peers: Mapping[str, WorkGroup]

    @property
    def name(self) -> str:
        """Return matrix, partitioning, and number of devices, before a number: `wb-edu pCSR on 2 devices:`."""
        return f"{self.matrix.name} {self.group.partitioning} on {devices_in_words(self.devices, virtual=False)}:"

    def strategy(self, name: str, partitioning: str = "") -> Series | None:
        """Return the series of SpMV from the host with a strategy and merge of the paper, without further options.

        partitioning  another one of the same matrix; empty: that of the case
        """
        group = self.peers.get(partitioning or self.group.partitioning)
        axis = AXES.get(group.partitioning) if group else None
        if group is None or group.work != COLD or axis is None:
            return None
        options = (("merge", find_strategy(name).merge_place(axis)),)
        return next((s for s in group.series if s.variant == name and s.options == options), None)

    def measured(self, name: str, devices: int = 0, partitioning: str = "") -> Measurement | None:
        """Return the measurement of a strategy of the paper; devices: another number than that of the case."""
        series = self.strategy(name, partitioning)
        return series.on(devices or self.devices) if series else None


Judge = Callable[[DeviceCase, StudyData], Trial | None]
"""Function that checks a statement on one case."""


def imbalance_slows(case: DeviceCase, data: StudyData) -> Trial | None:
    """Check whether equal rows are slower than equal nonzeros, unless all rows have the same length."""
    point = _point(case, data)
    if point is None or point.ratio == 1.0:
        return None
    verdict = compare(point.balanced, point.measurement)
    return Trial(verdict.kind == "slower", f"{_speed(point)} ({verdict_text(verdict.kind)})")


def imbalance_halves(case: DeviceCase, data: StudyData) -> Trial | None:
    """Check whether equal rows take about twice as long if half of the devices have a tenth of the nonzeros."""
    point = _point(case, data)
    if point is None or point.ratio != FIGURE_6_RATIO:
        return None
    return Trial(HALVED.holds(1 / point.measured), _speed(point))


def partition_little(case: DeviceCase, data: StudyData) -> Trial | None:  # noqa: ARG001
    """Check whether p*-opt spends little of the time on partitioning a matrix of the size of the paper's."""
    m = case.measured(OPTIMIZED) if is_large(case.matrix) else None
    partition = share_of(m, "partition") if m else None
    if m is None or partition is None:
        return None
    both = units.percent(share_of(m, "partition", "distribute"))
    number, accepts = f"{units.percent(partition)} ({both} with distribution)", PARTITION_MAX.kept_text(PERCENT)
    return Trial(PARTITION_MAX.is_kept(100 * partition), number, accepts=accepts)


def partition_no_more(case: DeviceCase, data: StudyData) -> Trial | None:  # noqa: ARG001
    """Check whether partitioning with p* takes no longer than with the baseline."""
    before, after = case.measured(BASELINE), case.measured(BALANCED)
    longer = _is_longer("partition", before, after)
    return None if longer is None else Trial(not longer, _both("partition", (BASELINE, before), (BALANCED, after)))


def partition_gains(case: DeviceCase, data: StudyData) -> Trial | None:  # noqa: ARG001
    """Check whether partitioning with p* is faster on several devices than on one."""
    one, several = case.measured(BALANCED, 1), case.measured(BALANCED)
    faster = _is_longer("partition", several, one) if case.devices > 1 else None
    return None if faster is None else Trial(faster, _both("partition", ("one device", one), (_devices(case), several)))


def partition_offloaded(case: DeviceCase, data: StudyData) -> Trial | None:  # noqa: ARG001
    """Check whether p*-opt, whose devices write pointers and indices, partitions faster than p*."""
    before, after = case.measured(BALANCED), case.measured(OPTIMIZED)
    faster = _is_longer("partition", after, before)
    return None if faster is None else Trial(faster, _both("partition", (BALANCED, before), (OPTIMIZED, after)))


def coo_costs_more(case: DeviceCase, data: StudyData) -> Trial | None:  # noqa: ARG001
    """Check whether the baseline partitions COO longer than CSR and CSC."""
    if case.group.partitioning != "pCOO":
        return None
    coo, *others = (case.measured(BASELINE, partitioning=name) for name in ("pCOO", "pCSR", "pCSC"))
    longer = [_is_longer("partition", other, coo) for other in others]
    if None in longer:
        return None
    return Trial(all(longer), f"{_time(coo)}, CSR {_time(others[0])}, CSC {_time(others[1])}")


def merges_at_most(partitioning: str, most: Printed) -> Judge:
    """Return a function that checks the share of merging with p*-opt, in percent, for one partitioning.

    One device has no partial results to merge.
    """

    def judge(case: DeviceCase, data: StudyData) -> Trial | None:  # noqa: ARG001
        chosen = is_large(case.matrix) and case.group.partitioning == partitioning
        m = case.measured(OPTIMIZED) if chosen and case.devices > 1 else None
        share = share_of(m, "merge") if m else None
        if share is None:
            return None
        return Trial(most.is_kept(100 * share), units.percent(share), accepts=most.kept_text(PERCENT))

    return judge


def columns_grow(case: DeviceCase, data: StudyData) -> Trial | None:  # noqa: ARG001
    """Check whether merging columns with the baseline takes longer than on the next smaller number of devices."""
    series = case.strategy(BASELINE) if AXES.get(case.group.partitioning) == "columns" else None
    fewer = [m for m in series.ranked if (m.details.devices or 0) < case.devices] if series else []
    before, after = (fewer[-1], case.measured(BASELINE)) if fewer else (None, None)
    longer = _is_longer("merge", before, after)
    if before is None or longer is None:
        return None
    fewer_devices = devices_in_words(before.details.devices or 0, virtual=False)
    return Trial(longer, _both("merge", (fewer_devices, before), (_devices(case), after)))


def rows_merge_faster(case: DeviceCase, data: StudyData) -> Trial | None:  # noqa: ARG001
    """Check whether the baseline merges rows faster than the columns of the same matrix, on several devices."""
    if AXES.get(case.group.partitioning) != "rows" or case.devices == 1:
        return None
    rows, columns = case.measured(BASELINE), case.measured(BASELINE, partitioning="pCSC")
    faster = _is_longer("merge", rows, columns)
    return None if faster is None else Trial(faster, _both("merge", ("rows", rows), ("columns", columns)))


def rows_merge_longer(case: DeviceCase, data: StudyData) -> Trial | None:  # noqa: ARG001
    """Check whether merging rows takes longer with p*, which cuts rows, than with the baseline, on several devices."""
    if AXES.get(case.group.partitioning) != "rows" or case.devices == 1:
        return None
    before, after = case.measured(BASELINE), case.measured(BALANCED)
    longer = _is_longer("merge", before, after)
    return None if longer is None else Trial(longer, _both("merge", (BASELINE, before), (BALANCED, after)))


def in_order(case: DeviceCase, data: StudyData) -> Trial | None:  # noqa: ARG001
    """Check whether each strategy of the paper is faster than the one before, on several devices."""
    first, second, third = (case.measured(name) for name in (BASELINE, BALANCED, OPTIMIZED))
    if first is None or second is None or third is None or case.devices == 1:
        return None
    one, two = compare(first, second), compare(second, third)
    balanced = f"{BALANCED} {units.ratio(one.ratio)} {BASELINE} ({verdict_text(one.kind)})"
    numa = f"{OPTIMIZED} {units.ratio(two.ratio)} {BALANCED} ({verdict_text(two.kind)})"
    return Trial(one.kind == two.kind == "faster", f"{balanced}, {numa}")


def near_linear(case: DeviceCase, data: StudyData) -> Trial | None:  # noqa: ARG001
    """Check whether p*-opt reaches the efficiency of the paper's eight GPUs, over itself on one device."""
    series, m = case.strategy(OPTIMIZED), case.measured(OPTIMIZED)
    gain = series.gain(m) if series and m else None
    if gain is None or case.devices == 1:
        return None
    least = EFFICIENCY_MIN * case.devices
    return Trial(gain.value >= least, units.ratio(gain.value), gain.value, accepts=f"{least:.3g} or more")


def numa_not_slower(case: DeviceCase, data: StudyData) -> Trial | None:  # noqa: ARG001
    """Check p*-opt against itself without NUMA optimizations, on GPUs of several NUMA nodes."""
    series, m = case.strategy(OPTIMIZED), case.measured(OPTIMIZED)
    nodes = len({node.strip() for node in m.environment.get("nodes", "").split(",")}) if m else 0
    if series is None or m is None or case.group.virtual or nodes < 2:
        return None
    candidates = [(_numa_off(s, series), s, there) for s in case.group.series if (there := s.on(case.devices))]
    off, other, without = max(candidates, key=lambda each: each[0])
    if not off:
        return None
    verdict = compare(without, m)
    where = f"on {devices_in_words(case.devices, virtual=False)} of {units.count(nodes)} nodes"
    numbers = f"{units.ratio(verdict.ratio)} {other.label} {where} ({verdict_text(verdict.kind)})"
    return Trial(verdict.kind != "slower", numbers)


def _numa_off(series: Series, optimized: Series) -> int:
    """Return the number of NUMA optimizations that are off; 0 if none is, or anything else differs."""
    if series.kernel != optimized.kernel:
        return 0
    more = dict(series.options).items() - dict(optimized.options).items()
    alike = set(optimized.options) <= set(series.options) and more <= NUMA_OFF
    return len(more) if alike else 0


def _point(case: DeviceCase, data: StudyData) -> Point | None:
    """Return the point of Figure 6 for a resident matrix on several devices."""
    is_resident = case.group.work == RESIDENT and case.devices > 1
    return point_of(case.group, data, case.devices) if is_resident else None


def _devices(case: DeviceCase) -> str:
    return devices_in_words(case.devices, virtual=False)


def _speed(point: Point) -> str:
    speed, allowed = units.percent(point.measured), units.percent(point.allowed)
    return f"r = {units.number(point.ratio)}: {speed} of the speed with equal nonzeros, limit {allowed}"


def _is_longer(phase: str, before: Measurement | None, after: Measurement | None) -> bool | None:
    """Return whether a phase takes longer in `after`, beyond the noise threshold; None without two times."""
    one, other = (phases_of(m).get(phase) if m else None for m in (before, after))
    if before is None or after is None or not one or not other:
        return None
    return other > one * (1 + _threshold(before, after))


def _threshold(before: Measurement, after: Measurement) -> float:
    """Return the noise threshold of two measurements as a relative gap."""
    gaps = [m.aa_gap for m in (before, after) if m.aa_gap is not None]
    return noise_threshold(after.backend, max(gaps, default=UNKNOWN_GAP["scaling"]))


def _both(phase: str, before: tuple[str, Measurement | None], after: tuple[str, Measurement | None]) -> str:
    """Return two times of a phase, each after its name, with a note if they differ by no more than the noise."""
    text = ", ".join(f"{name} {_time(m, phase)}".strip() for name, m in (before, after))
    one, other = (phases_of(m).get(phase) if m else None for _, m in (before, after))
    if before[1] is None or after[1] is None or not one or not other or one == other:
        return text
    threshold = _threshold(before[1], after[1])
    is_noise = max(one, other) <= min(one, other) * (1 + threshold)
    return f"{text} (within the noise, {units.percent(threshold)})" if is_noise else text


def _time(m: Measurement | None, phase: str = "partition") -> str:
    return units.seconds(phases_of(m).get(phase) if m else None)
