"""REST documents of jobs."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from server import devices
from server.db import clock
from server.jobs.eta import JobEta, job_etas
from server.models import TERMINAL, JobRow, JobState
from server.timestamps import time_of


def job_document(session: Session, job: JobRow) -> dict[str, Any]:
    """Return the REST document of the job; `estimate_s` is the estimated time left, None if the job has ended."""
    return job_documents(session, [job])[0]


def job_documents(session: Session, jobs: Sequence[JobRow]) -> list[dict[str, Any]]:
    """Return the REST documents of a list of jobs."""
    known = job_etas(session, jobs)
    queued_for = {job.device for job in jobs if job.state == JobState.QUEUED}
    reasons = devices.waiting_reasons(session, queued_for) if queued_for else {}
    silent = _lost(session, jobs)
    return [_document(job, known[job.id], reasons, job.id in silent) for job in jobs]


def _lost(session: Session, jobs: Sequence[JobRow]) -> set[str]:
    """Return the ids of running jobs whose workers have been silent for longer than their leases."""
    running = [job.id for job in jobs if job.state == JobState.RUNNING]
    if not running:
        return set()
    over = (JobRow.lease_until > 0) & (JobRow.lease_until < clock())
    return set(session.scalars(select(JobRow.id).where(JobRow.id.in_(running), over)))


def _document(job: JobRow, eta: JobEta, reasons: Mapping[str, str], lease_expired: bool) -> dict[str, Any]:
    position, estimate_s = eta
    base = f"/api/v1/jobs/{job.id}"
    links = {"self": base, "results": f"{base}/results", "events": f"/api/v1/events?topics=job:{job.id}"}
    links |= {"retry": f"{base}/retry"} if job.state in TERMINAL else {"cancel": f"{base}/cancel"}
    links |= {"stop": f"{base}/stop"} if job.state == JobState.RUNNING else {}
    return {
        "id": job.id,
        "study": job.study,
        "matrix_ids": job.matrix_ids,
        "params": job.params,
        "device": job.device,
        "state": job.state,
        "attempt": job.attempt,
        "lease_expired": lease_expired,
        "stopped_early": job.state == JobState.SUCCEEDED and job.stop_requested,
        "progress": {**progress_document(job), "interim": job.interim},
        "queue_position": position,
        "waiting_reason": reasons.get(job.device) if job.state == JobState.QUEUED else None,
        "estimate_s": estimate_s,
        "error": job.error or None,
        "retry_of": job.retry_of,
        "tags": job.tags,
        "note": job.note,
        "created_at": time_of(job.created_at),
        "started_at": time_of(job.started_at) if job.started_at is not None else None,
        "finished_at": time_of(job.finished_at) if job.finished_at is not None else None,
        "links": links,
    }


def progress_document(job: JobRow) -> dict[str, Any]:
    """Return the progress of the job; `done` counts cases, including the fraction of the current one."""
    return {"done": job.progress, "total": job.cases_total, "message": job.message}
