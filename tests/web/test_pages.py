"""Every page by its context and its words; the client is no browser, so nothing here runs scripts."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from server import import_recordings
from server.db import Database
from tests.samples.formats import timed
from tests.web.conftest import ON_EVERY_PAGE, Lab, add_measurement, get
from web import contexts, home_contexts, job_contexts, matrix_contexts, service_contexts
from web.papers import PAPERS
from web.problem_hints import HINTS
from web.studies import PAGES as STUDY_PAGES

PAGES: dict[str, tuple[str, type[Any]]] = {
    "/": ("home.html", home_contexts.HomePage),
    "/matrices": ("matrices.html", matrix_contexts.MatricesPage),
    "/matrices/m1": ("matrix.html", matrix_contexts.MatrixPage),
    "/matrices/ingesting": ("matrix.html", matrix_contexts.MatrixPage),
    "/matrices/failed": ("matrix.html", matrix_contexts.MatrixPage),
    **{f"/{page.name}": ("study.html", contexts.StudyPage) for page in STUDY_PAGES},
    "/jobs": ("jobs.html", job_contexts.JobsPage),
    "/jobs/j1": ("job.html", job_contexts.JobPage),
    "/jobs/j3": ("job.html", job_contexts.JobPage),
    "/jobs/j4": ("job.html", job_contexts.JobPage),
    "/jobs/j5": ("job.html", job_contexts.JobPage),
    "/jobs/j4/compare?with=j1": ("compare.html", job_contexts.ComparePage),
    "/measure": ("measure.html", job_contexts.MeasurePage),
    "/measure?again=j1": ("measure.html", job_contexts.MeasurePage),
    "/service": ("service.html", service_contexts.ServicePage),
    "/devices/compare?first=cpu&second=cuda:0": ("device_pairs.html", contexts.DevicePairPage),
    "/history?matrix=m1&device=cpu": ("history.html", contexts.HistoryPage),
    "/library": ("library.html", contexts.LibraryPage),
    **{paper.href: ("paper.html", contexts.PaperPage) for paper in PAPERS},
}


@pytest.mark.parametrize("url", PAGES)
def test_a_page_gets_its_context_and_nothing_else(client: TestClient, lab: Lab, url: str) -> None:
    template, context = PAGES[url]
    response = get(client, url)
    assert response.status_code == 200
    assert response.template.name == template
    assert set(response.context) == {field.name for field in fields(context)} | ON_EVERY_PAGE


@pytest.mark.parametrize("url", ["/", "/matrices", "/jobs", "/service"])
def test_an_empty_service_says_what_to_do(client: TestClient, url: str) -> None:
    response = get(client, url)
    assert response.status_code == 200
    assert "<table" not in response.text


def test_an_empty_study_and_an_empty_list_of_jobs_blame_no_choice(client: TestClient, lab: Lab) -> None:
    def title(url: str) -> str:
        return str(get(client, url).text).partition("<h1")[2].partition("</h1>")[0]

    assert title("/spmm") != title(f"/formats?matrix={lab.hostile}&device=cpu&kernel=x/y")
    assert 'href="/docs/spmm"' in get(client, "/spmm").text
    assert '<div class="controls">' in get(client, "/jobs?state=cancelled").text


@pytest.mark.parametrize("url", PAGES)
def test_nothing_is_loaded_from_elsewhere_and_no_script_is_inline(client: TestClient, lab: Lab, url: str) -> None:
    text = get(client, url).text
    # A link to where a paper is published loads nothing.
    own = re.sub(r'<a href="https://[^"]*" rel="noreferrer">', "", text)
    assert re.findall(r'\b(?:src|href|(?:form)?action)="((?!/|#)[^"]*)"', own) == []
    assert re.findall(r"<script(?![^>]*\bsrc=)", text) == []
    assert re.findall(r"\son\w+=", text) == []
    for asset in set(re.findall(r'"(/static/[^"]+)"', text)):
        assert client.get(asset).status_code == 200


@pytest.mark.parametrize("url", ["/matrices", "/jobs"])
def test_names_of_strangers_are_text(client: TestClient, lab: Lab, url: str) -> None:
    text = get(client, url).text
    assert "<script>alert" not in text
    assert "&lt;b&gt;x&lt;/b&gt;" in text


def test_home_says_that_recordings_are_read_in(
    client: TestClient, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    monkeypatch.setattr(import_recordings, "_update", lambda *_: seen.append(get(client, "/")))
    (tmp_path / "h200").mkdir()
    (tmp_path / "h200" / "formats.json.gz").touch()
    import_recordings.run(database, tmp_path)
    assert "Importing the reference results" in seen[0].text
    assert "Importing the reference results" not in get(client, "/").text


def test_a_matrix_page_says_what_was_wrong_with_its_file(client: TestClient, lab: Lab) -> None:
    assert "Line 3: odd." in get(client, "/matrices/failed").text
    assert get(client, "/matrices/ingesting").context["topics"] == "matrix:ingesting"


def test_job_pages_follow_their_job_until_it_is_over(client: TestClient, lab: Lab) -> None:
    add_measurement(lab.database, lab.running, timed("csr/vector", 800e-6, matrix=lab.matrix))
    running, over = get(client, "/jobs/j4").context, get(client, "/jobs/j1").context
    assert (running["topics"], running["over"], running["can_stop"]) == ("job:j4", False, True)
    race = running["live"].race
    # Of the four measured cases, three have a cold cache.
    assert running["live"].phases[-1].note == f"1 of {len(race.rows) + len(race.folded)} settled"
    assert running["under"][0].endswith("Attempt 2.")
    assert (over["topics"], over["over"], over["live"]) == ("", True, None)
    assert over["under"] == ("12 of 16 cases have times.",)
    (skipped,) = over["why"]
    assert skipped.startswith("4 ")
    assert skipped.endswith(" skipped: needs 41 GB of memory; the limit is 16 GB")
    assert get(client, "/jobs/j5").context["pill"].text.endswith("position 1")
    assert "The device failed." in get(client, "/jobs/j3").text


def test_jobs_are_filtered(client: TestClient, lab: Lab) -> None:
    assert [job.id for job in get(client, "/jobs?state=queued").context["jobs"]] == ["j5"]
    assert [job.id for job in get(client, "/jobs?study=formats").context["jobs"]] == ["j5", "j4", "j3", "j2", "j1"]


def test_matrices_are_searched_and_sorted(client: TestClient, lab: Lab) -> None:
    assert [line.matrix.name for line in get(client, "/matrices?q=CNR").context["matrices"]] == ["cnr-2000"]
    context = get(client, "/matrices?sort=name").context
    assert [column.order for column in context["columns"] if column.text == "name"] == ["ascending"]
    assert [line.matrix.name for line in context["matrices"]][-2:] == ["failed.mtx", "ingesting.mtx"]


def test_every_generator_has_its_form(client: TestClient, lab: Lab) -> None:
    from gpu_engine.generators import GENERATORS

    generators = get(client, "/matrices").context["generators"]
    assert [family.name for family in generators] == [family.name for family in GENERATORS]
    assert all(field.help for family in generators for field in family.fields)


@pytest.mark.parametrize(
    ("url", "status", "words"),
    [
        ("/matrices/none", 404, "matrix 'none'"),
        ("/jobs/none", 404, "job 'none'"),
        ("/nowhere", 404, "'/nowhere'"),
        ("/formats?cache=hot", 422, "cache is 'hot'"),
        ("/formats?fromat=csr", 422, "'fromat'"),
        ("/jobs?state=lost", 422, "'lost'"),
        ("/matrices?sort=colour", 422, "'colour'"),
        ("/service?x=1", 422, "This page takes none"),
        ("/static/0/app.css", 404, "Reload the page"),
    ],
)
def test_errors_are_pages_for_browsers_and_problems_for_programs(
    client: TestClient, lab: Lab, url: str, status: int, words: str
) -> None:
    page, problem = get(client, url), client.get(url)
    assert (page.status_code, problem.status_code) == (status, status)
    assert problem.headers["content-type"] == "application/problem+json"
    assert words in problem.json()["detail"]
    if not url.startswith("/static/"):
        assert page.headers["content-type"].startswith("text/html")
        assert page.template.name == "error.html"


@pytest.mark.parametrize(
    ("url", "rest"),
    [
        ("/formats?job=j1&cache=hot", "/formats?job=j1"),
        ("/formats?cache=hot", "/formats"),
        ("/service?x=1", "/service"),
        ("/jobs/none", ""),
    ],
)
def test_a_refused_choice_keeps_the_others(client: TestClient, lab: Lab, url: str, rest: str) -> None:
    assert get(client, url).context["rest"] == rest
    assert not rest or get(client, rest).status_code == 200


def test_an_error_page_says_what_to_do_in_the_words_of_the_pages(client: TestClient, lab: Lab) -> None:
    text = get(client, "/jobs/none").text
    assert HINTS["list_jobs"] in text
    assert "GET /api" not in text


def test_static_files_never_go_stale(client: TestClient) -> None:
    text = get(client, "/").text
    (plotly,) = re.findall(r'data-plotly="([^"]+)"', text)
    (style,) = re.findall(r'rel="stylesheet" href="([^"]+)"', text)
    for url, media_type in ((plotly, "javascript"), (style, "text/css")):
        response = client.get(url)
        assert media_type in response.headers["content-type"]
        assert "immutable" in response.headers["cache-control"]
        assert response.headers["content-encoding"] == "gzip"
        assert client.get(url, headers={"Accept-Encoding": "identity"}).text == response.text


def test_a_matrix_that_is_gone_is_called_so(client: TestClient, lab: Lab) -> None:
    from server.models import JobRow

    with lab.database.write() as session:
        job = session.get(JobRow, lab.queued)
        assert job is not None
        job.matrix_ids = ["gone"]
    assert "deleted matrix gone" in get(client, "/jobs").text


def test_answers_are_compressed_and_streams_are_not(client: TestClient, lab: Lab) -> None:
    page = get(client, "/formats?job=j1")
    assert page.headers["content-encoding"] == "gzip"
    assert "Accept-Encoding" in page.headers["vary"]
    plain = client.get("/formats?job=j1", headers={"Accept": "text/html", "Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.text == page.text
    assert 3 * int(page.headers["content-length"]) < len(plain.content)
    stream = client.head("/api/v1/events?topics=jobs")
    assert "content-encoding" not in stream.headers


def test_a_page_knows_the_newest_event_that_it_shows(client: TestClient, lab: Lab) -> None:
    from server.events import emit, newest_id

    with lab.database.write() as session:
        emit(session, f"job:{lab.running}", "state", {})
    with lab.database.read() as session:
        number = newest_id(session)
    assert get(client, f"/jobs/{lab.running}").context["event"] == number
