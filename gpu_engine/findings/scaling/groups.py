"""Workloads that several devices share: which of their cases may be compared."""

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
"""The parameter by which the reader chooses how many devices share the work that is spoken of."""

BASELINE = STRATEGIES[0].name
"""What the paper compares with: lines cut equally, everything in one thread of the host."""

LINES, ENTRIES = "rows", "nonzeros"
"""What each device has equally many of."""

LIBRARY = "kernel_library"
"""The option that names the library whose product runs inside; without it the product is ours."""


@dataclass(frozen=True, slots=True)
class Series:
    """A kernel on different numbers of devices, all else being equal.

    options       axes of the case beside its work and the number of devices
    apart         what sets it apart from others of its kernel: `overlap on`
    measurements  by ascending number of devices, those without a time too
    base          what its speed-ups are over: the same kernel on one device; None where that has no time
    """

    kernel: str
    options: tuple[tuple[str, str], ...]
    apart: str
    measurements: tuple[Measurement, ...]
    base: Measurement | None

    @property
    def label(self) -> str:
        """The kernel, and what sets it apart: `pCSR/iterate, overlap on`."""
        return f"{self.kernel}, {self.apart}" if self.apart else self.kernel

    @property
    def partitioning(self) -> str:
        """`pCSR` of `pCSR/p*`."""
        return self.kernel.partition("/")[0]

    @property
    def variant(self) -> str:
        """`p*` of `pCSR/p*`: a strategy, or a work."""
        return self.kernel.partition("/")[2]

    @property
    def competitor(self) -> str:
        """Whose product runs inside: a competitor, or ours where it is empty."""
        return dict(self.options).get(LIBRARY, "")

    @property
    def balance(self) -> str:
        """LINES as in the paper's baseline and where a case says so, else ENTRIES."""
        return LINES if self.variant == BASELINE else dict(self.options).get("balance", ENTRIES)

    @property
    def timed(self) -> list[Measurement]:
        """Those with a time, by ascending number of devices."""
        return [m for m in self.measurements if m.median_s]

    @property
    def ranked(self) -> list[Measurement]:
        """Those of them that came to their end: what did not converge leads nothing, and nothing is over it."""
        return [m for m in self.timed if m.state == "ok"]

    def on(self, devices: int) -> Measurement | None:
        """With so many devices, if it has a time and came to its end."""
        return next((m for m in self.ranked if m.details.devices == devices), None)

    def gain(self, m: Measurement) -> SpeedUp | None:
        """How many times as fast as the base `m` is; None without two times."""
        return speed_up(self.base, m)


Entry = tuple[Series, Measurement]


