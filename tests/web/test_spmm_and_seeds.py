"""Pages of the studies `spmm` and `seeded` in the sample service with results: words, figures, and jobs."""

import os
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from gpu_engine.findings.seeded.names import LABELS
from server.models import JobState
from tests.samples.studies import records_of
from tests.web.conftest import Lab, add_job, get
from tests.web.test_wording import GOLDEN, visible

JOBS = {"spmm": "j6", "seeded": "j7"}

PAGES = ("/spmm", "/spmm?k=8", "/spmm?open=m1", "/seeded", "/jobs/j6", "/jobs/j7")
"""Pages that show the results of these jobs."""


@pytest.fixture
def measured(lab: Lab) -> Lab:
    """The sample service with a job of each study on both matrices."""
    for study, job in JOBS.items():
        measurements, traces = records_of(study, (lab.matrix, lab.hostile), "cuda:0")
        add_job(lab.database, job, "cuda:0", JobState.SUCCEEDED, measurements, study=study, traces=traces, params={})
    return lab


@pytest.mark.parametrize("url", PAGES)
def test_the_words_of_a_page_with_results(client: TestClient, measured: Lab, url: str) -> None:
    path: Path = GOLDEN / f"results-{url.strip('/').translate(str.maketrans('/?=', '---'))}.txt"
    words = visible(get(client, url).text)
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(words, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == words, "UPDATE_GOLDEN=1 writes the new words"


def test_many_vectors_have_an_answer_per_number_of_columns(client: TestClient, measured: Lab) -> None:
    for k in (2, 8, 32):
        page = get(client, f"/spmm?k={k}")
        assert page.context["study"] == "spmm" or f"k={k}" in page.text
        assert f"{k} columns" in page.text
    rows = get(client, "/spmm.csv").text.splitlines()
    assert len(rows) == 1 + 2 * 15


def test_seed_sets_have_an_answer_costs_and_starts(client: TestClient, measured: Lab) -> None:
    page = get(client, "/seeded").text
    # All 32 sets take five times as long as one, and 1/6.4 of 32 runs. A warm start needs 30 of 64 iterations.
    assert all(text in page for text in ("5.00", "6.40", "47\N{NARROW NO-BREAK SPACE}%"))
    tables = get(client, "/seeded?view=seeds").text
    assert all(heading in tables for heading in ("over one set", "vs one set at a time", "vs cold start"))
    ranking = get(client, "/seeded?view=ranking").text
    assert all(label in ranking for label in LABELS.values())
    figure = client.get("/api/v1/figures/seeded-cost", params={"study": "seeded"}).json()
    assert len(figure["data"]) == 3
    assert len(get(client, "/seeded.csv").text.splitlines()) == 1 + 2 * 8


def test_the_page_of_pagerank_leads_to_seed_sets(client: TestClient, measured: Lab) -> None:
    measurements, traces = records_of("pagerank", (measured.matrix,), "cuda:0")
    add_job(
        measured.database, "j8", "cuda:0", JobState.SUCCEEDED, measurements, study="pagerank", traces=traces, params={}
    )
    assert 'href="/seeded"' in get(client, "/pagerank?view=pagerank-total").text


def test_one_seed_set_is_no_comparison(client: TestClient, measured: Lab) -> None:
    page = visible(get(client, "/seeded?view=ranking").text)
    assert "best single choice over # graphs on NVIDIA H# (cuda:#), warm, # seed sets" in page
    assert "warm, # seed set." not in page
