"""User side of the queue: submit, list, cancel, stop, and retry jobs. The SQL for workers is in lease.py.

queued → running → succeeded, failed or cancelled; queued → cancelled; running → queued if its worker is lost.
"""

import dataclasses
import hashlib
import json
import re
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from sqlalchemy import ColumnElement, Text, and_, cast, delete, func, or_, select, update
from sqlalchemy import case as sql_case
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import InstrumentedAttribute, Session

from gpu_engine.errors import ConflictError, NotFoundError, ParameterError, TooLargeError, UnavailableError, quote
from gpu_engine.parameters import parse_params
from gpu_engine.records import DeviceInfo, MatrixInfo
from gpu_engine.studies import STUDIES
from gpu_engine.studies import study as find_study
from gpu_engine.studies.base import Study, check_device
from server import devices, events, quotas
from server.custom_kernels import located
from server.db import Database, clock
from server.jobs import annotations, estimates
from server.jobs.documents import progress_document
from server.jobs.matrices import ready_matrices
from server.models import TERMINAL, JobRow, JobState
from server.paging import LIMIT_DEFAULT, Page, decode_cursor, encode_cursor, invalid_cursor
from server.roles import LOCAL, Caller
from server.settings import Settings

CASES_MAX = 20_000
KEY_MAX = 200
CASE_KEY_BYTES = 2000
"""Maximum length of a case key in bytes, limited by the unique index of Postgres."""

ID = re.compile(r"[A-Za-z0-9_-]{1,32}")


@dataclass(frozen=True)
class JobRequest:
    """Request for a study of some matrices on a device, with parameters that differ from the defaults."""

    study: str
    matrix_ids: tuple[str, ...]
    params: Mapping[str, Any] = field(default_factory=dict)
    device: str = devices.AUTO
    retry_of: str | None = None
    tags: tuple[str, ...] = ()
    note: str = ""

    @property
    def sha256(self) -> str:
        """Return a hash that is equal for requests of the same work."""
        work = {name: value for name, value in vars(self).items() if name not in annotations.NAMES}
        try:
            text = json.dumps({**work, "params": dict(self.params)}, sort_keys=True)
        except RecursionError:
            raise ParameterError("The parameters are nested too deeply. Use plain values and lists.") from None
        return hashlib.sha256(text.encode()).hexdigest()


def submit(
    database: Database,
    settings: Settings,
    request: JobRequest,
    idempotency_key: str | None = None,
    studies: Sequence[Study] = STUDIES,
    caller: Caller = LOCAL,
) -> tuple[JobRow, bool]:
    """Return the queued job and True, or the existing job of this key and request and False.

    Raises ParameterError, UnknownDeviceError, TooLargeError (too many cases), ConflictError (a matrix is not ready),
    UnavailableError (full queue) and LimitError (the caller's quotas).
    """
    if idempotency_key is not None and not 0 < len(idempotency_key) <= KEY_MAX:
        raise ParameterError(f"Idempotency-Key must have 1 to {KEY_MAX} characters.")
    study = find_study(request.study, studies)
    params = parse_params(study.Params, request.params)
    # The files of custom kernels are located when the process starts; here their names are checked.
    located(params, settings)
    with database.read() as session:
        earlier = _earlier(session, request, idempotency_key)
        if earlier is not None:
            return earlier, False
        device = devices.resolve(session, request.device, study.several, study.backends)
        matrices = ready_matrices(session, request.matrix_ids)
        known = estimates.outcomes(session, study, device)
    # Count cases outside of a session, because an open read would block writers on SQLite.
    job = _job(request, study, params, device, matrices)
    job_features = estimates.expected(study, params, matrices, device, job.cases_total)
    job.estimate_s = estimates.corrected(job_features, known) + estimates.compile_s(device, known)
    try:
        with database.write() as session:
            return _queued(session, settings, request, idempotency_key, job, caller)
    except IntegrityError:
        # Another request with the same key came first.
        with database.read() as session:
            earlier = _earlier(session, request, idempotency_key)
        if earlier is None:
            raise
        return earlier, False


