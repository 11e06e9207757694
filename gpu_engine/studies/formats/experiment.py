"""Products: converts all kernels of one matrix, verifies them against SciPy, and samples them in the same rounds."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from gpu_engine.competitors import BEST, COMPETITORS, competitor_names
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import ParameterError
from gpu_engine.formats import FORMATS
from gpu_engine.formats.base import Format, Kernel, Launch, transpose
from gpu_engine.matrices.orders import GIVEN, Reordered, moving, ordered, reorder
from gpu_engine.measure import Bench, Placement, Rounds, Timed, Timing
from gpu_engine.measure.placements import bytes_of, copied
from gpu_engine.records import Cache, Case, Details, Measurement, described
from gpu_engine.sampling.experiment import Candidate, Experiment, Fields, ProductCandidate, best_of
from gpu_engine.sampling.reproducibility import compared, is_built_twice
from gpu_engine.verify import POISON, check, reference


@dataclass(frozen=True, slots=True)
class ProductDetails(Details):
    """Fields specific to measurements of the study `formats`."""

    study: ClassVar[str] = "formats"

    convert_s: float | None = described("Seconds of the one-time conversion from CSR on this device.", None)
    convert_peak_bytes: int | None = described("Peak memory of that conversion, in bytes.", None)
    reorder_s: float | None = described(
        "Seconds on the host to compute the reordering and permute the matrix, once; null without reordering.", None
    )
    permute_s: float | None = described("Seconds to permute x and to permute y back, once.", None)
    replays: int | None = described("Number of runs whose y was compared bit by bit with that of the first run.", None)
    bitwise_reproducible: bool | None = described(
        "true if all of these runs gave identical y; null if not checked.", None
    )
    reproducible_rebuild: bool | None = described(
        "true if a second conversion gave identical y too; null if not checked (conversion above 256 MiB or 0.25 s, "
        "or runs already differ).",
        None,
    )

    @property
    def is_one_product(self) -> bool:
        """True: every measurement of the study is of one SpMV."""
        return True

    @property
    def is_reproducible(self) -> bool | None:
        """True if all runs, and a rebuild of the layout if there was one, gave identical bits; None if not checked."""
        return (
            self.bitwise_reproducible and self.reproducible_rebuild is not False
            if self.bitwise_reproducible is not None
            else None
        )


GATHER, PERMUTE = "probe/gather", "probe/permute"
"""Names of the probes in the rounds: the gather probe, and the permutation of x and y."""


@dataclass(frozen=True, slots=True)
class SamplingPlan:
    """Sampling plan of a matrix.

    It has the cache states, the number of rounds, the control kernel, the seconds of repeated SpMVs for energy, the
    reordering, and whether the kernels multiply with Aᵀ.
    """

    caches: tuple[Cache, ...]
    rounds: int
    reference: str
    energy_s: float
    order: str = GIVEN
    transposed: bool = False


class Products(Experiment):
    """Experiment with all kernels of one matrix or of its transpose, reordered if the plan says so.

    formats  formats of the kernels in the cases; None: Sparsight formats and libraries
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
        """Load the matrix, x, y and the expected y; return the control kernel first, then the order of the formats."""
        if not self.host.nnz:
            raise ParameterError("the matrix has no nonzeros")
        if self.plan.transposed:
            # Kernels treat Aᵀ like any other matrix: they convert Aᵀ to their layout.
            self.host = transpose(self.host)
        if self.plan.order != GIVEN:
            self.reordered = reorder(self.plan.order, self.host)
            self.host = self.reordered.matrix
        expected = reference(self.host)
        self.matrix = self.bench.stopwatch.upload(self.host)
        self.expected = expected.on(self.bench.xp)
        self.x, self.y = self.expected.x, self.bench.xp.empty(self.host.n_rows)
        self.held_bytes = 2 * self.matrix.stored_bytes
        names = {self._plain(case) for case in self.cases}
        if BEST in names:
            names |= set(competitor_names(self.backend))
        names.add(self.plan.reference)
        known = [(name, f, k) for f in self.formats for name, k in f.kernels_on(self.backend)]
        kernels = [ProductKernel(self, name, f, k) for name, f, k in known if name in names]
        return sorted(kernels, key=lambda c: c.kernel != self.plan.reference)

    def cases_of(self, kernel: str) -> Mapping[Cache, Case]:
        """Return the cases of a kernel by cache state; their kernel names include the reordering."""
        return {case.cache: case for case in self.cases if self._plain(case) == kernel}

    def probes(self) -> Sequence[Timed]:
        """Return the gather probe and, with a reordering, the permutation of x and y."""
        calls = {GATHER: self.bench.stopwatch.gather(self.matrix, self.x)}
        if self.reordered is not None:
            calls[PERMUTE] = moving(self.reordered, self.x, self.y, self.bench.xp)
        return [Timed(name, self.bench.turns(call)) for name, call in calls.items()]

    def derived(self, measured: Sequence[Measurement]) -> Iterator[Measurement]:
        """Yield the measurement of the best library kernel."""
        algorithms = competitor_names(self.backend)
        rivals = [m for m in measured if self._plain(m) in algorithms]
        yield from (best_of(rivals, case) for case in self.cases if self._plain(case) == BEST)

    def _plain(self, named: Case | Measurement) -> str:
        """Return the kernel name without the reordering."""
        return named.kernel.removesuffix(ordered("", self.plan.order))


