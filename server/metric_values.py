"""MetricValues: the series of a server by name and labels, as `/metrics` shows them at the same moment."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from prometheus_client.core import Metric

Labels = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class MetricValues:
    """Values of all series; series: name of a series → its labels → value."""

    series: Mapping[str, Mapping[Labels, float]]

    def total(self, name: str, **labels: str) -> float:
        """Return the sum of the series of this name that have these labels."""
        return sum(value for known, value in self._series(name) if labels.items() <= known.items())

    def by(self, name: str, label: str) -> dict[str, float]:
        """Return the sums of the series of this name by the value of a label."""
        sums: dict[str, float] = {}
        for labels, value in self._series(name):
            sums[labels[label]] = sums.get(labels[label], 0.0) + value
        return sums

    def _series(self, name: str) -> Iterable[tuple[dict[str, str], float]]:
        return ((dict(labels), value) for labels, value in self.series.get(name, {}).items())


@dataclass(frozen=True, slots=True)
class Histogram:
    """Numbers of observations by ascending upper bound in seconds; the last bound is infinite."""

    bounds_s: tuple[float, ...]
    numbers: tuple[int, ...]

    @property
    def total(self) -> int:
        """Return the number of observations."""
        return sum(self.numbers)

    def quantile_s(self, share: float) -> float | None:
        """Return the upper bound of the bucket that holds this quantile; None without observations."""
        passed = 0
        for bound_s, number in zip(self.bounds_s, self.numbers, strict=True):
            passed += number
            if number and passed >= share * self.total:
                return bound_s
        return None


def values_of(metrics: Iterable[Metric]) -> MetricValues:
    """Return the values of collected metrics."""
    series: dict[str, dict[Labels, float]] = {}
    for metric in metrics:
        for sample in metric.samples:
            series.setdefault(sample.name, {})[frozenset(sample.labels.items())] = float(sample.value)
    return MetricValues(series)


def histograms(values: MetricValues, name: str, label: str) -> dict[str, Histogram]:
    """Return the histogram of this name for each value of a label."""
    cumulated: dict[str, dict[float, float]] = {}
    for labels, value in values.series.get(f"{name}_bucket", {}).items():
        named = dict(labels)
        cumulated.setdefault(named[label], {})[float(named["le"])] = value
    return {key: _histogram(buckets) for key, buckets in cumulated.items()}


def combined(parts: Iterable[Histogram]) -> Histogram:
    """Return the sum of histograms with equal bounds; an empty histogram if there are none."""
    known = tuple(parts)
    if not known:
        return Histogram((), ())
    return Histogram(known[0].bounds_s, tuple(map(sum, zip(*(part.numbers for part in known), strict=True))))


def _histogram(cumulated: Mapping[float, float]) -> Histogram:
    bounds = tuple(sorted(cumulated))
    ends = [cumulated[bound] for bound in bounds]
    return Histogram(bounds, tuple(int(end - start) for start, end in zip([0.0, *ends], ends, strict=False)))