def _job(request: JobRequest, study: Study, params: Any, device: DeviceInfo, matrices: Sequence[MatrixInfo]) -> JobRow:
    """Return the job after counting its cases."""
    check_device(study, device)
    refusals = [f"{matrix.name}: {refusal}" for matrix in matrices if (refusal := study.refusal(matrix))]
    if len(refusals) == len(matrices):
        raise ParameterError(f"The {study.name} study cannot measure any of these matrices. {' '.join(refusals[:3])}")
    cases = 0
    for case in islice(study.cases(params, matrices, device), CASES_MAX + 1):
        cases += 1
        if len(case.key.encode()) > CASE_KEY_BYTES:
            raise ParameterError(
                f"The kernel name {quote(case.kernel)} is too long: a case key would exceed "
                f"{CASE_KEY_BYTES} bytes. Use a shorter name."
            )
    if cases > CASES_MAX:
        raise TooLargeError(
            f"Too many cases: a job can have at most {CASES_MAX}. Use fewer matrices or parameter "
            "values, or several jobs."
        )
    if not cases:
        raise ParameterError(
            f"The {study.name} study has no case with these parameters on {device.id}. Change the "
            "parameters or the device."
        )
    return JobRow(
        id=uuid.uuid4().hex,
        study=study.name,
        params=dataclasses.asdict(params),
        matrix_ids=list(request.matrix_ids),
        device=device.id,
        state=JobState.QUEUED,
        cases_total=cases,
        retry_of=request.retry_of,
        request_sha256=request.sha256,
        tags=annotations.clean_tags(request.tags),
        note=annotations.clean_note(request.note),
    )


def _queued(
    session: Session, settings: Settings, request: JobRequest, key: str | None, job: JobRow, caller: Caller
) -> tuple[JobRow, bool]:
    """Add the job, unless a job with its key exists or a prerequisite is gone."""
    earlier = _earlier(session, request, key)
    if earlier is not None:
        return earlier, False
    queued = session.scalar(select(func.count()).where(JobRow.state == JobState.QUEUED)) or 0
    if queued >= settings.queue_limit:
        raise UnavailableError(f"The queue is full ({queued} jobs). Try again later, or raise SPARSIGHT_QUEUE_LIMIT.")
    # The rows are locked, so that no matrix is deleted before its job exists.
    ready_matrices(session, request.matrix_ids, lock=True)
    quotas.check_job(session, caller, job)
    if job.retry_of is not None:
        get_job(session, job.retry_of, with_for_update={"key_share": True, "read": True})
    job.idempotency_key, job.created_at, job.token_id = key, _next_moment(session), caller.token_id
    session.add(job)
    session.flush()
    publish_state(session, job)
    return job, True


def _next_moment(session: Session) -> float:
    """Return the present time, but later than that of every existing job. SQLite's clock has a resolution of 1 ms, and
    jobs run in the order of arrival.
    """
    now = session.execute(select(clock())).scalar_one()
    return max(now, (session.scalar(select(func.max(JobRow.created_at))) or 0.0) + 1e-6)


def _earlier(session: Session, request: JobRequest, key: str | None) -> JobRow | None:
    """Return the job that this idempotency key created. Raises ParameterError if it was used for another request."""
    job = session.scalar(select(JobRow).where(JobRow.idempotency_key == key)) if key is not None else None
    if job is not None and job.request_sha256 != request.sha256:
        raise ParameterError(f"The Idempotency-Key {quote(key)} was used for another request. Use a new key.")
    return job


def is_id(text: str) -> bool:
    """Return whether the text has the form of an id. A database may reject any other text."""
    return ID.fullmatch(text) is not None


def list_jobs(
    session: Session,
    state: str | None = None,
    study: str | None = None,
    matrix_id: str | None = None,
    limit: int | None = LIMIT_DEFAULT,
    cursor: str | None = None,
    studies: Sequence[Study] = STUDIES,
    measured: bool = False,
    tag: str | None = None,
) -> Page[JobRow]:
    """Return the jobs, the newest first, all without a limit. Raises ParameterError for an unknown state, study, tag,
    or cursor.

    measured  only jobs with a record
    """
    query = select(JobRow).order_by(JobRow.created_at.desc(), JobRow.id.desc())
    if limit is not None:
        query = query.limit(limit + 1)
    if state is not None:
        if state not in tuple(JobState):
            raise ParameterError(f"Unknown job state {quote(state)}. States: {', '.join(JobState)}.")
        query = query.where(JobRow.state == state)
    if study is not None:
        query = query.where(JobRow.study == find_study(study, studies).name)
    if matrix_id is not None:
        query = query.where(_has(JobRow.matrix_ids, matrix_id))
    if tag is not None:
        query = query.where(*(_has(JobRow.tags, each) for each in annotations.clean_tags([tag])))
    if measured:
        query = query.where(JobRow.cases_done > 0)
    if cursor is not None:
        created_at, job_id = decode_cursor(cursor, 2)
        if not isinstance(created_at, float) or not isinstance(job_id, str) or not is_id(job_id):
            raise invalid_cursor()
        older = and_(JobRow.created_at == created_at, JobRow.id < job_id)
        query = query.where(or_(JobRow.created_at < created_at, older))
    rows = list(session.scalars(query))
    more = limit is not None and len(rows) > limit
    rows = rows[:limit]
    return Page(rows, encode_cursor(rows[-1].created_at, rows[-1].id) if more else None)


