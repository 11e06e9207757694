import plotly.io
import pytest
from fastapi.testclient import TestClient

from tests.samples.formats import timed
from tests.web.conftest import Lab, add_measurement
from web.figure_sources import SOURCES
from web.figures.bandwidth import BANDWIDTH
from web.figures.case_history import CASE_HISTORY
from web.figures.history import HISTORY
from web.figures.matrix import MATRIX_FIGURES
from web.studies import PAGES


def test_every_figure_is_listed(client: TestClient) -> None:
    document = client.get("/api/v1/figures").json()
    assert [(item["name"], item["title"], item["needs"]) for item in document["items"]] == [
        *((figure.name, figure.title, page.name) for page in PAGES for figure in page.figures),
        *((figure.name, figure.title, "matrix") for figure in MATRIX_FIGURES),
        (HISTORY.name, HISTORY.title, "matrix"),
        (CASE_HISTORY.name, CASE_HISTORY.title, "case"),
        (BANDWIDTH.name, BANDWIDTH.title, "device"),
    ]
    assert document["next"] is None
    parameters = {item["name"]: item["parameters"] for item in document["items"]}
    assert set(parameters[CASE_HISTORY.name]) == {"study", "matrix", "device", "cache", "kernel"}
    assert parameters[BANDWIDTH.name] == ["device"]


@pytest.mark.parametrize(
    "url",
    [
        *(f"{figure.name}?job=j1&pair=coo" for figure in PAGES[0].figures),
        *(f"{figure.name}?matrix=m1" for figure in MATRIX_FIGURES),
        "history?matrix=m1&cache=cold",
        "case-history?matrix=m1&device=cpu",
    ],
)
def test_figures_read_back_and_are_cached(client: TestClient, lab: Lab, url: str) -> None:
    for kernel in ("ellr/thread", "pellr/thread"):
        add_measurement(lab.database, "j1", timed(kernel, 1e-3))
    first = client.get(f"/api/v1/figures/{url}")
    assert first.status_code == 200
    assert "bdata" not in first.text
    # These need a GPU that the advisor knows, two devices, or a matrix of the PELLR paper.
    lacking = url.startswith(("predicted?", "regret?", "systems?", "paper-speedups?"))
    assert bool(plotly.io.from_json(first.text).data) != lacking
    again = client.get(f"/api/v1/figures/{url}", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_a_figure_shows_what_its_address_says(client: TestClient, lab: Lab) -> None:
    figure = plotly.io.from_json(
        client.get("/api/v1/figures/formats?job=j1&matrix=m1&cache=cold&kernel=csr/scalar").text
    )
    assert [trace.name for trace in figure.data if trace.meta["role"] == "kernel"] == ["csr/scalar"]
    assert figure.layout.annotations[0].text == "cnr-2000 · CPU · cold"


@pytest.mark.parametrize(
    ("url", "status", "words"),
    [
        ("nothing", 404, "Figures: side-by-side"),
        ("formats?job=none", 404, "job 'none'"),
        ("formats?colour=red", 422, "parameter 'colour'"),
        ("spy", 422, "?matrix=ID"),
        ("spy?matrix=none", 404, "matrix 'none'"),
        ("spy?matrix=ingesting", 404, "has no picture (ingesting)"),
    ],
)
def test_what_cannot_be_drawn_is_a_problem(client: TestClient, lab: Lab, url: str, status: int, words: str) -> None:
    response = client.get(f"/api/v1/figures/{url}")
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    assert words in response.json()["detail"]


STUDY_NAMES = [page.name for page in PAGES]


@pytest.mark.parametrize("name", [name for name, source in SOURCES.items() if source.needs in STUDY_NAMES])
def test_an_empty_service_draws_an_empty_figure(client: TestClient, name: str) -> None:
    figure = plotly.io.from_json(client.get(f"/api/v1/figures/{name}").text)
    assert len(figure.data) == 0
    assert figure.layout.annotations[0].text
