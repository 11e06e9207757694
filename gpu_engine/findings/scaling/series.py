"""Series of the `scaling` study: a kernel with fixed options on different numbers of devices."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpu_engine.findings.scaling.cases import STAYING, SpeedUp, speed_up
from gpu_engine.multigpu.from_host.strategies import STRATEGIES
from gpu_engine.multigpu.partition import PARTITIONINGS
from gpu_engine.records import Measurement
from gpu_engine.text.axes import axis_text

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


Key = tuple[str, tuple[tuple[str, str], ...]]
"""(kernel, options)."""


def series_of(measurements: Sequence[Measurement]) -> tuple[Series, ...]:
    """Return a series per kernel and options, those of libraries last."""
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


def by_partitioning(name: str) -> int:
    """Return a sort key: position in PARTITIONINGS, others last."""
    return _position(name, [partitioning.name for partitioning in PARTITIONINGS])


def by_variant(name: str) -> int:
    """Return a sort key: position in STRATEGIES, then workloads without a strategy."""
    return _position(name.partition("+")[0], [*(strategy.name for strategy in STRATEGIES), *STAYING])


def _position(name: str, names: Sequence[str]) -> int:
    return names.index(name) if name in names else len(names)
