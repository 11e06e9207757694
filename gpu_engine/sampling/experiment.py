"""Experiment and Candidate: the contract of what a study measures of one matrix, and of what takes part in it."""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import DeviceMemoryError, KernelError, LayoutTooLargeError, ParameterError, SparsightError
from gpu_engine.formats.base import check_room
from gpu_engine.measure import Bench, Rounds, Timed, Timing
from gpu_engine.records import Cache, Case, Details, Measurement, Trace

SKIPS = (LayoutTooLargeError, DeviceMemoryError, ParameterError)
"""Errors that skip a case."""

CASE_ERRORS = (KernelError, *SKIPS)
"""Errors of a case alone; KernelError fails it. Any other ends the process, or the study."""

Fields = dict[str, Any]
"""Fields of a Measurement."""


class Candidate(ABC):
    """A kernel, a run or a workload that takes part in the rounds; each study derives its own.

    name          under which it is timed; no other candidate has the same
    kernel        as records call it
    cases         the case in each cache state; empty where its times only serve to derive other cases
    bytes_needed  at most so many bytes stay on the device until the rounds are over; one over `layout_bytes`
                  of the bench is refused, and leaves none
    layout        candidates of one layout share these bytes; None: its own
    kind          only candidates of one kind are sampled together
    alone         whether it is prepared while no result of another one is verified
    told_early    whether its times are told before the rounds are over
    settles       whether it needs no further rounds once its verdicts are settled
    fields        what a record says of it even where it has no time
    error         why it has no time
    """

    bytes_needed: float = 0.0
    layout: Hashable = None
    kind: Hashable = None
    alone = False
    told_early = True
    settles = True

    def __init__(self, name: str, kernel: str, cases: Mapping[Cache, Case]) -> None:
        self.name, self.kernel, self.cases = name, kernel, cases
        self.fields: Fields = {}
        self.error: SparsightError | None = None

    @property
    @abstractmethod
    def environment(self) -> Mapping[str, str]:
        """What its times depend on beside the device: `source`, the hash of its kernel, and libraries that it calls."""

    @property
    def sources(self) -> Collection[CudaSource]:
        """What it launches on a GPU, as far as that is known before it is prepared: all of it is compiled ahead."""
        return ()

    @abstractmethod
    def prepare(self) -> Callable[[], Fields]:
        """Converts and runs once; returns a function that verifies the result on the host and gives further fields.

        What either raises becomes the error of this candidate alone.
        """

    @abstractmethod
    def turns(self, cache: Cache) -> Callable[[], float]:
        """A function that takes one turn and returns its seconds."""

    @abstractmethod
    def least_s(self, cache: Cache) -> float:
        """Seconds that its bytes need at least: a shorter time is refused as a mistake."""

    def confirm(self, timing: Timing, cache: Cache) -> None:
        """Raises KernelError where the times of its rounds cannot be believed."""
        least = self.least_s(cache)
        if timing.median_s < least:
            raise KernelError(
                f"refused: {timing.median_s:.3e} s is under {least:.3e} s, the floor of the bytes that it moves"
            )

    @abstractmethod
    def rates(self, timing: Timing, cache: Cache, rounds: Rounds) -> Fields:
        """Fields of its measurement beside the timing, such as its rate and its floors."""

    def energy_j(self) -> float | None:
        """Joules per call; None where they are not measured."""
        return None

    def traces(self) -> Iterator[Trace]:
        """The traces of its case; making them may add to `fields`."""
        return iter(())

    @abstractmethod
    def release(self) -> None:
        """Gives back what it left on the device."""

    def fail(self, error: SparsightError) -> None:
        """Keeps the error and gives back what it left on the device: it takes no part in the rounds."""
        self.error = error
        self.release()


