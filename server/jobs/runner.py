"""JobRun: the thread that runs one claimed job, one process after another until all cases have records."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gpu_engine.errors import EngineUnavailableError, SparsightError, quote
from gpu_engine.host.device import gpu_uuids
from gpu_engine.parameters import parse_params
from gpu_engine.records import Case, DeviceInfo, Measurement
from gpu_engine.studies import study as find_study
from gpu_engine.studies.base import Study
from server import devices, logs
from server.custom_kernels import located
from server.db import AWAY, Database
from server.jobs import lease as leases
from server.jobs.engine import Engine, EngineBrokenError, ProcessDiedError, Stream, StreamEndError
from server.jobs.failed_starts import STARTS_MAX
from server.jobs.journal import FencedError, Journal
from server.jobs.lease import Lease
from server.jobs.matrices import ready_matrices
from server.jobs.task import Failure, Hello, StudyTask
from server.models import JobRow, JobState
from server.settings import Settings

log = logging.getLogger(__name__)

POLL_S = 0.1
"""Seconds that the thread waits for a record before it checks whether it should end."""

CRASHES = "crashes"
"""Folder in the data directory in which a process writes the signal that killed it, and finds a stop file."""

DEATHS_MAX = 2
"""Number of crashes after which a case is recorded as failed."""

LOSSES_MAX = 10
"""Number of dispatcher losses after which a case is recorded as failed, because it takes its host down."""

SIGNALS = {
    "Segmentation fault": 11,
    "Bus error": 7,
    "Aborted": 6,
    "Floating-point exception": 8,
    "Illegal instruction": 4,
}
"""Names of signals in the crash file of a process."""


class StoppedError(Exception):
    """Stop of the dispatcher or restart of its engine; the job returns to the queue."""


class DeviceGoneError(Exception):
    """Loss of a GPU; the job returns to the queue and waits there for its device."""


@dataclass(frozen=True)
class RunContext:
    """Shared state of all jobs of a dispatcher.

    uuids   of the GPUs at the start of the dispatcher
    silent  job id → consecutive times that the engine started no process for it
    """

    settings: Settings
    database: Database
    engine: Engine
    studies: Sequence[Study]
    first_event_s: float
    uuids: frozenset[str]
    silent: Counter[str] = field(default_factory=Counter)


class JobRun(threading.Thread):
    """Runs one claimed job to its end. Afterwards `broken` says that Ray did not respond, and `gone` that a GPU was
    lost.
    """

    def __init__(self, context: RunContext, job: JobRow, device: DeviceInfo) -> None:
        super().__init__(name=f"job-{job.id}", daemon=True)
        self.job = job
        self.device = device
        self.broken = self.gone = False
        self.cancelled = threading.Event()
        self.stopping = threading.Event()
        self._context = context
        self._journal = Journal(context.database, Lease(job.id, job.attempt), self.stopping)
        self._causes: dict[str, str] = {}
        self._stop_file = context.settings.home / CRASHES / f"{job.id}.stop"

    @property
    def lease(self) -> Lease:
        """Return the lease of the running attempt."""
        return self._journal.lease

    def request_stop(self) -> None:
        """Have the process end after its current round, with the results so far."""
        self._stop_file.parent.mkdir(parents=True, exist_ok=True)
        self._stop_file.touch()

    def run(self) -> None:
        """Run the job until it ends or leaves this dispatcher."""
        job = self.job
        with logs.about(job=job.id, study=job.study, device=job.device):
            log.info("attempt %d starts", job.attempt)
            try:
                self._run_attempts()
            except FencedError:
                log.info("lost the lease of attempt %d; another worker took over", self.lease.attempt)
            finally:
                self._stop_file.unlink(missing_ok=True)

    def _run_attempts(self) -> None:
        try:
            while self._attempt():
                pass
        except FencedError:
            raise
        except EngineBrokenError as error:
            self.broken = True
            self._engine_broke(error)
        except (StoppedError, DeviceGoneError, *AWAY) as error:
            log.warning("returned to the queue: %s", error)
            self.gone = isinstance(error, DeviceGoneError)
            self._journal.release()
        except SparsightError as error:
            self._fail(error.code, error.message)
        except Exception as error:
            log.exception("the dispatcher failed")
            self._fail(
                "internal",
                (f"The dispatcher failed with {type(error).__name__}: {quote(error)}. Its log has the details."),
            )

    def _engine_broke(self, error: EngineBrokenError) -> None:
        """Requeue the job, or fail it if the engine repeatedly started no process for it."""
        silent = self._context.silent
        if silent[self.job.id] >= STARTS_MAX:
            tries = silent.pop(self.job.id)
            self._fail(
                EngineUnavailableError.code,
                (
                    f"Ray started no process for this job in {tries} attempts: {quote(error)}. Run "
                    "`sparsight doctor` on the worker's host."
                ),
            )
        else:
            log.warning("returned to the queue: %s", error)
            # A case that takes down Ray must not be retried forever.
            self._journal.release(lost=True)

    def _attempt(self) -> bool:
        """Run one process for the missing cases, and return whether another one is needed."""
        task, done = self._plan()
        if not task.todo:
            self._journal.finish(JobState.SUCCEEDED)
            return False
        self._journal.begin(done, [case.key for case in task.todo])
        try:
            failure = self._listen(task)
        except ProcessDiedError as death:
            self._died(_cause(str(death), task.crash_file))
            return True
        finally:
            task.crash_file.unlink(missing_ok=True)
        if failure is None:
            missing = len(self._plan()[0].todo)
            if missing:
                self._fail("internal", f"The study ended without records of {missing} cases.")
            return not missing
        log.warning("%s %s", failure.detail, failure.trace)
        if failure.lost:
            self._died(f"process lost its device ({failure.detail.rstrip('.')})")
        else:
            self._fail(failure.code, failure.detail, failure.hosts)
        return failure.lost

    def _plan(self) -> tuple[StudyTask, int]:
        """Return the task of the next process, and the number of cases with a record. Cases with too many crashes fail
        here.
        """
        job, settings = self.job, self._context.settings
        study = find_study(job.study, self._context.studies)
        params = parse_params(study.Params, job.params)
        with self._context.database.read() as session:
            cases = tuple(study.cases(params, ready_matrices(session, job.matrix_ids), self.device))
            measured = leases.measured_cases(session, job.id)
            deaths, losses = leases.case_deaths(session, job.id), leases.case_losses(session, job.id)
            profile = devices.fresh_profile(session, self.device.id)
        if deaths.get("", 0) >= DEATHS_MAX:
            raise SparsightError(f"The {self._causes.get('', 'process died')} twice outside any case.")
        if losses.get("", 0) >= LOSSES_MAX:
            raise SparsightError(f"The worker ended {LOSSES_MAX} times outside any case of this job.")
        missing = [case for case in cases if case.key not in measured]
        fatal = {key for key, number in deaths.items() if number >= DEATHS_MAX}
        lost = {key for key, number in losses.items() if number >= LOSSES_MAX}
        todo = tuple(case for case in missing if case.key not in fatal | lost)
        for case in missing:
            if case.key in fatal:
                self._record_failure(study, case, f"{self._causes.get(case.key, 'process died')} twice")
            elif case.key in lost:
                self._record_failure(study, case, f"its worker ended {LOSSES_MAX} times")
        crash_file = settings.home / CRASHES / f"{job.id}.{self.lease.attempt}"
        ids, store, layout = tuple(job.matrix_ids), settings.resolved_store, settings.layout_bytes
        groups = settings.cluster_groups
        located_params = located(params, settings)
        task = StudyTask(
            *(study, located_params, todo, ids, store, self.device, profile, layout, crash_file, self._stop_file),
            cluster_groups=groups,
        )
        return task, len(cases) - len(todo)

    def _record_failure(self, study: Study, case: Case, note: str) -> None:
        known = {"backend": self.device.backend, "note": note}
        self._journal.record_failure(Measurement.of(case, self.device.id, study.details, "failed", **known))

    def _listen(self, task: StudyTask) -> Failure | None:
        """Commit the values of the process until its end, and return its Failure, if any."""
        # Reset when the process has reported.
        self._context.silent[self.job.id] += 1
        stream = self._context.engine.submit(task)
        try:
            self._await_start(stream)
            self._context.silent.pop(self.job.id, None)
            while True:
                self._check()
                message = stream.take(POLL_S)
                if isinstance(message, Failure):
                    return message
                # Committed before the next record is requested; a record lost with its process is measured again.
                self._journal.note(message)
        except StreamEndError:
            return None
        finally:
            stream.end()

    def _await_start(self, stream: Stream) -> None:
        deadline = time.monotonic() + self._context.first_event_s
        while True:
            self._check()
            hello = stream.take(POLL_S)
            if isinstance(hello, Hello):
                log.info("process %d is measuring", hello.pid)
                return
            if time.monotonic() > deadline:
                raise EngineBrokenError(f"No process started within {self._context.first_event_s:.0f} s.")

    def _check(self) -> None:
        if self.cancelled.is_set():
            raise FencedError
        if self.stopping.is_set():
            raise StoppedError("the dispatcher is stopping")

    def _died(self, cause: str) -> None:
        log.warning("the %s in case %r", cause, self._journal.current)
        self._causes[self._journal.current] = cause
        self._journal.died()
        if gone := self._context.uuids.intersection(self.device.uuids) - gpu_uuids():
            raise DeviceGoneError(f"the GPU {', '.join(gone)} has disappeared")

    def _fail(self, code: str, detail: str, hosts: Sequence[str] = ()) -> None:
        lost = {"hosts": list(hosts)} if hosts else {}
        self._journal.finish(JobState.FAILED, {"code": code, "detail": detail, **lost})


def _cause(description: str, crash_file: Path) -> str:
    """Return how the process died: by the signal in its crash file, or by signal 9, which leaves no time to write."""
    if not crash_file.exists():
        return description
    report = crash_file.read_text(errors="replace")
    number = next((number for name, number in SIGNALS.items() if name in report), 9)
    return f"{description} (signal {number})"
