"""`/pagerank`, and what other pages say of runs; figures by value are tested beside their modules."""

import json
from dataclasses import fields
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from gpu_engine import recordings as files
from gpu_engine.recordings import Recording
from gpu_engine.records import Measurement
from server import devices, import_recordings
from server.db import Database
from server.models import JobState
from tests.conftest import AddMatrix
from tests.sample_recording import H200, PROFILE, grid
from tests.web.conftest import CPU, GPU, add_job, add_runs, sample_matrix
from tests.web.run_samples import luxembourg
from tests.web.samples import HOSTILE, study_of
from tests.web.test_pages import get, words
from web import contexts
from web.figures import FIGURES

RUNS = [figure.name for figure in FIGURES if figure.needs == "runs"]


@pytest.fixture
def ranked(database: Database, add_matrix: AddMatrix) -> str:
    """A matrix with a job of either study on the CPU, the newest of PageRank on the GPU."""
    devices.register(database, [CPU, GPU])
    matrix = add_matrix(sample_matrix(), "luxembourg", "m1")
    add_job(database, "j1", "cpu", JobState.SUCCEEDED, study_of(matrix))
    add_runs(database, "j2", matrix)
    add_runs(database, "j3", matrix, "cuda:0")
    return matrix


def test_the_page_gets_its_context_and_nothing_else(client: TestClient, ranked: str) -> None:
    response = get(client, "/pagerank")
    assert (response.status_code, response.template.name) == (200, "pagerank.html")
    assert set(response.context) == {field.name for field in fields(contexts.PageRankPage)} | {"request", "path"}


def test_it_starts_with_the_newest_device_and_mixes_none(client: TestClient, ranked: str) -> None:
    context = get(client, "/pagerank").context
    assert [(link.text, link.current) for link in context["devices"]] == [("cuda:0", True), ("cpu", False)]
    (finding,) = context["findings"]
    assert finding.device == "cuda:0"
    assert {row[1] for row in context["runs"].rows} == {"cuda:0"}
    assert {row[1] for figure in context["figures"] for row in figure.table.rows} == {"cuda:0"}


def test_times_of_a_cpu_are_called_so(client: TestClient, ranked: str) -> None:
    assert "say little about a GPU" in words(get(client, "/pagerank?device=cpu").text)
    assert get(client, "/pagerank?device=cuda:0").context["caveat"] == ""
    both = get(client, "/pagerank?device=cuda:0&device=cpu").context
    assert both["caveat"]
    assert [finding.device for finding in both["findings"]] == ["cuda:0", "cpu"]


def test_every_figure_has_words_numbers_and_a_chart(client: TestClient, ranked: str) -> None:
    context = get(client, "/pagerank?job=j2").context
    assert [figure.name for figure in context["figures"]] == RUNS
    for figure in context["figures"]:
        assert figure.chart.summary
        assert figure.table.rows
        drawn = client.get(figure.chart.url)
        assert drawn.status_code == 200
        assert len(drawn.json()["data"]) > 0
    assert [row[2:6] for row in context["runs"].rows] == [
        ("csr/thread+free", "right", "113", "–"),
        ("csr/thread+cpms4", "right", "113", "1/46/61/5"),
        ("csr/thread+cpms2", "right", "113", "47/66"),
        ("csr/thread+fp64", "right", "113", "–"),
        ("ell/thread+cpms2", "skipped", "–", "–"),
    ]
    assert context["runs"].rows[-1][-1] == "needs 41 GB, 16 GB allowed"


def test_graphs_say_how_many_pages_dangle(client: TestClient, ranked: str) -> None:
    context = get(client, "/pagerank?job=j2").context
    matrix = sample_matrix()
    empty = sum(int(end == begin) for begin, end in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True))
    heads = [head.text for head in context["graphs"].heads]
    assert context["graphs"].rows[0][heads.index("dangling pages")] == str(empty)
    assert [chart.url for chart in context["structure"]] == ["/api/v1/figures/row-lengths?matrix=m1"]


def test_the_address_chooses_the_schedule_that_is_replayed(client: TestClient, ranked: str) -> None:
    def replayed(query: str) -> list[tuple[str, str, str]]:
        context = get(client, f"/pagerank?job=j2{query}").context
        (figure,) = (figure for figure in context["figures"] if figure.name == "pagerank-what-if")
        return [row[2:5] for row in figure.table.rows if "replayed" in row[2]]

    assert replayed("") == [
        ("csr/thread+fp64 replayed", "first 1, near 16, stall 0.98", "55/58"),
        ("csr/thread+fp64 replayed", "first 1, near 16, stall 0.98", "1/54/54/4"),
    ]
    assert replayed("&first=4&near=1&stall=2&replay=csr/thread%2Bfree") == [
        ("csr/thread+free replayed", "first 4, near 1, stall 2", "0/0/0/113")
    ]
    context = get(client, "/pagerank?job=j2&matrix=m1&near=3&replay=csr/thread%2Bcpms4").context
    assert [(field.name, field.value) for field in context["what_if"]] == [
        ("first", "1"),
        ("near", "3"),
        ("stall", "0.98"),
    ]
    assert [choice.value for choice in context["replays"] if choice.chosen] == ["csr/thread+cpms4"]
    assert context["kept"] == (("job", "j2"), ("near", "3"), ("replay", "csr/thread+cpms4"))
    assert context["what_if_kept"] == (("job", "j2"), ("matrix", "m1"))


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("near=much", "near is 'much'; expected a number."),
        ("first=9", "first is '9'; expected a whole number from 1 to 4."),
        ("stall=-1", "stall is '-1.0'; expected a finite number from 0 to 10."),
        ("near=nan", "near is 'nan'"),
        ("near=1&near=2", "near is given 2 times; give it once."),
    ],
)
def test_a_schedule_that_is_none_is_refused(client: TestClient, ranked: str, query: str, said: str) -> None:
    for url in (f"/pagerank?job=j2&{query}", f"/api/v1/figures/pagerank-what-if?job=j2&{query}"):
        response = client.get(url)
        assert response.status_code == 422
        assert said in response.json()["detail"]


