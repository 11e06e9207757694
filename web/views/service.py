"""`/service`: whether all is well, what waits and runs, and what the devices do."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from gpu_engine import release
from gpu_engine.text import units
from gpu_engine.text.words import amount, capital
from server import devices as device_table
from server import engine_faults, recorded_results
from server.db import clock
from server.jobs import activity, queue
from server.jobs.activity import Activity
from server.jobs.eta import elapsed
from server.metric_values import MetricValues
from server.models import JobRow, JobState
from server.quotas import DAY_S
from server.roles import Caller, Role
from server.service_check import Concern, check
from server.settings import Settings
from server.worker_command import start_text
from web.components import DeviceRowView, Link
from web.results import device_names
from web.service_contexts import Failure, ServiceDevice, ServiceJob, ServicePage
from web.views import service_access, service_server, service_tiles
from web.views.list_rows import device_rows, job_rows

JOBS_SHOWN = 8
FAILED_LINKS = 3


def page(session: Session, values: MetricValues, settings: Settings, caller: Caller, is_open: bool) -> ServicePage:
    """Return the page of the service.

    values   of all metrics at this moment; settings: of this server; is_open: whether every caller is an administrator
    """
    now = session.execute(select(clock())).scalar_one()
    names, day = device_names(session), activity.last_day(session, now, _up_s(values, now))
    concerns = tuple(check(session, values, names, day.last_end, start_text(settings, caller)))
    faults = {device: engine_faults.describe(row) for device, row in engine_faults.by_device(session).items()}
    quiet_s = device_table.quiet(session, device_table.list_devices(session))
    devices = tuple(_device(row, day, faults.get(row.id, ""), quiet_s.get(row.id)) for row in device_rows(session))
    state, state_text = _state(concerns)
    running = int(values.total("sparsight_device_busy"))
    return ServicePage(
        title="Service",
        topics="jobs",
        eyebrow=_eyebrow(values, now, devices),
        state=state,
        state_text=state_text,
        sentence=concerns[0].text if concerns else _all_well(values, running),
        under=_day_text(day),
        concerns=concerns,
        tiles=service_tiles.tiles(values, day),
        idle="" if running else _idle(values, concerns),
        jobs=_jobs(session, now),
        job_count=units.count(values.total("sparsight_jobs")),
        failures=_failures(session, now),
        crashes=_crashes(values),
        devices=devices,
        period=service_tiles.period_text(day),
        routes=service_tiles.routes(values),
        facts=service_server.facts(session, values),
        locations=service_server.locations(settings) if caller.role is Role.ADMIN else (),
        access=service_access.access(session, is_open) if caller.role is Role.ADMIN else None,
    )


def _state(concerns: Sequence[Concern]) -> tuple[str, str]:
    """Return the class and the text of the state of the service."""
    if not concerns:
        return "measured", "✓ all well"
    if concerns[0].stops:
        return "failed", "✗ jobs do not run"
    return "busy", "⚠ needs attention"


def _up_s(values: MetricValues, now: float) -> float:
    """Return the seconds since the start of this server."""
    return now - values.total("process_start_time_seconds")


def _eyebrow(values: MetricValues, now: float, devices: Sequence[ServiceDevice]) -> str:
    up = (f"up {units.duration(_up_s(values, now))}",)
    workers = [device.row for device in devices if device.row.state != "recorded"]
    alive = sum(device.state == "alive" for device in workers)
    available = (f"{alive} of {amount(len(workers), 'device')} available",) if workers else ()
    return " · ".join(("Service", f"version {release()}", *up, *available))


def _all_well(values: MetricValues, running: int) -> str:
    waiting = int(values.total("sparsight_queue_jobs"))
    runs = f"{amount(running, 'job')} {'runs' if running == 1 else 'run'}, " if running else ""
    waits = f"{units.count(waiting)} {'waits' if waiting == 1 else 'wait'}" if waiting else "nothing waits"
    free = min(values.by("sparsight_disk_free_bytes", "folder").values(), default=None)
    disk = f", {units.size(free)} of disk are free" if free is not None else ""
    return capital(f"{runs}{waits}, nothing failed in 24 hours{disk}.")


def _day_text(day: Activity) -> str:
    total_s = sum(day.busy_s.values())
    period = "in the last 24 hours" if day.period_s == DAY_S else "since this server started"
    if not total_s:
        return f"No device measured anything {period}."
    return f"Devices measured for {units.duration(total_s)} {period}."


def _idle(values: MetricValues, concerns: Sequence[Concern]) -> str:
    """Return why no job runs; empty if a concern above says it."""
    if any(concern.stops for concern in concerns):
        return ""
    if not values.total("sparsight_queue_jobs"):
        return "Nothing runs because no job is queued."
    return "The next job starts in a moment."


def _jobs(session: Session, now: float) -> tuple[ServiceJob, ...]:
    """Return the running jobs, the next ones of the queue, and the newest ended ones."""
    running = queue.list_jobs(session, state=JobState.RUNNING, limit=JOBS_SHOWN).items
    waiting = select(JobRow).where(JobRow.state == JobState.QUEUED).order_by(JobRow.created_at, JobRow.id)
    ended = select(JobRow).where(JobRow.finished_at.is_not(None)).order_by(JobRow.finished_at.desc(), JobRow.id)
    half = max(0, JOBS_SHOWN - len(running)) // 2
    rows = [*running, *session.scalars(waiting.limit(half))]
    rows += session.scalars(ended.limit(JOBS_SHOWN - len(rows)))
    return tuple(
        ServiceJob(
            row=view,
            waited=_waited(job, now),
            ran=units.duration(elapsed(job, now)) if job.state != JobState.QUEUED else units.MISSING,
            queued=units.moment(job.created_at).partition("-")[2],
            note="" if job.state in (JobState.SUCCEEDED, JobState.CANCELLED) else view.note,
        )
        for job, view in zip(rows, job_rows(session, rows), strict=True)
    )


def _waited(job: JobRow, now: float) -> str:
    start, end = activity.JobTimes(job.device, job.state, job.created_at, job.started_at, job.finished_at).waited(now)
    return units.duration(max(0.0, end - start))


def _failures(session: Session, now: float) -> tuple[Failure, ...]:
    """Return the reasons of the jobs that failed in the last day, the most frequent first."""
    recent = JobRow.state == JobState.FAILED, JobRow.finished_at > now - DAY_S
    rows = session.scalars(select(JobRow).where(*recent).order_by(JobRow.finished_at.desc())).all()
    by_reason: dict[str, list[JobRow]] = {}
    for row in rows:
        by_reason.setdefault(str(row.error.get("detail", "")) or "No reason was recorded.", []).append(row)
    linked = [row for same in by_reason.values() for row in same[:FAILED_LINKS]]
    titles = {view.id: view.title for view in job_rows(session, linked)}
    return tuple(
        Failure(
            reason,
            tuple(Link(titles[row.id], f"/jobs/{row.id}") for row in same[:FAILED_LINKS]),
            max(0, len(same) - FAILED_LINKS),
        )
        for reason, same in sorted(by_reason.items(), key=lambda item: -len(item[1]))
    )


def _crashes(values: MetricValues) -> str:
    deaths = int(values.total("sparsight_case_deaths"))
    losses = int(values.total("sparsight_case_losses"))
    if not deaths and not losses:
        return ""
    return (
        f"In all stored jobs, {amount(deaths, 'process', 'processes')} and {amount(losses, 'dispatcher')} crashed "
        "in a case."
    )


def _device(row: DeviceRowView, day: Activity, fault: str, quiet_s: float | None) -> ServiceDevice:
    """Return a device; quiet_s: seconds since its last heartbeat if it missed some."""
    if recorded_results.is_recorded(row.id):
        return ServiceDevice(row, units.MISSING, "")
    note = "No worker offers it. Start the worker of its host." if row.state == "silent" else fault
    if quiet_s is not None:
        row, note = replace(row, state="quiet"), f"Last heard of {units.duration(quiet_s)} ago."
    return ServiceDevice(row, units.percent(day.busy(row.id)), note)
