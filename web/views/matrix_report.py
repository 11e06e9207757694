"""The answer of the page of a matrix, as a report of its results says it."""

from sqlalchemy.orm import Session

from server import catalogue
from web.explore import ExploreAnswer
from web.matrix_contexts import AnswerCard, SolveCard
from web.results import Results
from web.studies.answers.formats_settings import ITERATIONS_PARAMETER, SPMVS_PARAMETER, spmvs
from web.studies.formats import FORMATS
from web.views.matrix_answer import measured_card
from web.views.matrix_devices import choose, device_options
from web.views.matrix_kernels import lines_of
from web.views.matrix_results import measured_on
from web.views.matrix_solve import solve_card


def answer_for_n(session: Session, results: Results) -> ExploreAnswer | None:
    """Return the answer for the numbers in the address; None if they are not about all kernels of one matrix."""
    chosen, requested = results.selection, dict(results.requested.study_values)
    one = all(len(each) == 1 for each in (chosen.matrix, chosen.device, chosen.cache))
    is_part = chosen.job or chosen.kernel or chosen.op or chosen.reproducible or chosen.baseline
    if results.study != FORMATS.name or SPMVS_PARAMETER.name not in requested or not one or is_part:
        return None
    row = catalogue.get_matrix(session, chosen.matrix[0])
    device = choose(session, device_options(session, row.id), chosen.device[0])
    measured = measured_on(session, row.id, device, spmvs(results.data), chosen.cache[0])
    if measured is None or measured.decision is None or measured.cache != chosen.cache[0]:
        return None
    card = measured_card(measured.decision, device, measured.when, measured.busy)
    iterations = results.data.number(ITERATIONS_PARAMETER.name)
    predictor = device.predictor(session)
    solve = solve_card(session, row, device, iterations, measured, predictor) if iterations else None
    lines = None if measured.busy else lines_of(measured.decision)
    return ExploreAnswer(f"{row.name} · {card.when}", card.sentence, _under(card, solve), (lines,) if lines else ())


def _under(card: AnswerCard, solve: SolveCard | None) -> tuple[str, ...]:
    """Return the sentences below that of the SpMVs; those of the solve follow."""
    of_solve = (solve.sentence, *solve.under) if solve else ()
    return tuple(sentence for sentence in (*card.under, *of_solve) if sentence)
