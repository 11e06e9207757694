"""The answer on a matrix on a device, without its running jobs: measured, else predicted, else why there is none."""

from sqlalchemy.orm import Session

from server.models import MatrixRow
from server.predictors import Predictor
from web import problem_hints
from web.matrix_contexts import AnswerCard
from web.views.matrix_answer import measured_card, unknown_card
from web.views.matrix_conversion import forecasts_for
from web.views.matrix_devices import DeviceOption
from web.views.matrix_prediction import predicted_card
from web.views.matrix_results import Measured


def answer_card(
    session: Session,
    row: MatrixRow,
    device: DeviceOption,
    n: int,
    measured: Measured | None,
    predictor: Predictor | None,
) -> AnswerCard:
    """Return the answer for n SpMVs; measured: results on the device, predictor: the performance model for it."""
    if measured and measured.decision:
        return measured_card(measured.decision, device, measured.when, measured.busy)
    predicted = prediction_card(session, row, device, n, predictor)
    return predicted or unknown_card(row, device, problem_hints.problem_text(row.error))


def prediction_card(
    session: Session, row: MatrixRow, device: DeviceOption, n: int, predictor: Predictor | None
) -> AnswerCard | None:
    """Return the answer from the performance model; None if it cannot predict the matrix."""
    if predictor is None or not predictor.advise(row.features):
        return None
    return predicted_card(predictor, row.features, device, n, forecasts_for(session, predictor.gpu, row))
