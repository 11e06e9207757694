"""A matrix over the jobs that measured it: the figure, its numbers, and what of it can be chosen."""

from typing import get_args

import pytest
from fastapi.testclient import TestClient

from gpu_engine.text.units import THIN
from server.models import JobState
from tests.samples.formats import study_of, timed, untimed
from tests.web.conftest import ON_GPU, Lab, add_job, get
from web.figures.base import Role


@pytest.fixture
def twice(lab: Lab) -> Lab:
    """Beside the lab's jobs two on the CPU: csr/vector from 800 µs to 400 µs, and back under another kernel."""
    skipped = untimed("csr/scalar", "skipped", "needs 41 GB")
    add_job(lab.database, "j20", "cpu", JobState.SUCCEEDED, [timed("csr/vector", 4e-4), skipped])
    add_job(lab.database, "j21", "cpu", JobState.SUCCEEDED, [timed("csr/vector", 8e-4), timed("coo/segmented", 7.9e-4)])
    return lab


def lines(client: TestClient, address: str) -> dict[str, tuple[list[int], list[float]]]:
    """Name → places of the jobs and times, of the traces of the figure."""
    return drawn(client, get(client, address).context["history"].chart.url)


def drawn(client: TestClient, url: str) -> dict[str, tuple[list[int], list[float]]]:
    data = client.get(url).json()["data"]
    assert {trace["meta"]["role"] for trace in data} <= set(get_args(Role))
    return {trace["name"]: (trace["x"], [round(y, 9) for y in trace["y"]]) for trace in data}


def test_the_fastest_and_those_that_ever_were_it_over_the_jobs(client: TestClient, twice: Lab) -> None:
    assert lines(client, "/matrices/m1") == {
        "fastest kernel": ([0, 1, 2], [800.0, 400.0, 790.0]),
        "csr/vector": ([0, 1, 2], [800.0, 400.0, 800.0]),
        "coo/segmented": ([0, 2], [900.0, 790.0]),
    }
    history = get(client, "/matrices/m1").context["history"]
    assert (
        history.chart.summary.replace(THIN, " ")
        .splitlines()[0]
        .partition("On CPU, warm, ")[2]
        .partition("went from ")[2]
        .startswith("800 µs (csr/vector) to 790 µs (coo/segmented)")
    )
    rows = [tuple(cell.replace(THIN, " ") for cell in row[1:]) for row in history.table.rows]
    assert rows == [
        ("j21", "CPU", "warm", "coo/segmented, fastest kernel", "790 µs", "782 µs – 798 µs", "–", "–"),
        ("j21", "CPU", "warm", "csr/vector", "800 µs", "792 µs – 808 µs", "0.50 ×", "slower"),
        ("j20", "CPU", "warm", "csr/vector, fastest kernel", "400 µs", "396 µs – 404 µs", "2.00 ×", "faster"),
        ("j1", "CPU", "warm", "csr/vector, fastest kernel", "800 µs", "792 µs – 808 µs", "–", "–"),
        ("j1", "CPU", "warm", "coo/segmented", "900 µs", "891 µs – 909 µs", "–", "–"),
    ]


def test_kernels_are_chosen_in_the_address_of_the_figure(client: TestClient, twice: Lab) -> None:
    url = get(client, "/matrices/m1").context["history"].chart.url
    chosen = drawn(client, f"{url}&kernel=csr/scalar&kernel=csr/gone")
    assert chosen == {"fastest kernel": ([0, 1, 2], [800.0, 400.0, 790.0]), "csr/scalar": ([0], [1000.0])}


def test_each_device_has_a_panel_and_one_job_is_no_history(client: TestClient, twice: Lab) -> None:
    assert get(client, "/matrices/m2").context["history"] is None
    add_job(twice.database, "j22", "cuda:0", JobState.SUCCEEDED, study_of("m1", "cuda:0", 0.02))
    page = get(client, "/matrices/m1").context["history"]
    assert {row[2] for row in page.table.rows} == {"CPU", ON_GPU}
    figure = client.get(page.chart.url).json()
    assert [each["text"] for each in figure["layout"]["annotations"]] == ["CPU, warm", f"{ON_GPU}, warm"]
    cold = get(client, "/matrices/m1?cache=cold").context["history"]
    assert {row[2] for row in cold.table.rows} == {"CPU", ON_GPU}, "j4 has measured cold alone"
    assert client.get("/api/v1/figures/history").status_code == 422
