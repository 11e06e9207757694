"""`/batched`, and what other pages say of batches; figures by value are tested beside their modules."""

from dataclasses import fields
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from gpu_engine import recordings as files
from gpu_engine.recordings import Recording
from server import devices, import_recordings
from server.db import Database
from server.models import JobState
from tests.conftest import AddMatrix
from tests.sample_recording import H200, PROFILE, grid
from tests.web.batch_samples import copies, mixed, multiplied, refused
from tests.web.conftest import CPU, GPU, add_batches, add_job, sample_matrix
from tests.web.samples import HOSTILE, study_of
from tests.web.test_pages import get, words
from web import contexts
from web.figures import FIGURES

BATCHES = [figure.name for figure in FIGURES if figure.needs == "batches"]


@pytest.fixture
def batched(database: Database, add_matrix: AddMatrix) -> str:
    """Two matrices with jobs of two studies on the CPU, the newest of batches on the GPU."""
    devices.register(database, [CPU, GPU])
    first, second = add_matrix(sample_matrix(), "west0989", "m1"), add_matrix(sample_matrix(), "nos3", "m2")
    add_job(database, "j1", "cpu", JobState.SUCCEEDED, study_of(first))
    add_batches(database, "j2", (first, second), "cpu")
    add_batches(database, "j3", (first, second))
    return first


def test_the_page_gets_its_context_and_nothing_else(client: TestClient, batched: str) -> None:
    response = get(client, "/batched")
    assert (response.status_code, response.template.name) == (200, "batched.html")
    assert set(response.context) == {field.name for field in fields(contexts.BatchedPage)} | {"request", "path"}


def test_it_starts_with_the_newest_device_and_mixes_none(client: TestClient, batched: str) -> None:
    context = get(client, "/batched").context
    assert [(link.text, link.current) for link in context["devices"]] == [("cuda:0", True), ("cpu", False)]
    assert {row[1] for row in context["kernels"].rows} == {"cuda:0"}
    assert {row[3] for row in context["conclusions"].rows} == {"cuda:0"}
    assert {row[1] for figure in context["figures"] if figure.table for row in figure.table.rows} == {"cuda:0"}
    assert context["overview"] == (
        "Over 3 batches on cuda:0, warm: auto/shared leads or shares the lead on 2, csri/warp on 1.",
    )


def test_a_batch_has_its_verdict_and_its_address(client: TestClient, batched: str) -> None:
    page = get(client, "/batched")
    assert [(finding.title, finding.href) for finding in page.context["findings"]] == [
        ("2 matrices mixed", "/batched?matrix=m1&matrix=m2&device=cuda%3A0&cache=warm"),
        ("west0989", "/batched?matrix=m1&device=cuda%3A0&cache=warm"),
        ("nos3", "/batched?matrix=m2&device=cuda%3A0&cache=warm"),
    ]
    assert "25.00 × cusparse/chain (faster), one product after the other: 10 to 25 × in the paper" in words(page.text)
    alone = get(client, page.context["findings"][2].href).context
    assert [finding.title for finding in alone["findings"]] == ["nos3"]


def test_every_figure_has_words_and_a_chart(client: TestClient, batched: str) -> None:
    context = get(client, "/batched?job=j3").context
    assert [figure.name for figure in context["figures"]] == BATCHES
    for figure in context["figures"]:
        assert figure.chart.summary
        if figure.name == "batched-density":
            assert (figure.table, figure.chart.version) == (None, "0")
            assert figure.note.startswith("No two matrices here")
            continue
        assert figure.table.rows
        assert len(client.get(figure.chart.url).json()["data"]) > 0


def test_the_address_chooses_the_size_and_the_operation(client: TestClient, database: Database, batched: str) -> None:
    other = [multiplied("csr/smart", 7.0, 100, "m1", operation="y=Ax"), *copies("m1", problems=100)]
    add_job(database, "j4", "cuda:0", JobState.SUCCEEDED, other, study="batched")
    context = get(client, "/batched?job=j3&batch=10").context
    assert {row[3] for row in context["kernels"].rows} == {"10"}
    assert [(choice.value, choice.chosen) for choice in context["sizes"]] == [
        ("", False),
        ("10", True),
        ("1000", False),
    ]
    assert context["kept"] == (("job", "j3"),)
    assert [(link.text, link.current) for link in context["operations"]] == [("y=Ax+y", True)]
    both = get(client, "/batched?job=j4").context
    assert [(link.text, link.current) for link in both["operations"]] == [("y=Ax+y", True), ("y=Ax", False)]
    there = get(client, both["operations"][1].href).context
    assert [row[4:6] for row in there["kernels"].rows] == [("csr/smart", "7.00")]
    drawn = client.get(f"/api/v1/figures/batched-winners?{both['operations'][1].href.partition('?')[2]}").json()
    assert [trace["x"] for trace in drawn["data"]] == [[7.0]]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("batch=many", "batch is 'many'; expected a number of problems"),
        ("batch=0", "batch is '0'"),
        ("batch=10&batch=100", "batch is given 2 times; give it once."),
        ("operation=y%3DAx&operation=y%3DAx%2By", "operation is given 2 times; give it once."),
    ],
)
def test_what_is_no_batch_is_refused(client: TestClient, batched: str, query: str, said: str) -> None:
    for url in (f"/batched?{query}", f"/api/v1/figures/batched-growth?{query}"):
        response = client.get(url)
        assert response.status_code == 422
        assert said in response.json()["detail"]