@dataclass(frozen=True, slots=True)
class WorkGroup:
    """What may be compared: one work on one matrix cut one way, by the devices of one machine in one cache state.

    Other works and partitionings of the matrix were sampled in rounds of their own.
    """

    matrix_id: str
    device: str
    cache: str
    work: str
    partitioning: str
    series: tuple[Series, ...]

    @property
    def most(self) -> int:
        """The largest number of devices with which one of ours can be ranked, else a library; 0 where nothing can."""
        found = [(series.competitor, m.details.devices or 0) for series in self.series for m in series.ranked]
        ours = [devices for competitor, devices in found if not competitor]
        return max(ours or (devices for _, devices in found), default=0)

    @property
    def virtual(self) -> bool:
        """Whether its devices are threads of a CPU."""
        return any(is_virtual(m) for series in self.series for m in series.measurements)

    @property
    def machine(self) -> str:
        """Where it was measured: `cpu (virtual)`."""
        return f"{self.device} (virtual)" if self.virtual else self.device

    @property
    def leaders(self) -> tuple[str, ...]:
        """With the most devices the fastest of ours and those that are `same` with it."""
        labels = {m.case: series.label for series, m in self.ranked(self.most)}
        return tuple(labels[m.case] for m in self.ranking(self.most).leaders)

    def ranking(self, devices: int) -> Ranking:
        """What of ours has a time with so many devices: libraries are beside it."""
        return rank(m for _, m in self.ranked(devices))

    def ranked(self, devices: int) -> list[Entry]:
        """What of ours has a time with so many devices, fastest first: libraries are beside the ranking."""
        return [entry for entry in self._timed(devices) if not entry[0].competitor]

    def rival(self, devices: int) -> Entry | None:
        """The fastest with a library's product and so many devices."""
        return next((entry for entry in self._timed(devices) if entry[0].competitor), None)

    def twin(self, series: Series, m: Measurement) -> Measurement | None:
        """The same as `m`, which is ours, with the product of a library."""
        others = (other for other in self.series if other.competitor and other.kernel == series.kernel)
        alike = (other for other in others if set(other.options) ^ set(series.options) == {(LIBRARY, other.competitor)})
        return (
            None
            if series.competitor
            else next((found for other in alike if (found := other.on(m.details.devices or 0))), None)
        )

    def baseline(self, devices: int, competitor: str = "") -> Entry | None:
        """The fastest of those that cut equal lines, as the paper's baseline, with so many devices."""
        found = (entry for entry in self._timed(devices) if entry[0].competitor == competitor)
        lines = (entry for entry in found if entry[0].balance == LINES)
        return next((entry for entry in lines if self.work != COLD or entry[0].variant == BASELINE), None)

    @property
    def common_base(self) -> Entry | None:
        """What the speed-ups of products from the host are over: the first strategy that has a time on one device.

        That is the paper's baseline wherever it was measured; over itself the slowest could be the first.
        """
        alone = ((series, m) for series in self.series if (m := series.on(1)))
        return next(alone, None) if self.work == COLD else None

    def base(self, series: Series) -> Measurement | None:
        """Return what speed-ups are over: the common base; of work that stays the same kernel on one device."""
        if self.work != COLD:
            return series.base
        return self.common_base[1] if self.common_base else None

    def gain(self, series: Series, m: Measurement) -> SpeedUp | None:
        """Return how many times as fast as the base it is; None without two times."""
        return speed_up(self.base(series), m)

    def cut_speed(self, series: Series, m: Measurement) -> float | None:
        """Speed of equal lines over that of equal nonzeros, all else alike; None for what does not cut equal lines.

        Of the baseline, which differs in all from what cuts equal nonzeros, without cutting, copying and merging.
        """
        if series.balance != LINES:
            return None
        unlike = self.work == COLD and series.variant == BASELINE
        others = (other for other in self.series if other.balance != LINES and other.competitor == series.competitor)
        alike = (other for other in others if unlike or _but(other, "balance") == _but(series, "balance"))
        balanced = next((found for other in alike if (found := other.on(m.details.devices or 0))), None)
        times = [phases_of(each).get(COMPUTE) if unlike else each.median_s for each in (balanced, m) if each]
        return times[0] / times[1] if len(times) == 2 and times[0] and times[1] else None

    def _timed(self, devices: int) -> list[Entry]:
        found = [(series, m) for series in self.series if (m := series.on(devices))]
        return sorted(found, key=lambda entry: entry[1].median_s or 0.0)


def work_groups(shown: StudyData, works: Iterable[str] = WORKS) -> list[WorkGroup]:
    """The groups of these works: the matrices in order of appearance, of each the works in the order of WORKS."""
    wanted, order = tuple(works), tuple(WORKS)
    found: dict[tuple[str, str, str, str, str], list[Measurement]] = {}
    for m in shown.measurements:
        work = m.axes.get("workload", "")
        if work in wanted:
            found.setdefault((m.matrix_id, m.device, m.cache, work, m.format), []).append(m)
    places = {key[:3]: place for place, key in reversed(list(enumerate(found)))}
    keys = sorted(found, key=lambda key: (places[key[:3]], order.index(key[3]), by_partitioning(key[4])))
    return [WorkGroup(*key, _series(found[key])) for key in keys]


def by_work(groups: Iterable[WorkGroup]) -> list[list[WorkGroup]]:
    """The groups that differ in their partitioning alone, side by side."""
    found: dict[tuple[str, str, str, str], list[WorkGroup]] = {}
    for group in groups:
        found.setdefault((group.matrix_id, group.device, group.cache, group.work), []).append(group)
    return list(found.values())


