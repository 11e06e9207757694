"""`/scaling`, and what other pages say of shared work; figures by value are tested beside their modules."""

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
from tests.web.conftest import CPU, GPU, add_job, add_works, sample_matrix
from tests.web.samples import HOSTILE, study_of
from tests.web.scaling_samples import by_cusparse, cold, cut_both_ways, resident, shared, unworked
from tests.web.test_pages import get, words
from web import contexts
from web.figures import FIGURES
from web.figures.scaling.conclusions import STATEMENTS
from web.parts import WorkCases
from web.units import THIN

WORKS = [figure.name for figure in FIGURES if figure.needs == "works"]
VIRTUAL = "These devices are virtual: threads of this CPU. Their times say nothing of a GPU"


@pytest.fixture
def scaled(database: Database, add_matrix: AddMatrix) -> str:
    """Two matrices with jobs of two studies on the CPU, the newest of scaling on the GPU."""
    devices.register(database, [CPU, GPU])
    first, second = add_matrix(sample_matrix(), "web_graph", "m1"), add_matrix(sample_matrix(), "fem3", "m2")
    add_job(database, "j1", "cpu", JobState.SUCCEEDED, study_of(first))
    add_works(database, "j2", (first, second))
    add_works(database, "j3", (first, second), "cuda:0")
    return first


def test_the_page_gets_its_context_and_nothing_else(client: TestClient, scaled: str) -> None:
    response = get(client, "/scaling")
    assert (response.status_code, response.template.name) == (200, "scaling.html")
    assert set(response.context) == {field.name for field in fields(contexts.ScalingPage)} | {"request", "path"}


def test_it_starts_with_the_newest_device_and_mixes_none(client: TestClient, scaled: str) -> None:
    context = get(client, "/scaling").context
    assert [(link.text, link.current) for link in context["devices"]] == [("cuda:0", True), ("cpu", False)]
    tables = [*(each.table for each in context["cases"]), *(f.table for f in context["figures"])]
    assert {row[1] for table in tables for row in table.rows} == {"cuda:0"}
    assert context["overview"] == (
        "Over 2 matrices cut as pCSR on cuda:0, warm: pCSR/p*-opt leads or shares the lead on 2.",
    )


def test_a_work_has_its_verdict_and_its_address(client: TestClient, scaled: str) -> None:
    page = get(client, "/scaling")
    found = [(finding.title, finding.href) for finding in page.context["findings"]]
    assert found[:2] == [
        ("web_graph, from the host", "/scaling?matrix=m1&device=cuda%3A0&cache=warm"),
        ("web_graph, resident", "/scaling?matrix=m1&device=cuda%3A0&cache=warm"),
    ]
    assert len(found) == 8
    assert "pCSR/p*-opt is 3.12 × as fast as on one device" in words(page.text)
    alone = get(client, page.context["findings"][4].href).context
    assert {finding.matrix_id for finding in alone["findings"]} == {"m2"}


def test_works_are_never_in_one_table(client: TestClient, scaled: str) -> None:
    found = {each.work: {row[2].partition(",")[0] for row in each.table.rows} for each in _cases(client)}
    assert found == {
        "cold": {"pCSR/baseline", "pCSR/p*", "pCSR/p*-opt"},
        "resident": {"pCSR/resident"},
        "iterate": {"pCSR/iterate"},
        "pagerank": {"pCSR/pagerank+fp64", "pCSR/pagerank+cpms2"},
    }


def _cases(client: TestClient) -> tuple[WorkCases, ...]:
    found: tuple[WorkCases, ...] = get(client, "/scaling").context["cases"]
    return found


def test_every_figure_has_words_numbers_and_a_chart(client: TestClient, scaled: str) -> None:
    context = get(client, "/scaling?job=j3").context
    assert [figure.name for figure in context["figures"]] == WORKS
    for figure in context["figures"]:
        assert figure.chart.summary
        assert figure.table.rows
        assert len(client.get(figure.chart.url).json()["data"]) > 0


def test_virtual_devices_are_called_so_first_of_all(client: TestClient, scaled: str) -> None:
    page = get(client, "/scaling?device=cpu")
    text = words(page.text)
    assert text.index(VIRTUAL) < text.index("4 virtual devices")
    assert all(f.chart.summary.endswith("say nothing of a GPU.") for f in page.context["figures"])
    assert {row[1] for each in page.context["cases"] for row in each.table.rows} == {"cpu (virtual)"}
    assert get(client, "/scaling?device=cuda:0").context["caveat"] == ""
    assert VIRTUAL in words(get(client, "/scaling?device=cuda:0&device=cpu").text)


