import plotly.io
import pytest
from fastapi.testclient import TestClient

from tests.web.conftest import Lab
from web.figures import FIGURES


def test_every_figure_is_listed(client: TestClient) -> None:
    document = client.get("/api/v1/figures").json()
    assert [item["name"] for item in document["items"]] == [figure.name for figure in FIGURES]
    assert document["next"] is None


@pytest.mark.parametrize(
    "url",
    [
        *(f"{figure.name}?job=j1&pair=csr" for figure in FIGURES if figure.needs == "measurements"),
        "formats",
        "ratio?job=j1&pair=coo&pair=csr",
        "spy?matrix=m1",
        "row-lengths?matrix=m1",
    ],
)
def test_figures_read_back_and_are_cached(client: TestClient, lab: Lab, url: str) -> None:
    first = client.get(f"/api/v1/figures/{url}")
    assert first.status_code == 200
    assert "bdata" not in first.text
    assert len(plotly.io.from_json(first.text).data) > 0
    again = client.get(f"/api/v1/figures/{url}", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_a_figure_shows_what_its_address_says(client: TestClient, lab: Lab) -> None:
    figure = plotly.io.from_json(
        client.get("/api/v1/figures/formats?job=j1&matrix=m1&cache=cold&kernel=csr/scalar").text
    )
    assert [trace.name for trace in figure.data if trace.meta["role"] == "kernel"] == ["csr/scalar"]
    assert figure.layout.annotations[0].text == "cnr-2000 · cpu · cold"


@pytest.mark.parametrize(
    ("url", "status", "words"),
    [
        ("nothing", 404, "known figures: side-by-side"),
        ("formats?job=none", 404, "There is no job"),
        ("formats?colour=red", 422, "no parameter 'colour'"),
        ("spy", 422, "?matrix=ID"),
        ("spy?matrix=none", 404, "There is no matrix"),
        ("spy?matrix=ingesting", 404, "is ingesting and has no picture"),
    ],
)
def test_what_cannot_be_drawn_is_a_problem(client: TestClient, lab: Lab, url: str, status: int, words: str) -> None:
    response = client.get(f"/api/v1/figures/{url}")
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    assert words in response.json()["detail"]


def test_an_empty_service_draws_an_empty_figure(client: TestClient) -> None:
    figure = plotly.io.from_json(client.get("/api/v1/figures/formats").text)
    assert figure.layout.annotations[0].text == "No results yet."
