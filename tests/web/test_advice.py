"""The prediction on the page of a matrix."""

import re

import pytest
from fastapi.testclient import TestClient

from gpu_engine.advisor import advise, rank
from gpu_engine.advisor.gpus import FITTED, GPUS, Gpu, gpu_named
from gpu_engine.matrices.features import features
from gpu_engine.text.units import ratio, seconds
from server import predictors
from server.models import JobRow, JobState, MatrixRow
from server.predictors import Predictor
from tests.samples.formats import timed
from tests.web.conftest import GPU, ON_GPU, Lab, add_job, get, sample_matrix, words
from web.views.matrices import _confidence_text, _predicted_for


def part(client: TestClient, matrix: str) -> str:
    """The section of the page that predicts."""
    found = re.search(r'<section id="advice".*?</section>', client.get(f"/matrices/{matrix}").text, re.S)
    assert found
    return found[0]


def test_five_kernels_with_their_times_and_reasons(client: TestClient, lab: Lab) -> None:
    text = part(client, lab.matrix)
    advised = advise(features(sample_matrix()))
    assert re.findall(r"<code>(.+?)</code>", text) == [advice.kernel for advice in advised]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", text, re.S)[1:]]
    # Microseconds with three digits of the smallest.
    times = [[f"{seconds * 1e6:.2f}" for seconds in advice.predicted_s.values() if seconds] for advice in advised]
    assert [row[:5] for row in rows] == times
    assert [row[5:] for row in rows] == [[str(advice.cold_place), advice.reason] for advice in advised]
    assert re.findall(r'class="num">(\S+) <span class="unit">µs', text) == [
        "P100",
        "V100",
        "A100-40",
        "H100-SXM",
        "H200",
    ]
    # The measurements of the lab do not say on which card they were made.
    assert "best on the H200. Kernels" in words(text)
    assert "Predicted within 20 % of the fastest: only coo/segmented. Low confidence:" in words(text)


def test_whether_to_measure_is_said_beside_what_is_predicted_close() -> None:
    said = _confidence_text(("a/1", "b/2"), True, FITTED)
    assert "a/1 and b/2. High confidence on the H200" in said
    said = _confidence_text(tuple(f"kernel/{number}" for number in range(9)), False, FITTED)
    assert ": kernel/0, " in said
    assert "and 6 more. Low confidence: the model was calibrated on larger matrices" in said


@pytest.mark.parametrize("gpu", GPUS, ids=[gpu.name for gpu in GPUS])
def test_only_on_what_predictions_were_judged_on_the_first_is_taken_unmeasured(gpu: Gpu) -> None:
    said = _confidence_text(("a/1",), True, gpu)
    if gpu.name in ("H200", "H100-SXM"):
        assert f"High confidence on the {gpu.name[:4]}" in said
    else:
        assert f"Low confidence: the model was never validated on the {gpu.name[:4]}." in said


def test_it_says_for_what_it_predicts_and_what_was_learned_of_it() -> None:
    h100 = next(gpu for gpu in GPUS if gpu.name == "H100-SXM")
    assert _predicted_for(Predictor(h100)) == "the H100"
    assert _predicted_for(Predictor(h100, {}, 1)) == "the H100 (calibrated with 1 measured matrix)"
    assert _predicted_for(Predictor(h100, {}, 3)) == "the H100 (calibrated with 3 measured matrices)"


def test_what_was_measured_on_the_card_calibrates_the_page_until_it_is_deleted(client: TestClient, lab: Lab) -> None:
    before = part(client, lab.matrix)
    (first, *_) = re.findall(r"<code>(.+?)</code>", before)
    on_card = {"device": GPU.name}
    others = ("csr/vector", "csr/scalar", "split/tile")
    measured = [timed(first, 1e-3, device=GPU.id, environment=on_card)]
    measured += [timed(kernel, 1e-6, device=GPU.id, environment=on_card) for kernel in others]
    add_job(lab.database, "j8", GPU.id, JobState.SUCCEEDED, measured)
    after = part(client, lab.matrix)
    assert "best on the H200 (calibrated with 1 measured matrix)." in words(after)
    with lab.database.read() as session:
        advised = predictors.of_service(session).advise(features(sample_matrix()))
    assert re.findall(r"<code>(.+?)</code>", after) == [advice.kernel for advice in advised]
    assert advised[0].kernel != first
    document = client.get(f"/api/v1/matrices/{lab.matrix}").json()
    listed = client.get("/api/v1/matrices").json()["items"]
    assert document["advice"][0]["kernel"] == advised[0].kernel
    assert document in listed
    with lab.database.write() as session:
        session.delete(session.get(JobRow, "j8"))
    assert part(client, lab.matrix) == before


def test_what_another_card_of_the_same_id_measured_calibrates_nothing(client: TestClient, lab: Lab) -> None:
    before = part(client, lab.matrix)
    other = {"device": "NVIDIA H100 80GB HBM3"}
    add_job(
        lab.database, "j8", GPU.id, JobState.SUCCEEDED, [timed("csr/vector", 1.0, device=GPU.id, environment=other)]
    )
    assert part(client, lab.matrix) == before


def test_features_from_before_are_no_error(client: TestClient, lab: Lab) -> None:
    with lab.database.write() as session:
        row = session.get(MatrixRow, lab.matrix)
        assert row
        row.features = {name: row.features[name] for name in ("ave", "sigma", "max", "min")}
    text = part(client, lab.matrix)
    assert "No prediction" in text
    assert "<table" not in text


def test_a_matrix_that_is_still_read_has_no_prediction(client: TestClient, lab: Lab) -> None:
    assert "Predicted best kernels" in part(client, lab.matrix)
    assert words(part(client, lab.ingesting)).strip() == ""


def test_what_was_measured_on_a_gpu_stands_beside_what_was_predicted_of_it(client: TestClient, lab: Lab) -> None:
    gpu = gpu_named(ON_GPU)
    assert gpu
    predicted = {kernel: found.seconds for kernel, found in rank(features(sample_matrix()), gpu)}
    measured = {"csr/vector": 8e-6, "coo/segmented": 9e-6, "csr/scalar": 10e-6}
    page = get(client, f"/matrices/{lab.matrix}")
    table = page.context["comparison"].table
    assert [row[:1] + row[2:6] + row[7:] for row in table.rows] == [
        (kernel, ON_GPU, "warm", seconds(predicted[kernel]), seconds(time_s), ratio(time_s / predicted[kernel]))
        for kernel, time_s in measured.items()
    ]
    first = min(measured, key=lambda kernel: predicted[kernel])
    (said,) = page.context["comparison"].sentences
    assert said.startswith(f"On {ON_GPU}, warm, ")
    assert f", {first}, " in said
    assert words(said) in words(page.text)
    drawn = client.get(page.context["comparison"].chart.url).json()
    assert [trace["y"] for trace in drawn["data"]] == [list(measured)]


def test_nothing_stands_beside_the_prediction_of_what_only_a_processor_measured(client: TestClient, lab: Lab) -> None:
    beside = get(client, f"/matrices/{lab.hostile}").context["comparison"]
    assert (beside.table, beside.sentences, beside.chart.version) == (None, (), "0")
    assert "Predicted and measured times</h2>" not in get(client, f"/matrices/{lab.hostile}").text
