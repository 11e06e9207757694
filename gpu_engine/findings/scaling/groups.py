"""Comparison groups of the `scaling` study: series of cases over the number of devices."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.ranking import Ranking, rank
from gpu_engine.findings.scaling.cases import COLD, COMPUTE, STAYING, WORKS, SpeedUp, is_virtual, phases_of, speed_up
from gpu_engine.multigpu.from_host.strategies import STRATEGIES
from gpu_engine.multigpu.partition import PARTITIONINGS
from gpu_engine.records import Measurement
from gpu_engine.text.axes import axis_text
from gpu_engine.text.units import count as in_digits

DEVICES = "devices"
"""Parameter with the number of devices chosen by the user."""

BASELINE = STRATEGIES[0].name
"""Baseline of the paper: equal rows per device, all host work in one thread."""

LINES, ENTRIES = "rows", "nonzeros"
"""Balances: what all devices have in equal numbers."""

LIBRARY = "kernel_library"
"""Option that names the library whose kernels multiply; without it, Sparsight kernels do."""


@dataclass(frozen=True, slots=True)
class Series:
    """A kernel with fixed options on different numbers of devices.

    options       axes of the case other than workload and number of devices
    apart         options that distinguish it from others of its kernel: `overlap on`
    measurements  by ascending number of devices, including those without a time
    base          base of its speedups: the same kernel on one device; None without a time
    """

    kernel: str
    options: tuple[tuple[str, str], ...]
    apart: str
    measurements: tuple[Measurement, ...]
    base: Measurement | None

    @property
    def label(self) -> str:
        """Kernel and distinguishing options: `pCSR/iterate, overlap on`."""
        return f"{self.kernel}, {self.apart}" if self.apart else self.kernel

    @property
    def partitioning(self) -> str:
        """Partitioning: `pCSR` of `pCSR/p*`."""
        return self.kernel.partition("/")[0]

    @property
    def variant(self) -> str:
        """Strategy or workload: `p*` of `pCSR/p*`."""
        return self.kernel.partition("/")[2]

    @property
    def competitor(self) -> str:
        """Library whose kernels multiply; empty for Sparsight kernels."""
        return dict(self.options).get(LIBRARY, "")

    @property
    def balance(self) -> str:
        """Balance: LINES for the paper's baseline and cases with that option, else ENTRIES."""
        return LINES if self.variant == BASELINE else dict(self.options).get("balance", ENTRIES)

    @property
    def timed(self) -> list[Measurement]:
        """Timed measurements, by ascending number of devices."""
        return [m for m in self.measurements if m.median_s]

    @property
    def ranked(self) -> list[Measurement]:
        """Timed measurements that converged; the others are never compared."""
        return [m for m in self.timed if m.state == "ok"]

    def on(self, devices: int) -> Measurement | None:
        """Return the ranked measurement on a number of devices; None without one."""
        return next((m for m in self.ranked if m.details.devices == devices), None)

    def gain(self, m: Measurement) -> SpeedUp | None:
        """Return the speedup of `m` over the base; None without two times."""
        return speed_up(self.base, m)


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
        if series.balance != LINES:
            return None
        unlike = self.work == COLD and series.variant == BASELINE
        others = (other for other in self.series if other.balance != LINES and other.competitor == series.competitor)
        candidates = (other for other in others if unlike or _without(other, "balance") == _without(series, "balance"))
        balanced = next((match for other in candidates if (match := other.on(m.details.devices or 0))), None)
        times = [phases_of(each).get(COMPUTE) if unlike else each.median_s for each in (balanced, m) if each]
        return times[0] / times[1] if len(times) == 2 and times[0] and times[1] else None

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
    return [WorkGroup(*key, _series(by_key[key])) for key in keys]


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


def by_partitioning(name: str) -> int:
    """Return a sort key: position in PARTITIONINGS, others last."""
    return _position(name, [partitioning.name for partitioning in PARTITIONINGS])


def by_variant(name: str) -> int:
    """Return a sort key: position in STRATEGIES, then workloads without a strategy."""
    return _position(name.partition("+")[0], [*(strategy.name for strategy in STRATEGIES), *STAYING])


def _position(name: str, names: Sequence[str]) -> int:
    return names.index(name) if name in names else len(names)


def _without(series: Series, name: str) -> tuple[str, dict[str, str]]:
    """Return the kernel and all options except one."""
    return series.kernel, {option: value for option, value in series.options if option != name}


Key = tuple[str, tuple[tuple[str, str], ...]]
"""(kernel, options)."""


def _series(measurements: Sequence[Measurement]) -> tuple[Series, ...]:
    by_key: dict[Key, list[Measurement]] = {}
    for m in measurements:
        options = tuple((name, value) for name, value in m.axes.items() if name not in ("workload", "devices"))
        by_key.setdefault((m.kernel, options), []).append(m)
    made = [
        Series(*key, _apart(key, by_key), tuple(sorted(members, key=_devices)), _base(key, by_key))
        for key, members in by_key.items()
    ]
    return tuple(sorted(made, key=lambda series: (series.competitor, by_variant(series.variant))))


def _apart(key: Key, keys: Iterable[Key]) -> str:
    """Return the text of the options that differ among the keys of its kernel; a library is always named."""
    namesakes = [dict(options) for kernel, options in keys if kernel == key[0]]
    chosen = {name: {options.get(name) for options in namesakes} for name, _ in key[1]}
    named = (pair for pair in key[1] if pair[0] == LIBRARY or len(chosen[pair[0]]) > 1)
    return ", ".join(option_text(name, value) for name, value in named)


def option_text(name: str, value: str) -> str:
    """Return the text of an option: `exchange halo`; a kernel library has only its name."""
    return value if name == LIBRARY else axis_text(name, value)


def _base(key: Key, by_key: Mapping[Key, Sequence[Measurement]]) -> Measurement | None:
    """Return the measurement of a key on one device, else the fastest there of its kernel with the same library.

    On one device, options of balance, merge, and exchange have no effect.
    """
    library = dict(key[1]).get(LIBRARY)
    similar = (
        members
        for (kernel, options), members in by_key.items()
        if (kernel, dict(options).get(LIBRARY)) == (key[0], library)
    )
    for candidates in (by_key[key], [m for members in similar for m in members]):
        single = [m for m in candidates if m.details.devices == 1 and m.state == "ok" and m.median_s]
        if single:
            return min(single, key=lambda m: m.median_s or 0.0)
    return None


def _devices(m: Measurement) -> int:
    return m.details.devices or 0
