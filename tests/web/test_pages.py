"""Every page by its context and its words; the client is no browser, so nothing here runs scripts."""

import re
from dataclasses import fields
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.web.conftest import Lab
from tests.web.samples import HOSTILE
from web import contexts, parts
from web.figures import FIGURES
from web.units import THIN

HTML = {"Accept": "text/html"}
PAGES: dict[str, tuple[str, type[Any]]] = {
    "/": ("home.html", contexts.HomePage),
    "/matrices": ("matrices.html", contexts.MatricesPage),
    "/matrices/m1": ("matrix.html", contexts.MatrixPage),
    "/matrices/ingesting": ("matrix.html", contexts.MatrixPage),
    "/matrices/failed": ("matrix.html", contexts.MatrixPage),
    "/formats": ("formats.html", contexts.FormatsPage),
    "/batched": ("batched.html", contexts.BatchedPage),
    "/scaling": ("scaling.html", contexts.ScalingPage),
    "/jobs": ("jobs.html", contexts.JobsPage),
    "/jobs/j1": ("job.html", contexts.JobPage),
    "/jobs/j3": ("job.html", contexts.JobPage),
    "/jobs/j4": ("job.html", contexts.JobPage),
    "/jobs/j5": ("job.html", contexts.JobPage),
    "/devices": ("devices.html", contexts.DevicesPage),
}


def get(client: TestClient, url: str) -> Any:
    return client.get(url, headers=HTML)


@pytest.mark.parametrize("url", PAGES)
def test_a_page_gets_its_context_and_nothing_else(client: TestClient, lab: Lab, url: str) -> None:
    template, context = PAGES[url]
    response = get(client, url)
    assert response.status_code == 200
    assert response.template.name == template
    assert set(response.context) == {field.name for field in fields(context)} | {"request", "path"}


@pytest.mark.parametrize("url", ["/", "/matrices", "/formats", "/batched", "/scaling", "/jobs", "/devices"])
def test_an_empty_service_says_what_to_do(client: TestClient, url: str) -> None:
    response = get(client, url)
    assert response.status_code == 200
    assert "<table" not in response.text


@pytest.mark.parametrize("url", PAGES)
def test_nothing_is_loaded_from_elsewhere_and_no_script_is_inline(client: TestClient, lab: Lab, url: str) -> None:
    text = get(client, url).text
    assert re.findall(r'(?:src|href|action)="((?!/|#)[^"]*)"', text) == []
    assert re.findall(r"<script(?![^>]*\bsrc=)", text) == []
    assert re.findall(r"\son\w+=", text) == []
    for asset in set(re.findall(r'"(/static/[^"]+)"', text)):
        assert client.get(asset).status_code == 200


@pytest.mark.parametrize("url", ["/", "/matrices", "/matrices/m2", "/formats?matrix=m2", "/jobs", "/jobs/j1"])
def test_names_of_strangers_are_text(client: TestClient, lab: Lab, url: str) -> None:
    text = get(client, url).text
    assert "<script>alert" not in text
    assert "&lt;b&gt;x&lt;/b&gt;" in text


def test_home_says_the_newest_verdict_in_words(client: TestClient, lab: Lab) -> None:
    said = words(get(client, "/").text)
    assert "csr/vector is fastest on cpu, warm: 2.50 GFLOP/s, 50 % of the floor" in said
    assert "about 1 min 5 s left" in said
    assert "place 1 in the queue of cpu" in said
    assert "20.0 GB/s" in said


def test_formats_starts_with_the_newest_device_and_warm(client: TestClient, lab: Lab) -> None:
    context = get(client, "/formats").context
    assert [(link.text, link.current) for link in context["devices"]] == [("cpu", True), ("cuda:0", False)]
    assert [(link.text, link.current) for link in context["caches"]] == [("cold", False), ("warm", True)]
    assert {finding.comparison.cache for finding in context["findings"]} == {"warm"}
    assert len({finding.comparison.device for finding in context["findings"]}) == 1


