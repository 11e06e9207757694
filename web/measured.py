"""Which results a selection shows: kernels are compared within one job, where their rounds were interleaved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from gpu_engine.errors import NotFoundError
from gpu_engine.records import Measurement
from server import catalogue, results
from server.jobs import queue
from server.models import JobRow, JobState
from web.selection import Selection

STUDY = "formats"
CACHE_DEFAULT = "warm"
"""As in the papers and in a solver."""

JOBS_MAX = 200
"""How many of the newest jobs are looked through for results."""

MATRICES_SHOWN = 6
"""Most matrices shown when the reader has chosen none."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The results of a selection, and what else could be selected.

    selection     with the page's own choice of device, cache and matrices filled in
    jobs          the jobs behind the measurements, one per matrix and device
    measurements  of the selection; all_caches: the same in every cache state
    names         matrix id → name
    """

    selection: Selection
    jobs: tuple[JobRow, ...]
    measurements: tuple[Measurement, ...]
    all_caches: tuple[Measurement, ...]
    names: Mapping[str, str]
    devices: tuple[str, ...]
    matrices: tuple[str, ...]


def measured(session: Session, selection: Selection) -> Measured:
    """The newest results that fit the selection; raises NotFoundError for a job that does not exist."""
    jobs = _candidates(session, selection)
    devices = tuple(dict.fromkeys(job.device for job in jobs))
    chosen_devices = selection.device or (devices if selection.job else devices[:1])
    here = [job for job in jobs if job.device in chosen_devices]
    matrices = tuple(dict.fromkeys(matrix for job in here for matrix in job.matrix_ids))
    chosen_matrices = selection.matrix or (matrices if selection.job else _newest_matrices(here))
    chosen = selection.with_(device=chosen_devices, cache=selection.cache or CACHE_DEFAULT, matrix=chosen_matrices)
    sources = _sources(here, chosen.matrix, chosen.device)
    found = [m for job, wanted in sources.items() for m in _of_job(session, job, wanted)]
    found = [m for m in found if not chosen.kernel or m.kernel in chosen.kernel]
    return Measured(
        chosen,
        tuple(job for job in here if job.id in sources),
        tuple(m for m in found if m.cache in chosen.cache),
        tuple(found),
        matrix_names(session, dict.fromkeys((*matrices, *chosen.matrix))),
        devices,
        matrices,
    )


def matrix_names(session: Session, ids: Mapping[str, None] | Sequence[str]) -> dict[str, str]:
    """Names by id; a matrix that has been deleted is called so."""
    names = {}
    for matrix_id in ids:
        try:
            names[matrix_id] = catalogue.get_matrix(session, matrix_id).name
        except NotFoundError:
            names[matrix_id] = f"deleted matrix {matrix_id[:8]}"
    return names


def _candidates(session: Session, selection: Selection) -> list[JobRow]:
    """Jobs with results, the newest first; those of a chosen matrix even when they are old."""
    if selection.job:
        return [queue.get_job(session, job_id) for job_id in selection.job]
    pages = [queue.list_jobs(session, study=STUDY, matrix_id=matrix, limit=JOBS_MAX) for matrix in selection.matrix]
    pages.append(queue.list_jobs(session, study=STUDY, limit=JOBS_MAX))
    unique = {job.id: job for page in pages for job in page.items if job.cases_done}
    return sorted(unique.values(), key=lambda job: job.created_at, reverse=True)


def _newest_matrices(jobs: Sequence[JobRow]) -> tuple[str, ...]:
    return tuple(jobs[0].matrix_ids[:MATRICES_SHOWN]) if jobs else ()


def _sources(jobs: Sequence[JobRow], matrices: Sequence[str], devices: Sequence[str]) -> dict[str, list[str]]:
    """Job id → the matrices taken from it: per matrix and device the newest job that succeeded, else the newest."""
    sources: dict[str, list[str]] = {}
    for device in devices:
        for matrix in matrices:
            fitting = [job for job in jobs if job.device == device and matrix in job.matrix_ids]
            whole = [job for job in fitting if job.state == JobState.SUCCEEDED]
            for job in (whole or fitting)[:1]:
                sources.setdefault(job.id, []).append(matrix)
    return sources


def _of_job(session: Session, job_id: str, matrices: Sequence[str]) -> list[Measurement]:
    found = results.measurements(session, job_ids=(job_id,), matrix_ids=tuple(matrices))
    return sorted(found, key=lambda m: matrices.index(m.matrix_id))
