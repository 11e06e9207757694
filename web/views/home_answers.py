"""Answers on the matrices that were added last, with the sentences of their own pages."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from gpu_engine.text import units
from server import recorded_results
from server.jobs import queue
from server.models import JobState, MatrixRow, MatrixState
from web.home_contexts import LastAnswer, Question
from web.matrix_contexts import AnswerCard
from web.views.matrix_card import answer_card
from web.views.matrix_devices import DeviceOption, choose, device_options
from web.views.matrix_results import measured_on

ANSWERS = 3


def last_answers(session: Session, question: Question) -> tuple[LastAnswer, ...]:
    """Return the answers on the newest matrices that are not reference matrices."""
    newest = select(MatrixRow).where(MatrixRow.state != MatrixState.RECORDED)
    rows = session.scalars(newest.order_by(MatrixRow.created_at.desc(), MatrixRow.id).limit(ANSWERS)).all()
    active = (queue.list_jobs(session, state=state).items for state in (JobState.QUEUED, JobState.RUNNING))
    states = {matrix_id: job.state for jobs in active for job in jobs for matrix_id in job.matrix_ids}
    return tuple(_answer(session, row, question, states.get(row.id, "")) for row in rows)


def _answer(session: Session, row: MatrixRow, question: Question, job_state: str) -> LastAnswer:
    device = _device(session, row, question)
    card = _card(session, row, device, question.n)
    size = f"{units.count(row.n_rows)} rows, {units.count(row.nnz)} nonzeros" if row.features else ""
    state, text = ("running", f"● {job_state}") if job_state else (card.state.look, card.state.text)
    href = f"/matrices/{row.id}{question.query(device.value if device.is_measured else question.device)}"
    return LastAnswer(row.name, href, state, text, size, card.sentence)


def _device(session: Session, row: MatrixRow, question: Question) -> DeviceOption:
    """Return the device of the question, or one of this server if only that measured the matrix."""
    options = device_options(session, row.id)
    chosen = choose(session, options, question.device)
    here = (each for each in options if each.is_measured and not recorded_results.is_recorded(each.value))
    return chosen if chosen.is_measured else next(here, chosen)


def _card(session: Session, row: MatrixRow, device: DeviceOption, n: int) -> AnswerCard:
    if row.state != MatrixState.READY:
        return answer_card(session, row, device, n, None, None)
    measured = measured_on(session, row.id, device, n, "") if device.is_measured else None
    return answer_card(session, row, device, n, measured, device.predictor(session))