def count_by_state(session: Session) -> dict[str, int]:
    """Return the number of jobs by state."""
    counts = session.execute(select(JobRow.state, func.count()).group_by(JobRow.state))
    return {row[0]: row[1] for row in counts}


def _has(column: InstrumentedAttribute[list[Any]], text: str) -> ColumnElement[bool]:
    """Return the condition that a list in a column contains a text."""
    return cast(column, Text).contains(json.dumps(text), autoescape=True)


def get_job(session: Session, job_id: str, with_for_update: Any = None) -> JobRow:
    """Return the job, locked according to SQLAlchemy's option of that name. Raises NotFoundError."""
    job = session.get(JobRow, job_id, with_for_update=with_for_update) if is_id(job_id) else None
    if job is None:
        raise NotFoundError(f"Unknown job {quote(job_id)}.", hint="list_jobs")
    return job


IDLE: dict[str, Any] = {"current_case": "", "message": "", "interim": []}
"""Fields of a job without a process."""


def annotate(
    database: Database,
    job_id: str,
    tags: Sequence[str] | None = None,
    note: str | None = None,
    caller: Caller = LOCAL,
) -> JobRow:
    """Return the job with these tags and this note; None keeps the present ones.

    Raises ForbiddenError, and the errors of `annotations`.
    """
    with database.write() as session:
        job = get_job(session, job_id, with_for_update=True)
        caller.check_owner(job.token_id)
        job.tags = job.tags if tags is None else annotations.clean_tags(tags)
        job.note = job.note if note is None else annotations.clean_note(note)
        return job


def cancel(database: Database, job_id: str, caller: Caller = LOCAL) -> JobRow:
    """Return the cancelled job, whose process ends at once. Raises NotFoundError, ForbiddenError, and ConflictError if
    it has ended.
    """
    with database.write() as session:
        ended = update(JobRow).where(JobRow.id == job_id, JobRow.state.not_in(TERMINAL))
        # The clock may have been set back since the job started.
        now = sql_case((JobRow.started_at > clock(), JobRow.started_at), else_=clock())
        values = {"state": JobState.CANCELLED, "finished_at": now, **IDLE}
        changed = is_id(job_id) and session.execute(ended.values(values).returning(JobRow.id)).first() is not None
        job = get_job(session, job_id)
        caller.check_owner(job.token_id)
        if changed:
            publish_state(session, job)
        elif job.state != JobState.CANCELLED:
            raise ConflictError(f"The job is {job.state}. Only a queued or running job can be cancelled.")
        return job


def request_stop(database: Database, job_id: str, caller: Caller = LOCAL) -> JobRow:
    """Return the job, which will stop after its current round and keep its results. Raises NotFoundError,
    ForbiddenError, and ConflictError.
    """
    with database.write() as session:
        job = get_job(session, job_id, with_for_update=True)
        caller.check_owner(job.token_id)
        if job.state != JobState.RUNNING:
            raise ConflictError(f"The job is {job.state}. Only a running job can be stopped early.")
        job.stop_requested = True
        return job


def retry(
    database: Database,
    settings: Settings,
    job_id: str,
    idempotency_key: str | None = None,
    studies: Sequence[Study] = STUDIES,
    caller: Caller = LOCAL,
) -> tuple[JobRow, bool]:
    """Return a new job with the same request. Raises ConflictError unless the job has ended."""
    with database.read() as session:
        job = get_job(session, job_id)
    if job.state not in TERMINAL:
        raise ConflictError(f"The job is still {job.state}. Wait for it to end, or cancel it first.")
    request = JobRequest(job.study, tuple(job.matrix_ids), job.params, job.device, job.id, tuple(job.tags))
    return submit(database, settings, request, idempotency_key, studies, caller)


def delete_jobs(session: Session, ids: Collection[str]) -> None:
    """Delete these jobs with their results, and the references of their reruns to them."""
    # The database also updates their reruns, so that all rows are locked in one order.
    touched = or_(JobRow.id.in_(ids), JobRow.retry_of.in_(ids))
    session.execute(select(JobRow.id).where(touched).order_by(JobRow.id).with_for_update())
    session.execute(delete(JobRow).where(JobRow.id.in_(ids)))


def publish_state(session: Session, job: JobRow) -> None:
    """Publish the job's state inside the transaction that changed it."""
    state = {"id": job.id, "study": job.study, "state": job.state, "attempt": job.attempt}
    document = {**state, "progress": progress_document(job), "error": job.error or None}
    events.emit(session, f"job:{job.id}", "state", document)
