"""Comparison groups of the `scaling` study: series of cases over the number of devices."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.ranking import Ranking, rank
from gpu_engine.findings.scaling.cases import COLD, COMPUTE, WORKS, SpeedUp, is_virtual, phases_of, speed_up
from gpu_engine.findings.scaling.series import BASELINE, LIBRARY, LINES, Series, by_partitioning, series_of
from gpu_engine.records import Measurement
from gpu_engine.text.units import count as in_digits

DEVICES = "devices"
"""Parameter with the number of devices chosen by the user."""

Entry = tuple[Series, Measurement]
"""A series with one of its measurements."""


@dataclass(frozen=True, slots=True)
class WorkGroup:
    """Comparable cases: one matrix, workload, partitioning, machine, and cache state.

    Other workloads and partitionings of the matrix were sampled in separate rounds.
    """

    matrix_id: str
    device: str
    cache: str
    work: str
    partitioning: str
    series: tuple[Series, ...]

    @property
    def most(self) -> int:
        """Largest number of devices with a ranked Sparsight kernel, else a library kernel; 0 without either."""
        ranked = [(series.competitor, m.details.devices or 0) for series in self.series for m in series.ranked]
        ours = [devices for competitor, devices in ranked if not competitor]
        return max(ours or (devices for _, devices in ranked), default=0)

    @property
    def virtual(self) -> bool:
        """Whether its devices are simulated by CPU threads."""
        return any(is_virtual(m) for series in self.series for m in series.measurements)

    @property
    def machine(self) -> str:
        """Device, marked if simulated: `cpu (simulated)`."""
        return f"{self.device} (simulated)" if self.virtual else self.device

    @property
    def leaders(self) -> tuple[str, ...]:
        """Labels of the fastest or tied Sparsight kernels on the most devices."""
        labels = {m.case: series.label for series, m in self.ranked(self.most)}
        return tuple(labels[m.case] for m in self.ranking(self.most).leaders)

    def ranking(self, devices: int) -> Ranking:
        """Return the ranking of the Sparsight kernels on a number of devices; library kernels are not ranked."""
        return rank(m for _, m in self.ranked(devices))

    def ranked(self, devices: int) -> list[Entry]:
        """Return the timed Sparsight kernels on a number of devices, the fastest first."""
        return [entry for entry in self._timed(devices) if not entry[0].competitor]

    def rival(self, devices: int) -> Entry | None:
        """Return the fastest library kernel on a number of devices; None without one."""
        return next((entry for entry in self._timed(devices) if entry[0].competitor), None)

    def twin(self, series: Series, m: Measurement) -> Measurement | None:
        """Return the measurement that differs from `m` only in using library kernels; None without one."""
        others = (other for other in self.series if other.competitor and other.kernel == series.kernel)
        twins = (other for other in others if set(other.options) ^ set(series.options) == {(LIBRARY, other.competitor)})
        return (
            None
            if series.competitor
            else next((match for other in twins if (match := other.on(m.details.devices or 0))), None)
        )

    def baseline(self, devices: int, competitor: str = "") -> Entry | None:
        """Return the fastest case with equal rows on a number of devices, as the paper's baseline; None without one."""
        entries = (entry for entry in self._timed(devices) if entry[0].competitor == competitor)
        lines = (entry for entry in entries if entry[0].balance == LINES)
        return next((entry for entry in lines if self.work != COLD or entry[0].variant == BASELINE), None)

    @property
    def common_base(self) -> Entry | None:
        """Base of the speedups of SpMV from the host: the first strategy with a time on one device.

        This is the paper's baseline if it was measured. With a base per strategy, the slowest one could win.
        """
        single = ((series, m) for series in self.series if (m := series.on(1)))
        return next(single, None) if self.work == COLD else None

    def base(self, series: Series) -> Measurement | None:
        """Return the base of the speedups: the common base, or for resident workloads the same kernel on one device."""
        if self.work != COLD:
            return series.base
        return self.common_base[1] if self.common_base else None

    def gain(self, series: Series, m: Measurement) -> SpeedUp | None:
        """Return the speedup over the base; None without two times."""
        return speed_up(self.base(series), m)

    def cut_speed(self, series: Series, m: Measurement) -> float | None:
        """Return the speed relative to equal nonzeros with the same other options; None unless it has equal rows.

        The paper's baseline differs in other options too, so only its compute phase is compared.
        """
        balanced = self.balanced(series, m)
        unlike = self._is_unlike(series)
        times = [phases_of(each).get(COMPUTE) if unlike else each.median_s for each in (balanced, m) if each]
        return times[0] / times[1] if len(times) == 2 and times[0] and times[1] else None

    def balanced(self, series: Series, m: Measurement) -> Measurement | None:
        """Return the measurement with equal nonzeros, else like `m`; None unless `m` has equal rows."""
        if series.balance != LINES:
            return None
        others = (other for other in self.series if other.balance != LINES and other.competitor == series.competitor)
        candidates = (
            o for o in others if self._is_unlike(series) or _without(o, "balance") == _without(series, "balance")
        )
        return next((match for other in candidates if (match := other.on(m.details.devices or 0))), None)

    def _is_unlike(self, series: Series) -> bool:
        """Return whether a series differs from those with equal nonzeros in more than the balance."""
        return self.work == COLD and series.variant == BASELINE

    def _timed(self, devices: int) -> list[Entry]:
        entries = [(series, m) for series in self.series if (m := series.on(devices))]
        return sorted(entries, key=lambda entry: entry[1].median_s or 0.0)


