"""What is measured of a matrix: y = Aᵀ·x by SciPy, from the rows as they are stored or from columns stored for it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.formats.base import check_room
from gpu_engine.measure import Bench, Rounds, Timing
from gpu_engine.records import Cache, Case, Details, Trace, described
from gpu_engine.sampling.experiment import Candidate, Experiment, Fields
from gpu_engine.verify import Reference, check, reference

KERNELS = ("rows/scatter", "columns/gather")
PARTS = 4
"""Of y, whose errors a trace has."""


@dataclass(frozen=True, slots=True)
class TransposeDetails(Details):
    """What a measurement of the `transpose` study says beside what all say."""

    study: ClassVar[str] = "transpose"

    columns: int | None = described("Elements of y.", None)


class Transposes(Experiment):
    """Both kernels of one matrix."""

    details = TransposeDetails

    def __init__(self, cases: Sequence[Case], rounds: int, matrix: CsrMatrix, bench: Bench) -> None:
        super().__init__(cases, ("warm",), rounds, bench)
        self.host, self.rows = matrix, matrix.to_scipy()

    def load(self) -> Sequence[Candidate]:
        """The expected y, and a candidate a case."""
        self.expected = reference(CsrMatrix.from_scipy(self.rows.T.tocsr()))
        return [TransposeKernel(self, case) for case in self.cases]


class TransposeKernel(Candidate):
    """A product with one of the layouts."""

    def __init__(self, run: Transposes, case: Case) -> None:
        super().__init__(case.kernel, case.kernel, {"warm": case})
        self._run = run
        self._layout: Any = None
        self._errors: tuple[float, ...] = ()
        self.bytes_needed = 12.0 * run.host.nnz

    @property
    def environment(self) -> Mapping[str, str]:
        """Both are SciPy's."""
        return {"source": "0" * 16}

    def prepare(self) -> Callable[[], Fields]:
        """Converts, multiplies once and checks every element."""
        check_room(self.bytes_needed, self._run.bench.layout_bytes)
        transposed = self._run.rows.T
        self._layout = transposed.tocsr() if self.name.startswith("columns") else transposed
        expected: Reference = self._run.expected
        y = self._layout @ expected.x
        error = check(expected, y)
        self._errors = tuple(float(part.max(initial=0.0)) for part in np.array_split(abs(y - expected.y), PARTS))
        return lambda: {"max_error": error, "columns": self._run.host.n_cols}

    def traces(self) -> Iterator[Trace]:
        """The largest error of each part of y."""
        yield Trace(self.cases["warm"].key, {"errors": self._errors})

    def turns(self, cache: Cache) -> Callable[[], float]:
        """Turns of the product."""
        x = self._run.expected.x
        return self._run.bench.turns(lambda: self._layout @ x)(cache)

    def release(self) -> None:
        """Gives back the layout."""
        self._layout = None

    def least_s(self, cache: Cache) -> float:
        """By the bytes of the layout."""
        return self._run.bench.least_s(self.bytes_needed, cache)

    def rates(self, timing: Timing, cache: Cache, rounds: Rounds) -> Fields:
        """GFLOP/s and the floor."""
        moved = self._run.host.compulsory_bytes
        floor = moved / self._run.bench.profile.rate(moved, cache)
        return {"gflops": 2 * self._run.host.nnz / timing.median_s / 1e9, "roofline_s": floor}
