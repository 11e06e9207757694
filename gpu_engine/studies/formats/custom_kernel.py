"""CustomKernelCandidate: a custom kernel in the rounds, with integrity checks before, during and after its turns.

Its turns are timed like those of any kernel. Before a turn x changes and y is poisoned, outside the timing; after it y
is verified. Some turns, chosen at random, are followed by audits that the record does not count: the same calls once
more under an independent clock, and calls with another x each.
"""

import itertools
import random
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from gpu_engine.custom_kernels import memory
from gpu_engine.custom_kernels.adapters import format_of
from gpu_engine.custom_kernels.examiner import REMEMBERED, Examiner, host_copy
from gpu_engine.custom_kernels.input_changes import ChangingInput, IndependentlyTimed
from gpu_engine.custom_kernels.sources import Reference, imported
from gpu_engine.custom_kernels.tamper_check import TamperCheck
from gpu_engine.custom_kernels.timing_checks import TimingChecks
from gpu_engine.errors import DeviceLostError, KernelError, SparsightError
from gpu_engine.formats.base import Format, Kernel
from gpu_engine.measure import Timing
from gpu_engine.measure.independent_clock import bound_clock, wait_until, works_on
from gpu_engine.records import Cache
from gpu_engine.sampling.experiment import CASE_ERRORS, Fields
from gpu_engine.studies.formats.experiment import ProductKernel
from gpu_engine.studies.formats.lent import LentProducts
from gpu_engine.verify import POISON

AUDITS = 5
"""Number of turns per cache state that are followed by an audit, which the record does not count."""

LEAST_BYTES = {False: 12, True: 2}
"""Least bytes per nonzero that an SpMV moves, for an uncompressed (False) and a compressed (True) format."""


