"""Sources of the results of a study. Kernels are only compared within one job, where their rounds were interleaved.

Reference results take the place of a job for their device.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from sqlalchemy import select
from sqlalchemy.orm import Session

from gpu_engine.findings.data import StudyData, op_of
from gpu_engine.records import MIXTURE, OP, OPS, Measurement
from gpu_engine.studies import study as find_study
from server import device_order, recorded_results, results
from server.jobs import queue
from server.models import JobRow, JobState, MatrixRow, MeasurementRow, RecordedResultsRow, RecordingRow

JOBS_MAX = 200
"""Number of newest jobs with results that are searched."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Results that exist for a study, and the selected ones.

    devices   with results, those of this service first
    chosen    the requested devices, or else the one with results of most of the chosen matrices, and of those with
              equally many the first one by `device_order`; one whose timings are all too noisy to rank only if there
              is no other
    jobs      on the chosen devices, the newest first
    recorded  the chosen devices with reference results
    matrices  with results on the chosen devices
    """

    devices: tuple[str, ...]
    chosen: tuple[str, ...]
    jobs: tuple[JobRow, ...]
    recorded: tuple[str, ...]
    matrices: tuple[str, ...]


def find_sources(
    session: Session, study: str, jobs: Sequence[str] = (), matrices: Sequence[str] = (), devices: Sequence[str] = ()
) -> Sources:
    """Find the results of a study without reading them. Raises NotFoundError for an unknown job.

    jobs, matrices, devices  selection; none: any
    """
    rows = _of_jobs(session, study, jobs) if jobs else _newest(session, study, matrices)
    # If jobs are selected, only their results are shown.
    recorded = () if jobs else recorded_results.device_ids(session, study)
    known = tuple(dict.fromkeys((*(job.device for job in rows), *recorded)))
    chosen = tuple(devices) or known
    if not (devices or jobs):
        pairs = {(job.device, matrix) for job in rows for matrix in job.matrix_ids if matrix in matrices}
        numbers = Counter(device for device, _ in pairs)
        numbers.update(recorded_results.devices_of(session, study, matrices, recorded))
        having = [device for device in known if numbers[device]] if matrices else []
        order = device_order.preference(session)
        preferred = sorted(having or known, key=lambda device: (-numbers[device], *order(device)))
        chosen = _default(session, study, rows, matrices, preferred)
    here = tuple(job for job in rows if job.device in chosen)
    elsewhere = tuple(device for device in recorded if device in chosen)
    of_jobs = tuple(dict.fromkeys(matrix for job in here for matrix in job.matrix_ids))
    others = recorded_results.matrix_ids(session, study, elsewhere, of_jobs)
    return Sources(known, chosen, here, elsewhere, tuple(dict.fromkeys((*of_jobs, *others))))


def measured_matrices(session: Session, study: str) -> dict[str, set[str]]:
    """Return the fingerprints of the matrices with results of a study by device, of jobs and of reference results."""
    of_jobs = (
        select(MeasurementRow.device, MatrixRow.fingerprint)
        .join(MatrixRow, MatrixRow.id == MeasurementRow.matrix_id)
        .join(JobRow, JobRow.id == MeasurementRow.job_id)
        .where(JobRow.study == study)
    )
    recorded = (
        select(RecordingRow.device, RecordedResultsRow.fingerprint)
        .join(RecordingRow, RecordingRow.id == RecordedResultsRow.recording_id)
        .where(RecordingRow.study == study)
    )
    known: dict[str, set[str]] = {}
    for query in (of_jobs, recorded):
        for device, fingerprint in session.execute(query.distinct()):
            known.setdefault(device, set()).add(fingerprint)
    return known


def read_measurements(
    session: Session, study: str, sources: Sources, matrices: Sequence[str], caches: Sequence[str]
) -> tuple[tuple[JobRow, ...], list[Measurement]]:
    """Return the jobs with results of these matrices in these cache states, and the measurements of these jobs and of
    reference results.

    The results of one matrix, operation, and device come from one job, and so do those of a mixture of the matrices.
    """
    products = _jobs_of_products(sources.jobs, matrices, sources.chosen)
    mixtures = _mixtures(session, sources.jobs, matrices, caches)
    order = {matrix: place for place, matrix in enumerate(matrices)}
    every: list[Measurement] = []
    for job_id, ops in products.items():
        of_job = results.measurements(session, (job_id,), tuple(ops), caches=caches)
        of_products = (m for m in of_job if MIXTURE not in m.axes and op_of(m) in ops[m.matrix_id])
        every += sorted(of_products, key=lambda m: order[m.matrix_id])
    every += (m for of_job in mixtures.values() for m in of_job)
    recorded = recorded_results.measurements(session, study, matrices, sources.recorded)
    every += (m for m in recorded if m.cache in caches)
    return tuple(job for job in sources.jobs if job.id in products or job.id in mixtures), every


def ops_of(job: JobRow) -> tuple[str, ...]:
    """Return the operations of a job: A, its transpose, or both."""
    op = job.params.get(OP, "A")
    return OPS if op == "both" else (op,)


def _default(
    session: Session, study: str, jobs: Sequence[JobRow], matrices: Sequence[str], devices: Sequence[str]
) -> tuple[str, ...]:
    """Return the first device with a ranking; the first one if there is none. Reference results have rankings."""
    others = devices if len(devices) > 1 else ()
    ranked = (
        each
        for each in others
        if recorded_results.is_recorded(each) or _is_ranked(session, study, jobs, matrices, each)
    )
    return tuple(filter(None, [next(ranked, next(iter(devices), ""))]))


def _is_ranked(session: Session, study: str, jobs: Sequence[JobRow], matrices: Sequence[str], device: str) -> bool:
    """Return whether the results of a device that a page shows name a fastest kernel, with a warm cache if possible."""
    here = [job for job in jobs if job.device == device]
    known = tuple(matrices) or tuple(dict.fromkeys(matrix for job in here for matrix in job.matrix_ids))
    for job_id, ops in _jobs_of_products(here, known, (device,)).items():
        of_job = results.measurements(session, (job_id,), tuple(ops))
        warm = [m for m in of_job if m.cache == "warm"]
        data = StudyData(warm or of_job, results.matrix_features(session, tuple(ops)))
        quiet = (finding for finding in find_study(study).findings(data) if not finding.busy)
        if any(row.measurement.median_s for finding in quiet for row in finding.rows):
            return True
    return False


def _of_jobs(session: Session, study: str, jobs: Sequence[str]) -> list[JobRow]:
    rows = (queue.get_job(session, job_id) for job_id in jobs)
    return [job for job in rows if job.study == study]


def _newest(session: Session, study: str, matrices: Sequence[str]) -> list[JobRow]:
    """Return jobs of the study with results, the newest first; jobs of a chosen matrix are included even if old."""
    pages = [
        queue.list_jobs(session, study=study, matrix_id=matrix, limit=JOBS_MAX, measured=True)
        for matrix in (None, *matrices)
    ]
    unique = {job.id: job for page in pages for job in page.items}
    return sorted(unique.values(), key=lambda job: job.created_at, reverse=True)


def _jobs_of_products(
    jobs: Sequence[JobRow], matrices: Sequence[str], devices: Sequence[str]
) -> dict[str, dict[str, list[str]]]:
    """Return the job of each matrix and operation: job id → matrix → operations, A or AT.

    It is the newest succeeded job on each device, or else the newest job.
    """
    sources: dict[str, dict[str, list[str]]] = {}
    for device, matrix, op in product(devices, matrices, OPS):
        fitting = [job for job in jobs if job.device == device and matrix in job.matrix_ids and op in ops_of(job)]
        whole = [job for job in fitting if job.state == JobState.SUCCEEDED]
        for job in (whole or fitting)[:1]:
            sources.setdefault(job.id, {}).setdefault(matrix, []).append(op)
    return sources


def _mixtures(
    session: Session, jobs: Sequence[JobRow], matrices: Sequence[str], caches: Sequence[str]
) -> dict[str, list[Measurement]]:
    """Return the mixtures of these matrices by job id; each mixture on a device comes from one job."""
    chosen = {*matrices}
    several = [job for job in jobs if len({*job.matrix_ids} & chosen) > 1]
    known = results.mixtures(session, [job.id for job in several]) if several else {}
    sources: dict[tuple[str, str], str] = {}
    for job in sorted(several, key=lambda job: job.state != JobState.SUCCEEDED):
        for mixture in known.get(job.id, {}):
            sources.setdefault((job.device, mixture), job.id)
    of_jobs: dict[str, list[Measurement]] = {}
    for (_, mixture), job_id in sources.items():
        of_matrix = results.measurements(session, (job_id,), (known[job_id][mixture],), caches=caches)
        of_mixture = [m for m in of_matrix if m.axes.get(MIXTURE) == mixture and {*m.members} <= chosen]
        if of_mixture:
            of_jobs.setdefault(job_id, []).extend(of_mixture)
    return of_jobs
