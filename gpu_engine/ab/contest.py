"""Every kernel of two trees in the same rounds, and what may be said of head against base."""

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
    """A kernel of both trees on a matrix in a cache state.

    again  the verdict of a second measurement, of what was slower in the first; None: not needed
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
        """In both measurements: one verdict in some hundred is wrong, and a gate has hundreds."""
        return self.verdict.kind == "slower" and self.again is not None and self.again.kind == "slower"

    @property
    def is_broken(self) -> bool:
        """Head has no time where base has one."""
        return self.base.median_s is not None and self.head.median_s is None

    @property
    def says(self) -> str:
        """The verdict in a word."""
        if self.is_broken:
            return self.head.state
        if self.verdict.kind == "slower" and not self.is_slower:
            return "inconclusive"
        return self.verdict.kind


def kernels_of(base: Tree, head: Tree, backend: str, wanted: Sequence[str], changed: bool) -> list[str]:
    """The kernels that both trees have; raises ParameterError on one that is asked for and not in both.

    changed  only those whose own source differs; a change of what they share is not seen
    """
    before, after = base.sources(backend), head.sources(backend)
    both = [name for name in after if name in before]
    for name in wanted:
        if name not in both:
            raise ParameterError(
                f"There is no kernel {name!r} on {backend} in both trees; both have {', '.join(both)}."
            )
    chosen = [name for name in both if name in wanted] if wanted else both
    return [name for name in chosen if before[name] != after[name]] if changed else chosen


@dataclass(frozen=True)
class Gate:
    """Two trees on a device.

    tell  hears every record as it comes
    """

    base: Tree
    head: Tree
    bench: Bench
    plan: SamplingPlan
    tell: Callable[[Record], None]

    def pairs(self, name: str, matrix: CsrMatrix, kernels: Sequence[str]) -> list[Pair]:
        """Of one matrix; what seems slower is measured again, by itself."""
        first = list(self._pairs(name, matrix, kernels))
        suspects = [kernel for kernel in kernels if any(p.kernel == kernel and _is_suspect(p) for p in first)]
        if not suspects:
            return first
        second = {(p.kernel, p.cache): p.verdict for p in self._pairs(name, matrix, suspects)}
        return [replace(p, again=second[p.kernel, p.cache]) if _is_suspect(p) else p for p in first]

    def _pairs(self, name: str, matrix: CsrMatrix, kernels: Sequence[str]) -> Iterator[Pair]:
        found = self._measured(name, matrix, kernels)
        for kernel in kernels:
            for cache in self.plan.caches:
                base, head = (found[f"{side}:{kernel}", cache] for side in ("base", "head"))
                yield Pair(name, kernel, cache, base, head, compare(base, head))

    def _measured(
        self, name: str, matrix: CsrMatrix, kernels: Sequence[str]
    ) -> Mapping[tuple[str, Cache], Measurement]:
        cases = [Case(name, f"{s}:{k}", cache) for k in kernels for s in ("base", "head") for cache in self.plan.caches]
        found: dict[tuple[str, Cache], Measurement] = {}
        for record in measure(self.bench, [Products(self.plan, cases, matrix, self.bench, self._formats())]):
            self.tell(record)
            if isinstance(record, Measurement):
                found[record.kernel, record.cache] = record
        return found

    def _formats(self) -> list[Format]:
        """Namesakes are neighbours in the rounds: what the machine does meanwhile, it does to both."""
        return sorted((*self.base.formats, *self.head.formats), key=lambda f: f.name.partition(":")[2])


def _is_suspect(pair: Pair) -> bool:
    return pair.verdict.kind == "slower"
