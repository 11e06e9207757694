"""SpmmExperiment: the SpMMs of one matrix with k columns, and k SpMVs, verified and sampled in the same rounds."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import Format, Kernel, check_room
from gpu_engine.measure import Bench, Placement, Rounds, Timing
from gpu_engine.measure.placements import bytes_of, copied
from gpu_engine.records import Cache, Case, Details, described
from gpu_engine.sampling.experiment import Candidate, Experiment, Fields, ProductCandidate, time_few
from gpu_engine.spmm import Order, SpmmKernel, order
from gpu_engine.studies.spmm.products import Call, spmm, spmvs
from gpu_engine.verify import POISON, check, reference

CONTROL = "csr/rows"
"""Control kernel, if it is measured; else the first kernel."""


@dataclass(frozen=True, slots=True)
class SpmmDetails(Details):
    """Fields specific to measurements of the study `spmm`."""

    study: ClassVar[str] = "spmm"

    vector_s: float | None = described("Seconds per column: median_s / k.", None)
    convert_s: float | None = described("Seconds of the one-time conversion from CSR on this device.", None)
    convert_peak_bytes: int | None = described("Peak memory of that conversion, in bytes.", None)
    setup_s: float | None = described(
        "Seconds to bind the kernel to k columns, warmed up: buffers, and the preprocessing of a library.", None
    )


@dataclass(frozen=True, slots=True)
class SpmmPlan:
    """Plan of the measurements of a matrix: kernels by name, cache states, columns, order, and rounds.

    kernels  SpMM kernels, and for k SpMVs the format and kernel of one
    """

    kernels: Mapping[str, "SpmmKernel | tuple[Format, Kernel]"]
    caches: tuple[Cache, ...]
    k: int
    order: Order
    rounds: int


class SpmmExperiment(Experiment):
    """Experiment with all kernels on one matrix, one number of columns, and one order."""

    details = SpmmDetails

    def __init__(self, plan: SpmmPlan, cases: Sequence[Case], matrix: CsrMatrix, bench: Bench) -> None:
        super().__init__(cases, plan.caches, plan.rounds, bench)
        self.plan, self.host, self.backend = plan, matrix, bench.stopwatch.backend

    def load(self) -> Sequence[Candidate]:
        """Load the matrix, X, Y and the expected Y; return the control kernel first."""
        k, (rows, columns) = self.plan.k, self.host.shape
        # X by rows and by columns, Y in both, the expected Y with its scale, and three arrays of the comparison.
        self.held_bytes = self.host.stored_bytes + 8.0 * k * (2 * columns + 7 * rows)
        check_room(self.held_bytes, self.bench.layout_bytes)
        self.expected = reference(self.host, k=k).on(self.bench.xp)
        self.matrix = self.bench.stopwatch.upload(self.host)
        self.x, self.y = self.expected.x, self.bench.xp.empty((rows, k))
        self.x_columns, self.y_columns = (array.copy(order="F") for array in (self.x, self.y))
        used = np.count_nonzero(np.bincount(self.host.indices, minlength=columns))
        pointers = self.host.indptr.itemsize * (rows + 1)
        self.compulsory_bytes = 12 * self.host.nnz + pointers + 8 * k * (int(used) + rows)
        names = dict.fromkeys(case.kernel for case in self.cases)
        candidates = [self._candidate(name) for name in names]
        return sorted(candidates, key=lambda c: c.kernel != CONTROL)

    def cases_of(self, kernel: str) -> Mapping[Cache, Case]:
        """Return the cases of a kernel by cache state."""
        return {case.cache: case for case in self.cases if case.kernel == kernel}

    def _candidate(self, name: str) -> Candidate:
        kernel = self.plan.kernels[name]
        return SpmmCandidate(self, kernel) if isinstance(kernel, SpmmKernel) else SpmvCandidate(self, name, *kernel)


class ColumnsCandidate(ProductCandidate):
    """A way to multiply all columns, as a candidate."""

    def __init__(self, name: str, experiment: SpmmExperiment) -> None:
        super().__init__(name, experiment.cases_of(name), experiment.bench, 0.0)
        self._experiment = experiment
        self._call: Call | None = None

    @property
    @abstractmethod
    def vectors(self) -> tuple[Any, Any]:
        """X and Y, in the order that it multiplies."""

    @abstractmethod
    def converted(self) -> tuple[Any, Fields]:
        """Return the layout and the fields of its conversion."""

    @abstractmethod
    def store(self, matrix: CsrMatrix) -> Any:
        """Return the layout of a matrix on the device."""

    @abstractmethod
    def bound(self, layout: Any, x: Any, y: Any) -> Call:
        """Return the call on a layout, X, and Y."""

    def prepare(self) -> Callable[[], Fields]:
        """Convert, multiply once, and verify every element."""
        self.arrays, fields = self.converted()
        x, y = self.vectors
        bind = partial(self.bound, self.arrays, x, y)
        # The first time, a library is loaded.
        bind()
        self._call, setup_s = time_few(self.bench.stopwatch, bind)
        y.fill(POISON)
        self.product()()
        self.bench.stopwatch.synchronize()
        error = check(self._experiment.expected, y)
        # With millions of nonzeros, some algorithms of cuSPARSE wait for the device.
        self.captured = self.bench.stopwatch.can_capture(self.product())
        return lambda: {**fields, "setup_s": setup_s, "max_error": error}

    def product(self) -> Callable[[], None]:
        """Return a call that multiplies all columns once."""

        def multiply() -> None:
            if self._call is None:
                self._call = self.bound(self.arrays, *self.vectors)
            self._call()

        return multiply

    def placement(self) -> Placement | None:
        """Return how the call is placed: on copies of X, Y, and the layout, or on a layout of a copied matrix."""
        matrix, layout = self._experiment.matrix, self.arrays
        moved = bytes_of(layout)
        of_layout = matrix.stored_bytes + layout.stored_bytes if moved is None else moved

        def make() -> Callable[[], None]:
            x, y = (array.copy(order="K") for array in self.vectors)
            call = self.bound(self.store(copied(matrix)) if moved is None else copied(layout), x, y)
            # The first call of a library allocates its workspace, which has to be placed too.
            call()
            return call

        return Placement(make, of_layout + sum(int(array.nbytes) for array in self.vectors))

    def rates(self, timing: Timing, cache: Cache, rounds: Rounds) -> Fields:  # noqa: ARG002
        """Return GFLOP/s, the roofline time, and the time per column."""
        run = self._experiment
        return {
            "gflops": 2 * run.host.nnz * run.plan.k / timing.median_s / 1e9,
            "roofline_s": run.compulsory_bytes / self.bench.profile.rate(run.compulsory_bytes, cache),
            "vector_s": timing.median_s / run.plan.k,
        }

    def release(self) -> None:
        """Free the layout and the call bound to it."""
        super().release()
        self._call = None

    @property
    def _least_bytes(self) -> int:
        """Least bytes of the layout that every pass over the matrix reads."""
        return min(12 * self._experiment.host.nnz, int(self.arrays.stored_bytes))


class SpmmCandidate(ColumnsCandidate):
    """A kernel that multiplies all columns in one SpMM."""

    def __init__(self, experiment: SpmmExperiment, kernel: SpmmKernel) -> None:
        super().__init__(kernel.name, experiment)
        self._kernel = kernel
        self._in_columns = experiment.plan.order == "column"
        buffers = 8.0 * experiment.plan.k * sum(experiment.host.shape) if self._in_columns else 0.0
        self.bytes_needed = kernel.bytes_needed(experiment.host) + buffers

    @property
    def vectors(self) -> tuple[Any, Any]:
        """X and Y in the order of the case."""
        run = self._experiment
        return (run.x_columns, run.y_columns) if self._in_columns else (run.x, run.y)

    @property
    def environment(self) -> Mapping[str, str]:
        """Hash of the kernel source, and the version of a library."""
        return {"source": self._kernel.source_hash(self._experiment.backend), **self._kernel.libraries()}

    @property
    def sources(self) -> Collection[CudaSource]:
        """CUDA sources of the kernel, and of the copies between the orders."""
        kernel = () if self._kernel.source is None else (self._kernel.source,)
        return (*kernel, order.SOURCE) if self._in_columns else kernel

    def converted(self) -> tuple[Any, Fields]:
        """Return the layout and the fields of its conversion."""
        run, kernel = self._experiment, self._kernel
        return run.converted(kernel.name, self.bytes_needed, partial(kernel.store, run.matrix))

    def store(self, matrix: CsrMatrix) -> Any:
        """Return the layout of a matrix on the device."""
        return self._kernel.store(matrix)

    def bound(self, layout: Any, x: Any, y: Any) -> Call:
        """Return the call of the SpMM."""
        run = self._experiment
        return spmm(self._kernel, run.backend, run.plan.order, layout, x, y)

    def least_s(self, cache: Cache) -> float:
        """Return the least seconds for the bytes of the layout and of Y."""
        return self.bench.least_s(self._least_bytes + int(self._experiment.y.nbytes), cache)


class SpmvCandidate(ColumnsCandidate):
    """A kernel that multiplies one column at a time, each of which is a vector."""

    def __init__(self, experiment: SpmmExperiment, name: str, f: Format, kernel: Kernel) -> None:
        super().__init__(name, experiment)
        self._format, self._kernel = f, kernel
        self.layout = f.title
        self.bytes_needed = f.bytes_needed(experiment.host)

    @property
    def vectors(self) -> tuple[Any, Any]:
        """X and Y by columns."""
        return self._experiment.x_columns, self._experiment.y_columns

    @property
    def environment(self) -> Mapping[str, str]:
        """Hash of the kernel source."""
        return {"source": self._kernel.source_hash(self._experiment.backend), **self._kernel.libraries()}

    @property
    def sources(self) -> Collection[CudaSource]:
        """CUDA sources of the kernel."""
        return self._kernel.sources

    def converted(self) -> tuple[Any, Fields]:
        """Return the layout, which all kernels of its format share, and the fields of its conversion."""
        run, f = self._experiment, self._format
        return run.converted(f.title, self.bytes_needed, partial(f.from_csr, run.matrix))

    def store(self, matrix: CsrMatrix) -> Any:
        """Return the layout of a matrix on the device."""
        return self._format.from_csr(matrix)

    def bound(self, layout: Any, x: Any, y: Any) -> Call:
        """Return the call of the SpMVs."""
        return spmvs(self._kernel, self._experiment.backend, layout, x, y)

    def least_s(self, cache: Cache) -> float:
        """Return the least seconds for the bytes of the layout and of y in each SpMV."""
        k, rows = self._experiment.plan.k, self._experiment.host.n_rows
        return k * self.bench.least_s(self._least_bytes + 8 * rows, cache)
