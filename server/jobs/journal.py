"""Journal: commits what the process of one job says, under the lease of the job."""

import dataclasses
import logging
import time
from collections.abc import Callable, Collection
from threading import Event
from typing import Any, TypeVar

from sqlalchemy.exc import IntegrityError

from gpu_engine.errors import SparsightError
from gpu_engine.records import DeviceProfile, Measurement, Progress, Started, Trace
from server.db import AWAY, Database
from server.jobs import lease as leases
from server.jobs.lease import Lease
from server.models import JobState
from server.outage import Outage

log = logging.getLogger(__name__)
T = TypeVar("T")

PULSE_S = 0.25
"""Least time between two stored reports of progress."""

RETRY_S = 1.0
"""Pause before a write is tried again that the database did not take."""


class FencedError(Exception):
    """The job is no longer ours: cancelled, or taken over."""


class Journal:
    """The writing side of a running job; every method raises FencedError once the job is no longer ours."""

    def __init__(self, database: Database, lease: Lease, stopping: Event) -> None:
        self.lease = lease
        self._database = database
        self._stopping = stopping
        self._pulse_at = 0.0
        self._claimed_at = time.monotonic()
        self.begin(0, ())

    def begin(self, done: int, owed: Collection[str]) -> None:
        """A new process starts, with these keys of cases to measure and `done` cases behind it."""
        self.current, self._said = "", Progress(float(done), "")
        self._committed = False
        self._pulse: tuple[str, Progress] | None = None
        self._base = float(done)
        self._owed = set(owed)
        self._traces: dict[str, Trace] = {}

    def note(self, record: Any) -> None:
        """Takes a record, None for a pause. A Trace waits for its Measurement, progress for its turn."""
        match record:
            case Measurement():
                self._measured(record)
            case Trace():
                self._traces[record.case] = record
            case DeviceProfile():
                self._commit(lambda: leases.profiled(self._database, self.lease, record))
            case Started():
                self.current = record.case
                self._pulse = self.current, self._said
            case Progress():
                self._said = dataclasses.replace(record, done=self._base + record.done)
                self._pulse = self.current, self._said
        if self._pulse is not None and time.monotonic() - self._pulse_at >= PULSE_S:
            pulse, self._pulse, self._pulse_at = self._pulse, None, time.monotonic()
            self._commit(lambda: leases.progressed(self._database, self.lease, *pulse))

    def record_failure(self, measurement: Measurement) -> None:
        """Records a case that no process survives."""
        self._commit(lambda: leases.measured(self._database, self.lease, measurement))

    def died(self) -> None:
        """Counts the process's death against the case it was in; the lease goes on to the next attempt.

        A death between two cases of a process that got a record committed is nobody's: each such attempt leaves fewer
        cases owed, so they end by themselves.
        """
        between = self._committed and not self.current
        case = None if between else self.current
        after = self._retried(lambda: leases.died(self._database, self.lease, case))
        if after is None:
            raise FencedError
        self.lease = after

    def finish(self, state: JobState, error: dict[str, Any] | None = None) -> None:
        """Ends the job."""
        run_s = time.monotonic() - self._claimed_at
        self._commit(lambda: leases.finish(self._database, self.lease, state, run_s, error))
        log.info("the job has %s%s", state, f": {error['detail']}" if error else "")

    def release(self, lost: bool = False) -> None:
        """Gives the job back to the queue; lost: the case in progress took more than its process down."""
        case = self.current if lost else None
        self._commit(lambda: leases.release(self._database, self.lease, case or None))

    def _measured(self, measurement: Measurement) -> None:
        if measurement.case not in self._owed:
            raise SparsightError(f"The study measured {measurement.case!r}, which it did not owe.")
        trace = self._traces.pop(measurement.case, None)
        self._commit(lambda: leases.measured(self._database, self.lease, measurement, trace))
        self._owed.remove(measurement.case)
        self._committed = True
        if self.current == measurement.case:
            self.current, self._pulse = "", None

    def _commit(self, write: Callable[[], bool]) -> None:
        if not self._retried(write):
            raise FencedError

    def _retried(self, write: Callable[[], T]) -> T:
        """The write's answer; while the database does not take it, it is tried again, until the dispatcher stops."""
        lost, outage = False, Outage(log, "the database does not take a write")
        while True:
            try:
                answer = write()
                outage.succeeded()
                return answer
            except IntegrityError:
                # An earlier try went through although its answer was lost; nothing is left to write.
                if not lost:
                    raise
                outage.succeeded()
                return True  # type: ignore[return-value]
            except AWAY as error:
                lost = True
                outage.failed(error)
                if self._stopping.wait(RETRY_S):
                    raise FencedError from error
