"""Entrant: a custom kernel in the rounds, with what is checked before, in and after each of its turns.

A turn is that of any kernel; x changes and y is poisoned before it, outside the clock, and y is checked after it. Some
turns, which nobody can know before, are followed by others that the record does not count: the same calls once more
under the referee's clock, and with another x before each.
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
from gpu_engine.measure.witness import bound_clock, comes_true, works_on
from gpu_engine.records import Cache
from gpu_engine.sampling.experiment import CASE_ERRORS, Fields
from gpu_engine.studies.formats.experiment import ProductKernel
from gpu_engine.studies.formats.lent import LentProducts
from gpu_engine.verify import POISON

AUDITS = 5
"""So many turns of a cache state are followed by those that the record does not count."""

LEAST_BYTES = {False: 12, True: 2}
"""Bytes of an entry that any product moves: of a format that holds entries whole, and of a compressed one."""


class Entrant(ProductKernel):
    """A custom kernel; its code is imported when it is prepared."""

    # What it allocates is watched, and a verification beside it would be taken for its own.
    alone = True
    told_early = False
    # The referee looks at turns of all rounds.
    settles = False

    def __init__(self, products: LentProducts, reference: Reference, examiner: Examiner, seal: TamperCheck) -> None:
        name = reference.kernel
        unknown = Format(name, name, "", lambda matrix: matrix.stored_bytes, lambda _: None, ())
        super().__init__(products, name, unknown, Kernel("kernel", ""))
        self.reference = reference
        self._run, self._examiner = products, examiner
        # Whoever replaces a method of the class does not replace what is bound already.
        self._check_seal, self._clock = seal.check, bound_clock()
        self._environment: dict[str, str] = {}
        self._file = str(Path(reference.place).resolve()) if reference.symbol else ""
        self._moved_bytes = 0
        self._watched_memory = False
        self._evidence = TimingChecks(self.bench.stopwatch.backend)
        self._judged = False
        self._refusal: KernelError | None = None
        self._audits: dict[Cache, Callable[[str], None]] = {}
        self._earlier = deque[Any](maxlen=REMEMBERED)
        self.x: Any = None
        self.y: Any = None

    @property
    def environment(self) -> Mapping[str, str]:
        """The hash of its source, what named it, and libraries that it tells of."""
        place = self.reference.place.rpartition("/")[2]
        return {
            "custom_kernel": str(Reference(place, self.reference.symbol, self.reference.variant)),
            **self._environment,
        }

    def prepare(self) -> Callable[[], Fields]:
        """Imports, converts, multiplies once and checks every element, all with its code under watch."""
        run, backend = self._run, self.bench.stopwatch.backend
        with self._foreign("while it was imported"):
            found, source, self._file = imported(self.reference)
            self._environment["source"] = source
            self._format, self._kernel = format_of(found, self.reference, backend)
            self._environment |= self._kernel.libraries()
        fields = self._convert()
        self.x, self.y = self.bench.xp.zeros(run.host.n_cols), self.bench.xp.empty(run.host.n_rows)
        error = self._once("in its first product")
        same = self._compared(fields)
        return lambda: {**fields, "max_error": error, **same}

    def turns(self, cache: Cache) -> Callable[[], float]:
        """Turns with a new x each; from an error on none is taken."""
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

    def least_s(self, cache: Cache) -> float:
        """By the bytes that it says it moves, at least those that any product does."""
        return self.bench.least_s(self._moved_bytes + 8 * self._run.host.n_rows, cache)

    def confirm(self, timing: Timing, cache: Cache) -> None:
        """Raises KernelError too where what the record does not count contradicts it, in either cache state."""
        super().confirm(timing, cache)
        if not self._judged:
            self._judged = True
            try:
                self._evidence.judge(lambda state: self._audits[state](f"after the rounds, {state}"))
            except KernelError as error:
                self._refusal = error
        if self._refusal is not None:
            raise self._refusal

    def energy_j(self) -> float | None:
        """Of a product; None where its code fails."""
        try:
            with self._foreign("while its energy was measured"):
                return super().energy_j()
        except CASE_ERRORS:
            return None

    def product(self) -> Callable[[], None]:
        """A call of the kernel on its own x and y."""
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
        """Whether further runs give the same bits; what they write is checked in its turns."""
        x, first, when = self._renew(), self.bench.xp.empty_like(self.y), "while its runs were compared"
        with self._foreign(when):
            self._kernel.bound(self._run.backend, self.arrays)(self.x, first)
            same = self.repeated(self._run.lent, self.x, first, conversion)
        self._inputs_are_whole(when, x)
        return same

    def _prepared_turns(self, cache: Cache) -> Callable[[int], float]:
        """The turn of each round, by its number from 1."""
        if not self._watched_memory:
            self._watched_memory = True
            self._alone("before the rounds")
            inputs = [self._examiner.new_x() for _ in range(2 + memory.CALLS)]
            with self._foreign("while its memory was watched"):
                memory.watch(self.bench.stopwatch, self.product(), inputs, self._write)
        watched = IndependentlyTimed(self.product(), self._clock)
        changing = IndependentlyTimed(self.product(), self._clock)
        pokes = ChangingInput(self.bench.xp, self._examiner, changing, self.x, self.y)
        with self._foreign(f"before the rounds, {cache}"):
            take, again, poked = (self.bench.turns(call)(cache) for call in (self.product(), watched, pokes))
        audits = set(random.SystemRandom().sample(range(1, self._run.rounds + 1), min(AUDITS, self._run.rounds)))

        def audit(when: str) -> None:
            watched.begin()
            by_stopwatch = self._taken(again, when)
            self._evidence.watched[cache] += watched.seconds(by_stopwatch)
            changing.begin()
            by_stopwatch = self._poked(poked, pokes, f"{when}, where x changed before each call")
            self._evidence.changed[cache] += changing.seconds(by_stopwatch)
            self._alone(f"{when}, in a call by itself")

        def turn(number: int) -> float:
            seconds = self._taken(take, f"in round {number}, {cache}")
            self._evidence.claimed[cache].append(seconds)
            if number in audits:
                audit(f"after round {number}, {cache}")
            return seconds

        self._audits[cache] = audit
        return turn

    def _taken(self, take: Callable[[], float], when: str) -> float:
        """Seconds of a turn with a new x; its y is checked."""
        x = self._renew()
        with self._foreign(when, glance=True):
            seconds = take()
            y = self._collect()
        self._settle(x, y, when)
        return seconds

    def _poked(self, take: Callable[[], float], pokes: ChangingInput, when: str) -> float:
        """The same with another x before each call."""
        pokes.begin(self._renew())
        with self._foreign(when, glance=True):
            seconds = take()
            y = self._collect()
        self._settle(pokes.end(when), y, when)
        return seconds

    def _alone(self, when: str) -> None:
        """A product after which nothing may go on."""
        self._once(when)
        if not self._run.disturbed and works_on():
            # Nobody can end them: of those that come after this one, nothing can be told apart from it.
            self._run.disturbed = True
            raise KernelError("refused: threads of it go on computing after its call has returned")

    def _once(self, when: str) -> float:
        """One product with a new x, checked: its largest error."""
        x = self._renew()
        with self._foreign(when):
            self.product()()
            self.bench.stopwatch.synchronize()
            y = self._collect()
        return self._settle(x, y, when)

    def _renew(self) -> Any:
        """Writes a new x; the same on the host."""
        x = self._examiner.new_x()
        self._write(x)
        return x

    def _write(self, x: Any) -> None:
        """Writes an x and poisons y."""
        self._earlier.append(x)
        self.x[...] = self.bench.xp.asarray(x)
        self.y.fill(POISON)
        self.bench.stopwatch.synchronize()

    def _collect(self) -> Any:
        """Takes y to the host as it is when the custom kernel says that it is done, and poisons it again."""
        y = host_copy(self.y)
        self.y.fill(POISON)
        return y

    def _settle(self, x: Any, y: Any, when: str) -> float:
        """Checks y, and that nothing has written it since it was collected, nor x or the matrix."""
        self._inputs_are_whole(when, x)
        late = KernelError(f"refused: it wrote y after it had said that it was done, {when}")
        try:
            error = self._examiner.examine(x, y, when, tuple(self._earlier)[:-1])
        except KernelError:
            if comes_true(self._is_written):
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
            raise KernelError(f"refused: it changed the matrix, {when}")
        if x is not None and not np.array_equal(host_copy(self.x), x):
            raise KernelError(f"refused: it changed x, {when}")

    @contextmanager
    def _foreign(self, when: str, glance: bool = False) -> Iterator[None]:
        """Runs code of the custom kernel: what it raises is its own error, and what it replaced is put back.

        glance  only looks at what measuring itself stands on
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
            said = error.message if isinstance(error, SparsightError) else f"{type(error).__name__}: {error}"
            raise KernelError(f"It failed {when}{where(error, self._file)}: {said[:1000]}") from error
        finally:
            # Nothing that is said of a custom kernel may hide that the process has to end.
            if not lost:
                self._check_seal(glance)


def where(error: BaseException, file: str) -> str:
    """`, line 7`: the last line of a file that an error came through; empty where it is in none."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f", line {lines[-1]}" if lines else ""
