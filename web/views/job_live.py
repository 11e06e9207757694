"""What a queued or running job does now: its race, its phases, and one sentence."""

from collections.abc import Mapping

from sqlalchemy.orm import Session

from gpu_engine.advisor import can_advise, rank
from gpu_engine.advisor.gpus import gpu_named
from gpu_engine.errors import SparsightError
from gpu_engine.parameters import parse_params
from gpu_engine.records import Case
from gpu_engine.sampling.messages import CHECKING, round_of
from gpu_engine.studies import study as find_study
from gpu_engine.studies.base import Study
from gpu_engine.studies.formats import FormatsStudy
from server import devices, results
from server.jobs.matrices import ready_matrices
from server.models import DeviceRow, JobRow, JobState, MatrixRow
from web.figures.base import shorten
from web.job_contexts import LiveJob, Phase
from web.race import LiveCases, Race, live_race, states
from web.views.job_answer import NAME_MAX
from web.views.measure import settings_of

UNCHECKED = ("waiting", "checking")
UNDECIDED = ("provisional", "checked", *UNCHECKED)
"""States of rows that are not checked yet, and of rows without a final time."""


def live_job(session: Session, row: JobRow) -> LiveJob | None:
    """Return what a queued or running job does; None if its matrix was deleted."""
    study = find_study(row.study)
    plan = _plan(session, row, study)
    matrix = session.get(MatrixRow, _current_matrix(session, row, plan))
    if matrix is None:
        return None
    measured = results.measurements(session, (row.id,), (matrix.id,)) if row.cases_done else []
    cases = LiveCases(
        plan=tuple(case for case in plan if case.matrix_id == matrix.id),
        interim=row.interim,
        times={m.case: m.median_s for m in measured},
        predicted=_predicted(session, row, matrix),
        current=row.current_case,
        checking=row.message.startswith(CHECKING),
        sampling=round_of(row.message) is not None,
    )
    race = live_race(cases, "per SpMV" if study.details().is_one_product else "time")
    number = f" ({row.matrix_ids.index(matrix.id) + 1} of {len(row.matrix_ids)})" if len(row.matrix_ids) > 1 else ""
    sentence = _sentence(row, shorten(matrix.name, NAME_MAX), race)
    return LiveJob(
        matrix.id,
        f"{matrix.name}{number}",
        _stage(row),
        sentence,
        _phases(row, race),
        race,
        _waiting(session, row, matrix.id),
    )


def _waiting(session: Session, row: JobRow, current: str) -> tuple[str, ...]:
    """Return the names of the matrices of a running job without a result, except the current one."""
    if row.state != JobState.RUNNING or len(row.matrix_ids) == 1:
        return ()
    begun = {current, *results.cases_by_matrix(session, row.id)}
    known = results.matrix_features(session, [each for each in row.matrix_ids if each not in begun])
    return tuple(shorten(matrix.name, NAME_MAX) for matrix in known.values())


def _plan(session: Session, row: JobRow, study: Study) -> tuple[Case, ...]:
    """Return all cases of a job in order; none if its matrices, device, or parameters are gone."""
    device = session.get(DeviceRow, row.device)
    if device is None:
        return ()
    try:
        params = parse_params(study.Params, settings_of(row))
        return tuple(study.cases(params, ready_matrices(session, row.matrix_ids), devices.device_info(device)))
    except SparsightError:
        return ()


def _current_matrix(session: Session, row: JobRow, plan: tuple[Case, ...]) -> str:
    """Return the id of the matrix that is measured, or of the next one."""
    key = str(row.interim[0]["case"]) if row.interim else row.current_case
    if key:
        return Case.parse(key).matrix_id
    counts = results.cases_by_matrix(session, row.id) if row.cases_done else {}
    for case in plan:
        counts[case.matrix_id] = counts.get(case.matrix_id, 0) - 1
    return next((matrix for matrix in row.matrix_ids if counts.get(matrix, 0) < 0), str(row.matrix_ids[0]))


def _predicted(session: Session, row: JobRow, matrix: MatrixRow) -> Mapping[str, float]:
    """Return the predicted seconds of each kernel, the shortest first; none for an unknown device."""
    device = session.get(DeviceRow, row.device)
    gpu = gpu_named(devices.device_info(device).name) if device is not None and row.study == FormatsStudy.name else None
    features = matrix.features or {}
    if gpu is None or not can_advise(features):
        return {}
    return {kernel: prediction.seconds for kernel, prediction in rank(features, gpu, "warm")}


def _stage(row: JobRow) -> str:
    if row.state == JobState.QUEUED:
        return ""
    if current := round_of(row.message):
        return f"round {current[0]} of {current[1]}"
    return "checking" if row.message.startswith(CHECKING) else "starting"


def _sentence(row: JobRow, matrix: str, race: Race) -> str:
    """Return what the job does, or who leads so far."""
    counts = states(race)
    number = counts.total()
    kernels = {each.kernel.partition(" ")[0] for each in (*race.rows, *race.folded)}
    noun = f"{number} {'kernel' if len(kernels) == number else 'case'}{'s' if number != 1 else ''}"
    if row.state == JobState.QUEUED:
        return f"Waits for its turn; then {noun} on {matrix} will be checked and timed."
    timed = next((each for each in race.rows if each.state in ("provisional", "settled")), None)
    if timed is not None:
        undecided = sum(counts[state] for state in UNDECIDED)
        rest = f"{undecided} of {number} are undecided" if undecided else "all are decided"
        return f"{timed.kernel} is the fastest so far on {matrix}, with {timed.time}; {rest}."
    if round_of(row.message):
        return f"The first round runs on {matrix}; times come after it."
    if row.message.startswith(CHECKING):
        return f"Checking the results of {noun} on {matrix}; times come next."
    return f"Preparing {matrix}; then {noun} will be checked and timed."


def _phases(row: JobRow, race: Race) -> tuple[Phase, ...]:
    counts, current = states(race), round_of(row.message)
    total = max(counts.total(), 1)
    checked = total - sum(counts[state] for state in UNCHECKED)
    round_share, note = (current[0] / current[1], f"round {current[0]} of {current[1]}") if current else (0.0, "")
    return (
        Phase("Checking", checked / total, f"{checked} of {total} checked"),
        Phase("Provisional", round_share, note or "waits for the checks"),
        Phase("Settled", counts["settled"] / total, f"{counts['settled']} of {total} settled"),
    )
