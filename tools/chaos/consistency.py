"""Consistency checks after a scenario: answers that clients got, compared with rows, events, and files."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from server.db import Database
from server.ingest import INTERRUPTED
from server.jobs.runner import CRASHES, DEATHS_MAX, LOSSES_MAX
from server.models import (
    TERMINAL,
    Base,
    CaseDeathRow,
    EventRow,
    JobRow,
    MatrixRow,
    MatrixState,
    MeasurementRow,
    TraceRow,
)
from server.settings import Settings

REASONS = (" twice", f"nded {LOSSES_MAX} times")
"""Phrases with which a job or a case says that it crashed too often."""

Kind = Literal["lost", "doubled", "stuck", "wrong"]
Fault = tuple[Kind, str]


@dataclass
class Report:
    """Counts of one scenario, its faults by kind, and their messages."""

    database: str
    service: str
    victim: str
    seed: int
    kills: int = 0
    jobs: int = 0
    failed_jobs: int = 0
    cases: int = 0
    failed_cases: int = 0
    attempts: int = 0
    matrices: int = 0
    events: int = 0
    lost: int = 0
    doubled: int = 0
    stuck: int = 0
    wrong: int = 0
    seconds: float = 0.0
    messages: list[str] = field(default_factory=list)

    def note(self, faults: Iterator[Fault]) -> None:
        """Count faults and keep their messages."""
        for kind, message in faults:
            setattr(self, kind, getattr(self, kind) + 1)
            self.messages.append(f"{kind}: {message}")


def check(report: Report, database: Database, acknowledged: Mapping[str, str], matrices: Mapping[str, int]) -> None:
    """Add the contents of the database and its faults to the report.

    acknowledged  idempotency key → job; matrices  id → status of the answer
    """
    with database.read() as session:
        report.events = session.scalar(select(func.count()).select_from(EventRow)) or 0
        rows = {job.id: job for job in session.scalars(select(JobRow))}
        traced = {rows[job_id].study for job_id in session.scalars(select(TraceRow.job_id).distinct())}
        report.note(_submissions(rows, acknowledged))
        for job in rows.values():
            records = session.scalars(select(MeasurementRow).where(MeasurementRow.job_id == job.id)).all()
            traces = session.scalars(select(TraceRow.case_key).where(TraceRow.job_id == job.id)).all()
            deaths = session.scalars(select(CaseDeathRow).where(CaseDeathRow.job_id == job.id)).all()
            events = session.scalars(
                select(EventRow).where(EventRow.topic == f"job:{job.id}").order_by(EventRow.id)
            ).all()
            report.note((kind, f"job {job.id} {message}") for kind, message in job_faults(job, records, deaths, events))
            report.note(trace_faults(job, records, traces, events, job.study in traced))
            report.cases += len(records)
            report.failed_cases += sum(record.state == "failed" for record in records)
            report.attempts += job.attempt
            report.failed_jobs += job.state == "failed"
        report.note(_matrix_faults(session, matrices))
        report.note(("wrong", f"the database: {message}") for message in _damage(database, session))
    report.jobs, report.matrices = len(rows), len(matrices)


def _submissions(rows: Mapping[str, JobRow], acknowledged: Mapping[str, str]) -> Iterator[Fault]:
    for key, job_id in acknowledged.items():
        if job_id not in rows:
            yield "lost", f"the job {job_id} of the key {key}"
    for job_id in rows.keys() - acknowledged.values():
        if rows[job_id].idempotency_key in acknowledged or rows[job_id].idempotency_key is None:
            yield "doubled", f"the job {job_id} belongs to no client"


def job_faults(
    job: JobRow, records: Sequence[MeasurementRow], deaths: Sequence[CaseDeathRow], events: Sequence[EventRow]
) -> Iterator[Fault]:
    """Yield the faults of one job and its records."""
    keys = Counter(record.case_key for record in records)
    measured = Counter(event.data["measurement"]["case"] for event in events if event.kind == "measurement")
    states = [event.data["state"] for event in events if event.kind == "state"]
    attempts = [event.data["attempt"] for event in events if event.kind == "state"]
    fatal = {row.case_key for row in deaths if row.deaths >= DEATHS_MAX or row.losses >= LOSSES_MAX}
    failed = {record.case_key for record in records if record.state == "failed"}
    ended = states[-1:] if job.state in TERMINAL else []
    if job.state not in TERMINAL:
        yield "stuck", f"is {job.state}"
    if job.state == "failed" and not ("" in fatal and _says_why(job.error.get("detail", ""))):
        yield "wrong", f"has failed: {job.error}; died too often: {fatal}"
    if job.state == "succeeded" and len(keys) < job.cases_total:
        yield "lost", f"has {len(keys)} of {job.cases_total} records"
    if max(keys.values(), default=1) > 1 or len(keys) > job.cases_total or max(measured.values(), default=1) > 1:
        yield "doubled", f"has the records {dict(keys)}, reported {dict(measured)}"
    if measured.keys() != keys.keys():
        yield "lost", f"reported {set(measured)}, has {set(keys)}"
    if failed != fatal & keys.keys() or (job.state == "succeeded" and fatal - {""} - failed):
        yield "wrong", f"has the failed cases {failed}, died too often: {fatal}"
    for record in records:
        if record.state == "failed" and not _says_why(record.record["note"]):
            yield "wrong", f"has a failed case that says {record.record['note']!r}"
    if job.cases_done != len(keys) or (job.state == "succeeded" and job.progress != job.cases_total):
        yield "wrong", f"counts {job.cases_done} cases of {len(keys)}, progress {job.progress}"
    if attempts != sorted(attempts) or [state for state in states if state in TERMINAL] != ended:
        yield "wrong", f"went through {states} in the attempts {attempts}"


def trace_faults(
    job: JobRow, records: Sequence[MeasurementRow], traces: Sequence[str], events: Sequence[EventRow], is_traced: bool
) -> Iterator[Fault]:
    """Yield the faults of the traces of a job: each measured case has one trace and one event."""
    measured = {record.case_key for record in records if record.state == "ok"} if is_traced else set()
    if len(traces) != len(set(traces)):
        yield "doubled", f"job {job.id} has the traces {traces}"
    if set(traces) != measured:
        yield "lost", f"job {job.id} has the traces {traces}, measured {measured}"
    if sorted(event.data["case"] for event in events if event.kind == "trace") != sorted(traces):
        yield "wrong", f"job {job.id} reported other traces than {traces}"


def _says_why(text: str) -> bool:
    return any(reason in text for reason in REASONS)


def _matrix_faults(session: Session, acknowledged: Mapping[str, int]) -> Iterator[Fault]:
    rows = {row.id: row for row in session.scalars(select(MatrixRow))}
    for row in rows.values():
        if row.state == MatrixState.INGESTING:
            yield "stuck", f"the matrix {row.id} is ingesting"
        if row.state == MatrixState.FAILED and row.error.get("detail") != INTERRUPTED:
            yield "wrong", f"the matrix {row.id} has failed: {row.error}"
    for matrix_id, status in acknowledged.items():
        # An answer of 202 is preliminary: the file may still be unreadable.
        if matrix_id not in rows or (status != 202 and rows[matrix_id].state != MatrixState.READY):
            yield "lost", f"the matrix {matrix_id}, answered {status}"


def _damage(database: Database, session: Session) -> Iterator[str]:
    """Yield the integrity errors of the database."""
    if database.engine.dialect.name == "sqlite":
        checks = (session.execute(text(f"PRAGMA {name}")) for name in ("integrity_check", "foreign_key_check"))
        return (str(row) for rows in checks for row in rows if row[0] != "ok")
    # Reads every row, and raises if unique rows are duplicated.
    for table in Base.metadata.sorted_tables:
        session.execute(text(f"REINDEX TABLE {table.name}"))
    return iter(())


def file_faults(settings: Settings, folder: Path, alone: bool) -> Iterator[Fault]:
    """Yield the files that an orderly shutdown should have removed.

    alone  whether the database has one data directory, whose server also cleans the store
    """
    folders = [folder, settings.home / "uploads", settings.home / CRASHES]
    folders += [Path(settings.resolved_store) / ".incoming"] if alone else []
    for each in folders:
        for path in each.iterdir() if each.is_dir() else ():
            yield "wrong", f"{path} was not removed"
