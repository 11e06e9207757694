"""Energy of batched SpMVs: GFLOP/s per watt by kernel, and the kernels that need the least energy."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from gpu_engine.findings.batched.groups import BATCH, PAPER, BatchGroup, batch_groups, largest, name_of
from gpu_engine.findings.batched.paper import is_uniform
from gpu_engine.findings.bootstrap import CONTESTS_MIN, interval_of_mean
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.ranking import NAMED, join
from gpu_engine.records import Measurement
from gpu_engine.text import units

PRESENT = 0.9
"""Share of the batches in which the energy of a kernel must be known, so that it takes part in the comparison."""

OF_PAPER, MIXED, OTHERS = KINDS = "uniform batches of the paper’s matrices", "mixed batches", "other uniform batches"
"""Kinds of batches whose energies are averaged separately, in the order of the panels."""

Quantity = Callable[[Measurement], float | None]
"""Function that returns the energy or the time of a measurement."""


@dataclass(frozen=True, slots=True)
class BatchEnergy:
    """Energy of a kernel on one batch.

    name      matrix or mixture
    per_watt  GFLOP/s per watt
    joules    of one SpMV of one matrix
    is_quiet  whether the timings of the batch are not too noisy, so that it counts
    """

    name: str
    batch_size: int
    measurement: Measurement
    per_watt: float
    joules: float
    is_quiet: bool


@dataclass(frozen=True, slots=True)
class KernelEnergy:
    """Energies of a kernel on batches of one kind.

    The means are geometric and over the quiet batches; None without any.
    """

    kernel: str
    batches: tuple[BatchEnergy, ...]

    @property
    def quiet(self) -> tuple[BatchEnergy, ...]:
        """Batches whose timings are not too noisy."""
        return tuple(each for each in self.batches if each.is_quiet)

    @property
    def per_watt(self) -> float | None:
        """Mean of the GFLOP/s per watt."""
        return _mean(each.per_watt for each in self.quiet)

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % CI of the mean GFLOP/s per watt; None for fewer than CONTESTS_MIN batches."""
        return interval_of_mean([each.per_watt for each in self.quiet])

    @property
    def joules(self) -> float | None:
        """Mean of the joules of one SpMV of one matrix."""
        return _mean(each.joules for each in self.quiet)

    @property
    def watts(self) -> float | None:
        """Mean of the power: energy of a batch over its time."""
        return _mean((m.energy_j or 0.0) / (m.median_s or 1.0) for m in (each.measurement for each in self.quiet))


@dataclass(frozen=True, slots=True)
class Least:
    """Kernels with the least energy and the fastest ones, over the batches in which all of them have both.

    energy, fastest  the first one and those that may be as good: the 95 % CI of the mean ratio includes 1
    batches          number of batches; below CONTESTS_MIN there is no verdict, and one kernel each
    """

    energy: tuple[str, ...]
    fastest: tuple[str, ...]
    batches: int

    @property
    def decided(self) -> bool:
        """Whether there are enough batches for a verdict."""
        return self.batches >= CONTESTS_MIN


@dataclass(frozen=True, slots=True)
class EnergySetting:
    """Energies on one device in one cache state, on batches of one kind.

    kernels  the highest GFLOP/s per watt first
    least    among all kernels; of_paper: among those of the paper; None without an energy that counts
    """

    device: str
    cache: str
    kind: str
    kernels: tuple[KernelEnergy, ...]
    least: Least | None
    of_paper: Least | None


def per_watt(m: Measurement) -> float | None:
    """Return GFLOP/s per watt, which are GFLOP per joule; None without an energy."""
    return m.gflops * m.median_s / m.energy_j if m.energy_j and m.gflops and m.median_s else None


def energies(data: StudyData) -> tuple[EnergySetting, ...]:
    """Return the energies per device, cache state, and kind, of the batches of the chosen size or of the largest."""
    settings: dict[tuple[str, str, str], list[BatchGroup]] = {}
    for group in largest((group for group in batch_groups(data) if _with_energy(group)), data.number(BATCH)):
        settings.setdefault((group.device, group.cache, _kind(group, data)), []).append(group)
    ordered = sorted(settings.items(), key=lambda item: KINDS.index(item[0][2]))
    return tuple(_setting(*place, groups, data) for place, groups in ordered)


def sentences(setting: EnergySetting) -> tuple[str, ...]:
    """Return which kernels need the least energy and whether they are the fastest: of all, then of the paper's."""
    where = f"{setting.kind[0].upper()}{setting.kind[1:]}, {setting.device}, {setting.cache}"
    of = ((f"{where}:", setting.least), ("Of the paper’s kernels,", setting.of_paper))
    return tuple(_sentence(of_what, least, setting) for of_what, least in of if least)