def work_groups(data: StudyData, works: Iterable[str] = WORKS) -> list[WorkGroup]:
    """Return the groups of some workloads: matrices in order of appearance, workloads in the order of WORKS."""
    chosen, order = tuple(works), tuple(WORKS)
    by_key: dict[tuple[str, str, str, str, str], list[Measurement]] = {}
    for m in data.measurements:
        work = m.axes.get("workload", "")
        if work in chosen:
            by_key.setdefault((m.matrix_id, m.device, m.cache, work, m.format), []).append(m)
    places = {key[:3]: index for index, key in reversed(list(enumerate(by_key)))}
    keys = sorted(by_key, key=lambda key: (places[key[:3]], order.index(key[3]), by_partitioning(key[4])))
    return [WorkGroup(*key, series_of(by_key[key])) for key in keys]


def by_work(groups: Iterable[WorkGroup]) -> list[list[WorkGroup]]:
    """Return lists of groups that differ only in their partitioning."""
    by_key: dict[tuple[str, str, str, str], list[WorkGroup]] = {}
    for group in groups:
        by_key.setdefault((group.matrix_id, group.device, group.cache, group.work), []).append(group)
    return list(by_key.values())


def numbers_of_devices(data: StudyData) -> tuple[int, ...]:
    """Return the measured numbers of devices, ascending."""
    return tuple(sorted({m.details.devices for m in data.measurements if m.details.devices}))


def leading(groups: Sequence[WorkGroup], data: StudyData) -> tuple[WorkGroup, int] | None:
    """Return the fastest partitioning with its number of devices (chosen, else the most); None without a time."""
    timed = [
        (ranked[0][1].median_s or 0.0, index)
        for index, group in enumerate(groups)
        if (ranked := group.ranked(number_of(group, data)))
    ]
    return (groups[min(timed)[1]], number_of(groups[min(timed)[1]], data)) if timed else None


def number_of(group: WorkGroup, data: StudyData) -> int:
    """Return the number of devices to describe: the user's if a Sparsight kernel was timed with it, else the most."""
    chosen = data.number(DEVICES)
    return chosen if chosen and group.ranked(chosen) else group.most


def devices_in_words(devices: int, virtual: bool) -> str:
    """Return `4 devices`, or `4 simulated devices` for CPU threads."""
    return f"{in_digits(devices)} {'simulated ' if virtual else ''}device{'' if devices == 1 else 's'}"


def _without(series: Series, name: str) -> tuple[str, dict[str, str]]:
    """Return the kernel and all options except one."""
    return series.kernel, {option: value for option, value in series.options if option != name}
