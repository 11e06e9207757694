"""Results on the pages of papers: statements, scoreboard, tables, notes, and future work."""

from dataclasses import replace
from typing import Any

from fastapi.testclient import TestClient

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.formats import conclusions
from gpu_engine.text.units import THIN
from gpu_engine.verdicts.verdict import UNKNOWN_GAP
from server.models import JobState
from tests.samples.formats import study_of, timed
from tests.web.conftest import ON_GPU, add_job, get, words
from tests.web.paper_samples import every_paper
from tests.web.paper_samples import measured as measured
from web.papers.base import Paper, Place
from web.papers.statements import NOT_CHECKED
from web.results import results_of
from web.selection import Selection


@every_paper
def test_the_scoreboard_of_a_device_has_each_statement_once(client: TestClient, measured: Any, paper: Paper) -> None:
    context = get(client, paper.href).context
    board = context["scoreboard"]
    statements = {(study, c.statement) for study, judge in paper.judges.items() for c in judge(StudyData())}
    assert board.total == len(statements)
    assert {sum(row.counts) for row in board.rows} <= {board.total}
    shown = [part.statements for part in context["exhibits"] if part.statements]
    assert sum(len(table.statements) for table in shown) == board.total


def test_figures_have_one_cache_state_and_statements_have_both(client: TestClient, measured: Any) -> None:
    times = {"ellr/thread": 3e-3, "pellr/thread": 2e-3, "bijad/warp": 1e-3}
    warm = [timed(kernel, s, matrix="m1", device="cuda:0") for kernel, s in times.items()]
    cold = [timed(kernel, 5e-3 - s, "cold", "m1", "cuda:0") for kernel, s in times.items()]

    def parts() -> Any:
        return get(client, "/papers/pellr?device=cuda:0").context["exhibits"]

    def summaries() -> dict[str, str]:
        charts = {part.exhibit.label: part.chart for part in parts()}
        return {label: chart.summary for label, chart in charts.items() if chart and "cache=cold" not in chart.url}

    add_job(measured, "j3", "cuda:0", JobState.SUCCEEDED, warm)
    before = summaries()
    assert before
    add_job(measured, "j4", "cuda:0", JobState.SUCCEEDED, [*warm, *cold])
    assert summaries() == before
    rows = next(part.statements for part in parts() if part.exhibit.label == "Figure 6").statements[0].rows
    assert [row.matrices.rpartition(", ")[2] for row in rows][:2] == ["warm", "cold"]


def test_the_device_with_most_verdicts_is_the_default(client: TestClient, measured: Any) -> None:
    links = get(client, "/papers/pellr").context["devices"]
    assert [(link.text, link.current) for link in links] == [(ON_GPU, True), ("CPU", False)]


def test_printed_tables_are_beside_their_exhibits(client: TestClient, measured: Any) -> None:
    parts = {part.exhibit.label: part for part in get(client, "/papers/cpms-pagerank").context["exhibits"]}
    assert len(parts["Table I"].table.rows) == len(parts["Table II"].table.rows) == 10
    assert parts["Figure 1"].table is None


def test_results_without_an_aa_gap_are_marked(client: TestClient, measured: Any) -> None:
    assert get(client, "/papers/pellr").context["notes"] == ()
    without_gap = [replace(m, aa_gap=None) for m in study_of("m1", "cuda:0")]
    add_job(measured, "j3", "cuda:0", JobState.SUCCEEDED, without_gap)
    page = get(client, "/papers/pellr")
    assert [ON_GPU in note for note in page.context["notes"]] == [True]
    note = page.context["notes"][0].replace(THIN, " ")
    assert note in words(page.text)
    assert f"{100 * UNKNOWN_GAP['formats']:.1f} %" in note


@every_paper
def test_future_work_is_listed_with_links_and_numbers(client: TestClient, measured: Any, paper: Paper) -> None:
    page = get(client, paper.href)
    rows = page.context["outlook"]
    assert [row.line for row in rows] == [each.line for each in paper.outlook]
    assert ('id="outlook"' in page.text) == bool(rows)
    for each, row in zip(paper.outlook, rows, strict=True):
        assert each.source, each.line
        assert bool(row.links) or each.state == "not yet", each.line
        assert isinstance(row.number, str)
        for link in (Place.href(place) if isinstance(place, Place) else place.href for place in each.where):
            address, _, anchor = link.partition("#")
            assert not anchor or f'id="{anchor}"' in get(client, address).text, link


def test_what_is_said_is_what_the_findings_say(client: TestClient, measured: Any) -> None:
    context = get(client, "/papers/pellr?device=cuda:0").context
    parts = {part.exhibit.label: part for part in context["exhibits"]}
    with measured.read() as session:
        data = results_of(session, "formats", Selection(device=("cuda:0",), matrix=("m1",))).data
    wanted = [c for c in conclusions.conclusions(data) if c.source == "Figure 6"]
    table = parts["Figure 6"].statements
    # The CPU has no time in PELLR and no column.
    assert table.devices == (ON_GPU,)
    assert [each.statement for each in table.statements] == list(dict.fromkeys(c.statement for c in wanted))
    cells = [row.cells[0] for each in table.statements for row in each.rows]
    texts = [cell.why for cell in cells if cell]
    assert texts == [c.why for c in wanted]
    assert {cell.numbers for cell in cells if cell} <= {"", *(c.numbers for c in wanted)}
    assert cells[0] is not None
    assert cells[0].verdict == "agrees"
    assert "1.50\u202f×" in texts[0]
    assert "agrees" in parts["Figure 6"].verdict_counts
    # No matrix here is lnsp3937.
    assert (NOT_CHECKED, True) in {
        (cell.verdict, "lnsp3937" in text) for cell, text in zip(cells, texts, strict=True) if cell
    }


def test_where_nothing_is_measured_that_is_the_reason(client: TestClient) -> None:
    response = get(client, "/papers/msrep")
    assert response.context["devices"] == ()
    tables = [part.statements for part in response.context["exhibits"] if part.statements]
    rows = [row for table in tables for each in table.statements for row in each.rows]
    assert {table.devices for table in tables} == {("",)}
    assert {(cell.verdict, cell.why) for row in rows for cell in row.cells} == {
        (NOT_CHECKED, "No results of the study scaling.")
    }
    assert response.context["scoreboard"].rows == ()
    assert response.context["scoreboard"].total == len(rows)
    assert all(part.chart is None for part in response.context["exhibits"])