class ProductKernel(ProductCandidate):
    """A kernel of a format as a candidate."""

    def __init__(self, products: Products, name: str, f: Format, kernel: Kernel) -> None:
        super().__init__(name, products.cases_of(name), products.bench, products.plan.energy_s)
        self._products, self._format, self._kernel = products, f, kernel
        self._launch: Launch | None = None
        # Formats of cuSPARSE have the name of their library.
        self.layout = f.title
        self.bytes_needed = f.bytes_needed(products.matrix)

    @property
    def environment(self) -> Mapping[str, str]:
        """Hash of the kernel source, and the version of a library."""
        return {"source": self._kernel.source_hash(self._products.backend), **self._kernel.libraries()}

    @property
    def sources(self) -> Collection[CudaSource]:
        """CUDA sources of the kernel."""
        return self._kernel.sources

    def prepare(self) -> Callable[[], Fields]:
        """Convert, run one SpMV, verify every element, and check bitwise reproducibility."""
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
        """Return the fields of bitwise reproducibility: further runs, and one on a rebuilt layout, against y."""
        kernel, backend, convert = self._kernel, self._products.backend, self._format.from_csr
        second = (lambda: kernel.bound(backend, convert(matrix))) if is_built_twice(conversion) else None
        return compared(self.bench.stopwatch, x, y, kernel.bound(backend, self.arrays), second)

    def least_s(self, cache: Cache) -> float:
        """Return the least seconds for the bytes of the layout and of y."""
        return self.bench.least_s(self._kernel.layout_bytes(self.arrays) + 8 * self._products.host.n_rows, cache)

    def rates(self, timing: Timing, cache: Cache, rounds: Rounds) -> Fields:
        """Return GFLOP/s, roofline time, gather probe and, with a reordering, its cost."""
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
        """Return a call of the kernel on its current layout, bound once."""
        run = self._products

        def multiply() -> None:
            if self._launch is None:
                self._launch = self._kernel.bound(run.backend, self.arrays)
            self._launch(run.x, run.y)

        return multiply

    def placement(self) -> Placement | None:
        """Return how the SpMV is placed: on copies of x, y, and the layout, or on a layout of a copied matrix."""
        run, layout = self._products, self.arrays
        moved = bytes_of(layout)
        nbytes = (
            (run.matrix.stored_bytes + layout.stored_bytes if moved is None else moved) + run.x.nbytes + run.y.nbytes
        )

        def make() -> Callable[[], None]:
            x, y = run.x.copy(), run.y.copy()
            arrays = self._format.from_csr(copied(run.matrix)) if moved is None else copied(layout)
            call = partial(self._kernel.bound(run.backend, arrays), x, y)
            # The first call of a library allocates its workspace, which has to be placed too.
            call()
            return call

        return Placement(make, nbytes)

    def release(self) -> None:
        """Free the layout and the launch bound to it."""
        super().release()
        self._launch = None
