"""The predicted answer: what the forecasts of conversions make of it."""

import re
from collections.abc import Callable, Mapping

import pytest

from gpu_engine.advisor.gpus import FITTED
from gpu_engine.findings.formats.conversion_forecast import ConversionForecast, predicted_costs
from gpu_engine.findings.formats.csr_kernels import keeps_csr
from gpu_engine.findings.formats.for_n import total_s
from gpu_engine.matrices.features import features
from server.predictors import Predictor
from tests.battery import BATTERY
from tests.web.conftest import sample_matrix, words
from web.matrix_contexts import AnswerCard
from web.views.matrix_answer import time_text
from web.views.matrix_devices import DeviceOption
from web.views.matrix_kernels import pictured_kernels, predicted_dots
from web.views.matrix_prediction import named_kernels, predicted_card, predicted_times

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
    assert len(answer.under) == 3


def forecasts_of(times: Mapping[str, float], known: Callable[[str], bool]) -> dict[str, ConversionForecast]:
    """Forecasts of the known kernels: a kernel that keeps CSR needs no conversion, others 100 or more of its SpMVs."""
    return {
        kernel: NOTHING if keeps_csr(kernel) else ConversionForecast(*(factor * time_s for factor in (300, 100, 900)))
        for kernel, time_s in times.items()
        if known(kernel)
    }


@pytest.mark.parametrize("kind", ["power_law", "band", "identity", "one_dense_row", "around_a_block", "fully_dense"])
@pytest.mark.parametrize("n", [1, 50, 500, 10**6])
@pytest.mark.parametrize("known", [lambda _: True, lambda kernel: kernel != "split/tile", lambda _: False])
def test_sentence_chart_and_storage_agree_for_n(kind: str, n: int, known: Callable[[str], bool]) -> None:
    matrix = features(BATTERY[kind]())
    predictor = Predictor(FITTED)
    times = predicted_times(predictor, matrix)
    forecasts = forecasts_of(times, known)
    costs = predicted_costs(times, forecasts)
    answer = predicted_card(predictor, matrix, H200, n, forecasts)
    assert answer
    dots = predicted_dots(predictor, times, costs, n)
    names = [row.name for row in dots.rows]
    assert len({*names}) == len(names)
    mentioned = {kernel for kernel in times for text in (answer.sentence, *answer.under) if kernel in text.split()}
    mentioned |= {kernel for kernel in times if f"{kernel}:" in answer.sentence or f"over {kernel}." in answer.sentence}
    assert answer.kernel in mentioned
    assert mentioned <= {*names}
    assert any(keeps_csr(name) for name in names)
    assert {*named_kernels(times, costs, n)} <= {*names}
    if costs:
        assert names[0] == answer.kernel, "the least time for n SpMVs is the answer"
        assert dots.rows[0].values[0].text == time_text(min(total_s(cost, n) for cost in costs))
    table = {advice.kernel for advice in predictor.advise(matrix, pictured_kernels(times, costs, n))}
    assert mentioned <= {*names} <= table
    near = [int(number) for number in re.findall(r"\d+", dots.note.replace("20", ""))]
    assert near[-1] <= len(names)
    assert "MB" in answer.under[-2] or "kB" in answer.under[-2]
