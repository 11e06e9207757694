"""Experiment and Candidate: the interfaces of what a study measures for one matrix and of each kernel under test."""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any

from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import DeviceMemoryError, KernelError, LayoutTooLargeError, ParameterError, SparsightError
from gpu_engine.formats.base import check_room
from gpu_engine.measure import Bench, Placement, Rounds, Timed, Timing
from gpu_engine.measure.stopwatch import Stopwatch
from gpu_engine.records import Cache, Case, Details, Measurement, Trace
from gpu_engine.text import units

SKIPS = (LayoutTooLargeError, DeviceMemoryError, ParameterError)
"""Errors after which a case is `skipped`."""

CASE_ERRORS = (KernelError, *SKIPS)
"""Errors that concern one case; KernelError makes it `failed`. Any other error ends the process or the study."""

REPEATS, REPEATS_S = 5, 0.25
"""Most timings of work that is needed once, and the seconds after which no further one begins."""

Fields = dict[str, Any]
"""Fields of a Measurement, by name."""


class Candidate(ABC):
    """A kernel, run or workload that is timed in the rounds; each study derives its own class.

    name          unique name for the timing
    kernel        name in records
    cases         case per cache state; empty if its times only serve to derive other cases
    bytes_needed  upper bound of the bytes on the device until the rounds end; a candidate above `layout_bytes` of the
                  bench is skipped
    layout        key of a layout whose bytes several candidates share; None: not shared
    kind          only candidates of one kind are sampled together
    alone         whether no other result may be verified while this candidate is prepared
    has_interim   whether provisional results include it
    stops_early   whether its sampling stops once its verdicts are decided
    captured      whether its launches are replayed; else the time includes launching them
    fields        fields of its record, also without a time
    error         reason why it has no time
    """

    bytes_needed: float = 0.0
    layout: Hashable = None
    kind: Hashable = None
    alone = False
    has_interim = True
    stops_early = True
    captured = True

    def __init__(self, name: str, kernel: str, cases: Mapping[Cache, Case]) -> None:
        self.name, self.kernel, self.cases = name, kernel, cases
        self.fields: Fields = {}
        self.error: SparsightError | None = None

    @property
    @abstractmethod
    def environment(self) -> Mapping[str, str]:
        """Versions that its times depend on: `source`, the hash of its kernel, and the libraries that it calls."""

    @property
    def sources(self) -> Collection[CudaSource]:
        """CUDA sources that it launches, as far as known before `prepare`; they are compiled in advance."""
        return ()

    @abstractmethod
    def prepare(self) -> Callable[[], Fields]:
        """Convert and run once; return a function that verifies the result on the host and returns further fields.

        An exception of CASE_ERRORS in either becomes the error of this candidate only.
        """

    @abstractmethod
    def turns(self, cache: Cache) -> Callable[[], float]:
        """Return a function that takes one turn and returns its seconds."""

    def placement(self) -> Placement | None:
        """Return how its call is placed anew in memory; None if it stays where it is."""
        return None

    @abstractmethod
    def least_s(self, cache: Cache) -> float:
        """Return the least seconds for its bytes; a shorter time is rejected as implausible."""

    def confirm(self, timing: Timing, cache: Cache) -> None:
        """Raise KernelError if the times of its rounds are implausible."""
        least = self.least_s(cache)
        if timing.median_s < least:
            raise KernelError(
                f"rejected: {units.seconds(timing.median_s)} is faster than the memory bandwidth allows "
                f"({units.seconds(least)}); this is a measurement error"
            )

    @abstractmethod
    def rates(self, timing: Timing, cache: Cache, rounds: Rounds) -> Fields:
        """Return further fields of its measurement, such as throughput and roofline time."""

    def energy_j(self) -> float | None:
        """Return joules per call, or None if energy is not measured."""
        return None

    def traces(self) -> Iterator[Trace]:
        """Yield the traces of its case; this may add to `fields`."""
        return iter(())

    @abstractmethod
    def release(self) -> None:
        """Free its memory on the device."""

    def fail(self, error: SparsightError) -> None:
        """Store the error, which excludes it from the rounds, and free its memory on the device."""
        self.error = error
        self.release()


