"""Products of one matrix: every kernel converted, checked against SciPy and sampled in the same interleaved rounds."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from gpu_engine.competitors import BEST, COMPETITORS, competitor_names
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import ParameterError
from gpu_engine.formats import FORMATS
from gpu_engine.formats.base import Format, Kernel, Launch, transpose
from gpu_engine.matrices.orders import GIVEN, Reordered, moving, ordered, reorder
from gpu_engine.measure import Bench, Rounds, Timed, Timing
from gpu_engine.records import Cache, Case, Details, Measurement, described
from gpu_engine.sampling.experiment import Candidate, Experiment, Fields, ProductCandidate, best_of
from gpu_engine.sampling.reproducibility import compared, is_built_twice
from gpu_engine.verify import POISON, check, reference


@dataclass(frozen=True, slots=True)
class ProductDetails(Details):
    """What a measurement of the `formats` study says beside what all say."""

    study: ClassVar[str] = "formats"

    convert_s: float | None = described("Seconds of the conversion from CSR on this device, once.", None)
    convert_peak_bytes: int | None = described("Bytes: peak memory of that conversion.", None)
    reorder_s: float | None = described(
        "Seconds on the host to find a new order and permute the matrix; null in the given order.", None
    )
    permute_s: float | None = described("Seconds to bring x into the new order and y back, once.", None)
    replays: int | None = described("Runs whose y was compared with that of the first one, bit by bit.", None)
    bitwise_reproducible: bool | None = described(
        "Whether all of them gave the same bits; null where nobody has looked.", None
    )
    reproducible_rebuild: bool | None = described(
        "Whether a second build of the layout gave the same bits too; null where its conversion takes over 256 MiB or "
        "0.25 s, where runs differ anyway, and where nobody has looked.",
        None,
    )

    @property
    def is_one_product(self) -> bool:
        """It always is."""
        return True

    @property
    def is_reproducible(self) -> bool | None:
        """Whether all runs gave the same bits, and so did a second build of the layout where there was one."""
        return (
            self.bitwise_reproducible and self.reproducible_rebuild is not False
            if self.bitwise_reproducible is not None
            else None
        )


GATHER, PERMUTE = "probe/gather", "probe/permute"
"""What is timed beside the kernels: the gather probe, and moving x and y into a new order."""


@dataclass(frozen=True, slots=True)
class SamplingPlan:
    """How to sample: cache states, interleaved rounds, the kernel that enters twice, seconds of repeats for energy, the
    order of rows and columns, and whether the products are those of Aᵀ.
    """

    caches: tuple[Cache, ...]
    rounds: int
    reference: str
    energy_s: float
    order: str = GIVEN
    transposed: bool = False


class Products(Experiment):
    """All kernels of one matrix or of its transpose, in a new order where the plan names one.

    formats  those whose kernels the cases name; None: ours and the competitors
    """

    details = ProductDetails

    def __init__(
        self,
        plan: SamplingPlan,
        cases: Sequence[Case],
        matrix: CsrMatrix,
        bench: Bench,
        formats: Sequence[Format] | None = None,
    ) -> None:
        super().__init__(cases, plan.caches, plan.rounds, bench)
        self.plan, self.host = plan, matrix
        self.formats = (*FORMATS, *COMPETITORS) if formats is None else formats
        self.backend = bench.stopwatch.backend
        self.reordered: Reordered | None = None

    def load(self) -> Sequence[Candidate]:
        """Matrix, x, y and the expected y on the device; the reference kernel first, then as the formats come."""
        if not self.host.nnz:
            raise ParameterError("the matrix has no entries")
        if self.plan.transposed:
            # What a kernel makes of Aᵀ is what it makes of a matrix like any other: its layout is that of Aᵀ.
            self.host = transpose(self.host)
        if self.plan.order != GIVEN:
            self.reordered = reorder(self.plan.order, self.host)
            self.host = self.reordered.matrix
        expected = reference(self.host)
        self.matrix = self.bench.stopwatch.upload(self.host)
        self.expected = expected.on(self.bench.xp)
        self.x, self.y = self.expected.x, self.bench.xp.empty(self.host.n_rows)
        self.held_bytes = 2 * self.matrix.stored_bytes
        wanted = {self._plain(case) for case in self.cases}
        if BEST in wanted:
            wanted |= set(competitor_names(self.backend))
        wanted.add(self.plan.reference)
        known = [(name, f, k) for f in self.formats for name, k in f.kernels_on(self.backend)]
        found = [ProductKernel(self, name, f, k) for name, f, k in known if name in wanted]
        return sorted(found, key=lambda c: c.kernel != self.plan.reference)

    def cases_of(self, kernel: str) -> Mapping[Cache, Case]:
        """The cases of a kernel, whose names there have the order added."""
        return {case.cache: case for case in self.cases if self._plain(case) == kernel}

    def probes(self) -> Sequence[Timed]:
        """The gather probe, and in a new order moving x and y."""
        calls = {GATHER: self.bench.stopwatch.gather(self.matrix, self.x)}
        if self.reordered is not None:
            calls[PERMUTE] = moving(self.reordered, self.x, self.y, self.bench.xp)
        return [Timed(name, self.bench.turns(call)) for name, call in calls.items()]

    def derived(self, measured: Sequence[Measurement]) -> Iterator[Measurement]:
        """The best of the competitors."""
        algorithms = competitor_names(self.backend)
        rivals = [m for m in measured if self._plain(m) in algorithms]
        yield from (best_of(rivals, case) for case in self.cases if self._plain(case) == BEST)

    def _plain(self, own: Case | Measurement) -> str:
        """The kernel without its order."""
        return own.kernel.removesuffix(ordered("", self.plan.order))


class ProductKernel(ProductCandidate):
    """A kernel of a format."""

    def __init__(self, products: Products, name: str, f: Format, kernel: Kernel) -> None:
        super().__init__(name, products.cases_of(name), products.bench, products.plan.energy_s)
        self._products, self._format, self._kernel = products, f, kernel
        self._launch: Launch | None = None
        # cuSPARSE's formats have one name.
        self.layout = f.title
        self.bytes_needed = f.bytes_needed(products.matrix)

    @property
    def environment(self) -> Mapping[str, str]:
        """The hash of the kernel's source, and the version of a competitor."""
        return {"source": self._kernel.source_hash(self._products.backend), **self._kernel.libraries()}

    @property
    def sources(self) -> Collection[CudaSource]:
        """Those of its kernel."""
        return self._kernel.sources

    def prepare(self) -> Callable[[], Fields]:
        """Converts, multiplies once, checks every element, and looks whether further runs give the same bits."""
        run, f = self._products, self._format
        self.arrays, fields = run.converted(f.title, self.bytes_needed, lambda: f.from_csr(run.matrix))
        self._launch = None
        run.y.fill(POISON)
        self.product()()
        self.bench.stopwatch.synchronize()
        error = check(run.expected, run.y)
        same = self.repeated(run.matrix, run.x, run.y, fields)
        return lambda: {**fields, "max_error": error, **same}

    def repeated(self, matrix: CsrMatrix, x: Any, y: Any, conversion: Fields) -> Fields:
        """Whether further runs, and one with a second layout of the matrix, make the bits of y of x again."""
        kernel, backend, convert = self._kernel, self._products.backend, self._format.from_csr
        second = (lambda: kernel.bound(backend, convert(matrix))) if is_built_twice(conversion) else None
        return compared(self.bench.stopwatch, x, y, kernel.bound(backend, self.arrays), second)

    def least_s(self, cache: Cache) -> float:
        """By the bytes of the layout and of y."""
        return self.bench.least_s(self._kernel.layout_bytes(self.arrays) + 8 * self._products.host.n_rows, cache)

    def rates(self, timing: Timing, cache: Cache, rounds: Rounds) -> Fields:
        """GFLOP/s, both floors, and what a new order costs."""
        run = self._products
        compulsory = run.host.compulsory_bytes
        fields = {
            "gflops": 2 * run.host.nnz / timing.median_s / 1e9,
            "roofline_s": compulsory / self.bench.profile.rate(compulsory, cache),
            "gather_probe_s": rounds.timing(GATHER, cache).median_s,
        }
        if run.reordered is not None:
            fields |= {"reorder_s": run.reordered.seconds, "permute_s": rounds.timing(PERMUTE, cache).median_s}
        return fields

    def product(self) -> Callable[[], None]:
        """A call of the kernel on the layout of that moment, to which it is bound once."""
        run = self._products

        def multiply() -> None:
            if self._launch is None:
                self._launch = self._kernel.bound(run.backend, self.arrays)
            self._launch(run.x, run.y)

        return multiply

    def release(self) -> None:
        """Gives back the layout, and what is bound to it."""
        super().release()
        self._launch = None