def test_the_address_chooses_how_many_devices_and_what_of_their_phases(client: TestClient, scaled: str) -> None:
    page = get(client, "/scaling?job=j3&devices=2&phases=shares")
    assert [(choice.value, choice.chosen) for choice in page.context["numbers"]] == [
        ("", False),
        ("1", False),
        ("2", True),
        ("4", False),
    ]
    assert page.context["kept"] == (("job", "j3"), ("phases", "shares"))
    assert [(link.text, link.current) for link in page.context["phases"]] == [("times", False), ("shares", True)]
    assert "pCSR/p*-opt is fastest on cuda:0 with 2 devices" in words(page.text)
    drawn = client.get("/api/v1/figures/scaling-balance?job=j3&devices=2&matrix=m1").json()
    assert [trace["x"] for trace in drawn["data"]] == [[3_000_000.0, 1_000_000.0], [2_000_000.0, 2_000_000.0]]
    shares = client.get("/api/v1/figures/scaling-phases?job=j3&phases=shares").json()
    assert shares["layout"]["xaxis2"]["title"]["text"] == "% of the phases"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("devices=many", "devices is 'many'; expected how many they are"),
        ("devices=0", "devices is '0'"),
        ("devices=1&devices=2", "devices is given 2 times; give it once."),
        ("phases=halves", "phases is 'halves'; it must be one of times, shares."),
    ],
)
def test_what_cannot_be_chosen_is_refused(client: TestClient, scaled: str, query: str, said: str) -> None:
    for url in (f"/scaling?{query}", f"/api/v1/figures/scaling-cold?{query}"):
        response = client.get(url)
        assert response.status_code == 422
        assert said in response.json()["detail"]


def test_without_one_device_the_page_says_so_and_draws_no_speed_up(
    client: TestClient, database: Database, scaled: str
) -> None:
    far = [m for m in cold("m1", "cuda:0") if m.devices != 1]
    add_job(database, "j4", "cuda:0", JobState.SUCCEEDED, far, study="scaling")
    page = get(client, "/scaling?job=j4")
    (figure,) = (figure for figure in page.context["figures"] if figure.name == "scaling-cold")
    assert (figure.chart.version, figure.table) == ("0", None)
    assert "Without a time on one device, and so without a speed-up: pCSR/baseline on web_graph" in figure.note
    assert "has no time on one device here, so that nothing is said of its speed-up" in words(page.text)


def test_studies_do_not_mix(client: TestClient, scaled: str) -> None:
    assert [job.href for job in get(client, "/formats?device=cpu").context["jobs"]] == ["/jobs/j1"]
    assert [job.href for job in get(client, "/scaling?device=cpu").context["jobs"]] == ["/jobs/j2"]
    assert get(client, "/scaling?job=j1").context["findings"] == ()
    assert get(client, "/batched?job=j3").context["findings"] == ()


def test_a_job_lists_its_works_apart(client: TestClient, database: Database, scaled: str) -> None:
    results = get(client, "/jobs/j3").context["results"]
    assert [finding.title for finding in results.works][:2] == ["web_graph, from the host", "web_graph, resident"]
    assert (results.findings, results.runs, results.batches, results.cases) == ((), (), (), None)
    assert [(each.work, len(each.table.rows)) for each in results.work_cases] == [
        ("cold", 18),
        ("resident", 6),
        ("iterate", 12),
        ("pagerank", 8),
    ]
    assert (results.comparison.text, results.comparison.href) == ("Open in Scaling", "/scaling?job=j3")
    assert results.chart.url == "/api/v1/figures/scaling-cold?job=j3"
    add_job(database, "j4", "cuda:0", JobState.SUCCEEDED, resident("m1", "cuda:0"), study="scaling")
    assert get(client, "/jobs/j4").context["results"].chart.url == "/api/v1/figures/scaling-staying?job=j4"
    add_job(database, "j5", "cuda:0", JobState.RUNNING, [], ("m1",), study="scaling")
    results = get(client, "/jobs/j5").context["results"]
    assert (results.chart.version, results.comparison) == ("0", None)


def test_downloads_have_the_records(client: TestClient, scaled: str) -> None:
    found = client.get("/scaling.json?job=j3&matrix=m1&kernel=pCSR/resident").json()["measurements"]
    assert [(m["devices"], m["entries_by_device"]) for m in found] == [
        (1, [4_000_000]),
        (2, [2_000_000] * 2),
        (4, [1_000_000] * 4),
    ]
    lines = client.get("/scaling.csv?job=j3").text.splitlines()
    assert lines[0].startswith("case,matrix_id,device")
    assert len(lines) == 1 + 2 * len(shared())


def test_what_was_recorded_elsewhere_is_shown(client: TestClient, database: Database, tmp_path: Path) -> None:
    found = tuple(cold("grid", H200.id))
    recording = Recording("scaling", "2026-11-20T12:00:00+00:00", H200, PROFILE, (grid(),), found, ())
    files.write(tmp_path / "recorded" / "h200" / "scaling.json.gz", recording)
    import_recordings.run(database, tmp_path / "recorded")
    (finding,) = get(client, "/scaling").context["findings"]
    assert finding.title == "a grid, from the host"
    assert "see scaling on NVIDIA H200 (recorded)" in words(get(client, "/").text)


