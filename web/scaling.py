"""Work shared by several devices as pages and figures see it: what its cases say, and which of them may be compared."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpu_engine.multigpu.partition import PARTITIONINGS
from gpu_engine.multigpu.spmv import PHASES, STRATEGIES
from gpu_engine.records import Measurement
from gpu_engine.verdict import VerdictKind, compare
from web.comparison import leaders_of
from web.shown import Shown
from web.units import count as in_digits

COLD, RESIDENT, ITERATE, PAGERANK = "cold", "resident", "iterate", "pagerank"

WORKS: Mapping[str, str] = {
    COLD: "from the host",
    RESIDENT: "resident",
    ITERATE: "iterated",
    PAGERANK: "PageRank",
}
"""The works in the order of the page, as headings call them. They are never compared with each other."""

ONCE: Mapping[str, str] = {
    COLD: "a product from the host",
    RESIDENT: "a resident product",
    ITERATE: "an iteration",
    PAGERANK: "an iteration of PageRank",
}
"""What a time of each work is of."""

STAYING = tuple(work for work in WORKS if work != COLD)
"""The works whose matrix stays on the devices."""

EXCHANGE = "exchange"

IN_PHASES = (*PHASES, EXCHANGE)
"""The phases of a product from the host, then that which only an iteration has."""

BASELINE = STRATEGIES[0].name
"""What the paper compares with: lines cut equally, everything in one thread of the host."""

VIRTUAL = "virtual devices"
"""How the note of a measurement on threads of a CPU begins."""


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """How many times as fast as on one device; low, high: from the ends of both 95 % intervals, None without these."""

    value: float
    low: float | None
    high: float | None
    kind: VerdictKind


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
    def timed(self) -> list[Measurement]:
        """Those with a time, by ascending number of devices."""
        return [m for m in self.measurements if m.median_s]

    def on(self, devices: int) -> Measurement | None:
        """With so many devices, if it has a time."""
        return next((m for m in self.timed if m.devices == devices), None)

    def gain(self, m: Measurement) -> SpeedUp | None:
        """How many times as fast as the base `m` is; None without two times."""
        return speed_up(self.base, m)


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
        """The largest number of devices that has a time; 0 where nothing has."""
        return max((m.devices or 0 for series in self.series for m in series.timed), default=0)

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
        """With the most devices the fastest kernel and those that are `same` with it."""
        found = self.ranked(self.most)
        leading = leaders_of([m for _, m in found]) if found else []
        return tuple(series.label for series, m in found if m in leading)

    def ranked(self, devices: int) -> list[tuple[Series, Measurement]]:
        """What has a time with so many devices, fastest first."""
        found = [(series, m) for series in self.series if (m := series.on(devices))]
        return sorted(found, key=lambda entry: entry[1].median_s or 0.0)

    def baseline(self, devices: int) -> tuple[Series, Measurement] | None:
        """The fastest baseline with so many devices."""
        return next((entry for entry in self.ranked(devices) if entry[0].variant == BASELINE), None)


def work_groups(shown: Shown, works: Iterable[str] = WORKS) -> list[WorkGroup]:
    """The groups of these works: the matrices in order of appearance, of each the works in the order of WORKS."""
    wanted, order = tuple(works), tuple(WORKS)
    found: dict[tuple[str, str, str, str, str], list[Measurement]] = {}
    for m in shown.measurements:
        work = axes_of(m).get("work", "")
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


def axes_of(m: Measurement) -> dict[str, str]:
    """The axes of a case, as its key has them."""
    pairs = (axis.partition("=") for axis in m.case.split("|", 3)[-1].split(","))
    return {name: value for name, _, value in pairs if name}


def is_virtual(m: Measurement) -> bool:
    """Whether its devices are threads of a CPU."""
    return m.device.endswith("cpu") or m.note.startswith(VIRTUAL)


def numbers_of_devices(shown: Shown) -> tuple[int, ...]:
    """How many devices shared the work of anything that is shown, ascending."""
    return tuple(sorted({m.devices for m in shown.measurements if m.devices}))


def number_of(group: WorkGroup, shown: Shown) -> int:
    """The number of devices that is spoken of: the reader's if it has a time, else the most."""
    return shown.devices if shown.devices and group.ranked(shown.devices) else group.most