class ProductCandidate(Candidate):
    """A kernel that multiplies with a layout, which it keeps until it is released.

    energy_s  seconds of repeats for the energy of a product; 0: not measured
    """

    def __init__(self, name: str, cases: Mapping[Cache, Case], bench: Bench, energy_s: float) -> None:
        super().__init__(name, name, cases)
        self.bench, self._energy_s = bench, energy_s
        self.arrays: Any = None

    @abstractmethod
    def product(self) -> Callable[[], None]:
        """A call of the product; what keeps the call does not keep the layout."""

    def turns(self, cache: Cache) -> Callable[[], float]:
        """Turns of the product."""
        return self.bench.turns(self.product())(cache)

    def energy_j(self) -> float | None:
        """Of a product."""
        return self.bench.stopwatch.energy_j(self.product(), self._energy_s) if self._energy_s else None

    def release(self) -> None:
        """Gives back the layout."""
        self.arrays = None


class Experiment(ABC):
    """What a study measures of one matrix or batch: its cases, and the candidates that answer them.

    details     the class of what only its measurements say
    beginning   what the page shows while it loads
    held_bytes  bytes on the device beside the candidates, known after `load`
    """

    details: type[Details] = Details
    beginning = "computing the reference product"
    held_bytes: float = 0.0

    def __init__(self, cases: Sequence[Case], caches: Sequence[Cache], rounds: int, bench: Bench) -> None:
        self.cases, self.rounds, self.bench = cases, rounds, bench
        self.caches = tuple(cache for cache in caches if any(case.cache == cache for case in cases))
        self._conversions: dict[Hashable, tuple[Any, Fields] | SparsightError] = {}

    def known(self, case: Case) -> Fields:  # noqa: ARG002
        """Fields of a case's measurement, whether it gets a time or not."""
        return {}

    @abstractmethod
    def load(self) -> Sequence[Candidate]:
        """Loads what all candidates need and returns them; an error that it raises skips or fails all cases.

        The first of a kind enters every round twice, as the reference: what it differs from itself by.
        """

    def probes(self) -> Sequence[Timed]:
        """What is timed in the same rounds beside the candidates."""
        return ()

    @contextmanager
    def group(self) -> Iterator[None]:
        """Holds what a group of candidates needs while it is prepared and sampled."""
        try:
            yield
        finally:
            self._conversions.clear()

    def converted(self, key: Hashable, bytes_needed: float, convert: Callable[[], Any]) -> tuple[Any, Fields]:
        """A layout with `stored_bytes`, made once in a group, and what making it took; raises what went wrong, again.

        key  candidates of one key share the layout
        """
        if key not in self._conversions:
            try:
                self._conversions[key] = self._timed(bytes_needed, convert)
            except CASE_ERRORS as error:
                self._conversions[key] = error
        found = self._conversions[key]
        if isinstance(found, SparsightError):
            raise found
        return found

    def derived(self, measured: Sequence[Measurement]) -> Iterator[Measurement]:  # noqa: ARG002
        """The measurements of cases that no candidate has, made from those of candidates."""
        return iter(())

    def _timed(self, bytes_needed: float, convert: Callable[[], Any]) -> tuple[Any, Fields]:
        stopwatch = self.bench.stopwatch
        check_room(bytes_needed, self.bench.layout_bytes)
        with stopwatch.guard():
            peak = stopwatch.peak_bytes(convert)
            layout, seconds = stopwatch.time_once(convert)
        return layout, {"stored_bytes": layout.stored_bytes, "convert_s": seconds, "convert_peak_bytes": peak}


def best_of(rivals: Iterable[Measurement], case: Case) -> Measurement:
    """The fastest of the rivals in its cache state, as a case of its own; failed where none has a time."""
    found = [m for m in rivals if m.cache == case.cache]
    timed = [m for m in found if m.median_s is not None]
    best = min(timed, key=lambda m: m.median_s or 0.0, default=found[0])
    note = best.kernel.partition("/")[2] if timed else f"no algorithm of the library ran: {best.note}"
    return dataclasses.replace(best, case=case.key, kernel=case.kernel, note=note)