def test_times_of_a_cpu_are_called_so(client: TestClient, batched: str) -> None:
    assert "says little about a GPU" in words(get(client, "/batched?device=cpu").text)
    assert get(client, "/batched?device=cuda:0").context["caveat"] == ""


def test_studies_do_not_mix(client: TestClient, batched: str) -> None:
    assert [job.href for job in get(client, "/formats?device=cpu").context["jobs"]] == ["/jobs/j1"]
    assert [job.href for job in get(client, "/batched?device=cpu").context["jobs"]] == ["/jobs/j2"]
    assert get(client, "/batched?job=j1").context["findings"] == ()
    assert get(client, "/formats?job=j3").context["findings"] == ()


def test_a_job_lists_its_batches_apart(client: TestClient, batched: str, database: Database) -> None:
    page = get(client, "/jobs/j3")
    results = page.context["results"]
    assert [finding.title for finding in results.batches] == ["2 matrices mixed", "west0989", "nos3"]
    assert (results.findings, results.runs) == ((), ())
    assert (results.comparison.text, results.comparison.href) == ("Open in Batches", "/batched?job=j3")
    assert results.chart.url == "/api/v1/figures/batched-winners?job=j3&cache=warm"
    assert client.get(results.downloads[0].href).text.count("\n") == 1 + 4 * 9 + 3
    cold = [multiplied("csr/smart", 7.0, cache="cold", matrix="m1")]
    add_job(database, "j4", "cuda:0", JobState.SUCCEEDED, cold, study="batched")
    results = get(client, "/jobs/j4").context["results"]
    assert [row[2] for row in results.cases.rows] == ["cold"]
    assert "csr/smart on 1" in results.chart.summary


def test_downloads_have_the_records(client: TestClient, batched: str) -> None:
    found = client.get("/batched.json?job=j3&kernel=auto/shared").json()["measurements"]
    assert [(m["matrix_id"], m["problems"]) for m in found] == [("m1", 10), ("m1", 1000), ("m2", 10), ("m2", 1000)]
    assert client.get("/batched.csv?job=j3").text.splitlines()[0].startswith("case,matrix_id,device")


def test_recorded_batches_name_their_members(client: TestClient, database: Database, tmp_path: Path) -> None:
    found = (*copies("grid", H200.id), *mixed("grid", "elsewhere", device=H200.id))
    recording = Recording("batched", "2026-11-20T12:00:00+00:00", H200, PROFILE, (grid(),), found, ())
    files.write(tmp_path / "recorded" / "h200" / "batched.json.gz", recording)
    import_recordings.run(database, tmp_path / "recorded")
    page = get(client, "/batched")
    first, second = page.context["findings"]
    assert (first.title, second.title) == ("2 matrices mixed", "a grid")
    assert [finding.title for finding in get(client, first.href).context["findings"]] == [first.title, second.title]
    (mixtures,) = (figure for figure in page.context["figures"] if figure.name == "batched-mixed")
    assert {row[-1] for row in mixtures.table.rows} == {"grid, elsewhere"}
    assert "see batches on NVIDIA H200 (recorded)" in words(get(client, "/").text)


def test_all_matrices_of_a_job_are_shown(
    client: TestClient, database: Database, add_matrix: AddMatrix, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.measured.MATRICES_SHOWN", 1)
    names = [add_matrix(sample_matrix(), name, name) for name in ("m1", "m2", "m3")]
    add_job(database, "j1", "cuda:0", JobState.SUCCEEDED, [m for name in names for m in copies(name)], study="batched")
    assert len(get(client, "/batched").context["findings"]) == 3


def test_what_was_skipped_says_why(client: TestClient, database: Database, batched: str) -> None:
    found = [multiplied("csr/smart", 7.0, matrix="m1"), refused("cusparse/chain", "one launch a problem", matrix="m1")]
    add_job(database, "j4", "cuda:0", JobState.SUCCEEDED, found, study="batched")
    page = get(client, "/batched?job=j4")
    assert page.context["kernels"].rows[-1][-1] == "one launch a problem"
    assert "cusparse/chain skipped: one launch a problem." in words(page.text)


def test_an_empty_service_says_what_to_do(client: TestClient) -> None:
    page = get(client, "/batched")
    assert page.status_code == 200
    assert "choose the study batched and press Measure" in words(page.text)
    assert 'id="batch"' not in page.text


def test_names_of_strangers_are_text(client: TestClient, database: Database, add_matrix: AddMatrix) -> None:
    add_batches(database, "j1", (add_matrix(sample_matrix(), HOSTILE, "m2"), add_matrix(sample_matrix(), "b", "m3")))
    text = get(client, "/batched").text
    assert "<script>alert" not in text
    assert "&lt;b&gt;x&lt;/b&gt;" in text
    for name in BATCHES:
        assert "<script>" not in client.get(f"/api/v1/figures/{name}").text
