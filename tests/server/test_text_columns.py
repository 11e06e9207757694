"""Columns of a limited length, which Postgres alone enforces: each has its limit in the code too."""

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import String, Text, select

from gpu_engine.custom_kernels.sources import KERNEL_MAX, parse_reference
from gpu_engine.errors import ParameterError
from gpu_engine.recordings import files as recordings
from gpu_engine.recordings.files import DEVICE_MAX
from gpu_engine.records import CACHES, STATES, Case, MatrixInfo, Measurement, Trace
from gpu_engine.studies import STUDIES
from server import audit, import_recordings, matrix_sets, tokens
from server.catalogue import NAME_MAX
from server.db import Database
from server.devices import RECORDED
from server.jobs import lease as leases
from server.jobs import queue
from server.jobs.lease import MESSAGE_MAX, Lease
from server.jobs.queue import JobRequest
from server.models import Base, JobRow, JobState, MatrixRow, MatrixState, MeasurementRow
from server.roles import Role
from server.settings import Settings
from tests.samples.recording import sample
from tests.server.jobs.conftest import add_rows
from tests.server.jobs.fake_study import CPU, FakeDetails, FakeStudy

SHA256, UUID, HEX = 64, 36, 32
HOST = next(rule.max_length for rule in Settings.model_fields["host_name"].metadata if hasattr(rule, "max_length"))
DEVICE = max(HOST + len("/cuda:all"), HOST + len("/cluster"), len(RECORDED) + DEVICE_MAX)
STUDY = max(len(study.name) for study in STUDIES)
TOKEN = 40
LONGEST = {
    "matrices.id": max(16, len("recorded-") + 16),
    "matrices.name": NAME_MAX,
    "matrices.state": max(map(len, MatrixState)),
    "matrices.sha256": SHA256,
    "matrices.fingerprint": SHA256,
    "matrix_sets.id": matrix_sets.ID_DIGITS,
    "matrix_sets.name": NAME_MAX,
    "jobs.id": HEX,
    "jobs.study": STUDY,
    "jobs.device": DEVICE,
    "jobs.state": max(map(len, JobState)),
    "jobs.owner": UUID,
    "jobs.message": MESSAGE_MAX,
    "jobs.retry_of": HEX,
    "jobs.idempotency_key": queue.KEY_MAX,
    "jobs.request_sha256": SHA256,
    "jobs.token_id": 16,
    "case_deaths.job_id": HEX,
    "measurements.job_id": HEX,
    "measurements.matrix_id": HEX,
    "measurements.device": DEVICE,
    "measurements.cache": max(map(len, CACHES)),
    "measurements.state": max(map(len, STATES)),
    "traces.job_id": HEX,
    "devices.id": DEVICE,
    "devices.owner": UUID,
    "engine_faults.id": SHA256,
    "recordings.id": DEVICE_MAX + 1 + STUDY,
    "recordings.sha256": SHA256,
    "recordings.study": STUDY,
    "recordings.device": len(RECORDED) + DEVICE_MAX,
    "recorded_results.recording_id": DEVICE_MAX + 1 + STUDY,
    "recorded_results.fingerprint": SHA256,
    "events.topic": len("matrix:") + HEX,
    "events.kind": len("measurement"),
    "tokens.id": 16,
    "tokens.name": TOKEN,
    "tokens.hash": SHA256,
    "tokens.role": max(map(len, Role)),
    "sessions.hash": SHA256,
    "sessions.token_hash": SHA256,
    "audit.who": max(TOKEN, len(tokens.HOST)),
    "audit.action": max(audit.TEXT_MAX, len("token add  --role ") + TOKEN + max(map(len, Role))),
    "audit.target": audit.TEXT_MAX,
    "audit.address": audit.ADDRESS_MAX,
}
"""The longest text that the service writes to a column, by the limit that keeps it so."""


def test_every_limited_column_holds_the_longest_text_that_it_can_get() -> None:
    limited = {
        f"{table.name}.{column.name}": column.type.length
        for table in Base.metadata.tables.values()
        for column in table.columns
        if isinstance(column.type, String) and not isinstance(column.type, Text)
    }
    assert limited.keys() == LONGEST.keys()
    assert {name: length for name, length in limited.items() if length < LONGEST[name]} == {}


def test_a_kernel_with_a_long_name_is_measured_on_either_database(either_database: Database) -> None:
    """A custom kernel's name has any length up to its limit; so has the case, whose key has it."""
    add_rows(either_database)
    kernel, axes = f"custom:{'x' * (KERNEL_MAX - 10)}/{'y' * 5}", tuple((f"axis{n}", "z" * 30) for n in range(9))
    case = Case("a" * 32, kernel, "warm", axes)
    with either_database.write() as session:
        row = JobRow(id="j", study="fake", device="cpu", state=JobState.RUNNING, attempt=1, cases_total=1)
        row.matrix_ids, row.created_at = ["a" * 32], 1.0
        session.add(row)
    lease = Lease("j", 1)
    assert len(case.key) > 400
    died = leases.died(either_database, lease, case.key)
    assert died is not None
    measurement = Measurement.of(case, "cpu", FakeDetails, median_s=1.0)
    assert leases.measured(either_database, died, measurement, Trace(case.key, {"residual": (1.0,)}))
    with either_database.read() as session:
        found = session.scalars(select(MeasurementRow)).one()
    assert (found.kernel, found.case_key) == (kernel, case.key)


class LongNames(FakeStudy):
    """A kernel with a name beyond any."""

    def cases(self, params: Any, matrices: Any, device: Any) -> Any:
        return (Case(matrix.id, "fake/" + "k" * queue.CASE_KEY_BYTES, "warm") for matrix in matrices)


def test_a_case_whose_key_no_index_takes_is_refused_before_it_is_measured() -> None:
    matrix, study = MatrixInfo("a" * 32, "a", 1, 1, 1), LongNames()
    with pytest.raises(ParameterError, match="would exceed 2000 bytes"):
        queue._job(JobRequest("fake", (matrix.id,)), study, study.Params(), CPU, [matrix])


def test_a_custom_kernel_with_too_long_a_name_is_refused_before_it_is_measured() -> None:
    assert parse_reference(f"{'x' * 90}.py:VECTOR").kernel == f"custom:{'x' * 90}/vector"
    with pytest.raises(ParameterError, match=f"the limit is {KERNEL_MAX}"):
        parse_reference(f"{'x' * KERNEL_MAX}.py:VECTOR")


def test_a_recorded_matrix_has_a_name_that_either_database_takes(either_database: Database) -> None:
    recording = sample()
    first, *others = recording.matrices
    named = replace(recording, matrices=(replace(first, name="a\n b" + "c" * 190), *others))
    import_recordings.take(either_database, recordings.dump(named, "it"), "node7")
    with either_database.read() as session:
        names = set(session.scalars(select(MatrixRow.name)))
    assert "a b" + "c" * 190 in names


def test_an_address_from_a_proxys_header_is_cut(either_database: Database) -> None:
    """A row of the audit log that a database refuses would be an act without a trace."""
    log = audit.Audit(None, either_database)  # type: ignore[arg-type]
    scope = {"method": "POST", "path": "/x", "client": ("9" * 500, 1)}
    log._note(scope, None, "", 200)
    with either_database.read() as session:
        (row,) = audit.list_audit(session).items
    assert row.address == "9" * audit.ADDRESS_MAX
