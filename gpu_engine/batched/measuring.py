"""Products of one batch: every kernel converted, checked against SciPy and sampled in the same interleaved rounds."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.batched.base import BatchKernel
from gpu_engine.batched.composition import Composition
from gpu_engine.competitors import BEST
from gpu_engine.competitors.batches import DIAGONALS, LOOPS
from gpu_engine.errors import KernelError, ParameterError
from gpu_engine.experiment import Candidate, Experiment, Fields, best_of
from gpu_engine.formats.base import check_room
from gpu_engine.measure import Bench, Rounds, Timing
from gpu_engine.records import Cache, Case, Measurement
from gpu_engine.verify import POISON, check

BEST_OF = frozenset(kernel.name for kernel in DIAGONALS)


@dataclass(frozen=True, slots=True)
class Plan:
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


class Products(Experiment):
    """All kernels of one batch.

    compose  makes the batch; raises ParameterError where there is none to multiply
    names    of the matrices of a mixed batch, for the records
    """

    beginning = "making the batch and its reference product"

    def __init__(
        self,
        plan: Plan,
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
        return {"problems": int(dict(case.axes)["batch"])}

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
        return [BatchProduct(self, kernel) for kernel in self.plan.kernels if kernel.name in wanted]

    def rows_written(self) -> int:
        """Elements of y that any product must write: none of an empty row where it adds."""
        if not self.plan.adds:
            return self.composition.n_rows
        occupied = [np.count_nonzero(np.diff(m.indptr)) for m in self.composition.matrices]
        return int(np.asarray(occupied)[self.composition.order].sum())

    def derived(self, measured: Sequence[Measurement]) -> Iterator[Measurement]:
        """The best of the algorithms on the block-diagonal matrix."""
        yield from (best_of(measured, BEST_OF, case) for case in self.cases if case.kernel == BEST)


class BatchProduct(Candidate):
    """A kernel of batches."""

    def __init__(self, products: Products, kernel: BatchKernel) -> None:
        cases = {case.cache: case for case in products.cases if case.kernel == kernel.name}
        super().__init__(kernel.name, kernel.name, cases)
        self._products, self._kernel, self._bench = products, kernel, products.bench
        self._layout: Any = None
        self.layout = kernel.store
        self.bytes_needed = min(kernel.bytes_needed(products.batch), self._bench.layout_bytes)

    @property
    def environment(self) -> Mapping[str, str]:
        """The hash of the kernel's source, the versions of what it calls, and the matrices of a mixed batch."""
        source = self._kernel.source_hash(self._products.backend)
        return {"source": source, **self._kernel.libraries(), **self._products.names}

    def prepare(self) -> Callable[[], Fields]:
        """Stores the batch, multiplies it once and checks every element."""
        run = self._products
        count = run.composition.count
        if self.name in LOOPS and count > run.plan.loop_max:
            raise ParameterError(
                f"one launch a problem: {count} problems are more than {run.plan.loop_max}, the loop_max"
            )
        kernel = self._kernel
        needed = kernel.bytes_needed(run.batch)
        self._layout, fields = run.converted(kernel.store, needed, lambda: kernel.store(run.batch))
        note = kernel.remark(self._layout) if kernel.remark else ""
        run.y[...] = run.start
        self._call()()
        self._bench.stopwatch.synchronize()
        error = check(run.expected, run.y)
        return lambda: {**fields, "problems": count, "note": note, "max_error": error}

    def turns(self, cache: Cache) -> Callable[[], float]:
        """Turns of the product."""
        # From call to call a y that is added to grows by A·x: linearly, so that it never overflows.
        self._products.y[...] = 0.0
        return self._bench.turns(self._call())(cache)

    def least_s(self, cache: Cache) -> float:
        """By the bytes of the layout and of y."""
        return self._bench.least_s(self._kernel.layout_bytes(self._layout) + 8 * self._products.rows_written(), cache)

    def rates(self, timing: Timing, cache: Cache, rounds: Rounds) -> Fields:  # noqa: ARG002
        """GFLOP/s, the floor, and the bytes of the vectors."""
        run = self._products
        compulsory = run.batch.compulsory_bytes(run.plan.adds)
        return {
            "gflops": 2 * run.batch.nnz / timing.median_s / 1e9,
            "floor_s": compulsory / self._bench.profile.rate(compulsory, cache),
            "vector_bytes": run.vector_bytes,
        }

    def energy_j(self) -> float | None:
        """Of a product, where the plan asks for it."""
        seconds = self._products.plan.energy_s
        # The energy of a call comes from hundreds of them in one graph: too many launches for a loop.
        return self._bench.stopwatch.energy_j(self._call(), seconds) if seconds and self.name not in LOOPS else None

    def release(self) -> None:
        """Gives back the layout."""
        self._layout = None

    def _call(self) -> Callable[[], None]:
        product = self._kernel.product(self._products.backend)
        if product is None:
            raise KernelError(f"{self.name} does not exist on {self._products.backend}.")
        run = self._products
        # The layout is looked up at each call: what keeps the call does not keep the layout.
        return lambda: product(self._layout, run.x, run.y, run.plan.adds)
