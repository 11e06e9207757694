"""The prediction on the page of a matrix."""

import re

from fastapi.testclient import TestClient

from gpu_engine.advisor import advise
from gpu_engine.features import features
from server.models import MatrixRow
from tests.web.conftest import Lab, sample_matrix, words


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