def test_studies_do_not_mix(client: TestClient, ranked: str) -> None:
    formats, runs = get(client, "/formats?device=cpu").context, get(client, "/pagerank?device=cpu").context
    assert [job.href for job in formats["jobs"]] == ["/jobs/j1"]
    assert [job.href for job in runs["jobs"]] == ["/jobs/j2"]
    assert {row.kernel for finding in formats["findings"] for row in finding.comparison.rows} == {
        "csr/scalar",
        "csr/vector",
        "coo/segmented",
        "ell/thread",
    }
    assert get(client, "/pagerank?job=j1").context["findings"] == ()
    assert get(client, "/formats?job=j2").context["findings"] == ()


def test_home_and_matrix_lead_to_the_page(client: TestClient, ranked: str) -> None:
    (newest,) = get(client, "/").context["runs"]
    assert (newest.device, newest.href) == ("cuda:0", "/pagerank?matrix=m1&device=cuda%3A0")
    matrix = get(client, "/matrices/m1")
    assert sorted(finding.device for finding in matrix.context["runs"]) == ["cpu", "cuda:0"]
    assert len(matrix.context["findings"]) == 1
    for finding in matrix.context["runs"]:
        assert {row[1] for row in get(client, finding.href).context["runs"].rows} == {finding.device}


def test_a_matrix_can_be_measured_by_every_study(client: TestClient, ranked: str) -> None:
    page = get(client, "/matrices/m1")
    assert [(choice.value, choice.chosen) for choice in page.context["studies"]] == [
        ("formats", True),
        ("pagerank", False),
        ("batched", False),
        ("scaling", False),
    ]
    assert page.text.count(" for pagerank, ") == 2, "on either device the time that it takes there"
    assert """data-body='{"matrix_ids": ["m1"]}'""" in page.text


def test_a_job_lists_its_runs(client: TestClient, ranked: str) -> None:
    page = get(client, "/jobs/j2")
    results = page.context["results"]
    assert [row[2] for row in results.cases.rows][-1] == "ell/thread+cpms2"
    assert (results.comparison.text, results.comparison.href) == ("Open in PageRank", "/pagerank?job=j2")
    assert results.chart.url == "/api/v1/figures/pagerank-total?job=j2"
    assert "csr/thread+free is fastest on cpu: 100 ms to convergence." in words(page.text)
    assert client.get(results.downloads[0].href).text.count("\n") == 6
    assert get(client, "/jobs/j1").context["results"].comparison.href == "/formats?job=j1"


def test_downloads_have_the_traces(client: TestClient, ranked: str) -> None:
    document = client.get("/pagerank.json?job=j2").json()
    assert [m["kernel"] for m in document["measurements"]][:2] == ["csr/thread+fp64", "csr/thread+cpms2"]
    assert [len(trace["arrays"]["gamma"]) for trace in document["traces"]] == [113] * 4
    lines = client.get("/pagerank.csv?job=j2").text.splitlines()
    assert len(lines) == 6
    assert lines[0].startswith("case,matrix_id,device")


def test_recorded_runs_come_with_their_traces(
    client: TestClient, database: Database, add_matrix: AddMatrix, tmp_path: Path
) -> None:
    found = luxembourg(H200.id, "grid")
    measurements = tuple(run if isinstance(run, Measurement) else run[0] for run in found)
    traces = tuple(run[1] for run in found if isinstance(run, tuple))
    recording = Recording("pagerank", "2026-11-20T12:00:00+00:00", H200, PROFILE, (grid(),), measurements, traces)
    files.write(tmp_path / "recorded" / "h200" / "pagerank.json.gz", recording)
    import_recordings.run(database, tmp_path / "recorded")
    page = get(client, "/pagerank")
    assert {finding.device for finding in page.context["findings"]} == {"recorded:h200"}
    (schedule,) = (figure for figure in page.context["figures"] if figure.name == "pagerank-schedule")
    assert [row[3:8] for row in schedule.table.rows] == [
        ("–", "–", "–", "113", "–"),
        ("–", "47", "–", "66", "–"),
        ("1", "46", "61", "5", "–"),
        ("–", "–", "–", "113", "–"),
    ]
    assert "see PageRank on NVIDIA H200 (recorded)" in words(get(client, "/").text)
    assert json.loads(client.get("/pagerank.json").text)["traces"][0]["case"].startswith("recorded-")


def test_an_empty_service_says_what_to_do(client: TestClient) -> None:
    page = get(client, "/pagerank")
    assert page.status_code == 200
    assert "choose the study pagerank and press Measure" in words(page.text)
    assert 'id="replay"' not in page.text


def test_names_of_strangers_are_text(client: TestClient, database: Database, add_matrix: AddMatrix) -> None:
    add_runs(database, "j1", add_matrix(sample_matrix(), HOSTILE, "m2"))
    text = get(client, "/pagerank").text
    assert "<script>alert" not in text
    assert "&lt;b&gt;x&lt;/b&gt;" in text
    assert "<script>" not in client.get("/api/v1/figures/pagerank-gamma").text