def in_words(devices: int, virtual: bool) -> str:
    """`4 virtual devices`."""
    return f"{in_digits(devices)} {'virtual ' if virtual else ''}device{'' if devices == 1 else 's'}"


def speed_up(base: Measurement | None, m: Measurement) -> SpeedUp | None:
    """How many times as fast as `base`; None without two times."""
    if base is None or not base.median_s or not m.median_s:
        return None
    if m is base:
        return SpeedUp(1.0, 1.0, 1.0, "same")
    low = base.ci_low_s / m.ci_high_s if base.ci_low_s and m.ci_high_s else None
    high = base.ci_high_s / m.ci_low_s if base.ci_high_s and m.ci_low_s else None
    return SpeedUp(base.median_s / m.median_s, low, high, compare(base, m).kind)


def phases_of(m: Measurement) -> dict[str, float]:
    """Its phases in their order, as far as it has any; one device has nothing to exchange, whatever that took."""
    names = (name for name in IN_PHASES if name != EXCHANGE or m.devices != 1)
    return {name: m.phases_s[name] for name in names if name in m.phases_s}


def hidden_share(m: Measurement) -> float | None:
    """The share of the exchange that goes on beside the products, from 0 to 1; None where none is meant to."""
    phases = phases_of(m)
    if axes_of(m).get("overlap") != "on" or not m.median_s or not phases.get(EXCHANGE):
        return None
    return min(1.0, max(0.0, (sum(phases.values()) - m.median_s) / phases[EXCHANGE]))


def imbalance(m: Measurement) -> float | None:
    """Nonzeros of the largest part over their mean; its inverse is the share of the ideal speed that this allows."""
    entries = m.entries_by_device
    return max(entries) * len(entries) / sum(entries) if sum(entries) else None


def by_partitioning(name: str) -> int:
    """A sort key: in the order of PARTITIONINGS, others last."""
    return _place(name, [partitioning.name for partitioning in PARTITIONINGS])


def by_variant(name: str) -> int:
    """A sort key: in the order of STRATEGIES, then the works that have none."""
    return _place(name.partition("+")[0], [*(strategy.name for strategy in STRATEGIES), *STAYING])


def _place(name: str, names: Sequence[str]) -> int:
    return names.index(name) if name in names else len(names)


Key = tuple[str, tuple[tuple[str, str], ...]]
"""(kernel, options)."""


def _series(measurements: Sequence[Measurement]) -> tuple[Series, ...]:
    found: dict[Key, list[Measurement]] = {}
    for m in measurements:
        options = tuple((name, value) for name, value in axes_of(m).items() if name not in ("work", "devices"))
        found.setdefault((m.kernel, options), []).append(m)
    made = [
        Series(
            kernel,
            options,
            _apart((kernel, options), found),
            tuple(sorted(own, key=_devices)),
            _base(own, kernel, found),
        )
        for (kernel, options), own in found.items()
    ]
    return tuple(sorted(made, key=lambda series: by_variant(series.variant)))


def _apart(key: Key, keys: Iterable[Key]) -> str:
    """The options of a key that differ among those of its kernel; one device has none of them to choose."""
    namesakes = [dict(options) for kernel, options in keys if kernel == key[0] and options]
    return ", ".join(f"{name} {value}" for name, value in key[1] if len({o.get(name) for o in namesakes}) > 1)


def _base(own: Sequence[Measurement], kernel: str, found: Mapping[Key, Sequence[Measurement]]) -> Measurement | None:
    """Its own on one device, else the fastest of its kernel there, where nothing is merged or exchanged."""
    namesakes = [m for (name, _), measurements in found.items() if name == kernel for m in measurements]
    for candidates in (own, namesakes):
        alone = [m for m in candidates if m.devices == 1 and m.median_s]
        if alone:
            return min(alone, key=lambda m: m.median_s or 0.0)
    return None


def _devices(m: Measurement) -> int:
    return m.devices or 0
