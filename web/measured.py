"""Which results a selection shows: kernels are compared within one job, where their rounds were interleaved.

A recording is to its device what a job is to one that is here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from gpu_engine.records import Measurement
from server import recordings, results
from server.jobs import queue
from server.models import JobRow, JobState, MatrixRow
from web.selection import VALUES_MAX, WHAT_IF, Selection
from web.shown import MatrixFeatures, Shown

FORMATS_STUDY, PAGERANK_STUDY, BATCHED_STUDY, SCALING_STUDY = "formats", "pagerank", "batched", "scaling"
STUDY_PAGES = (FORMATS_STUDY, PAGERANK_STUDY, BATCHED_STUDY, SCALING_STUDY)
"""The studies with a page of their own, at the address of their name."""

CACHE_DEFAULT = "warm"
"""As in the papers and in a solver."""

JOBS_MAX = 200
"""How many of the newest jobs are looked through for results."""

MATRICES_SHOWN = 20
"""Most matrices shown when the reader has chosen none: as many as a picture holds."""

SHOWN_OF_STUDY = {BATCHED_STUDY: VALUES_MAX}
"""Where it is not MATRICES_SHOWN: a mixed batch is of many matrices, and filed under one of them."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The results of a selection, and what else could be selected.

    study         whose results they are
    selection     with the page's own choice of device, cache and matrices filled in
    jobs          the jobs behind the measurements, one per matrix and device; what was recorded has none
    measurements  of the selection; all_caches: the same in every cache state
    features      matrix id → name, shape and row lengths
    """

    study: str
    selection: Selection
    jobs: tuple[JobRow, ...]
    measurements: tuple[Measurement, ...]
    all_caches: tuple[Measurement, ...]
    features: Mapping[str, MatrixFeatures]
    devices: tuple[str, ...]
    matrices: tuple[str, ...]

    @property
    def shown(self) -> Shown:
        """What the figures of the study are drawn from."""
        chosen = self.selection
        baseline = chosen.baseline[0] if chosen.baseline else ""
        what_if = {name: values[0] for name in WHAT_IF if (values := getattr(chosen, name))}
        return Shown(
            self.measurements,
            self.features,
            chosen.kernel,
            chosen.pair,
            baseline,
            what_if=what_if,
            batch=int(chosen.batch[0]) if chosen.batch else 0,
            operation=chosen.operation[0] if chosen.operation else "",
            devices=int(chosen.devices[0]) if chosen.devices else 0,
            phases=chosen.phases[0] if chosen.phases else "",
        )


def measured(session: Session, study: str, selection: Selection) -> Measured:
    """The newest results of a study that fit the selection; raises NotFoundError for a job that does not exist."""
    jobs = _candidates(session, study, selection)
    # A selection of jobs shows their results and nothing else.
    recorded = () if selection.job else recordings.device_ids(session, study)
    devices = tuple(dict.fromkeys((*(job.device for job in jobs), *recorded)))
    chosen_devices = selection.device or (devices if selection.job else devices[:1])
    here = [job for job in jobs if job.device in chosen_devices]
    elsewhere = [device for device in recorded if device in chosen_devices]
    own = (matrix for job in here for matrix in job.matrix_ids)
    matrices = tuple(dict.fromkeys((*own, *recordings.matrix_ids(session, study, elsewhere))))
    newest = (here[0].matrix_ids if here else matrices)[: SHOWN_OF_STUDY.get(study, MATRICES_SHOWN)]
    chosen_matrices = selection.matrix or (matrices[:VALUES_MAX] if selection.job else tuple(newest))
    chosen = selection.with_(device=chosen_devices, cache=selection.cache or CACHE_DEFAULT, matrix=chosen_matrices)
    sources = _sources(here, chosen.matrix, chosen.device)
    found = [m for job, wanted in sources.items() for m in _of_job(session, job, wanted)]
    found += recordings.measurements(session, study, chosen.matrix, elsewhere)
    found = [m for m in found if not chosen.kernel or m.kernel in chosen.kernel]
    return Measured(
        study,
        chosen,
        tuple(job for job in here if job.id in sources),
        tuple(m for m in found if m.cache in chosen.cache),
        tuple(found),
        matrix_features(session, (*matrices, *chosen.matrix)),
        devices,
        matrices,
    )


def with_traces(session: Session, seen: Measured) -> Shown:
    """What is drawn of results that have traces, which are read for this alone: they are most of the bytes."""
    wanted = {(m.device, m.case) for m in seen.measurements}
    found = [(job.device, trace) for job in seen.jobs for trace in results.traces(session, (job.id,))]
    devices = () if seen.selection.job else seen.selection.device
    found += recordings.traces(session, seen.study, seen.selection.matrix, devices)
    traces = {(device, trace.case): trace for device, trace in found if (device, trace.case) in wanted}
    return replace(seen.shown, traces=traces)


def matrix_features(session: Session, ids: Iterable[str]) -> dict[str, MatrixFeatures]:
    """Features by id; a matrix that has been deleted is called so."""
    known = {row.id: row for row in session.scalars(select(MatrixRow).where(MatrixRow.id.in_(set(ids))))}
    return {i: _features(known[i]) if i in known else MatrixFeatures(f"deleted matrix {i[:8]}") for i in ids}


def _features(row: MatrixRow) -> MatrixFeatures:
    lengths = {name: row.features.get(name) for name in ("ave", "sigma", "max_min")}
    empty = row.features.get("empty_rows")
    return MatrixFeatures(row.name, row.n_rows, row.n_cols, row.nnz, **lengths, empty_rows=empty)


def _candidates(session: Session, study: str, selection: Selection) -> list[JobRow]:
    """Jobs of the study with results, the newest first; those of a chosen matrix even when they are old."""
    if selection.job:
        return [job for job in (queue.get_job(session, job_id) for job_id in selection.job) if job.study == study]
    pages = [queue.list_jobs(session, study=study, matrix_id=matrix, limit=JOBS_MAX) for matrix in selection.matrix]
    pages.append(queue.list_jobs(session, study=study, limit=JOBS_MAX))
    unique = {job.id: job for page in pages for job in page.items if job.cases_done}
    return sorted(unique.values(), key=lambda job: job.created_at, reverse=True)


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