def numbers_of_devices(shown: StudyData) -> tuple[int, ...]:
    """How many devices shared the work of anything that is shown, ascending."""
    return tuple(sorted({m.details.devices for m in shown.measurements if m.details.devices}))


def leading(groups: Sequence[WorkGroup], shown: StudyData) -> tuple[WorkGroup, int] | None:
    """The partitioning that takes least, and with how many devices: the chosen number, or the most that have a time."""
    timed = [
        (ranked[0][1].median_s or 0.0, place)
        for place, group in enumerate(groups)
        if (ranked := group.ranked(number_of(group, shown)))
    ]
    return (groups[min(timed)[1]], number_of(groups[min(timed)[1]], shown)) if timed else None


def number_of(group: WorkGroup, shown: StudyData) -> int:
    """The number of devices that is spoken of: the reader's if one of ours has a time with it, else the most."""
    chosen = shown.number(DEVICES)
    return chosen if chosen and group.ranked(chosen) else group.most


def devices_in_words(devices: int, virtual: bool) -> str:
    """`4 virtual devices`."""
    return f"{in_digits(devices)} {'virtual ' if virtual else ''}device{'' if devices == 1 else 's'}"


def by_partitioning(name: str) -> int:
    """A sort key: in the order of PARTITIONINGS, others last."""
    return _place(name, [partitioning.name for partitioning in PARTITIONINGS])


def by_variant(name: str) -> int:
    """A sort key: in the order of STRATEGIES, then the works that have none."""
    return _place(name.partition("+")[0], [*(strategy.name for strategy in STRATEGIES), *STAYING])


def _place(name: str, names: Sequence[str]) -> int:
    return names.index(name) if name in names else len(names)


def _but(series: Series, name: str) -> tuple[str, dict[str, str]]:
    """The kernel and all options but one."""
    return series.kernel, {option: value for option, value in series.options if option != name}


Key = tuple[str, tuple[tuple[str, str], ...]]
"""(kernel, options)."""


def _series(measurements: Sequence[Measurement]) -> tuple[Series, ...]:
    found: dict[Key, list[Measurement]] = {}
    for m in measurements:
        options = tuple((name, value) for name, value in m.axes.items() if name not in ("workload", "devices"))
        found.setdefault((m.kernel, options), []).append(m)
    made = [
        Series(*key, _apart(key, found), tuple(sorted(own, key=_devices)), _base(key, found))
        for key, own in found.items()
    ]
    return tuple(sorted(made, key=lambda series: (series.competitor, by_variant(series.variant))))


def _apart(key: Key, keys: Iterable[Key]) -> str:
    """The options of a key that differ among those of its kernel; a library is always named."""
    namesakes = [dict(options) for kernel, options in keys if kernel == key[0]]
    chosen = {name: {own.get(name) for own in namesakes} for name, _ in key[1]}
    named = (pair for pair in key[1] if pair[0] == LIBRARY or len(chosen[pair[0]]) > 1)
    return ", ".join(option_text(name, value) for name, value in named)


def option_text(name: str, value: str) -> str:
    """Return how a label names an option: `exchange halo`, and a kernel library by its name alone."""
    return value if name == LIBRARY else axis_text(name, value)


def _base(key: Key, found: Mapping[Key, Sequence[Measurement]]) -> Measurement | None:
    """Its own on one device, else the fastest there of its kernel with the same product.

    One device has nothing to cut, merge or exchange.
    """
    product = dict(key[1]).get(LIBRARY)
    alike = (
        own for (kernel, options), own in found.items() if (kernel, dict(options).get(LIBRARY)) == (key[0], product)
    )
    for candidates in (found[key], [m for own in alike for m in own]):
        alone = [m for m in candidates if m.details.devices == 1 and m.state == "ok" and m.median_s]
        if alone:
            return min(alone, key=lambda m: m.median_s or 0.0)
    return None


def _devices(m: Measurement) -> int:
    return m.details.devices or 0