def test_formats_offers_the_chosen_matrices_and_the_newest_others(
    client: TestClient, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.views.study.CHOICES_MAX", 1)
    context = get(client, f"/formats?device=cpu&matrix={lab.hostile}").context
    assert [(choice.value, choice.chosen) for choice in context["matrices"]] == [(lab.hostile, True)]
    (every,) = context["every"]
    assert every.text == "all 2"
    assert sorted(get(client, every.href).context["matrices"], key=lambda choice: choice.value) == [
        parts.Choice(lab.matrix, "cnr-2000", True),
        parts.Choice(lab.hostile, HOSTILE, True),
    ]
    both = get(client, f"/formats?device=cpu&matrix={lab.hostile}&matrix={lab.matrix}").context
    assert {choice.value for choice in both["matrices"]} == {lab.hostile, lab.matrix}
    assert both["every"] == ()


def test_formats_shows_every_figure_of_the_study_with_its_numbers(client: TestClient, lab: Lab) -> None:
    context = get(client, "/formats?job=j1&pair=csr&pair=coo").context
    figures = {figure.name: figure for figure in context["figures"]}
    assert list(figures) == [figure.name for figure in FIGURES if figure.needs == "measurements"]
    for name, figure in figures.items():
        assert figure.chart.version == "8", "the records in warm state"
        assert figure.chart.url.startswith(f"/api/v1/figures/{name}?job=j1&matrix=m1&matrix=m2&device=cpu&cache=warm")
        assert client.get(figure.chart.url).status_code == 200
        assert (figure.table is None) == (name == "formats"), "its table is the comparison itself"
    assert figures["performance-profile"].table.rows[0][0] == "csr/vector"
    assert context["overview"] == ("Over 2 matrices on cpu, warm: csr/vector leads or shares the lead on 2.",)
    assert context["few"] == ""
    assert [chart.url for chart in context["structure"]] == [
        "/api/v1/figures/spy?matrix=m1",
        "/api/v1/figures/spy?matrix=m2",
    ]
    assert len(context["features"].rows) == 2


def test_figures_that_compare_matrices_are_a_sentence_where_there_is_one(client: TestClient, lab: Lab) -> None:
    context = get(client, "/formats?job=j1&matrix=m1").context
    shown = [figure.name for figure in context["figures"] if figure.chart.version != "0"]
    assert shown == ["formats", "roofline", "conversion"]
    assert context["few"] == (
        "“All formats side by side”, “How far from the fastest”, “One format against another” and “Rate by size” "
        "compare matrices: choose two or more to see them."
    )
    assert (context["overview"], context["pair"]) == ((), ())


def test_a_pair_that_nothing_has_measured_is_a_sentence(client: TestClient, lab: Lab) -> None:
    response = get(client, "/formats?job=j1&pair=pellr&pair=hyb")
    (ratio,) = (figure for figure in response.context["figures"] if figure.name == "ratio")
    assert (ratio.chart.version, ratio.table) == ("0", None)
    assert "No matrix here has a time in both formats of a pair. Choose another pair above." in words(response.text)
    assert "One format against another" not in response.context["few"]


def test_the_address_chooses_the_pair(client: TestClient, lab: Lab) -> None:
    context = get(client, "/formats?job=j1&pair=coo&pair=csr&baseline=coo/segmented").context
    first, second = context["pair"]
    assert [choice.value for choice in first.options if choice.chosen] == ["coo"]
    assert [choice.value for choice in second.options if choice.chosen] == ["csr"]
    assert [choice.value for choice in first.options] == ["", "coo", "csr"]
    tables = {figure.name: figure.table for figure in context["figures"]}
    assert {row[0] for row in tables["ratio"].rows} == {"coo over csr"}
    assert {row[-1] for row in tables["conversion"].rows} == {"coo/segmented"}


def test_a_whole_job_is_preferred_to_a_newer_one_under_way(client: TestClient, lab: Lab) -> None:
    context = get(client, "/formats?matrix=m1&device=cpu").context
    assert [job.href for job in context["jobs"]] == ["/jobs/j1"]
    assert len(context["findings"][0].comparison.rows) == 4


def test_the_address_chooses_everything(client: TestClient, lab: Lab) -> None:
    kernels = "kernel=csr%2Fscalar&kernel=coo%2Fsegmented&baseline=coo%2Fsegmented"
    context = get(client, f"/formats?matrix=m1&matrix=m2&device=cpu&cache=cold&{kernels}").context
    assert [finding.matrix for finding in context["findings"]] == ["cnr-2000", HOSTILE]
    for finding in context["findings"]:
        comparison = finding.comparison
        assert (comparison.device, comparison.cache, comparison.baseline) == ("cpu", "cold", "coo/segmented")
        assert [row.kernel for row in comparison.rows] == ["coo/segmented", "csr/scalar"]


def test_failed_and_skipped_kernels_keep_their_reason(client: TestClient, lab: Lab) -> None:
    assert "skipped: needs 41 GB, 16 GB allowed" in words(get(client, "/formats?job=j1&matrix=m1").text)


def test_a_matrix_is_measured_where_a_worker_lives(client: TestClient, lab: Lab) -> None:
    context = get(client, "/matrices/m1").context
    assert [choice.value for choice in context["devices"]] == ["cuda:0", "cpu"]
    assert "NVIDIA H200 · about" in context["devices"][0].text
    assert {finding.comparison.device for finding in context["findings"]} == {"cpu", "cuda:0"}
    assert get(client, "/matrices/ingesting").context["devices"] == ()


def test_a_matrix_page_says_what_was_wrong_with_its_file(client: TestClient, lab: Lab) -> None:
    assert "Line 3: odd." in get(client, "/matrices/failed").text
    assert get(client, "/matrices/ingesting").context["topics"] == "matrix:ingesting"


def test_job_pages_follow_their_job_until_it_is_over(client: TestClient, lab: Lab) -> None:
    running, over = get(client, "/jobs/j4").context, get(client, "/jobs/j1").context
    assert (running["topics"], running["over"], running["status"]) == ("job:j4", False, "attempt 2, 3 of 16 cases done")
    assert (over["topics"], over["over"], over["counts"]) == ("", True, "16 of 16 cases measured, 4 skipped.")
    assert get(client, "/jobs/j5").context["status"] == "place 1 in the queue"
    assert "The device failed." in get(client, "/jobs/j3").text


def test_jobs_are_filtered(client: TestClient, lab: Lab) -> None:
    assert [job.id for job in get(client, "/jobs?state=queued").context["jobs"]] == ["j5"]
    assert [job.id for job in get(client, "/jobs?study=formats").context["jobs"]] == ["j5", "j4", "j3", "j2", "j1"]


def test_matrices_are_searched_and_sorted(client: TestClient, lab: Lab) -> None:
    assert [matrix.name for matrix in get(client, "/matrices?q=CNR").context["matrices"]] == ["cnr-2000"]
    context = get(client, "/matrices?sort=name").context
    assert [column.order for column in context["columns"] if column.text == "name"] == ["ascending"]
    assert [matrix.name for matrix in context["matrices"]][-2:] == ["failed.mtx", "ingesting.mtx"]


def test_every_generator_has_its_form(client: TestClient, lab: Lab) -> None:
    from gpu_engine.generators import GENERATORS

    families = get(client, "/matrices").context["families"]
    assert [family.name for family in families] == [family.name for family in GENERATORS]
    assert all(field.help for family in families for field in family.fields)


def test_downloads_are_the_measurements_of_the_view(client: TestClient, lab: Lab) -> None:
    document = client.get("/formats.json?job=j1&matrix=m1&cache=cold").json()
    assert [m["kernel"] for m in document["measurements"]] == [
        "csr/scalar",
        "csr/vector",
        "coo/segmented",
        "ell/thread",
    ]
    lines = client.get("/formats.csv?job=j1&matrix=m1&cache=cold").text.splitlines()
    assert len(lines) == 5
    assert lines[0].startswith("case,matrix_id,device")


@pytest.mark.parametrize(
    ("url", "status", "words"),
    [
        ("/matrices/none", 404, "There is no matrix"),
        ("/jobs/none", 404, "There is no job"),
        ("/nowhere", 404, "Not Found"),
        ("/formats?cache=hot", 422, "it must be one of"),
        ("/formats?fromat=csr", 422, "There is no parameter"),
        ("/jobs?state=lost", 422, "There is no job state"),
        ("/matrices?sort=colour", 422, "cannot be sorted"),
        ("/devices?x=1", 422, "this page takes none"),
        ("/static/0/app.css", 404, "reload the page"),
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


def test_an_error_page_says_what_to_do_in_the_words_of_the_pages(client: TestClient, lab: Lab) -> None:
    text = get(client, "/jobs/none").text
    assert "There is no job &#39;none&#39;. The page Jobs lists them." in text
    assert "GET /api" not in text


def test_static_files_never_go_stale(client: TestClient) -> None:
    text = get(client, "/").text
    (plotly,) = re.findall(r'data-plotly="([^"]+)"', text)
    (style,) = re.findall(r'rel="stylesheet" href="([^"]+)"', text)
    for url, media_type in ((plotly, "javascript"), (style, "text/css")):
        response = client.get(url)
        assert media_type in response.headers["content-type"]
        assert "immutable" in response.headers["cache-control"]
        assert client.get(url, headers={"Accept-Encoding": "identity"}).text == response.text


def test_a_matrix_that_is_gone_is_called_so(client: TestClient, lab: Lab) -> None:
    from server.models import JobRow

    with lab.database.write() as session:
        job = session.get(JobRow, lab.queued)
        assert job is not None
        job.matrix_ids = ["gone"]
    assert "deleted matrix gone" in get(client, "/jobs").text


def words(text: str) -> str:
    """The text of a page as it is read."""
    text = re.sub(r"<[^>]+>", "", text).replace(THIN, " ")
    return re.sub(r"\s+", " ", text)
