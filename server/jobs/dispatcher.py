"""Dispatcher: claim jobs for the free devices of this host, and run each in a thread."""

import logging
import math
import os
import shutil
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from gpu_engine.errors import ConflictError, SparsightError, UnavailableError
from gpu_engine.host.device import gpu_uuids, list_devices
from gpu_engine.records import DeviceInfo
from gpu_engine.studies import STUDIES
from gpu_engine.studies.base import Study
from server import devices as device_table
from server import logs
from server.db import Database
from server.jobs import engine_start, failed_starts
from server.jobs import lease as leases
from server.jobs.dispatcher_lock import sole_dispatcher
from server.jobs.engine import Engine
from server.jobs.engine_start import StartState
from server.jobs.runner import CRASHES, JobRun, RunContext
from server.migrate import check_current
from server.outage import Outage
from server.private_folders import RAY, open_service
from server.settings import Settings

log = logging.getLogger(__name__)

POLL_S = 0.15
"""Seconds between checks of running jobs for a cancel, and of the queue for a job."""

FIRST_EVENT_S = 30.0
"""Seconds after which a process that has not reported is given up, and Ray is restarted."""

PRUNE_S = 3600.0
OFFER_S = 5.0
"""Seconds between checks whether the devices that another dispatcher offers are free."""

CLUSTER_S = 5.0
"""Seconds between checks which hosts a cluster has."""

JOIN_S = 10.0


class Dispatcher:
    """Serves the queue with these devices until it is stopped, with one thread per running job and one
    for the leases.
    """

    def __init__(
        self,
        settings: Settings,
        database: Database,
        engine: Engine,
        devices: Sequence[DeviceInfo],
        studies: Sequence[Study] = STUDIES,
        first_event_s: float = FIRST_EVENT_S,
        tell: Callable[[StartState], None] = lambda _: None,
    ) -> None:
        """Create it.

        tell  is called with the progress of the engine start
        """
        self.owner = str(uuid.uuid4())
        self._settings = settings
        self._database = database
        self._engine = engine
        self._devices = {device.id: device for device in devices}
        self._context = RunContext(settings, database, engine, studies, first_event_s, gpu_uuids())
        self._runs: list[JobRun] = []
        self._drain_until = math.inf
        self._found_at = -CLUSTER_S
        self._tell = tell
        self._outage = Outage(log, "database unavailable")
        self.stopped = threading.Event()

    def stop(self) -> None:
        """Ask `run` to return. No further job starts, and running jobs may continue for `drain_seconds`.

        After that time, or after a second call, they return to the queue with their records.
        """
        drain_s = self._settings.drain_seconds
        if self._runs and drain_s and not self._is_draining:
            log.info("shutting down: waiting up to %g s for %d running jobs", drain_s, len(self._runs))
            self._drain_until = time.monotonic() + drain_s
        else:
            self.stopped.set()

    @property
    def _is_draining(self) -> bool:
        return self._drain_until < math.inf

    def offer(self, dead: Collection[str] = ()) -> bool:
        """Register the devices, waiting until no other running dispatcher offers one of them.

        dead  owners that are known to have ended
        Returns False if stopped before that.
        """
        refusal = ""
        while not self.stopped.is_set():
            try:
                device_table.register(self._database, list(self._devices.values()), self.owner, dead)
            except ConflictError as error:
                if error.message != refusal:
                    log.error(error.message)
                refusal = error.message
                self.stopped.wait(OFFER_S)
            else:
                return True
        return False

    def start_engine(self) -> None:
        """Start the engine, and reset the count of failed starts. Raises EngineUnavailableError."""
        self._tell(StartState.STARTING)
        self._engine.start()
        self._tell(StartState.READY)
        failed_starts.forget(self._database, self._settings)

    def run(self) -> None:
        """Serve the queue until `stop`. The engine must be started and the devices registered."""
        keeper = threading.Thread(target=self._keep_leases, name="leases", daemon=True)
        keeper.start()
        try:
            while not self.stopped.wait(POLL_S):
                self._guarded(self._step)
        finally:
            self.stopped.set()
            self._end_runs()
            keeper.join()
            self._guarded(lambda: device_table.withdraw(self._database, list(self._devices), self.owner))

    def _step(self) -> None:
        ended = [run for run in self._runs if not run.is_alive()]
        self._runs = [run for run in self._runs if run.is_alive()]
        if any(run.gone for run in ended):
            raise UnavailableError("A GPU has disappeared. The next dispatcher offers the remaining devices.")
        if any(run.broken for run in ended):
            self._end_runs()
            log.error("restarting Ray")
            self._tell(StartState.STARTING)
            self._engine.stop()
            self.start_engine()
        self._find_cluster()
        if self._runs:
            leased = leases.owned_jobs(self._database, self.owner)
            for run in self._runs:
                if run.job.id not in leased:
                    run.cancelled.set()
                elif leased[run.job.id]:
                    run.request_stop()
        if not self._is_draining:
            self._claim()
        elif not self._runs or time.monotonic() > self._drain_until:
            self.stopped.set()

    def _find_cluster(self) -> None:
        """Offer the cluster with its present hosts. A cluster in use stays as it was."""
        if time.monotonic() - self._found_at < CLUSTER_S or any(run.device.hosts for run in self._runs):
            return
        self._found_at = time.monotonic()
        cluster, before = self._engine.cluster(), next((d for d in self._devices.values() if d.hosts), None)
        if cluster == before:
            return
        # A new mapping, because another thread reads the old one.
        here = {device.id: device for device in self._devices.values() if not device.hosts}
        if before is not None:
            device_table.withdraw(self._database, [before.id], self.owner)
        self._devices = here
        if cluster is not None:
            try:
                device_table.register(self._database, [cluster], self.owner)
            except ConflictError as error:
                log.error(error.message)
                return
            self._devices = {**here, cluster.id: cluster}

    def _claim(self) -> None:
        """Start the oldest job that a free device can run. A CPU job runs alone on the host."""
        busy = [run.device for run in self._runs]
        free = [d.id for d in self._devices.values() if not any(excludes(d, other) for other in busy)]
        if not free:
            return
        waiting = [d.id for d in self._devices.values() if d.id not in free and d not in busy]
        job = leases.claim(self._database, self.owner, free, self._settings.lease_seconds, waiting)
        if job is not None:
            run = JobRun(self._context, job, self._devices[job.device])
            self._runs.append(run)
            run.start()

    def _end_runs(self) -> None:
        for run in self._runs:
            run.stopping.set()
        for run in self._runs:
            run.join(JOIN_S)
        self._runs = []

    def _keep_leases(self) -> None:
        """Renew the leases in a separate thread that cannot be blocked, and requeue jobs with expired leases."""
        pruned_at = 0.0
        period = min(device_table.HEARTBEAT_S, self._settings.lease_seconds / 6)
        while True:
            self._guarded(self._beat)
            if time.monotonic() - pruned_at > PRUNE_S:
                pruned_at = time.monotonic()
                self._guarded(lambda: leases.prune_events(self._database))
            if self.stopped.wait(period):
                return

    def _beat(self) -> None:
        # Only for jobs with a thread: other workers must take over rows without one.
        alive = [run.job.id for run in self._runs if run.is_alive()]
        try:
            leases.renew_leases(self._database, self.owner, alive, list(self._devices), self._settings.lease_seconds)
        except ConflictError as error:
            # Taken over while this host was suspended. The next dispatcher waits until the device is free.
            log.error(error.message)
            self.stopped.set()
            return
        leases.requeue_lost(self._database, self._settings.lease_seconds)

    def _guarded(self, step: Callable[[], None]) -> None:
        """Run one step. If the database is unavailable, it is repeated later; any other error ends the dispatcher."""
        try:
            step()
            self._outage.succeeded()
        except DBAPIError as error:
            self._outage.failed(error)
        except BaseException:
            self.stopped.set()
            raise