class ProductCandidate(Candidate):
    """An SpMV kernel and its layout, which it holds until `release`.

    energy_s  seconds of repeated SpMVs for the energy measurement; 0: not measured
    """

    def __init__(self, name: str, cases: Mapping[Cache, Case], bench: Bench, energy_s: float) -> None:
        super().__init__(name, name, cases)
        self.bench, self._energy_s = bench, energy_s
        self.arrays: Any = None

    @abstractmethod
    def product(self) -> Callable[[], None]:
        """Return a call that runs one SpMV; the call does not keep the layout alive."""

    def turns(self, cache: Cache) -> Callable[[], float]:
        """Return a function that times one turn of SpMVs and returns its seconds."""
        return self.bench.turns(self.product(), captured=self.captured, placement=self.placement())(cache)

    def energy_j(self) -> float | None:
        """Return the energy of one SpMV in joules, or None if energy is off."""
        return self.bench.stopwatch.energy_j(self.product(), self._energy_s) if self._energy_s else None

    def release(self) -> None:
        """Free the layout."""
        self.arrays = None


class Experiment(ABC):
    """The cases that a study measures for one matrix or batch, and the candidates that provide their times.

    details     class of the fields specific to the study
    beginning   progress message while it loads
    held_bytes  bytes on the device besides the candidates, known after `load`
    """

    details: type[Details] = Details
    beginning = "computing the reference result"
    held_bytes: float = 0.0

    def __init__(self, cases: Sequence[Case], caches: Sequence[Cache], rounds: int, bench: Bench) -> None:
        self.cases, self.rounds, self.bench = cases, rounds, bench
        self.caches = tuple(cache for cache in caches if any(case.cache == cache for case in cases))
        self._conversions: dict[Hashable, tuple[Any, Fields] | SparsightError] = {}

    def known(self, case: Case) -> Fields:  # noqa: ARG002
        """Return fields of a case's measurement that do not depend on a time."""
        return {}

    @abstractmethod
    def load(self) -> Sequence[Candidate]:
        """Load the data that all candidates need and return the candidates; an error skips or fails all cases.

        The first candidate of a kind is the control kernel: it runs twice per round to measure the noise.
        """

    def probes(self) -> Sequence[Timed]:
        """Return probes to time in the same rounds as the candidates."""
        return ()

    @contextmanager
    def group(self) -> Iterator[None]:
        """Hold the layouts of a group of candidates while the group is prepared and sampled."""
        try:
            yield
        finally:
            self._conversions.clear()

    def converted(self, key: Hashable, bytes_needed: float, convert: Callable[[], Any]) -> tuple[Any, Fields]:
        """Return a layout and the fields of its conversion; each group converts it once.

        key  candidates with the same key share the layout; an error of the conversion is raised for each of them
        """
        if key not in self._conversions:
            try:
                self._conversions[key] = self._timed(bytes_needed, convert)
            except CASE_ERRORS as error:
                self._conversions[key] = error
        conversion = self._conversions[key]
        if isinstance(conversion, SparsightError):
            raise conversion
        return conversion

    def derived(self, measured: Sequence[Measurement]) -> Iterator[Measurement]:  # noqa: ARG002
        """Yield measurements of cases without a candidate of their own, derived from other measurements."""
        return iter(())

    def _timed(self, bytes_needed: float, convert: Callable[[], Any]) -> tuple[Any, Fields]:
        stopwatch = self.bench.stopwatch
        check_room(bytes_needed, self.bench.layout_bytes)
        with stopwatch.guard():
            peak = stopwatch.peak_bytes(convert)
            layout, seconds = time_few(stopwatch, convert)
        return layout, {"stored_bytes": layout.stored_bytes, "convert_s": seconds, "convert_peak_bytes": peak}


def time_few(stopwatch: Stopwatch, work: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of `work` that ran before, and the median of its seconds; results never coexist."""
    seconds: list[float] = []
    while len(seconds) < REPEATS and sum(seconds) < REPEATS_S:
        result = None
        result, once_s = stopwatch.time_once(work)
        seconds.append(once_s)
    return result, median(seconds)


def best_of(rivals: Iterable[Measurement], case: Case) -> Measurement:
    """Return the fastest rival in the cache state of a case, as the measurement of that case; failed without times."""
    candidates = [m for m in rivals if m.cache == case.cache]
    timed = [m for m in candidates if m.median_s is not None]
    best = min(timed, key=lambda m: m.median_s or 0.0, default=candidates[0])
    note = best.kernel.partition("/")[2] if timed else f"no algorithm of the library ran: {best.note}"
    return dataclasses.replace(best, case=case.key, kernel=case.kernel, note=note)
