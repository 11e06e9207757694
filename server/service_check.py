"""Concerns: what keeps a service from running well, why, and what to do; thresholds of docs/monitoring/alerts.yml."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from gpu_engine.text import units
from gpu_engine.text.words import amount, capital
from server import devices, engine_faults
from server.db import clock
from server.metric_values import MetricValues
from server.models import EngineFaultRow, JobRow, JobState

DISK_FREE_BYTES = 5e9
STREAMS_SHARE = 0.9
LONG_WAIT_S = 6 * 3600.0
IDLE_S = 120.0
"""Seconds after which a device that is available, and has jobs in its queue, should have started one."""


@dataclass(frozen=True, slots=True)
class Concern:
    """A point that needs attention.

    id      name for tests and links
    text    what is wrong, in one short sentence; remedy: why, and what to do
    stops   whether it keeps jobs from running
    """

    id: str
    text: str
    remedy: str
    stops: bool = False


@dataclass(frozen=True, slots=True)
class Queues:
    """State of the queues.

    waiting    number of queued jobs by device; oldest_s: seconds that the oldest one has waited
    available  ids of the devices on which a job would start now
    names      device id → name
    lost       number of running jobs with an expired lease
    idle_s     seconds since a job ran; None while one runs, 0 before the first
    quiet_s    seconds since the last heartbeat, by device, of available devices that missed some
    """

    waiting: Mapping[str, int]
    oldest_s: Mapping[str, float]
    available: frozenset[str]
    names: Mapping[str, str]
    lost: int
    idle_s: float | None
    quiet_s: Mapping[str, float] = field(default_factory=dict)


def check(
    session: Session, values: MetricValues, names: Mapping[str, str], last_end: float | None, start: str
) -> list[Concern]:
    """Return all concerns, those that stop jobs first.

    last_end  when the last job ended, in seconds since 1970; None: long ago, or never
    start     how to start a worker
    """
    every = concerns(read_queues(session, values, names, last_end), engine_faults.list_faults(session), values, start)
    return sorted(every, key=lambda concern: not concern.stops)


def read_queues(session: Session, values: MetricValues, names: Mapping[str, str], last_end: float | None) -> Queues:
    """Return the state of the queues; see `check`."""
    now = session.execute(select(clock())).scalar_one()
    over = (JobRow.state == JobState.RUNNING) & (JobRow.lease_until > 0) & (JobRow.lease_until < now)
    running = values.total("sparsight_device_busy")
    rows = devices.list_devices(session)
    return Queues(
        waiting={device: int(n) for device, n in values.by("sparsight_queue_jobs", "device").items() if n},
        oldest_s=values.by("sparsight_queue_oldest_seconds", "device"),
        available=frozenset(devices.alive(session, rows)),
        names=names,
        lost=session.scalar(select(func.count()).select_from(JobRow).where(over)) or 0,
        idle_s=None if running else now - (last_end or 0.0),
        quiet_s=devices.quiet(session, rows),
    )


def concerns(queues: Queues, faults: Sequence[EngineFaultRow], values: MetricValues, start: str) -> Iterator[Concern]:
    """Yield the concerns of workers, queues, and disks, then the failures of the last day."""
    for fault in faults:
        remedy = engine_faults.describe(fault)
        yield Concern("engine", f"The worker on {fault.host} cannot start its engine.", remedy, stops=True)
    yield from _of_queues(queues, bool(faults), start)
    yield from _of_server(values)
    failed = int(values.total("sparsight_jobs_ended_day", state="failed"))
    if failed:
        text = f"{amount(failed, 'job')} failed in the last 24 hours."
        yield Concern("failed", text, "Their reasons are listed below.")


def _of_queues(queues: Queues, has_faults: bool, start: str) -> Iterator[Concern]:
    waiting = sum(queues.waiting.values())
    if not queues.available and not has_faults:
        text = f"No worker is available{', and ' + _jobs_wait(waiting) if waiting else ''}."
        yield Concern("no-worker", text, f"{start} Its log is on standard error of that command.", stops=True)
    for device, number in sorted(queues.waiting.items()):
        name, oldest_s = queues.names.get(device, device), queues.oldest_s[device]
        if device not in queues.available and queues.available:
            text = f"{capital(_jobs_wait(number))} for {name}, which no worker offers."
            yield Concern("device-away", text, "Restart the worker of its host, or cancel the jobs.", stops=True)
        elif device in queues.available and queues.idle_s is not None and min(queues.idle_s, oldest_s) > IDLE_S:
            text = f"{capital(_jobs_wait(number))} for {name}, which is available but starts nothing."
            yield Concern("stands", text, "Read the log of the worker, and restart it. No job is lost.", stops=True)
        elif oldest_s > LONG_WAIT_S:
            text = f"A job has waited {units.duration(oldest_s)} for {name}."
            yield Concern("long-wait", text, "The device is busy. Cancel jobs that are not needed.")
    if queues.lost:
        whose = "A running job has" if queues.lost == 1 else f"{units.count(queues.lost)} running jobs have"
        remedy = "The job continues when a worker of its device is available. Read the log of the last one."
        yield Concern("lost", f"{whose} lost the worker.", remedy, stops=True)
    if queues.quiet_s:
        of = ", ".join(queues.names.get(device, device) for device in queues.quiet_s)
        text = f"The worker of {of} was last heard of {units.duration(max(queues.quiet_s.values()))} ago."
        yield Concern("quiet", text, "If it has ended, start it again. No job is lost.")


def _of_server(values: MetricValues) -> Iterator[Concern]:
    for folder, free in values.by("sparsight_disk_free_bytes", "folder").items():
        if free < DISK_FREE_BYTES:
            where = "the data directory" if folder == "home" else "the matrix store"
            remedy = "Delete matrices, set a retention, or move the store to a larger disk."
            yield Concern("disk", f"Only {units.size(free)} are free on the disk of {where}.", remedy)
    streams, most = values.total("sparsight_event_streams"), values.total("sparsight_event_streams_max")
    if streams > STREAMS_SHARE * most:
        text = f"{units.count(streams)} of at most {units.count(most)} event streams are open."
        yield Concern("streams", text, "Further pages ask for news every few seconds instead.")


def _jobs_wait(number: int) -> str:
    return "1 job waits" if number == 1 else f"{units.count(number)} jobs wait"
