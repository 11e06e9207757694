"""The prediction on the page of a matrix."""

import re

import pytest
from fastapi.testclient import TestClient

from gpu_engine.advisor import advise, is_sure, rank
from gpu_engine.advisor.gpus import FITTED, GPUS, Gpu, gpu_named
from gpu_engine.advisor.sureness import LIMITS, unfamiliar
from gpu_engine.matrices.features import features
from gpu_engine.text.tables import Table
from gpu_engine.text.units import count, seconds
from server import predictors
from server.models import JobRow, JobState, MatrixRow
from server.predictors import Predictor
from tests.samples.formats import timed
from tests.web.conftest import GPU, ON_GPU, Lab, add_job, get, sample_matrix, words
from web.views.matrix_prediction import basis_text, confidence_text

CSR = "csr/smart"
"""Kernel of CSR with the least predicted time, which the answer compares with."""


def advice_of(client: TestClient, matrix: str) -> Table | None:
    """The table of predictions on the page of a matrix, of the GPU of the lab."""
    advice: Table | None = get(client, f"/matrices/{matrix}?device={GPU.id}").context["advice"]
    return advice


def kernels(client: TestClient, matrix: str) -> list[str]:
    table = advice_of(client, matrix)
    return [row[0] for row in table.rows] if table else []


def test_five_kernels_with_their_times_and_reasons(client: TestClient, lab: Lab) -> None:
    table = advice_of(client, lab.matrix)
    assert table
    newest = [gpu.name for gpu in reversed(GPUS)]
    assert [head.text for head in table.heads[1:6]] == [name.partition("-")[0] for name in newest]
    assert table.rows == tuple(
        (
            advice.kernel,
            *(seconds(advice.predicted_s[name]) for name in newest),
            str(advice.cold_place),
            advice.reason,
        )
        for advice in advise(features(sample_matrix()), also=[CSR])
    )


def test_the_prediction_is_the_answer_until_something_is_measured(client: TestClient, lab: Lab) -> None:
    page = get(client, f"/matrices/{lab.hostile}?device={GPU.id}&n=40")
    card, dots = page.context["card"], page.context["pictures"].dots
    advised = advise(features(sample_matrix()))
    assert card.state.look == "predicted"
    assert advised[0].kernel in card.sentence
    assert seconds(advised[0].predicted_s["H200"]) in card.sentence
    assert any("40 SpMVs" in words(sentence) for sentence in card.under)
    assert [row.name for row in dots.rows] == [*(advice.kernel for advice in advised), CSR]
    assert f"speedup over {CSR}" in re.sub(r"speedup \S+ \S over", "speedup over", words(card.sentence))
    assert {dot.is_hollow for row in dots.rows for dot in row.dots} == {True}


@pytest.mark.parametrize("gpu", GPUS, ids=[gpu.name for gpu in GPUS])
def test_only_on_what_predictions_were_judged_on_the_first_is_taken_unmeasured(gpu: Gpu) -> None:
    large = {**features(sample_matrix()), "n_rows": 10**6, "nnz": 10**7, "ave": 10.0, "sigma": 1.0, "max": 12}
    text = confidence_text(Predictor(gpu), large)
    assert ("High" in text) == (gpu.name in ("H200", "H100-SXM") and is_sure(large))
    small = features(sample_matrix())
    text = confidence_text(Predictor(gpu), small)
    assert "Low" in text
    assert unfamiliar(small) == "nonzeros"
    assert re.findall(r"\d[\d,]*\d", text) == [count(small["nnz"]), count(LIMITS["nonzeros"].least)]
    wide = large | {"n_cols": 10**7}
    assert re.findall(r"\d+", confidence_text(Predictor(gpu), wide)) == ["10", "2"]


def test_it_says_what_was_learned_of_a_device() -> None:
    assert [re.findall(r"\d+", basis_text(Predictor(FITTED, {}, number))) for number in (0, 1, 3)] == [[], ["1"], ["3"]]


def test_what_was_measured_on_the_card_calibrates_the_page_until_it_is_deleted(client: TestClient, lab: Lab) -> None:
    before = advice_of(client, lab.matrix)
    (first, *_) = kernels(client, lab.matrix)
    on_card = {"device": GPU.name}
    others = ("csr/vector", "csr/scalar", "split/tile")
    measured = [timed(first, 1e-3, device=GPU.id, environment=on_card)]
    measured += [timed(kernel, 1e-6, device=GPU.id, environment=on_card) for kernel in others]
    add_job(lab.database, "j8", GPU.id, JobState.SUCCEEDED, measured)
    with lab.database.read() as session:
        advised = predictors.of_service(session).advise(features(sample_matrix()))
    assert kernels(client, lab.matrix)[: len(advised)] == [advice.kernel for advice in advised]
    assert advised[0].kernel != first
    document = client.get(f"/api/v1/matrices/{lab.matrix}").json()
    listed = client.get("/api/v1/matrices").json()["items"]
    assert document["advice"][0]["kernel"] == advised[0].kernel
    assert document in listed
    with lab.database.write() as session:
        session.delete(session.get(JobRow, "j8"))
    assert advice_of(client, lab.matrix) == before


def test_what_another_card_of_the_same_id_measured_calibrates_nothing(client: TestClient, lab: Lab) -> None:
    before = advice_of(client, lab.matrix)
    other = {"device": "NVIDIA H100 80GB HBM3"}
    add_job(
        lab.database, "j8", GPU.id, JobState.SUCCEEDED, [timed("csr/vector", 1.0, device=GPU.id, environment=other)]
    )
    assert advice_of(client, lab.matrix) == before


def test_features_from_before_are_no_error(client: TestClient, lab: Lab) -> None:
    with lab.database.write() as session:
        row = session.get(MatrixRow, lab.matrix)
        assert row
        row.features = {name: row.features[name] for name in ("ave", "sigma", "max", "min")}
    page = get(client, f"/matrices/{lab.matrix}?device=V100")
    assert (page.context["advice"], page.context["card"].state.look) == (None, "")


def test_a_matrix_that_is_still_read_has_no_prediction(client: TestClient, lab: Lab) -> None:
    assert advice_of(client, lab.matrix)
    page = get(client, f"/matrices/{lab.ingesting}")
    assert (page.context["advice"], page.context["card"].state.look) == (None, "running")


def test_what_was_measured_on_a_gpu_judges_what_was_predicted_of_it(client: TestClient, lab: Lab) -> None:
    gpu = gpu_named(ON_GPU)
    assert gpu
    predicted = {kernel: found.seconds for kernel, found in rank(features(sample_matrix()), gpu)}
    first = min(("csr/vector", "coo/segmented", "csr/scalar"), key=lambda kernel: predicted[kernel])
    page = get(client, f"/matrices/{lab.matrix}?device={GPU.id}")
    (said,) = page.context["regret"]
    assert said.startswith(f"On {ON_GPU}, warm, ")
    assert f", {first}, " in said
    assert words(said) in words(page.text)
    assert get(client, f"/matrices/{lab.hostile}?device=cpu").context["regret"] == ()
