"""Measures all kernels of two trees in the same rounds, and compares head with base."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpu_engine.ab.trees import Tree
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.formats.base import Format
from gpu_engine.measure import Bench
from gpu_engine.records import Cache, Case, Measurement, Record
from gpu_engine.sampling.run import measure
from gpu_engine.studies.formats.experiment import Products, SamplingPlan
from gpu_engine.verdicts.verdict import Verdict, compare


@dataclass(frozen=True, slots=True)
class Pair:
    """The comparison of a kernel of both trees on a matrix in a cache state.

    again  verdict of the second measurement, if the kernel was slower in the first; else None
    """

    matrix: str
    kernel: str
    cache: Cache
    base: Measurement
    head: Measurement
    verdict: Verdict
    again: Verdict | None = None

    @property
    def is_slower(self) -> bool:
        """Whether head is slower in both measurements, because one verdict in about a hundred is wrong."""
        return self.verdict.kind == "slower" and self.again is not None and self.again.kind == "slower"

    @property
    def is_broken(self) -> bool:
        """Whether base has a time, but head does not."""
        return self.base.median_s is not None and self.head.median_s is None

    @property
    def says(self) -> str:
        """Overall verdict, or the state of head if it has no time."""
        if self.is_broken:
            return self.head.state
        if self.verdict.kind == "slower" and not self.is_slower:
            return "inconclusive"
        return self.verdict.kind


def kernels_of(base: Tree, head: Tree, backend: str, names: Sequence[str], changed: bool) -> list[str]:
    """Return the kernels that both trees have; raises ParameterError for a name that is not in both.

    changed  only kernels whose source files differ; changes of shared code are not detected
    """
    before, after = base.sources(backend), head.sources(backend)
    both = [name for name in after if name in before]
    for name in names:
        if name not in both:
            raise ParameterError(
                f"The kernel {name!r} is not in both trees on {backend}. Common kernels: {', '.join(both)}."
            )
    chosen = [name for name in both if name in names] if names else both
    return [name for name in chosen if before[name] != after[name]] if changed else chosen


@dataclass(frozen=True)
class Gate:
    """A comparison of two trees on a device.

    tell  function that receives every record
    """

    base: Tree
    head: Tree
    bench: Bench
    plan: SamplingPlan
    tell: Callable[[Record], None]

    def pairs(self, name: str, matrix: CsrMatrix, kernels: Sequence[str]) -> list[Pair]:
        """Return the pairs of one matrix; kernels that are slower are measured a second time."""
        first = list(self._pairs(name, matrix, kernels))
        suspects = [kernel for kernel in kernels if any(p.kernel == kernel and _is_suspect(p) for p in first)]
        if not suspects:
            return first
        second = {(p.kernel, p.cache): p.verdict for p in self._pairs(name, matrix, suspects)}
        return [replace(p, again=second[p.kernel, p.cache]) if _is_suspect(p) else p for p in first]

    def _pairs(self, name: str, matrix: CsrMatrix, kernels: Sequence[str]) -> Iterator[Pair]:
        measurements = self._measured(name, matrix, kernels)
        for kernel in kernels:
            for cache in self.plan.caches:
                base, head = (measurements[f"{side}:{kernel}", cache] for side in ("base", "head"))
                yield Pair(name, kernel, cache, base, head, compare(base, head))

    def _measured(
        self, name: str, matrix: CsrMatrix, kernels: Sequence[str]
    ) -> Mapping[tuple[str, Cache], Measurement]:
        cases = [Case(name, f"{s}:{k}", cache) for k in kernels for s in ("base", "head") for cache in self.plan.caches]
        measurements: dict[tuple[str, Cache], Measurement] = {}
        for record in measure(self.bench, [Products(self.plan, cases, matrix, self.bench, self._formats())]):
            self.tell(record)
            if isinstance(record, Measurement):
                measurements[record.kernel, record.cache] = record
        return measurements

    def _formats(self) -> list[Format]:
        """Return the formats of both trees, sorted by name, so that disturbances affect both sides equally."""
        return sorted((*self.base.formats, *self.head.formats), key=lambda f: f.name.partition(":")[2])


def _is_suspect(pair: Pair) -> bool:
    return pair.verdict.kind == "slower"
