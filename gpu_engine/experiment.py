"""Experiment and Candidate: the contract of what a study measures of one matrix, and of what takes part in it."""

import dataclasses
from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from gpu_engine.errors import DeviceMemoryError, KernelError, LayoutTooLargeError, ParameterError, SparsightError
from gpu_engine.formats.base import check_room
from gpu_engine.measure import Bench, Rounds, Timed, Timing
from gpu_engine.records import Cache, Case, Measurement, Trace

SKIPS = (LayoutTooLargeError, DeviceMemoryError, ParameterError)
"""Errors that skip a case."""

CASE_ERRORS = (KernelError, *SKIPS)
"""Errors of a case alone; KernelError fails it. Any other ends the process, or the study."""

Fields = dict[str, Any]
"""Fields of a Measurement."""


class Candidate:
    """A kernel, a run or a work on its way into the rounds; each study derives its own.

    name          under which it is timed: one of its own
    kernel        as records call it
    cases         the case in each cache state; none of a candidate that others are only compared with or chosen from
    bytes_needed  that it leaves on the device until the rounds are over, at most
    layout        candidates of one layout share these bytes; None: its own
    kind          only candidates of one kind are sampled together
    fields        what a record says of it even where it has no time
    error         why it has no time
    """

    bytes_needed: float = 0.0
    layout: Hashable = None
    kind: Hashable = None

    def __init__(self, name: str, kernel: str, cases: Mapping[Cache, Case]) -> None:
        self.name, self.kernel, self.cases = name, kernel, cases
        self.fields: Fields = {}
        self.error: SparsightError | None = None

    @property
    def environment(self) -> Mapping[str, str]:
        """What its times depend on beside the device: `source`, the hash of its kernel, and libraries that it calls."""
        raise NotImplementedError

    def prepare(self) -> Callable[[], Fields]:
        """Converts and runs once; returns what verifies the result and says more of it, on the host.

        Both raise what becomes the error of this candidate alone.
        """
        raise NotImplementedError

    def turns(self, cache: Cache) -> Callable[[], float]:
        """What takes a turn, in seconds."""
        raise NotImplementedError

    def least_s(self, cache: Cache) -> float:
        """Seconds under which no time is believed, by the bytes that it moves."""
        raise NotImplementedError

    def rates(self, timing: Timing, cache: Cache, rounds: Rounds) -> Fields:
        """What a record says of it beside the timing, such as its rate and its floors."""
        raise NotImplementedError

    def energy_j(self) -> float | None:
        """Joules per call; None where they are not measured."""
        return None

    def traces(self) -> Iterator[Trace]:
        """The arrays of its case; they may add to `fields`."""
        return iter(())

    def release(self) -> None:
        """Gives back what it left on the device."""

    def fail(self, error: SparsightError) -> None:
        """It takes no part in the rounds."""
        self.error = error
        self.release()


class Experiment:
    """What a study measures of one matrix or batch: its cases, and the candidates that answer them.

    beginning   what the page shows while it loads
    held_bytes  on the device beside the candidates, known after `load`
    """

    beginning = "computing the reference product"
    held_bytes: float = 0.0

    def __init__(self, cases: Sequence[Case], caches: Sequence[Cache], rounds: int, bench: Bench) -> None:
        self.cases, self.rounds, self.bench = cases, rounds, bench
        self.caches = tuple(cache for cache in caches if any(case.cache == cache for case in cases))
        self._conversions: dict[Hashable, tuple[Any, Fields] | SparsightError] = {}

    def known(self, case: Case) -> Fields:  # noqa: ARG002
        """What the record of a case says whatever becomes of it."""
        return {}

    def load(self) -> Sequence[Candidate]:
        """What all need, and the candidates; what it raises skips or fails all of them.

        The first of a kind enters every round twice, as the reference: what it differs from itself by.
        """
        raise NotImplementedError

    def probes(self) -> Sequence[Timed]:
        """What is timed beside the candidates."""
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
        """The cases that no candidate answers, from those that do."""
        return iter(())

    def _timed(self, bytes_needed: float, convert: Callable[[], Any]) -> tuple[Any, Fields]:
        stopwatch = self.bench.stopwatch
        check_room(bytes_needed, self.bench.layout_bytes)
        with stopwatch.guard():
            peak = stopwatch.peak_bytes(convert)
            layout, seconds = stopwatch.time_once(convert)
        return layout, {"stored_bytes": layout.stored_bytes, "convert_s": seconds, "convert_peak_bytes": peak}


def best_of(measured: Sequence[Measurement], kernels: Container[str], case: Case) -> Measurement:
    """The fastest of some kernels as a case of its own, its name in the note; a failed one when none has a time."""
    found = [m for m in measured if m.kernel in kernels and m.cache == case.cache]
    timed = [m for m in found if m.median_s is not None]
    best = min(timed, key=lambda m: m.median_s or 0.0, default=found[0])
    note = best.kernel.partition("/")[2] if timed else f"no algorithm of the library ran: {best.note}"
    return dataclasses.replace(best, case=case.key, kernel=case.kernel, note=note)
