"""Jobs in their REST form."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from server import devices
from server.db import clock
from server.jobs.outlook import Outlook, outlooks
from server.models import TERMINAL, JobRow, JobState
from server.times import time_of


def job_document(session: Session, job: JobRow) -> dict[str, Any]:
    """The job in its REST form; `estimate_s` is the time until it is done, None once it is."""
    return job_documents(session, [job])[0]


def job_documents(session: Session, jobs: Sequence[JobRow]) -> list[dict[str, Any]]:
    """The same of a list of jobs."""
    known = outlooks(session, jobs)
    queued_for = {job.device for job in jobs if job.state == JobState.QUEUED}
    reasons = devices.waiting_reasons(session, queued_for) if queued_for else {}
    silent = _lost(session, jobs)
    return [_document(job, known[job.id], reasons, job.id in silent) for job in jobs]


def _lost(session: Session, jobs: Sequence[JobRow]) -> set[str]:
    """Return the ids of those jobs that no worker has said anything of for longer than its lease."""
    running = [job.id for job in jobs if job.state == JobState.RUNNING]
    if not running:
        return set()
    over = (JobRow.lease_until > 0) & (JobRow.lease_until < clock())
    return set(session.scalars(select(JobRow.id).where(JobRow.id.in_(running), over)))


def _document(job: JobRow, outlook: Outlook, reasons: Mapping[str, str], lease_expired: bool) -> dict[str, Any]:
    position, estimate_s = outlook
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
    """How far the job is: `done` counts cases, with the fraction of the one in progress."""
    return {"done": job.progress, "total": job.cases_total, "message": job.message}