def test_the_papers_conclusions_stand_beside_what_the_shown_device_says(client: TestClient, scaled: str) -> None:
    page = get(client, "/scaling")
    found = {row[0]: row[1:] for row in page.context["conclusions"].rows}
    assert len(found) == len(STATEMENTS) == len(page.context["conclusions"].rows)
    assert {cells[2] for cells in found.values()} == {"cuda:0"}
    says, numbers, _, _ = next(cells for text, cells in found.items() if text.startswith("Baseline is the slowest"))
    assert (says, numbers.replace(THIN, " ")) == (
        "agrees",
        "Holds for 2 of 2: web_graph pCSR p* 2.00 × baseline (faster), p*-opt 1.25 × p* (faster); fem3 pCSR p* 2.00 × "
        "baseline (faster), p*-opt 1.25 × p* (faster).",
    )
    assert "The paper’s conclusions, and these devices" in page.text
    assert {row[3] for row in get(client, "/scaling?device=cpu").context["conclusions"].rows} == {"cpu (virtual)"}
    assert "The paper’s conclusions" not in get(client, "/scaling?job=j1").text


def test_cuts_of_resident_products_have_a_table_beside_that_of_the_figure(
    client: TestClient, database: Database, scaled: str
) -> None:
    found = [*cold("m1", "cuda:0"), *cut_both_ways("m1", "cuda:0")]
    add_job(database, "j4", "cuda:0", JobState.SUCCEEDED, found, study="scaling")
    page = get(client, "/scaling?job=j4")
    ((work, heading, table),) = [(e.work, e.heading, e.table) for e in page.context["balance"]]
    assert (work, heading, {row[2].partition(",")[0] for row in table.rows}) == (
        "resident",
        "resident",
        {"pCSR/resident"},
    )
    (figure,) = (figure for figure in page.context["figures"] if figure.name == "scaling-balance")
    assert {row[2] for row in figure.table.rows} == {"pCSR/baseline", "pCSR/p*", "pCSR/p*-opt"}
    assert "The numbers, resident" in page.text
    assert get(client, "/scaling?job=j3").context["balance"][0].table.rows[0][2] == "pCSR/resident"


def test_a_library_is_beside_our_strategies(client: TestClient, database: Database, scaled: str) -> None:
    works = [*cold("m1", "cuda:0"), *cold("m2", "cuda:0")]
    add_job(database, "j4", "cuda:0", JobState.SUCCEEDED, [*works, *by_cusparse(works, 0.5)], study="scaling")
    page = get(client, "/scaling?job=j4")
    assert page.context["overview"] == (
        "Over 2 matrices cut as pCSR on cuda:0, warm: pCSR/p*-opt leads or shares the lead on 2.",
    )
    assert "is 0.50 × as fast as pCSR/p*-opt, product cusparse (slower)" in words(page.text)
    theirs = by_cusparse(works, 1.5)
    add_job(database, "j5", "cuda:0", JobState.SUCCEEDED, theirs, study="scaling")
    alone = get(client, "/scaling?job=j5")
    assert alone.context["overview"] == ()
    assert "Nothing of ours has a time on cuda:0; pCSR/p*-opt, product cusparse takes 48.0 ms" in words(alone.text)


def test_what_was_skipped_says_why(client: TestClient, database: Database, scaled: str) -> None:
    found = [unworked("pCSR/iterate", "the matrix is not square", work="iterate", matrix="m1")]
    add_job(database, "j4", "cuda:0", JobState.SUCCEEDED, found, study="scaling")
    page = get(client, "/scaling?job=j4")
    assert page.context["cases"][0].table.rows[-1][-1] == "the matrix is not square"
    assert "Nothing has a time on cuda:0: the matrix is not square." in words(page.text)


def test_an_empty_service_says_what_to_do(client: TestClient) -> None:
    page = get(client, "/scaling")
    assert page.status_code == 200
    assert "choose the study scaling and press Measure" in words(page.text)
    assert 'id="devices"' not in page.text


def test_names_of_strangers_are_text(client: TestClient, database: Database, add_matrix: AddMatrix) -> None:
    add_works(database, "j1", (add_matrix(sample_matrix(), HOSTILE, "m2"), add_matrix(sample_matrix(), "b", "m3")))
    text = get(client, "/scaling").text
    assert "<script>alert" not in text
    assert "&lt;b&gt;x&lt;/b&gt;" in text
    for name in WORKS:
        assert "<script>" not in client.get(f"/api/v1/figures/{name}").text
