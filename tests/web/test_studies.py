"""What the page of every study does; what only one of them has is tested in the file of its name."""

import csv
import io
import re
from collections import Counter
from dataclasses import fields
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from fastapi.testclient import TestClient

from gpu_engine import recordings as files
from gpu_engine.recordings import Recording
from gpu_engine.studies import STUDIES
from server import devices, import_recordings
from server.db import Database
from server.models import JobState
from tests.conftest import AddMatrix
from tests.samples.formats import HOSTILE
from tests.samples.recording import H200, PROFILE, grid
from tests.samples.studies import GPU_ALONE, records_of
from tests.web.conftest import CPU, GPU, ON_GPU, add_study, get, sample_matrix, words
from web import contexts
from web.studies import PAGES
from web.studies.base import StudyPage

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@pytest.fixture
def measured(page: StudyPage, database: Database, add_matrix: AddMatrix) -> StudyPage:
    """Two matrices: a job of the study on the CPU, j1, and a newer one on the GPU, j2; j0 of the study before it."""
    devices.register(database, [CPU, GPU])
    names = [add_matrix(sample_matrix(), "web_graph", "m1"), add_matrix(sample_matrix(), "fem3", "m2")]
    add_study(database, PAGES[PAGES.index(page) - 1].name, "j0", names)
    add_study(database, page.name, "j1", names)
    add_study(database, page.name, "j2", names, "cuda:0")
    return page


