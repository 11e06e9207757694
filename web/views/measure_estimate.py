"""What a job would be: how long it takes, how many cases it has, and which matrices it leaves out."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from gpu_engine.errors import ParameterError
from gpu_engine.records import DeviceInfo, MatrixInfo
from gpu_engine.studies.base import Study, check_device
from gpu_engine.text import units
from server.jobs import estimates, queue
from server.models import JobRow, JobState
from web.device_labels import THIS_CPU, short
from web.forms import Estimate, changed
from web.studies import page_of

CHOOSE = "Choose the matrices to measure."


def device_label(device: DeviceInfo) -> str:
    """Return the name of a device of this server."""
    return THIS_CPU if device.backend == "cpu" else f"{short(device.name)} ({device.id})"


def estimate(
    session: Session, study: Study, params: Any, matrices: Sequence[MatrixInfo], device: DeviceInfo | None
) -> Estimate:
    """Return what a job of these settings would be; device None: none is available."""
    if device is None:
        return Estimate("No device is available yet.")
    if not matrices:
        return Estimate(CHOOSE, _under(params))
    refused = [f"{m.name}: {refusal}" for m in matrices if (refusal := study.refusal(m))]
    count = len(matrices) - len(refused)
    name = page_of(study.name).link
    if not count:
        return Estimate(f"{name} cannot measure {_matrices(len(matrices))}.", notes=tuple(refused))
    expected = _expected(session, study, params, matrices, device)
    if expected is None:
        return Estimate(f"{device_label(device)} does not support these settings.", notes=tuple(refused))
    cases, seconds = expected
    where = "this CPU" if device.backend == "cpu" else device_label(device)
    facts = (
        ("cases", units.count(cases) if cases < queue.CASES_MAX else f"at least {units.count(queue.CASES_MAX)}"),
        ("queue", _queue(session, device)),
        *_last(session, study, device),
    )
    sentence = f"Measure {_matrices(count)} on {where}: about {units.duration(seconds)}."
    return Estimate(sentence, _under(params), facts, tuple(refused))


def expected_time(
    session: Session, study: Study, params: Any, matrices: Sequence[MatrixInfo], device: DeviceInfo
) -> str:
    """Return the estimated run time on a device as text; empty if the device cannot measure any case."""
    expected = _expected(session, study, params, matrices, device)
    return units.duration(expected[1]) if expected else ""


def _matrices(count: int) -> str:
    return "this matrix" if count == 1 else f"{count} matrices"


def _under(params: Any) -> str:
    settings = ", ".join(f"{name}: {value}" for name, value in changed(params))
    return f"{settings[0].upper()}{settings[1:]}." if settings else "All settings are default."


def _expected(
    session: Session, study: Study, params: Any, matrices: Sequence[MatrixInfo], device: DeviceInfo
) -> tuple[int, float] | None:
    """Return the number of cases and the run time in seconds; None if the device cannot measure any case."""
    try:
        check_device(study, device)
        cases = sum(1 for _ in islice(study.cases(params, matrices, device), queue.CASES_MAX))
    except ParameterError:
        return None
    if not cases:
        return None
    expected = estimates.expected(study, params, matrices, device, cases)
    known = estimates.outcomes(session, study, device)
    return cases, estimates.corrected(expected, known) + estimates.compile_s(device, known)


def _queue(session: Session, device: DeviceInfo) -> str:
    """Return how many jobs the device has before a new one."""
    unfinished = JobRow.device == device.id, JobRow.state.in_((JobState.QUEUED, JobState.RUNNING))
    count = session.scalar(select(func.count()).select_from(JobRow).where(*unfinished)) or 0
    return f"{count} {'job' if count == 1 else 'jobs'} before it" if count else "empty"


def _last(session: Session, study: Study, device: DeviceInfo) -> tuple[tuple[str, str], ...]:
    """Return how long the last job of the study took on the device."""
    ended = JobRow.study == study.name, JobRow.device == device.id, JobRow.state == JobState.SUCCEEDED
    job = session.scalars(select(JobRow).where(*ended).order_by(JobRow.finished_at.desc()).limit(1)).first()
    if job is None or job.finished_at is None or job.started_at is None:
        return ()
    count = len(job.matrix_ids)
    took = units.duration(job.finished_at - job.started_at)
    return (("last job there", f"{took}, {count} {'matrix' if count == 1 else 'matrices'}"),)