class CustomKernelCandidate(ProductKernel):
    """A custom kernel as a candidate; its code is imported in `prepare`."""

    # Its allocations are traced, and a verification at the same time would count as its own.
    alone = True
    has_interim = False
    # The integrity checks need turns of all rounds.
    stops_early = False

    def __init__(self, products: LentProducts, reference: Reference, examiner: Examiner, seal: TamperCheck) -> None:
        name = reference.kernel
        unknown = Format(name, name, "", lambda matrix: matrix.stored_bytes, lambda _: None, ())
        super().__init__(products, name, unknown, Kernel("kernel", ""))
        self.reference = reference
        self._run, self._examiner = products, examiner
        # Bound here, so that foreign code cannot replace it by patching the class.
        self._check_seal, self._clock = seal.check, bound_clock()
        self._environment: dict[str, str] = {}
        self._file = str(Path(reference.place).resolve()) if reference.symbol else ""
        self._moved_bytes = 0
        self._memory_is_checked = False
        self._timing_checks = TimingChecks(self.bench.stopwatch.backend)
        self._is_audited = False
        self._rejection: KernelError | None = None
        self._audits: dict[Cache, Callable[[str], None]] = {}
        self._earlier = deque[Any](maxlen=REMEMBERED)
        self.x: Any = None
        self.y: Any = None

    @property
    def environment(self) -> Mapping[str, str]:
        """Hash of its source, the reference that names it, and the libraries that it reports."""
        named = Reference(self.reference.place.rpartition("/")[2], self.reference.symbol, self.reference.variant)
        return {"custom_kernel": str(named), **self._environment}

    def prepare(self) -> Callable[[], Fields]:
        """Import the code, convert, run one SpMV and verify every element, all under the tamper check."""
        run, backend = self._run, self.bench.stopwatch.backend
        with self._foreign("while it was imported"):
            custom, source, self._file = imported(self.reference)
            self._environment["source"] = source
            self._format, self._kernel = format_of(custom, self.reference, backend)
            self._environment |= self._kernel.libraries()
        fields = self._convert()
        self.x, self.y = self.bench.xp.zeros(run.host.n_cols), self.bench.xp.empty(run.host.n_rows)
        error = self._once("in its first SpMV")
        same = self._compared(fields)
        return lambda: {**fields, "max_error": error, **same}

    def turns(self, cache: Cache) -> Callable[[], float]:
        """Return a function that takes a turn with a new x; after an error it returns NaN."""
        if self.error is not None:
            return lambda: float("nan")
        try:
            take = self._prepared_turns(cache)
        except CASE_ERRORS as error:
            self.fail(error)
            return lambda: float("nan")
        number = itertools.count(1)

        def turn() -> float:
            if self.error is not None:
                return float("nan")
            try:
                return take(next(number))
            except CASE_ERRORS as error:
                self.fail(error)
                return float("nan")

        return turn

    def placement(self) -> None:
        """Return None: a custom kernel keeps its arrays, which the integrity checks watch."""

    def least_s(self, cache: Cache) -> float:
        """Return the least seconds for the bytes that it reports, but at least for those of any SpMV."""
        return self.bench.least_s(self._moved_bytes + 8 * self._run.host.n_rows, cache)

    def confirm(self, timing: Timing, cache: Cache) -> None:
        """Raise KernelError if its times are implausible or contradict the audits, in either cache state."""
        super().confirm(timing, cache)
        if not self._is_audited:
            self._is_audited = True
            try:
                self._timing_checks.verify(lambda state: self._audits[state](f"after the rounds, {state}"))
            except KernelError as error:
                self._rejection = error
        if self._rejection is not None:
            raise self._rejection

    def energy_j(self) -> float | None:
        """Return the energy of one SpMV in joules, or None if its code fails."""
        try:
            with self._foreign("while its energy was measured"):
                return super().energy_j()
        except CASE_ERRORS:
            return None

    def product(self) -> Callable[[], None]:
        """Return a call of the kernel on its x and y."""
        backend = self._run.backend
        return lambda: self._kernel.bound(backend, self.arrays)(self.x, self.y)

    def _convert(self) -> Fields:
        run, f = self._run, self._format
        with self._foreign("in prepare"):
            self.arrays, fields = run.converted(self.name, int(f.bytes_needed(run.lent)), lambda: f.from_csr(run.lent))
            moved = int(self._kernel.layout_bytes(self.arrays))
        self._inputs_are_whole("in prepare")
        self._moved_bytes = max(moved, LEAST_BYTES[f.compressed] * run.host.nnz)
        return fields

    def _compared(self, conversion: Fields) -> Fields:
        """Return the fields of bitwise reproducibility; the outputs themselves are verified in the turns."""
        x, first, when = self._renew(), self.bench.xp.empty_like(self.y), "while its runs were compared"
        with self._foreign(when):
            self._kernel.bound(self._run.backend, self.arrays)(self.x, first)
            same = self.repeated(self._run.lent, self.x, first, conversion)
        self._inputs_are_whole(when, x)
        return same

    def _prepared_turns(self, cache: Cache) -> Callable[[int], float]:
        """Return the function that takes the turn of a round, given its number from 1."""
        if not self._memory_is_checked:
            self._memory_is_checked = True
            self._alone("before the rounds")
            inputs = [self._examiner.new_x() for _ in range(2 + memory.CALLS)]
            with self._foreign("while its memory was watched"):
                memory.watch(self.bench.stopwatch, self.product(), inputs, self._write)
        repeated = IndependentlyTimed(self.product(), self._clock)
        changing = IndependentlyTimed(self.product(), self._clock)
        changes = ChangingInput(self.bench.xp, self._examiner, changing, self.x, self.y)
        with self._foreign(f"before the rounds, {cache}"):
            take, repeat, change = (self.bench.turns(call)(cache) for call in (self.product(), repeated, changes))
        audits = set(random.SystemRandom().sample(range(1, self._run.rounds + 1), min(AUDITS, self._run.rounds)))

        def audit(when: str) -> None:
            repeated.begin()
            by_stopwatch = self._checked_turn(repeat, when)
            self._timing_checks.watched[cache] += repeated.seconds(by_stopwatch)
            changing.begin()
            by_stopwatch = self._changing_turn(change, changes, f"{when}, with a new x before each call")
            self._timing_checks.changed[cache] += changing.seconds(by_stopwatch)
            self._alone(f"{when}, in a call by itself")

        def turn(number: int) -> float:
            seconds = self._checked_turn(take, f"in round {number}, {cache}")
            self._timing_checks.claimed[cache].append(seconds)
            if number in audits:
                audit(f"after round {number}, {cache}")
            return seconds

        self._audits[cache] = audit
        return turn

    def _checked_turn(self, take: Callable[[], float], when: str) -> float:
        """Return the seconds of a turn with a new x, and verify its y."""
        x = self._renew()
        with self._foreign(when, glance=True):
            seconds = take()
            y = self._collect()
        self._check_output(x, y, when)
        return seconds

    def _changing_turn(self, take: Callable[[], float], changes: ChangingInput, when: str) -> float:
        """Return the seconds of a turn with another x before each call, and verify its y."""
        changes.begin(self._renew())
        with self._foreign(when, glance=True):
            seconds = take()
            y = self._collect()
        self._check_output(changes.end(when), y, when)
        return seconds

    def _alone(self, when: str) -> None:
        """Run one SpMV and check that no thread of it continues afterwards."""
        self._once(when)
        if not self._run.disturbed and works_on():
            # The threads cannot be stopped, and later custom kernels cannot be told apart from them.
            self._run.disturbed = True
            raise KernelError("rejected: its threads continue to run after the call has returned")

    def _once(self, when: str) -> float:
        """Run one SpMV with a new x, verify it, and return its largest error."""
        x = self._renew()
        with self._foreign(when):
            self.product()()
            self.bench.stopwatch.synchronize()
            y = self._collect()
        return self._check_output(x, y, when)

    def _renew(self) -> Any:
        """Write a new x to the device and return it on the host."""
        x = self._examiner.new_x()
        self._write(x)
        return x

    def _write(self, x: Any) -> None:
        """Write x to the device and poison y."""
        self._earlier.append(x)
        self.x[...] = self.bench.xp.asarray(x)
        self.y.fill(POISON)
        self.bench.stopwatch.synchronize()

    def _collect(self) -> Any:
        """Copy y to the host as soon as the call returns, and poison it again."""
        y = host_copy(self.y)
        self.y.fill(POISON)
        return y

    def _check_output(self, x: Any, y: Any, when: str) -> float:
        """Verify y, and check that y, x and the matrix were not written since; return the largest error."""
        self._inputs_are_whole(when, x)
        late = KernelError(f"rejected: it wrote y after it had returned, {when}")
        try:
            error = self._examiner.examine(x, y, when, tuple(self._earlier)[:-1])
        except KernelError:
            if wait_until(self._is_written):
                raise late from None
            raise
        if self._is_written():
            raise late
        return error

    def _is_written(self) -> bool:
        self.bench.stopwatch.synchronize()
        return not bool(self.bench.xp.isnan(self.y).all())

    def _inputs_are_whole(self, when: str, x: Any = None) -> None:
        if not self._run.lent_is_whole():
            raise KernelError(f"rejected: it changed the matrix, {when}")
        if x is not None and not np.array_equal(host_copy(self.x), x):
            raise KernelError(f"rejected: it changed x, {when}")

    @contextmanager
    def _foreign(self, when: str, glance: bool = False) -> Iterator[None]:
        """Run code of the custom kernel: turn its exceptions into KernelError, and undo what it replaced.

        glance  checks only the code that the timing itself depends on
        """
        lost = False
        try:
            with self.bench.stopwatch.guard():
                yield
        except CASE_ERRORS:
            raise
        except (Exception, SystemExit) as error:
            if isinstance(error, DeviceLostError) and self._run.backend == "cuda":
                lost = True
                raise
            message = error.message if isinstance(error, SparsightError) else f"{type(error).__name__}: {error}"
            raise KernelError(f"It failed {when}{where(error, self._file)}: {message[:1000]}") from error
        finally:
            # An error of the tamper check must not hide that the process has to end.
            if not lost:
                self._check_seal(glance)


def where(error: BaseException, file: str) -> str:
    """Return the last line of a file in the traceback as `, line 7`; empty if the file does not occur."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f", line {lines[-1]}" if lines else ""