class Reader(HTMLParser):
    """What a test wants to know of a page: its ids, its forms, and its tables of cases with their rows."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.forms: list[list[tuple[str, str, bool]]] = []
        self.tables: list[int] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = {name: value or "" for name, value in attrs}
        if "id" in own:
            self.ids.append(own["id"])
        if tag == "form":
            self.forms.append([])
        if tag in ("input", "select") and "name" in own:
            self.forms[-1].append((own["name"], own.get("value", ""), own.get("type") == "hidden"))
        if tag == "table":
            self.tables.append(-1)
        if tag == "tr" and self.tables:
            self.tables[-1] += 1


def query_of(url: str) -> Counter[tuple[str, str]]:
    return Counter(parse_qsl(url.partition("?")[2]))


@every_page
def test_a_page_gets_its_context_and_nothing_else(client: TestClient, measured: StudyPage) -> None:
    response = get(client, f"/{measured.name}")
    assert (response.status_code, response.template.name) == (200, "study.html")
    assert set(response.context) == {field.name for field in fields(contexts.StudyPage)} | {"request", "path", "event"}
    assert f'<a href="/{measured.name}" aria-current="page">{measured.link}</a>' in response.text
    assert response.text.count("<h1>") == 1


@every_page
def test_it_starts_with_the_newest_device_and_mixes_none(client: TestClient, measured: StudyPage) -> None:
    context = get(client, f"/{measured.name}").context
    (choice,) = (switch for switch in context["switches"] if switch.label == "Device")
    assert [(link.text, link.current) for link in choice.links] == [(ON_GPU, True), ("cpu", False)]
    assert {line.finding.device for line in context["findings"]} == {ON_GPU}
    assert {row.measurement.device for line in context["findings"] for row in line.finding.rows} == {ON_GPU}
    assert [link.href for link in context["jobs"]] == ["/jobs/j2"]
    assert context["title"] == measured.title


@every_page
def test_a_switch_changes_its_parameter_alone(client: TestClient, measured: StudyPage) -> None:
    address = f"/{measured.name}?job=j1&job=j2&matrix=m1&kernel=none&kernel=csr/vector"
    switches = get(client, address).context["switches"]
    parameters = [*(switch.parameter for switch in measured.switches if not switch.figure), "device"]
    assert len(switches) <= len(parameters)
    for switch in switches:
        for link in switch.links:
            added, lost = query_of(link.href) - query_of(address), query_of(address) - query_of(link.href)
            (parameter,) = {name for name, _ in added}
            values = next((each.values for each in measured.switches if each.label == switch.label), {})
            chosen = {{"cuda:0": ON_GPU}.get(value, value) for _, value in added}
            assert chosen == set(values.get(link.text, (link.text,)))
            assert parameter in parameters
            # The matrices of another device are chosen anew.
            assert set(lost) == ({("matrix", "m1")} if parameter == "device" else set())
            there = next(s for s in get(client, link.href).context["switches"] if s.label == switch.label)
            assert [each.text for each in there.links if each.current] == [link.text]


@every_page
def test_every_form_keeps_the_rest_of_the_address(client: TestClient, measured: StudyPage) -> None:
    address = f"/{measured.name}?job=j2&matrix=m2&device=cuda:0&kernel=csr/vector&kernel=csr/thread%2Bfp64&cache=warm"
    values = {"batch": "10", "devices": "2"}
    for parameter in dict.fromkeys(select.parameter for select in measured.selects):
        address += f"&{parameter}={values.get(parameter, 'csr/vector')}"
    forms = Reader(get(client, address).text).forms
    assert len(forms) >= 1
    for form in forms:
        own = {name for name, _, hidden in form if not hidden}
        kept = Counter((name, value) for name, value, hidden in form if hidden)
        assert own
        assert kept == Counter({pair: n for pair, n in query_of(address).items() if pair[0] not in own})


@every_page
def test_the_form_offers_the_matrices_and_the_fields_of_the_study(client: TestClient, measured: StudyPage) -> None:
    context = get(client, f"/{measured.name}?matrix=m2").context
    assert {(choice.value, choice.text): choice.chosen for choice in context["matrices"]} == {
        ("m1", "web_graph"): False,
        ("m2", "fem3"): True,
    }
    assert [link.text for link in context["every"]] == ["all 2"]
    assert get(client, context["every"][0].href).context["every"] == ()
    assert {field.id for field in context["selects"]} <= {select.id for select in measured.selects}
    for field in context["selects"]:
        assert sum(option.chosen for option in field.options) <= 1
        for option in field.options[:2]:
            address = f"/{measured.name}?{field.name}={option.value.replace('+', '%2B')}"
            assert get(client, address).status_code == 200


@every_page
def test_a_finding_leads_to_a_page_that_shows_exactly_it(client: TestClient, measured: StudyPage) -> None:
    for address in (f"/{measured.name}", f"/{measured.name}?device=cpu"):
        lines = get(client, address).context["findings"]
        assert lines
        for line in lines:
            there = get(client, line.href).context
            found = [each.finding for each in there["findings"]]
            assert line.finding.title in [finding.title for finding in found]
            for finding in found:
                assert (finding.device, finding.cache) == (line.finding.device, line.finding.cache)
                assert finding.matrix_id in line.finding.members
            assert {choice.value for choice in there["matrices"] if choice.chosen} == set(line.finding.members)


@every_page
def test_every_figure_of_the_page_answers(client: TestClient, measured: StudyPage) -> None:
    context = get(client, f"/{measured.name}?job=j2").context
    assert [(figure.name, figure.heading) for figure in context["figures"]] == [
        (figure.name, figure.title) for figure in measured.figures
    ]
    drawn = 0
    for figure in context["figures"]:
        response = client.get(figure.chart.url)
        assert response.status_code == 200
        assert query_of(figure.chart.url) >= query_of("?job=j2&matrix=m1&matrix=m2&device=cuda:0")
        if figure.chart.version == "0":
            assert figure.note
            assert figure.table is None
            continue
        drawn += 1
        assert figure.chart.summary
        assert figure.note == ""
        assert figure.table is None or figure.table.rows
        assert len(response.json()["data"]) > 0
    assert drawn > 0
    assert context["few"] == ""


@every_page
def test_figures_that_compare_matrices_are_a_sentence_where_there_is_one(
    client: TestClient, measured: StudyPage
) -> None:
    page = get(client, f"/{measured.name}?job=j2&matrix=m1")
    comparing = [figure for figure in measured.figures if figure.matrices_min > 1]
    for figure in comparing:
        assert f"“{figure.title}”" in page.context["few"]
        assert f"<h2>{figure.title}</h2>" not in page.text
    assert bool(page.context["few"]) == bool(comparing)
    hidden = {figure.name for figure in page.context["figures"] if figure.chart.version == "0" and not figure.note}
    assert hidden == {figure.name for figure in comparing}


@every_page
def test_the_table_of_a_finding_has_every_case_and_why(client: TestClient, measured: StudyPage) -> None:
    page = get(client, f"/{measured.name}?job=j2")
    lines, reader = page.context["findings"], Reader(page.text)
    assert [name for name, n in Counter(reader.ids).items() if n > 1] == []
    for line in lines:
        assert f"cases-{line.id}" in reader.ids
        cases = get(client, line.table).text
        assert Reader(cases).tables == [len(line.finding.rows)]
        for row in line.finding.rows:
            assert f"<code>{escape(row.label)}</code>" in cases
            assert len(row.cells) == len(line.finding.heads)
            if row.measurement.median_s is None:
                assert row.measurement.note in words(cases)


@every_page
def test_a_row_has_the_colour_of_its_figures(client: TestClient, measured: StudyPage) -> None:
    for line in get(client, f"/{measured.name}?job=j2").context["findings"]:
        colours = re.findall(r'class="swatch" style="background:(#\w+)"', get(client, line.table).text)
        assert colours == [measured.swatch(row.measurement) for row in line.finding.rows]


@every_page
def test_structure_has_a_row_for_each_matrix_and_pictures_of_them(client: TestClient, measured: StudyPage) -> None:
    context = get(client, f"/{measured.name}?job=j2").context
    (features,) = context["features"].tables
    assert sorted(row[0] for row in features.table.rows) == ["fem3", "web_graph"]
    assert len(context["structure"]) == (2 if measured.features.picture else 0)
    for chart in context["structure"]:
        assert len(client.get(chart.url).json()["data"]) > 0


@every_page
def test_what_is_quiet_about_a_device_is_said_on_the_page(client: TestClient, measured: StudyPage) -> None:
    for device in ("cpu", "cuda:0"):
        page = get(client, f"/{measured.name}?device={device}")
        caveat = page.context["caveat"]
        assert ('role="note"' in page.text) == bool(caveat)
        assert words(caveat) in words(page.text)


@every_page
def test_downloads_are_what_the_page_shows(client: TestClient, measured: StudyPage) -> None:
    context = get(client, f"/{measured.name}?job=j2&matrix=m1").context
    shown = {row.measurement.case for line in context["findings"] for row in line.finding.rows}
    files = [client.get(link.href) for link in context["downloads"]]
    assert [file.status_code for file in files] == [200] * 6
    as_csv, as_json, report = files[:3]
    assert "@misc{sparsight" in report.text
    document = as_json.json()
    cases = [m["case"] for m in document["measurements"]]
    assert {row["case"] for row in csv.DictReader(io.StringIO(as_csv.text))} == set(cases)
    assert shown <= set(cases)
    assert {(m["matrix_id"], m["device"], m["study"]) for m in document["measurements"]} == {
        ("m1", "cuda:0", measured.name)
    }
    assert {trace["case"] for trace in document["traces"]} <= set(cases)
    assert {verdict["study"] for verdict in document["verdicts"]} == {measured.name}
    kernel = document["measurements"][0]["kernel"]
    chosen = client.get(f"/{measured.name}.json", params={"job": "j2", "matrix": "m1", "kernel": kernel}).json()
    assert {m["kernel"] for m in chosen["measurements"]} == {kernel}


@every_page
def test_a_page_follows_the_jobs_that_it_shows(client: TestClient, database: Database, measured: StudyPage) -> None:
    assert get(client, f"/{measured.name}").context["topics"] == ""
    add_study(database, measured.name, "j99", ["m1"], "cuda:0", JobState.RUNNING)
    assert get(client, f"/{measured.name}?job=j99").context["topics"] == "job:j99"


@every_page
def test_an_empty_page_says_what_to_do(client: TestClient, page: StudyPage) -> None:
    response = get(client, f"/{page.name}")
    assert response.status_code == 200
    assert "There are no results for this choice yet." in response.text
    assert page.invitation in response.text
    context = response.context
    assert all(figure.chart.version == "0" for figure in context["figures"])
    assert [
        name
        for name in ("findings", "answers", "overview", "contents", "selects", "matrices", "few", "caveat")
        if context[name]
    ] == []
    assert (context["conclusions"], context["sections"], context["structure"]) == (None, (), ())
    shown = response.text.partition('<div id="sources"')[2].partition("</div>")[0]
    assert "<a" not in shown


@every_page
def test_studies_do_not_mix(client: TestClient, measured: StudyPage) -> None:
    assert get(client, f"/{measured.name}?job=j0").context["findings"] == ()
    assert get(client, f"/{measured.name}?job=j1").context["findings"] != ()


@every_page
def test_names_of_strangers_are_text(client: TestClient, database: Database, add_matrix: AddMatrix, page: Any) -> None:
    names = [add_matrix(sample_matrix(), HOSTILE, "m2"), add_matrix(sample_matrix(), "b", "m3")]
    add_study(database, page.name, "j1", names)
    for url in (f"/{page.name}", "/", "/jobs/j1", "/matrices/m2"):
        text = get(client, url).text
        assert "<script>alert" not in text
        assert "&lt;b&gt;x&lt;/b&gt;" in text
    for figure in page.figures:
        assert "<script>" not in client.get(f"/api/v1/figures/{figure.name}").text


@every_page
def test_home_and_the_page_of_a_matrix_lead_to_it(client: TestClient, measured: StudyPage) -> None:
    for url in ("/", "/matrices/m1"):
        lines = [line for line in get(client, url).context["findings"] if line.page == measured.link]
        assert lines
        assert len(lines) <= measured.home_findings or url != "/"
        for line in lines:
            assert line.href.startswith(f"/{measured.name}?")
            assert line.finding.study == measured.name
            assert line.finding.title in [each.finding.title for each in get(client, line.href).context["findings"]]
    devices = {line.finding.device for line in lines}
    assert devices == {"cpu", ON_GPU}


@every_page
def test_a_job_shows_all_that_it_found(client: TestClient, database: Database, measured: StudyPage) -> None:
    page = get(client, "/jobs/j2")
    shown = {row.measurement.case for line in page.context["findings"] for row in line.finding.rows}
    measurements, _ = records_of(measured.name, ("m1", "m2"), "cuda:0")
    assert page.context["counts"].startswith(f"{len(measurements)} of ")
    assert shown <= {m.case for m in measurements}
    assert {m.cache for m in measurements} == {line.finding.cache for line in page.context["findings"]}
    assert page.context["page"].text == f"Open in {measured.link}"
    assert page.context["page"].href == f"/{measured.name}?job=j2"
    chart = page.context["chart"]
    assert chart.id.removesuffix("-chart") in measured.job_figures
    assert len(client.get(chart.url).json()["data"]) > 0
    as_csv, as_json = (client.get(link.href) for link in page.context["downloads"])
    assert {row["case"] for row in csv.DictReader(io.StringIO(as_csv.text))} == {m.case for m in measurements}
    assert {m["case"] for m in as_json.json()["measurements"]} == {m.case for m in measurements}
    assert [name for name, n in Counter(Reader(page.text).ids).items() if n > 1] == []
    add_study(database, measured.name, "j99", ["m1"], "cuda:0", JobState.RUNNING)
    assert get(client, "/jobs/j99").context["topics"] == "job:j99"


@every_page
def test_a_matrix_can_be_measured_by_it(client: TestClient, measured: StudyPage) -> None:
    page = get(client, "/matrices/m1")
    assert [(choice.value, choice.chosen) for choice in page.context["studies"]] == [
        (study.name, place == 0) for place, study in enumerate(STUDIES)
    ]
    devices = 1 if measured.name in GPU_ALONE else 2
    assert page.text.count(f" for {measured.name}") == devices, "on each device the time that it takes there"


@every_page
def test_what_was_recorded_elsewhere_is_shown(
    client: TestClient, database: Database, tmp_path: Path, page: StudyPage
) -> None:
    measurements, traces = records_of(page.name, ("grid",), H200.id)
    created = "2026-11-20T12:00:00+00:00"
    recording = Recording(page.name, created, H200, PROFILE, (grid(),), tuple(measurements), tuple(traces))
    path = tmp_path / "recorded" / "h200" / f"{page.name}.json.gz"
    files.write(path, recording)
    assert files.read(path).measurements == recording.measurements
    import_recordings.run(database, tmp_path / "recorded")
    context = get(client, f"/{page.name}").context
    assert {line.finding.device for line in context["findings"]} == {"NVIDIA H200 (recorded)"}
    assert {line.finding.members for line in context["findings"]} == {(f"recorded-{grid().fingerprint[:16]}",)}
    home = get(client, "/")
    assert [(link.text, link.href) for link in home.context["recorded"]] == [
        (f"{page.recorded_as} on NVIDIA H200 (recorded)", f"/{page.name}?device=recorded%3Ah200")
    ]
    assert get(client, home.context["recorded"][0].href).context["findings"] == context["findings"]
    document = client.get(f"/{page.name}.json").json()
    assert (len(document["measurements"]), len(document["traces"])) == (
        len([m for m in measurements if m.cache == "warm"]),
        len(traces),
    )


@every_page
def test_what_cannot_be_chosen_is_refused(client: TestClient, page: StudyPage) -> None:
    for query, said in (("cache=hot", "it must be one of cold, warm"), ("colour=red", "no parameter 'colour'")):
        for url in (f"/{page.name}", f"/{page.name}.csv", f"/api/v1/figures/{page.figures[0].name}"):
            response = client.get(f"{url}?{query}")
            assert response.status_code == 422
            assert said in response.json()["detail"]


def test_every_study_has_its_page_and_every_figure_its_own_name() -> None:
    assert [page.study.name for page in PAGES] == [study.name for study in STUDIES]
    names = [figure.name for page in PAGES for figure in page.figures]
    assert len(names) == len(set(names))
    for page in PAGES:
        assert set(page.job_figures) <= {figure.name for figure in page.figures}
        placed = [
            *page.links,
            *(s.figure for s in page.switches),
            *(f.figure for f in page.forms),
            *(s.figure for s in page.sections),
        ]
        assert set(placed) <= {"", *(figure.name for figure in page.figures)}
        addresses = {link.href for links in page.links.values() for link in links}
        assert addresses <= {f"/{other.name}" for other in PAGES if other is not page}


@every_page
def test_the_answer_comes_first_and_every_part_has_its_anchor(client: TestClient, measured: StudyPage) -> None:
    page = get(client, f"/{measured.name}")
    assert page.context["answers"]
    for answer in page.context["answers"]:
        assert answer.sentence
        if answer.table:
            shown = {row[0] for table in (answer.table, *(f.table for f in answer.folded)) for row in table.rows}
            assert shown == {*answer.labels}, "folded, and never left out"
    ids = Reader(page.text).ids
    assert ids.index("controls") < ids.index("answer") < ids.index("verdicts")
    anchors = [link.href.removeprefix("#") for link in page.context["contents"]]
    assert {*anchors} <= {*ids}
    assert [each for each in ids if each in anchors] == anchors, "in the order of the page"


@every_page
def test_all_matrices_are_shown_where_none_is_chosen(
    client: TestClient, database: Database, measured: StudyPage
) -> None:
    add_study(database, measured.name, "j9", ["m1"], "cuda:0")
    context = get(client, f"/{measured.name}").context
    assert (context["shown"], {choice.value for choice in context["matrices"] if choice.chosen}) == (
        "all 2",
        {"m1", "m2"},
    )
    assert get(client, f"/{measured.name}?matrix=m2").context["shown"] == "1 of 2"