def by_device(data: StudyData, kernel: str) -> str:
    """Return the GFLOP/s per watt of a kernel by device, over the batches that all devices share; empty without any.

    Only warm uniform batches of the paper's matrices with quiet timings count.
    """
    rates_by_device: dict[str, dict[tuple[str, int], float]] = {}
    for group in of_paper(data):
        m = group.of(kernel)
        if rate := m and per_watt(m):
            rates_by_device.setdefault(group.device, {})[name_of(group, data), group.batch_size] = rate
    shared = set.intersection(*map(set, rates_by_device.values())) if rates_by_device else set()
    if not shared:
        return ""
    means = {device: geometric_mean(rates[batch] for batch in shared) for device, rates in rates_by_device.items()}
    each = join([f"{units.number(mean)} on {device}" for device, mean in means.items()])
    return f"{kernel} {each} ({len(shared)} batches)"


def of_paper(data: StudyData) -> list[BatchGroup]:
    """Return the batches of the kind OF_PAPER that have an energy and quiet timings, largest or of the chosen size."""
    groups = largest((group for group in batch_groups(data) if _with_energy(group)), data.number(BATCH))
    return [group for group in groups if _kind(group, data) == OF_PAPER and not group.ranking.busy]


def _sentence(of_what: str, least: Least, setting: EnergySetting) -> str:
    first = next(each for each in setting.kernels if each.kernel == least.energy[0])
    mean = f"{units.number(first.per_watt)} GFLOP/s per watt"
    if not least.decided:
        few = f"{least.batches} batches are too few for a verdict"
        return f"{of_what} {first.kernel} has the highest mean, {mean}; {few}."
    several = len(least.energy) > 1
    ends = (
        f" (95 % CI {units.number(first.interval[0])} to {units.number(first.interval[1])})" if first.interval else ""
    )
    if set(least.energy) == set(least.fastest):
        speed = "They are also the fastest." if several else "It is also the fastest."
    else:
        speed = f"The fastest: {join(least.fastest, NAMED)}."
    verb = "need" if several else "needs"
    return f"{of_what} {join(least.energy, NAMED)} {verb} the least energy. Throughput: {mean}{ends}. {speed}"


def _setting(device: str, cache: str, kind: str, groups: Sequence[BatchGroup], data: StudyData) -> EnergySetting:
    quiet = [group for group in groups if not group.ranking.busy]
    names = dict.fromkeys(m.kernel for group in groups for m in _with_energy(group))
    kernels = [KernelEnergy(name, tuple(_batches(name, groups, data))) for name in names]
    return EnergySetting(
        device,
        cache,
        kind,
        tuple(sorted(kernels, key=lambda each: -(each.per_watt or 0.0))),
        _least(quiet, list(names)),
        _least(quiet, [name for name in names if name in PAPER]),
    )


def _batches(kernel: str, groups: Iterable[BatchGroup], data: StudyData) -> Iterator[BatchEnergy]:
    for group in groups:
        m = group.of(kernel)
        rate = per_watt(m) if m else None
        if m and m.energy_j and rate:
            size, quiet = group.batch_size, not group.ranking.busy
            yield BatchEnergy(name_of(group, data), size, m, rate, m.energy_j / size, quiet)


def _least(groups: Sequence[BatchGroup], kernels: Sequence[str]) -> Least | None:
    """Compare kernels on the batches in which each of them has an energy; rarely measured kernels are left out."""
    by_name = [{m.kernel: m for m in _with_energy(group)} for group in groups]
    present = [name for name in kernels if sum(name in each for each in by_name) >= PRESENT * len(groups) > 0]
    complete = [[each[name] for name in present] for each in by_name if present and set(present) <= set(each)]
    if not complete:
        return None
    energy, fastest = (_smallest(complete, quantity) for quantity in (lambda m: m.energy_j, lambda m: m.median_s))
    return Least(energy, fastest, len(complete))


def _smallest(batches: Sequence[Sequence[Measurement]], quantity: Quantity) -> tuple[str, ...]:
    """Return the kernel with the smallest geometric mean, and those whose ratio to it may be 1."""
    values = {ms[0].kernel: [quantity(m) or 0.0 for m in ms] for ms in zip(*batches, strict=True)}
    first, *others = sorted(values, key=lambda kernel: geometric_mean(values[kernel]))
    tied = []
    for kernel in others:
        ends = interval_of_mean([value / best for value, best in zip(values[kernel], values[first], strict=True)])
        if ends and ends[0] <= 1:
            tied.append(kernel)
    return first, *tied


def _with_energy(group: BatchGroup) -> list[Measurement]:
    return [m for m in group.timed if per_watt(m)]


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return geometric_mean(known) if known else None


def _kind(group: BatchGroup, data: StudyData) -> str:
    if group.compose == "mixed":
        return MIXED
    return OF_PAPER if is_uniform(group, data) else OTHERS
