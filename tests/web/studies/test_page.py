"""What the page of every study shows; what only one of them has is tested in the file of its name."""

import csv
import io
import re
from collections import Counter
from dataclasses import fields
from html import escape
from typing import Any

from fastapi.testclient import TestClient

from gpu_engine.studies import STUDIES
from server.db import Database
from server.models import JobState
from tests.conftest import AddMatrix
from tests.samples.formats import HOSTILE
from tests.web.conftest import ON_EVERY_PAGE, add_study, get, sample_matrix, words
from tests.web.studies.reader import Reader, every_page, query_of
from web import contexts
from web.share import share_of
from web.studies import PAGES
from web.studies.base import StudyPage

SUBPAGES = {name for page in PAGES for name in page.subpages}


def opened(client: TestClient, address: str, name: str) -> Any:
    """The context of the page with that part open."""
    return get(client, f"{address}{'&' if '?' in address else '?'}view={name}").context


@every_page
def test_a_page_gets_its_context_and_nothing_else(client: TestClient, measured: StudyPage) -> None:
    response = get(client, f"/{measured.name}")
    assert (response.status_code, response.template.name) == (200, "study.html")
    assert set(response.context) == {field.name for field in fields(contexts.StudyPage)} | ON_EVERY_PAGE
    (tab,) = (page for page in PAGES if measured.name in (page.name, *page.subpages) and page.name not in SUBPAGES)
    assert f'<a href="/{tab.name}" aria-current="page">{tab.link}</a>' in response.text
    assert response.text.count("<h1") == 1


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
def test_every_figure_of_the_page_opens_alone_and_answers(client: TestClient, measured: StudyPage) -> None:
    address, drawn = f"/{measured.name}?job=j2", 0
    context = get(client, address).context
    assert context["figures"] == ()
    links = {link.text: link for group in context["views"] for link in group.links}
    possible = [figure for figure in measured.figures if figure.devices_min == 1 and figure.matrices_max != 1]
    assert [figure.title for figure in possible] == [text for text in links if text in {f.title for f in possible}]
    for figure in possible:
        page = get(client, links[figure.title].href)
        (section,) = page.context["figures"]
        assert (section.name, section.heading) == (figure.name, figure.title)
        assert page.text.count("data-figure=") == 1
        response = client.get(section.chart.url)
        assert response.status_code == 200
        assert query_of(section.chart.url) == query_of("?job=j2&matrix=m1&matrix=m2&device=cuda:0&cache=warm")
        if section.chart.version == "0":
            assert section.note
            assert section.table is None
            continue
        drawn += 1
        assert section.chart.summary
        assert section.note == ""
        assert section.table is None or section.table.rows
        assert len(response.json()["data"]) > 0
        (closing,) = (link for group in page.context["views"] for link in group.links if link.current)
        assert query_of(closing.href) == query_of(address)
    assert drawn > 0


@every_page
def test_figures_that_compare_matrices_are_counted_where_there_is_one(client: TestClient, measured: StudyPage) -> None:
    context = get(client, f"/{measured.name}?job=j2&matrix=m1").context
    comparing = [figure for figure in measured.figures if figure.matrices_min > 1]
    assert re.findall(r"\d+", context["hidden_figures"]) == ([str(len(comparing))] if comparing else [])
    assert not {figure.title for figure in comparing} & {link.text for g in context["views"] for link in g.links}
    for figure in comparing[:1]:
        assert opened(client, f"/{measured.name}?job=j2&matrix=m1", figure.name)["figures"] == ()


@every_page
def test_a_part_that_no_page_has_is_refused(client: TestClient, measured: StudyPage) -> None:
    response = client.get(f"/{measured.name}?view=nothing", headers={"accept": "application/json"})
    assert response.status_code == 422
    assert "ranking" in response.json()["detail"]


@every_page
def test_the_answer_of_the_page_is_its_heading(client: TestClient, measured: StudyPage) -> None:
    page = get(client, f"/{measured.name}?job=j2")
    explore = page.context["explore"]
    heading = words(page.text.partition("<h1")[2].partition(">")[2].partition("</h1>")[0])
    assert heading == words(explore.sentence if explore else f"{page.context['answers'][0].short}.")
    sentences = (explore.sentence, *explore.under) if explore else ()
    for sentence in (each for text in sentences for each in re.split(r"(?<=[.?]) ", text)):
        assert len(sentence.split()) <= 25, sentence


@every_page
def test_the_table_of_a_finding_has_every_case_and_why(client: TestClient, measured: StudyPage) -> None:
    page = get(client, f"/{measured.name}?job=j2&view=cases")
    lines, reader = page.context["findings"], Reader(page.text)
    assert [name for name, n in Counter(reader.ids).items() if n > 1] == []
    for line in lines:
        assert f"cases-{line.id}" in reader.ids
        cases = get(client, line.table).text
        assert Reader(cases).tables == [len(line.finding.rows)]
        numbers = line.finding.tabulate()
        assert [len(cells) for cells in numbers.rows] == [len(numbers.heads)] * len(line.finding.rows)
        for row in line.finding.rows:
            assert f"<code>{escape(row.label)}</code>" in cases
            if row.measurement.median_s is None:
                assert row.measurement.note in words(cases)


@every_page
def test_a_row_has_the_colour_of_its_figures(client: TestClient, measured: StudyPage) -> None:
    for line in get(client, f"/{measured.name}?job=j2").context["findings"]:
        colours = re.findall(r'class="swatch" style="background:(#\w+)"', get(client, line.table).text)
        assert colours == [measured.swatch(row.measurement) for row in line.finding.rows]


@every_page
def test_structure_has_a_row_for_each_matrix_and_pictures_of_them(client: TestClient, measured: StudyPage) -> None:
    context = opened(client, f"/{measured.name}?job=j2", "structure")
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
    names = {link.href.partition("?")[0]: link.href for link in share_of(measured.name, context["query"]).files}
    as_csv, as_json, report = (client.get(names[f"/{measured.name}{ending}"]) for ending in (".csv", ".json", ".html"))
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
    assert "No results for this selection." in response.text
    assert page.invitation in response.text
    context = response.context
    assert (context["figures"], context["explore"], context["drawer"]) == ((), None, None)
    assert [
        name
        for name in ("findings", "answers", "overview", "views", "selects", "matrices", "hidden_figures", "caveat")
        if context[name]
    ] == []
    assert (context["conclusions"], context["sections"], context["structure"]) == (None, (), ())
    assert 'id="share"' not in response.text


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


def test_every_study_has_its_page_and_every_figure_its_own_name() -> None:
    assert [page.study.name for page in PAGES] == [study.name for study in STUDIES]
    names = [figure.name for page in PAGES for figure in page.figures]
    assert len(names) == len(set(names))
    for page in PAGES:
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
    assert ids.index("controls") < ids.index("answer") < ids.index("pictures") < ids.index("views") < ids.index("view")
    for group in page.context["views"]:
        for link in group.links:
            there = get(client, link.href)
            assert there.context["view"] in Reader(there.text).ids, "what is open has its anchor"
