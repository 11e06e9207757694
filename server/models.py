"""Tables of the database. Columns hold values; records (gpu_engine/records.py) define their meaning. Times are seconds
since 1970, UTC.
"""

from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Text,
    UniqueConstraint,
    false,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

NAMING = {
    "ix": "ix_%(column_0_N_label)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


class MatrixState(StrEnum):
    """ingesting → ready or failed; `recorded` has features but no values."""

    INGESTING = "ingesting"
    READY = "ready"
    FAILED = "failed"
    RECORDED = "recorded"


class JobState(StrEnum):
    """queued → running → succeeded, failed or cancelled; queued → cancelled; running → queued if its worker is lost."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


UNREAD = "unread:"
"""Prefix of the fingerprint of a metadata-only matrix, whose name and size stand for its values."""

TERMINAL = (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)
"""Final states of a job."""


LOCK_ORDER = (
    "recordings",
    "recorded_results",
    "matrices",
    "matrix_sets",
    "tokens",
    "sessions",
    "jobs",
    "case_deaths",
    "measurements",
    "traces",
    "devices",
    "engine_faults",
    "event_counter",
    "events",
)
"""Order in which a transaction locks rows: by table in this order, and within a table by key.

Transactions that follow it never deadlock. Events follow it automatically (events.py). Rows of `audit` are added in
separate transactions, and nothing waits for them.
"""


class Base(DeclarativeBase):
    """Declarative base. Every constraint has a name, so that migrations can change it on SQLite."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map: ClassVar[dict[Any, Any]] = {dict[str, Any]: JSON, list[Any]: JSON}


class MatrixRow(Base):
    """Matrix; the store contains its arrays under `id`."""

    __tablename__ = "matrices"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    state: Mapped[str] = mapped_column(String(12), index=True)
    #: sha256 of the uploaded bytes and the read options, or of the generator call: the same source is one matrix
    sha256: Mapped[str] = mapped_column(String(64), unique=True)
    #: sha256 of the canonical CSR, or UNREAD; empty until ready
    fingerprint: Mapped[str] = mapped_column(String(64), default="", index=True)
    #: {"kind": "upload", "filename", "bytes", …}, {"kind": "generated", "generator", "params"}, or of a recorded one
    #: {"kind": "collection", "name"}, of a fetched one also {"address", "sha256", "bytes", "fetched_at"}
    source: Mapped[dict[str, Any]] = mapped_column(default=dict)
    n_rows: Mapped[int] = mapped_column(BigInteger, default=0)
    n_cols: Mapped[int] = mapped_column(BigInteger, default=0)
    nnz: Mapped[int] = mapped_column(BigInteger, default=0)
    features: Mapped[dict[str, Any]] = mapped_column(default=dict)
    #: the problem document of a failed ingest; empty otherwise
    error: Mapped[dict[str, Any]] = mapped_column(default=dict)
    created_at: Mapped[float] = mapped_column(Float, index=True)


class MatrixSetRow(Base):
    """Saved set of matrices, which outlives them."""

    __tablename__ = "matrix_sets"

    #: the beginning of the sha256 of its ids
    id: Mapped[str] = mapped_column(String(12), primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    matrix_ids: Mapped[list[Any]] = mapped_column()
    created_at: Mapped[float] = mapped_column(Float)


SAMPLES_KEY = "first-start"
"""Idempotency key of the job that the server itself queues at its first start."""


class JobRow(Base):
    """Queued study. `attempt` counts processes and fences every write of a worker."""

    __tablename__ = "jobs"
    # Of a state the newest are shown, and the oldest is claimed.
    __table_args__ = (Index("ix_jobs_state_created_at_id", "state", "created_at", "id"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    study: Mapped[str] = mapped_column(String(40), index=True)
    params: Mapped[dict[str, Any]] = mapped_column(default=dict)
    matrix_ids: Mapped[list[Any]] = mapped_column(default=list)
    #: resolved when the job is made: `cpu`, `cuda:0` …
    device: Mapped[str] = mapped_column(String(60), index=True)
    state: Mapped[str] = mapped_column(String(12))
    attempt: Mapped[int] = mapped_column(Integer, default=0)
    #: uuid of the dispatcher process that holds the lease
    owner: Mapped[str] = mapped_column(String(36), default="")
    lease_until: Mapped[float] = mapped_column(Float, default=0.0)
    #: cases with a record, and all cases
    cases_done: Mapped[int] = mapped_column(Integer, default=0)
    cases_total: Mapped[int] = mapped_column(Integer, default=0)
    #: like cases_done, with the fraction of the case in progress
    progress: Mapped[float] = mapped_column(Float, default=0.0)
    message: Mapped[str] = mapped_column(String(200), default="")
    #: the case that the process announced last: what it died of, if it dies
    current_case: Mapped[str] = mapped_column(Text, default="")
    #: what its rounds say so far, each an Interim as JSON
    interim: Mapped[list[Any]] = mapped_column(default=list, server_default="[]")
    #: whether somebody has said that what is measured by now has to do
    stop_requested: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false())
    estimate_s: Mapped[float] = mapped_column(Float, default=0.0)
    tags: Mapped[list[Any]] = mapped_column(default=list, server_default="[]")
    note: Mapped[str] = mapped_column(Text, default="", server_default="")
    #: {"code", "detail"} of a failed job; empty otherwise
    error: Mapped[dict[str, Any]] = mapped_column(default=dict)
    retry_of: Mapped[str | None] = mapped_column(ForeignKey("jobs.id", ondelete="SET NULL"))
    idempotency_key: Mapped[str | None] = mapped_column(String(200), unique=True)
    #: sha256 of the request body behind the key
    request_sha256: Mapped[str] = mapped_column(String(64), default="")
    #: id of the token that queued it; empty: one without quotas, or none
    token_id: Mapped[str] = mapped_column(String(32), default="", server_default="", index=True)
    created_at: Mapped[float] = mapped_column(Float, index=True)
    started_at: Mapped[float | None] = mapped_column(Float)
    finished_at: Mapped[float | None] = mapped_column(Float)


class CaseDeathRow(Base):
    """Number of process crashes and dispatcher crashes of a case. runner.py decides when the case has failed."""

    __tablename__ = "case_deaths"
    __table_args__ = (UniqueConstraint("job_id", "case_key"),)

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    case_key: Mapped[str] = mapped_column(Text)
    deaths: Mapped[int] = mapped_column(Integer, default=0)
    losses: Mapped[int] = mapped_column(Integer, default=0, server_default="0")


class MeasurementRow(Base):
    """Committed Measurement, unique by (job, case)."""

    __tablename__ = "measurements"
    __table_args__ = (
        UniqueConstraint("job_id", "case_key"),
        Index("ix_measurements_matrix_device", "matrix_id", "device"),
    )

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    case_key: Mapped[str] = mapped_column(Text)
    matrix_id: Mapped[str] = mapped_column(ForeignKey("matrices.id", ondelete="CASCADE"))
    device: Mapped[str] = mapped_column(String(60))
    kernel: Mapped[str] = mapped_column(Text)
    cache: Mapped[str] = mapped_column(String(8))
    state: Mapped[str] = mapped_column(String(16))
    #: the whole record as JSON, without the samples
    record: Mapped[dict[str, Any]] = mapped_column()
    samples_s: Mapped[list[Any]] = mapped_column(default=list)
    created_at: Mapped[float] = mapped_column(Float)


class TraceRow(Base):
    """Committed Trace, unique by (job, case), in the same transaction as its Measurement."""

    __tablename__ = "traces"
    __table_args__ = (UniqueConstraint("job_id", "case_key"),)

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    case_key: Mapped[str] = mapped_column(Text)
    record: Mapped[dict[str, Any]] = mapped_column()


class DeviceRow(Base):
    """Device that a dispatcher offers, and its measured bandwidth."""

    __tablename__ = "devices"

    id: Mapped[str] = mapped_column(String(60), primary_key=True)
    #: DeviceInfo as JSON
    info: Mapped[dict[str, Any]] = mapped_column(default=dict)
    #: DeviceProfile as JSON; empty until measured
    profile: Mapped[dict[str, Any]] = mapped_column(default=dict)
    #: uuid of the dispatcher process that offers it, or did last
    owner: Mapped[str] = mapped_column(String(36), default="", server_default="")
    #: when its dispatcher was last heard of
    seen_at: Mapped[float] = mapped_column(Float)


class EngineFaultRow(Base):
    """Worker that cannot run jobs because its engine does not start; the row is deleted when it does."""

    __tablename__ = "engine_faults"

    #: names the worker: the sha256 of its host and home
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    #: name of its host, for people
    host: Mapped[str] = mapped_column(Text)
    #: ids of the devices that it would offer, as far as it knows them
    devices: Mapped[list[Any]] = mapped_column(default=list)
    #: a sentence for people: what failed, and what to do
    reason: Mapped[str] = mapped_column(Text)
    #: starts in a row that have failed
    tries: Mapped[int] = mapped_column(Integer)
    #: when the first of them failed, and the last
    since: Mapped[float] = mapped_column(Float)
    seen_at: Mapped[float] = mapped_column(Float)


class RecordingRow(Base):
    """Reference results of a study on a device that is not available here."""

    __tablename__ = "recordings"

    #: where its file lies: `device/study`
    id: Mapped[str] = mapped_column(String(100), primary_key=True)
    #: of the file that was imported, and of the matrices that a file which only names them was found to be of
    sha256: Mapped[str] = mapped_column(String(64))
    study: Mapped[str] = mapped_column(String(40))
    #: `recorded:h200` …
    device: Mapped[str] = mapped_column(String(60))
    #: DeviceInfo and DeviceProfile of that device as JSON; no profile: empty
    info: Mapped[dict[str, Any]] = mapped_column()
    profile: Mapped[dict[str, Any]] = mapped_column()
    #: when it was measured; 0 where nobody has said
    created_at: Mapped[float] = mapped_column(Float)
    #: whether somebody has imported it; else it came with the release, and goes with it
    imported: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false())


class RecordedResultsRow(Base):
    """Reference results of one matrix. Equal matrices find them by the fingerprint."""

    __tablename__ = "recorded_results"
    __table_args__ = (UniqueConstraint("recording_id", "fingerprint"),)

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    recording_id: Mapped[str] = mapped_column(ForeignKey("recordings.id", ondelete="CASCADE"))
    fingerprint: Mapped[str] = mapped_column(String(64), index=True)
    #: the records as JSON, as they stand in the file
    measurements: Mapped[list[Any]] = mapped_column()
    traces: Mapped[list[Any]] = mapped_column()


class EventRow(Base):
    """Line of the event stream. Ids come from the counter, so that they commit in ascending order."""

    __tablename__ = "events"

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    #: `job:ID` or `matrix:ID`
    topic: Mapped[str] = mapped_column(String(60), index=True)
    #: `progress`, `measurement`, `trace` or `state`
    kind: Mapped[str] = mapped_column(String(12))
    data: Mapped[dict[str, Any]] = mapped_column(default=dict)
    created_at: Mapped[float] = mapped_column(Float)


class EventCounterRow(Base):
    """Only row of the event counter, with the id of the last event."""

    __tablename__ = "event_counter"

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    value: Mapped[int] = mapped_column(BigInteger, default=0)


class TokenRow(Base):
    """Token: its hash, role, expiry, and quotas. Rows of revoked tokens stay."""

    __tablename__ = "tokens"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str] = mapped_column(String(40), unique=True)
    #: sha256 of the token
    hash: Mapped[str] = mapped_column(String(64), unique=True)
    role: Mapped[str] = mapped_column(String(12))
    created_at: Mapped[float] = mapped_column(Float)
    expires_at: Mapped[float | None] = mapped_column(Float)
    revoked_at: Mapped[float | None] = mapped_column(Float)
    #: quotas; null: any number
    uploads_per_day: Mapped[int | None] = mapped_column(BigInteger)
    bytes_per_day: Mapped[int | None] = mapped_column(BigInteger)
    queued_jobs: Mapped[int | None] = mapped_column(BigInteger)
    gpu_seconds_per_day: Mapped[int | None] = mapped_column(BigInteger)
    #: the last day, since 1970 in UTC, on which it uploaded, and what it did then
    day: Mapped[int] = mapped_column(Integer, default=0)
    day_uploads: Mapped[int] = mapped_column(BigInteger, default=0)
    day_bytes: Mapped[int] = mapped_column(BigInteger, default=0)


class SessionRow(Base):
    """Signed-in browser, with the permissions of its token."""

    __tablename__ = "sessions"

    #: sha256 of the cookie
    hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    #: sha256 of the token: also of that of the settings, which has no row
    token_hash: Mapped[str] = mapped_column(String(64), index=True)
    expires_at: Mapped[float] = mapped_column(Float)


class AuditRow(Base):
    """Row of the audit log."""

    __tablename__ = "audit"

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    at: Mapped[float] = mapped_column(Float, index=True)
    #: name of the token; empty: somebody whom no token made known
    who: Mapped[str] = mapped_column(String(40), index=True)
    #: method and path of a call, or the command
    action: Mapped[str] = mapped_column(String(200))
    #: the resource that the answer names
    target: Mapped[str] = mapped_column(String(200))
    #: of the caller; empty on the host
    address: Mapped[str] = mapped_column(String(60))
    #: HTTP status of the answer
    status: Mapped[int] = mapped_column(Integer)
