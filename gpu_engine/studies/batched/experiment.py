"""BatchExperiment: converts one batch for all kernels, verifies them against SciPy, and samples them together."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from gpu_engine.batched.base import BatchKernel
from gpu_engine.batched.composition import Composition
from gpu_engine.competitors import BEST
from gpu_engine.competitors.batches import DIAGONALS, LOOPS
from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import KernelError, ParameterError
from gpu_engine.formats.base import check_room
from gpu_engine.measure import Bench, Placement, Rounds, Timing
from gpu_engine.measure.placements import bytes_of, copied
from gpu_engine.records import Cache, Case, Details, Measurement, described
from gpu_engine.sampling.experiment import Candidate, Experiment, Fields, ProductCandidate, best_of
from gpu_engine.verify import POISON, check

BEST_OF = frozenset(kernel.name for kernel in DIAGONALS)


@dataclass(frozen=True, slots=True)
class BatchDetails(Details):
    """Fields specific to measurements of the study `batched`."""

    study: ClassVar[str] = "batched"

    batch_size: int | None = described("Number of matrices in the batch.", None)
    moved_bytes: int | None = described(
        "Bytes of the layout that an SpMV must read, without padding values that it does not load.", None
    )
    vector_bytes: int | None = described(
        "Bytes of x and y that an SpMV moves: read x, write y, and read y if it accumulates.", None
    )
    convert_s: float | None = described("Seconds of the one-time conversion from CSR on this device.", None)
    convert_peak_bytes: int | None = described("Peak memory of that conversion, in bytes.", None)


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """Plan of the measurements of a batch.

    kernels   kernels of the cases, and those that BEST chooses from
    adds      whether y := A·x + y instead of y := A·x
    loop_max  largest batch for kernels with one launch per matrix
    energy_s  seconds of repeated SpMVs for the energy measurement; 0: off
    """

    kernels: tuple[BatchKernel, ...]
    caches: tuple[Cache, ...]
    rounds: int
    adds: bool
    loop_max: int
    energy_s: float


class BatchExperiment(Experiment):
    """Experiment with all kernels of one batch.

    compose  creates the batch; raises ParameterError if it has no matrices to multiply
    names    names of the matrices of a mixed batch, for the records
    """

    details = BatchDetails
    beginning = "making the batch and its reference result"

    def __init__(
        self,
        plan: BatchPlan,
        cases: Sequence[Case],
        compose: Callable[[], Composition],
        bench: Bench,
        names: Sequence[str] = (),
    ) -> None:
        super().__init__(cases, plan.caches, plan.rounds, bench)
        self.plan, self._compose = plan, compose
        self.backend = bench.stopwatch.backend
        self.names = {"matrices": ", ".join(names)} if names else {}

    def known(self, case: Case) -> Fields:
        """Return the batch size, a field of every record."""
        return {"batch_size": int(dict(case.axes)["batch"])}

    def load(self) -> Sequence[Candidate]:
        """Load the batch, x, y and the expected y; raise LayoutTooLargeError before any is created."""
        self.composition = self._compose()
        rows, cols = self.composition.n_rows, self.composition.n_cols
        # x, y, the previous y, and three arrays of the expected result.
        self.held_bytes = self.composition.bytes_needed + 8 * cols + 5 * 8 * rows
        check_room(self.held_bytes, self.bench.layout_bytes)
        xp = self.bench.xp
        self.batch = self.composition.batch(xp)
        self.expected = self.composition.reference(adds=self.plan.adds).on(xp)
        self.x, self.y = self.expected.x, xp.empty(rows)
        self.start = xp.asarray(self.composition.start()) if self.plan.adds else POISON
        self.vector_bytes = 8 * cols + (16 if self.plan.adds else 8) * rows
        names = {case.kernel for case in self.cases}
        if BEST in names:
            names |= BEST_OF
        return [BatchCandidate(self, kernel) for kernel in self.plan.kernels if kernel.name in names]

    def rows_written(self) -> int:
        """Return the number of elements of y that an SpMV must write; with accumulation not those of empty rows."""
        if not self.plan.adds:
            return self.composition.n_rows
        occupied = [np.count_nonzero(np.diff(m.indptr)) for m in self.composition.matrices]
        return int(np.asarray(occupied)[self.composition.order].sum())

    def derived(self, measured: Sequence[Measurement]) -> Iterator[Measurement]:
        """Yield the measurement of the best algorithm on the block-diagonal matrix."""
        rivals = [m for m in measured if m.kernel in BEST_OF]
        yield from (best_of(rivals, case) for case in self.cases if case.kernel == BEST)


class BatchCandidate(ProductCandidate):
    """A kernel of batched SpMV as a candidate."""

    def __init__(self, experiment: BatchExperiment, kernel: BatchKernel) -> None:
        cases = {case.cache: case for case in experiment.cases if case.kernel == kernel.name}
        # Energy is measured over hundreds of calls in one CUDA graph: too many launches for a launch loop.
        energy_s = 0.0 if kernel.name in LOOPS else experiment.plan.energy_s
        super().__init__(kernel.name, cases, experiment.bench, energy_s)
        self._experiment, self._kernel = experiment, kernel
        self.layout, self.captured = kernel.store, kernel.captured
        # Computed once, because finding shared patterns takes as long as storing them.
        self.bytes_needed = kernel.bytes_needed(experiment.batch)

    @property
    def environment(self) -> Mapping[str, str]:
        """Hash of the kernel source, versions of its libraries, and the matrices of a mixed batch."""
        source = self._kernel.source_hash(self._experiment.backend)
        return {"source": source, **self._kernel.libraries(), **self._experiment.names}

    @property
    def sources(self) -> Collection[CudaSource]:
        """CUDA sources of the kernel."""
        return self._kernel.sources

    def prepare(self) -> Callable[[], Fields]:
        """Convert the batch, run one SpMV and verify every element."""
        run = self._experiment
        count = run.composition.count
        if self.name in LOOPS and count > run.plan.loop_max:
            raise ParameterError(
                f"one launch per matrix, and the batch has {count:,} matrices (limit: {run.plan.loop_max:,})"
            )
        kernel = self._kernel
        self.arrays, fields = run.converted(kernel.store, self.bytes_needed, lambda: kernel.store(run.batch))
        note = kernel.remark(self.arrays) if kernel.remark else ""
        run.y[...] = run.start
        self.product()()
        self.bench.stopwatch.synchronize()
        error = check(run.expected, run.y)
        return lambda: {**fields, "batch_size": count, "note": note, "max_error": error}

    def turns(self, cache: Cache) -> Callable[[], float]:
        """Return a function that times one turn of SpMVs."""
        # With accumulation y grows by A·x per call: linearly, so that it never overflows.
        self._experiment.y[...] = 0.0
        return super().turns(cache)

    def placement(self) -> Placement | None:
        """Return how the SpMV is placed, on copies of x, y, and the layout; None for layouts of a library."""
        run, layout, kernel = self._experiment, self.arrays, self._kernel
        moved, product = bytes_of(layout), kernel.product(run.backend)
        if moved is None or product is None:
            return None

        def make() -> Callable[[], None]:
            return partial(product, copied(layout), run.x.copy(), run.y.copy(), run.plan.adds)

        return Placement(make, moved + run.x.nbytes + run.y.nbytes)

    def least_s(self, cache: Cache) -> float:
        """Return the least seconds for the bytes of the layout and of y."""
        return self.bench.least_s(self._kernel.layout_bytes(self.arrays) + 8 * self._experiment.rows_written(), cache)

    def rates(self, timing: Timing, cache: Cache, rounds: Rounds) -> Fields:  # noqa: ARG002
        """Return GFLOP/s, the roofline time, and the bytes of layout and vectors."""
        run = self._experiment
        compulsory = run.batch.compulsory_bytes(run.plan.adds)
        return {
            "gflops": 2 * run.batch.nnz / timing.median_s / 1e9,
            "roofline_s": compulsory / self.bench.profile.rate(compulsory, cache),
            "moved_bytes": self._kernel.layout_bytes(self.arrays),
            "vector_bytes": run.vector_bytes,
        }

    def product(self) -> Callable[[], None]:
        """Return a call of the kernel on its current layout."""
        product = self._kernel.product(self._experiment.backend)
        if product is None:
            raise KernelError(f"{self.name} is not available on {self._experiment.backend}.")
        run = self._experiment
        return lambda: product(self.arrays, run.x, run.y, run.plan.adds)
