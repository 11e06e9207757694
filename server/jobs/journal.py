"""Journal: commit the values of the process of one job, under the lease of the job."""

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
"""Minimum seconds between two stored progress reports."""

RETRY_S = 1.0
"""Seconds between attempts to write while the database is unavailable."""


class FencedError(Exception):
    """Loss of the job: it was cancelled, or another worker took it over."""


class Journal:
    """Writer of a running job. Every method raises FencedError after the job is lost."""

    def __init__(self, database: Database, lease: Lease, stopping: Event) -> None:
        self.lease = lease
        self._database = database
        self._stopping = stopping
        self._pulse_at = 0.0
        self._claimed_at = time.monotonic()
        self.begin(0, ())

    def begin(self, done: int, missing: Collection[str]) -> None:
        """Start a new process with these keys of cases to measure, after `done` cases."""
        self.current, self._said = "", Progress(float(done), "")
        self._committed = False
        self._pulse: tuple[str, Progress] | None = None
        self._base = float(done)
        self._missing = set(missing)
        self._traces: dict[str, Trace] = {}

    def note(self, record: Any) -> None:
        """Store a record, or None for a pause. A Trace is stored with its Measurement, progress at most
        every PULSE_S.
        """
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
        """Store a failed case that crashed too many processes."""
        self._commit(lambda: leases.measured(self._database, self.lease, measurement))

    def died(self) -> None:
        """Count the crash of the process against its current case. The next attempt keeps the lease.

        A crash between two cases is not counted if the process committed a record. Each such attempt leaves fewer
        cases, so that they end.
        """
        between = self._committed and not self.current
        case = None if between else self.current
        after = self._retried(lambda: leases.died(self._database, self.lease, case))
        if after is None:
            raise FencedError
        self.lease = after

    def finish(self, state: JobState, error: dict[str, Any] | None = None) -> None:
        """End the job."""
        run_s = time.monotonic() - self._claimed_at
        self._commit(lambda: leases.finish(self._database, self.lease, state, run_s, error))
        log.info("the job is %s%s", state, f": {error['detail']}" if error else "")

    def release(self, lost: bool = False) -> None:
        """Return the job to the queue.

        lost  whether the current case took down more than its process
        """
        case = self.current if lost else None
        self._commit(lambda: leases.release(self._database, self.lease, case or None))

    def _measured(self, measurement: Measurement) -> None:
        if measurement.case not in self._missing:
            raise SparsightError(f"The study measured {measurement.case!r}, which was not requested.")
        trace = self._traces.pop(measurement.case, None)
        self._commit(lambda: leases.measured(self._database, self.lease, measurement, trace))
        self._missing.remove(measurement.case)
        self._committed = True
        if self.current == measurement.case:
            self.current, self._pulse = "", None

    def _commit(self, write: Callable[[], bool]) -> None:
        if not self._retried(write):
            raise FencedError

    def _retried(self, write: Callable[[], T]) -> T:
        """Return the result of the write. Repeat it while the database is unavailable, until the dispatcher stops."""
        lost, outage = False, Outage(log, "database write failed")
        while True:
            try:
                answer = write()
                outage.succeeded()
                return answer
            except IntegrityError:
                # An earlier attempt succeeded although its reply was lost; nothing is left to write.
                if not lost:
                    raise
                outage.succeeded()
                return True  # type: ignore[return-value]
            except AWAY as error:
                lost = True
                outage.failed(error)
                if self._stopping.wait(RETRY_S):
                    raise FencedError from error
