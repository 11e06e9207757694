"""Products of one batch: every kernel converted, checked against SciPy and sampled in the same interleaved rounds."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gpu_engine.batched.base import BatchKernel
from gpu_engine.batched.composition import Composition
from gpu_engine.competitors import BEST
from gpu_engine.competitors.batches import DIAGONALS, LOOPS
from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import KernelError, ParameterError
from gpu_engine.formats.base import check_room
from gpu_engine.measure import Bench, Rounds, Timing
from gpu_engine.records import Cache, Case, Details, Measurement, described
from gpu_engine.sampling.experiment import Candidate, Experiment, Fields, ProductCandidate, best_of
from gpu_engine.verify import POISON, check

BEST_OF = frozenset(kernel.name for kernel in DIAGONALS)


@dataclass(frozen=True, slots=True)
class BatchDetails(Details):
    """What a measurement of the `batched` study says beside what all say."""

    study: ClassVar[str] = "batched"

    batch_size: int | None = described("Problems of the batch, of whose product the times are.", None)
    moved_bytes: int | None = described(
        "Bytes of the layout that a product reads at least: without values of padding that it does not load.", None
    )
    vector_bytes: int | None = described(
        "Bytes of x and y that a product moves: x read, y written and, where it adds, read.", None
    )
    convert_s: float | None = described("Seconds of the conversion from CSR on this device, once.", None)
    convert_peak_bytes: int | None = described("Bytes: peak memory of that conversion.", None)


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What to measure of a batch.

    kernels   every kernel that a case names, and those that BEST chooses from
    adds      y := A·x + y instead of y := A·x
    loop_max  most problems for kernels that launch something for each
    energy_s  seconds of repeats for the energy of a product; 0: not measured
    """

    kernels: tuple[BatchKernel, ...]
    caches: tuple[Cache, ...]
    rounds: int
    adds: bool
    loop_max: int
    energy_s: float


class BatchExperiment(Experiment):
    """All kernels of one batch.

    compose  makes the batch; raises ParameterError where there is none to multiply
    names    of the matrices of a mixed batch, for the records
    """

    details = BatchDetails
    beginning = "making the batch and its reference product"

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
        """How many problems the batch has."""
        return {"batch_size": int(dict(case.axes)["batch"])}

    def load(self) -> Sequence[Candidate]:
        """The batch, x, y and the reference on the device; raises LayoutTooLargeError before any is made."""
        self.composition = self._compose()
        rows, cols = self.composition.n_rows, self.composition.n_cols
        # x, y, the y before, and three arrays of the reference.
        self.held_bytes = self.composition.bytes_needed + 8 * cols + 5 * 8 * rows
        check_room(self.held_bytes, self.bench.layout_bytes)
        xp = self.bench.xp
        self.batch = self.composition.batch(xp)
        self.expected = self.composition.reference(adds=self.plan.adds).on(xp)
        self.x, self.y = self.expected.x, xp.empty(rows)
        self.start = xp.asarray(self.composition.start()) if self.plan.adds else POISON
        self.vector_bytes = 8 * cols + (16 if self.plan.adds else 8) * rows
        wanted = {case.kernel for case in self.cases}
        if BEST in wanted:
            wanted |= BEST_OF
        return [BatchCandidate(self, kernel) for kernel in self.plan.kernels if kernel.name in wanted]

    def rows_written(self) -> int:
        """Elements of y that any product must write: none of an empty row where it adds."""
        if not self.plan.adds:
            return self.composition.n_rows
        occupied = [np.count_nonzero(np.diff(m.indptr)) for m in self.composition.matrices]
        return int(np.asarray(occupied)[self.composition.order].sum())

    def derived(self, measured: Sequence[Measurement]) -> Iterator[Measurement]:
        """The best of the algorithms on the block-diagonal matrix."""
        rivals = [m for m in measured if m.kernel in BEST_OF]
        yield from (best_of(rivals, case) for case in self.cases if case.kernel == BEST)


class BatchCandidate(ProductCandidate):
    """A kernel of batches."""

    def __init__(self, experiment: BatchExperiment, kernel: BatchKernel) -> None:
        cases = {case.cache: case for case in experiment.cases if case.kernel == kernel.name}
        # The energy of a call comes from hundreds of them in one graph: too many launches for a loop.
        energy_s = 0.0 if kernel.name in LOOPS else experiment.plan.energy_s
        super().__init__(kernel.name, cases, experiment.bench, energy_s)
        self._experiment, self._kernel = experiment, kernel
        self.layout = kernel.store
        # Asked once: to know what problems share takes as long as storing it.
        self.bytes_needed = kernel.bytes_needed(experiment.batch)

    @property
    def environment(self) -> Mapping[str, str]:
        """The hash of the kernel's source, the versions of what it calls, and the matrices of a mixed batch."""
        source = self._kernel.source_hash(self._experiment.backend)
        return {"source": source, **self._kernel.libraries(), **self._experiment.names}

    @property
    def sources(self) -> Collection[CudaSource]:
        """That of its kernel."""
        return self._kernel.sources

    def prepare(self) -> Callable[[], Fields]:
        """Stores the batch, multiplies it once and checks every element."""
        run = self._experiment
        count = run.composition.count
        if self.name in LOOPS and count > run.plan.loop_max:
            raise ParameterError(
                f"one launch a problem: {count} problems are more than {run.plan.loop_max}, the loop_max"
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
        """Turns of the product."""
        # From call to call a y that is added to grows by A·x: linearly, so that it never overflows.
        self._experiment.y[...] = 0.0
        return self.bench.turns(self.product(), captured=self._kernel.captured)(cache)

    def least_s(self, cache: Cache) -> float:
        """By the bytes of the layout and of y."""
        return self.bench.least_s(self._kernel.layout_bytes(self.arrays) + 8 * self._experiment.rows_written(), cache)

    def rates(self, timing: Timing, cache: Cache, rounds: Rounds) -> Fields:  # noqa: ARG002
        """GFLOP/s, the floor, and the bytes of layout and vectors."""
        run = self._experiment
        compulsory = run.batch.compulsory_bytes(run.plan.adds)
        return {
            "gflops": 2 * run.batch.nnz / timing.median_s / 1e9,
            "roofline_s": compulsory / self.bench.profile.rate(compulsory, cache),
            "moved_bytes": self._kernel.layout_bytes(self.arrays),
            "vector_bytes": run.vector_bytes,
        }

    def product(self) -> Callable[[], None]:
        """A call of the kernel on the layout of that moment."""
        product = self._kernel.product(self._experiment.backend)
        if product is None:
            raise KernelError(f"{self.name} does not exist on {self._experiment.backend}.")
        run = self._experiment
        return lambda: product(self.arrays, run.x, run.y, run.plan.adds)
