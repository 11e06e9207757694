"""The prediction on the page of a matrix."""

import re

from fastapi.testclient import TestClient

from gpu_engine.advisor import advise, rank
from gpu_engine.advisor.gpus import gpu_named
from gpu_engine.features import features
from gpu_engine.findings.units import ratio, seconds
from server.models import MatrixRow
from tests.web.conftest import ON_GPU, Lab, get, sample_matrix, words
from web.views.matrices import _how_sure


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
    assert "a prediction" in text
    assert "Nothing here was measured" in text
    assert "No other kernel is predicted within 20 % of coo/segmented. The costs were fitted to larger" in words(text)


def test_whether_to_measure_is_said_beside_what_is_predicted_close() -> None:
    said = _how_sure(("a/1", "b/2"), sure=True)
    assert said.endswith("a/1 and b/2. On an H200 or an H100 the first can be taken unmeasured.")
    said = _how_sure(tuple(f"kernel/{number}" for number in range(9)), sure=False)
    assert said.startswith("9 kernels are predicted within 20 % of each other: kernel/0, ")
    assert "and 6 more. The costs were fitted to larger matrices" in said
    assert said.endswith("measure which is fastest.")


def test_features_from_before_are_no_error(client: TestClient, lab: Lab) -> None:
    with lab.database.write() as session:
        row = session.get(MatrixRow, lab.matrix)
        assert row
        row.features = {name: row.features[name] for name in ("ave", "sigma", "max", "min")}
    text = part(client, lab.matrix)
    assert "Nothing to predict" in text
    assert "<table" not in text


def test_a_matrix_that_is_still_read_has_no_prediction(client: TestClient, lab: Lab) -> None:
    assert "Which kernel" in part(client, lab.matrix)
    assert words(part(client, lab.ingesting)).strip() == ""


def test_what_was_measured_on_a_gpu_stands_beside_what_was_predicted_of_it(client: TestClient, lab: Lab) -> None:
    gpu = gpu_named(ON_GPU)
    assert gpu
    predicted = {kernel: found.seconds for kernel, found in rank(features(sample_matrix()), gpu)}
    measured = {"csr/vector": 8e-6, "coo/segmented": 9e-6, "csr/scalar": 10e-6}
    page = get(client, f"/matrices/{lab.matrix}")
    table = page.context["beside"].table
    assert [row[:1] + row[2:6] + row[7:] for row in table.rows] == [
        (kernel, ON_GPU, "warm", seconds(predicted[kernel]), seconds(time_s), ratio(time_s / predicted[kernel]))
        for kernel, time_s in measured.items()
    ]
    first = min(measured, key=lambda kernel: predicted[kernel])
    (said,) = page.context["beside"].said
    assert said.startswith(f"On {ON_GPU}, warm, the advisor’s first choice, {first}, ")
    assert words(said) in words(page.text)
    drawn = client.get(page.context["beside"].chart.url).json()
    assert [trace["y"] for trace in drawn["data"]] == [list(measured)]


def test_nothing_stands_beside_the_prediction_of_what_only_a_processor_measured(client: TestClient, lab: Lab) -> None:
    beside = get(client, f"/matrices/{lab.hostile}").context["beside"]
    assert (beside.table, beside.said, beside.chart.version) == (None, (), "0")
    assert "Predicted beside measured</h2>" not in get(client, f"/matrices/{lab.hostile}").text