def excludes(device: DeviceInfo, other: DeviceInfo) -> bool:
    """Return whether two devices cannot measure at the same time, because a CPU or a cluster needs the whole host."""
    same = device.id == other.id or not set(device.uuids).isdisjoint(other.uuids)
    return same or "cpu" in (device.backend, other.backend) or bool(device.hosts or other.hosts)


def named(host: str, devices: Sequence[DeviceInfo]) -> list[DeviceInfo]:
    """Return the devices with the ids used in jobs: `HOST/cuda:0`, or plain ids if the host has no name."""
    return [replace(device, id=f"{host}/{device.id}" if host else device.id) for device in devices]


def main(studies: Sequence[Study] = STUDIES, devices: Sequence[DeviceInfo] | None = None) -> int:
    """Run a dispatcher process: `python -P -m server.jobs.dispatcher FOLDER`. Only this user can enter FOLDER."""
    settings, folder, launched_s = Settings(), Path(sys.argv[1]), time.monotonic()
    logs.configure(settings.log_format)
    try:
        _dispatch(settings, folder, studies, devices)
    except SparsightError as error:
        log.error(error.message)
        if engine_start.read(folder, launched_s).state != StartState.READY:
            engine_start.tell(folder, StartState.FAILED, error.message)
        return 1
    return 0


def _dispatch(settings: Settings, folder: Path, studies: Sequence[Study], devices: Sequence[DeviceInfo] | None) -> None:
    open_service(settings)
    # Ray's processes import modules from their working directory, so that only this user may write to it.
    os.chdir(folder)
    own_devices = named(settings.host_name, list_devices() if devices is None else devices)
    database = Database(settings.resolved_database_url)
    engine = Engine(settings, own_devices, folder / RAY)
    dispatcher = Dispatcher(settings, database, engine, own_devices, studies, tell=partial(engine_start.tell, folder))
    signal.signal(signal.SIGTERM, lambda *_: dispatcher.stop())
    signal.signal(signal.SIGINT, lambda *_: dispatcher.stop())
    try:
        check_current(database)
        engine_start.tell(folder, StartState.IDLE)
        with sole_dispatcher(settings.home, dispatcher.owner, dispatcher.stopped) as dead:
            if dead is None:
                return
            # Left by the processes of a dead dispatcher.
            shutil.rmtree(settings.home / CRASHES, ignore_errors=True)
            leases.requeue_lost(database, settings.lease_seconds, dead)
            if dispatcher.offer(dead):
                dispatcher.start_engine()
                dispatcher.run()
                engine.stop()
    finally:
        database.close()


if __name__ == "__main__":
    sys.exit(main())
