"""Answers on the matrices that were added last, with the sentences of their own pages."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from gpu_engine.text import units
from server import first_start, recorded_results
from server.jobs import queue
from server.models import JobState, MatrixRow, MatrixState
from web.home_contexts import LastAnswer, LastAnswers, Question
from web.matrix_contexts import AnswerCard
from web.views.matrix_card import answer_card
from web.views.matrix_devices import DeviceOption, choose, device_options
from web.views.matrix_results import Measured, measured_on

ANSWERS = 3
OF_YOURS, OF_SAMPLES = "Your last answers", "Sample matrices"


def last_answers(session: Session, question: Question) -> LastAnswers:
    """Return the answers on the newest matrices that are not reference matrices."""
    newest = select(MatrixRow).where(MatrixRow.state != MatrixState.RECORDED)
    rows = session.scalars(newest.order_by(MatrixRow.created_at.desc(), MatrixRow.id).limit(ANSWERS)).all()
    active = (queue.list_jobs(session, state=state).items for state in (JobState.QUEUED, JobState.RUNNING))
    states = {matrix_id: job.state for jobs in active for job in jobs for matrix_id in job.matrix_ids}
    samples = [row for row in rows if first_start.is_sample(row.source)]
    return LastAnswers(
        OF_SAMPLES if samples and len(samples) == len(rows) else OF_YOURS,
        _job_of_samples(session, samples),
        tuple(_answer(session, row, question, states.get(row.id, "")) for row in rows),
    )


def _job_of_samples(session: Session, samples: Sequence[MatrixRow]) -> str:
    """Return who queued the job of the sample matrices; empty without one."""
    jobs = (job for row in samples for job in queue.list_jobs(session, matrix_id=row.id).items)
    return next((job.note for job in jobs if job.note == first_start.NOTE), "")


def _answer(session: Session, row: MatrixRow, question: Question, job_state: str) -> LastAnswer:
    device, measured = _device(session, row, question)
    card = _card(session, row, device, question.n, measured)
    size = f"{units.count(row.n_rows)} rows, {units.count(row.nnz)} nonzeros" if row.features else ""
    state, text = ("running", f"● {job_state}") if job_state else (card.state.look, card.state.text)
    href = f"/matrices/{row.id}{question.query(device.value if device.is_measured else question.device)}"
    return LastAnswer(row.name, href, state, text, size, card.sentence)


def _device(session: Session, row: MatrixRow, question: Question) -> tuple[DeviceOption, Measured | None]:
    """Return the device of the question, or one of this server if only that measured the matrix without noise.

    The results of the device come with it; None without any.
    """
    options = device_options(session, row.id)
    chosen = choose(session, options, question.device)
    here = [each for each in options if each.is_measured and not recorded_results.is_recorded(each.value)]
    for device in (chosen,) if chosen.is_measured else here:
        measured = measured_on(session, row.id, device, question.n, "")
        if device == chosen or (measured and not measured.busy):
            return device, measured
    return chosen, None


def _card(session: Session, row: MatrixRow, device: DeviceOption, n: int, measured: Measured | None) -> AnswerCard:
    if row.state != MatrixState.READY:
        return answer_card(session, row, device, n, None, None)
    return answer_card(session, row, device, n, measured, device.predictor(session))
