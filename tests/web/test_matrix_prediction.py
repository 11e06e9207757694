"""The predicted answer: what the forecasts of conversions make of it."""

import re

import pytest

from gpu_engine.advisor.gpus import FITTED
from gpu_engine.findings.formats.conversion_forecast import ConversionForecast
from gpu_engine.matrices.features import features
from server.predictors import Predictor
from tests.web.conftest import sample_matrix, words
from web.matrix_contexts import AnswerCard
from web.views.matrix_devices import DeviceOption
from web.views.matrix_prediction import predicted_card, predicted_times

H200 = DeviceOption("H200", "H200", FITTED)
TIMES = predicted_times(Predictor(FITTED), features(sample_matrix()))
FIRST = next(iter(TIMES))
CSR = next(kernel for kernel in TIMES if kernel.startswith("csr/"))
SAVED = TIMES[CSR] - TIMES[FIRST]
NOTHING = ConversionForecast(0.0, 0.0, 0.0)


def card(n: int, pays_after: tuple[float, float] | None) -> AnswerCard:
    """The answer where the conversion to the first kernel pays after so many SpMVs; None: nothing is known of it."""
    forecasts = {}
    if pays_after:
        low, high = (number * SAVED for number in pays_after)
        forecasts = {CSR: NOTHING, FIRST: ConversionForecast((low * high) ** 0.5, low, high)}
    answer = predicted_card(Predictor(FITTED), features(sample_matrix()), H200, n, forecasts)
    assert answer
    assert len(answer.sentence.split()) <= 25
    return answer


def numbers(text: str) -> list[int]:
    return [int(each.replace(" ", "").replace(",", "")) for each in re.findall(r"\d[\d ,]*\d|\d", words(text))]


def test_a_conversion_that_does_not_pay_keeps_csr() -> None:
    assert FIRST != CSR
    few = card(200, (900, 1600))
    assert few.kernel == CSR
    assert CSR in few.sentence
    assert FIRST in few.under[0]
    assert 1200 in numbers(few.under[0])


def test_a_conversion_that_pays_says_after_how_many() -> None:
    many = card(5000, (900, 1600))
    assert many.kernel == FIRST
    assert FIRST in many.sentence
    assert {900, 1600} <= {*numbers(many.under[0].replace("–", "; "))}


@pytest.mark.parametrize("n", [1, 10**9])
def test_without_a_forecast_it_says_what_a_conversion_may_cost(n: int) -> None:
    answer = card(n, None)
    assert answer.kernel == FIRST
    assert len(answer.under) == 2
