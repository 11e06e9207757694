"""The jobs that compared the formats of one matrix, as its page follows them over time."""

from sqlalchemy.orm import Session

from gpu_engine.findings.formats.groups import of_matrices
from server import results
from server.jobs import queue
from web.figures.history import Panel, Visit, panel
from web.results import CACHE_DEFAULT, device_names
from web.selection import Selection
from web.studies.formats import FORMATS

JOBS_MAX = 50
"""Of the newest jobs with results."""


def history_of(session: Session, matrix_id: str, selection: Selection) -> tuple[Panel, ...]:
    """The devices and cache states in which two jobs or more have a time; selection: its kernels, caches, devices."""
    jobs = queue.list_jobs(session, study=FORMATS.name, matrix_id=matrix_id, limit=JOBS_MAX, measured=True).items
    names, found = device_names(session), dict[tuple[str, str], list[Visit]]()
    for job in reversed(jobs):
        if selection.device and job.device not in selection.device:
            continue
        caches = selection.cache or (CACHE_DEFAULT,)
        own = results.measurements(session, (job.id,), (matrix_id,), caches=caches)
        timed = [m for m in of_matrices(own) if m.median_s]
        for cache in caches:
            if kernels := {m.kernel: m for m in timed if m.cache == cache}:
                place = names.get(job.device, job.device), cache
                found.setdefault(place, []).append(Visit(job.id, job.created_at, kernels))
    return tuple(panel(place, visits, selection.kernel) for place, visits in found.items() if len(visits) > 1)
