"""What only `/scaling` has: works apart, virtual devices called so, phases as shares, the paper's conclusions."""

from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from gpu_engine.findings.conclusions import SCOPES
from gpu_engine.findings.scaling.cases import WORKS, no_control_text
from gpu_engine.findings.scaling.conclusions import STATEMENTS
from gpu_engine.text.units import THIN
from server import devices
from server.db import Database
from server.models import JobState
from tests.conftest import AddMatrix
from tests.samples.scaling import by_cusparse, cold, cut_both_ways, unworked
from tests.web.conftest import CPU, GPU, ON_GPU, add_job, add_study, get, sample_matrix, words
from web.studies.scaling import SCALING

VIRTUAL = "Simulated devices: CPU threads stand in for GPUs"


@pytest.fixture
def scaled(database: Database, add_matrix: AddMatrix) -> str:
    """Two matrices with a job on the CPU, j2, and a newer one on the GPU, j3."""
    devices.register(database, [CPU, GPU])
    first, second = add_matrix(sample_matrix(), "web_graph", "m1"), add_matrix(sample_matrix(), "fem3", "m2")
    add_study(database, "scaling", "j2", (first, second))
    add_study(database, "scaling", "j3", (first, second), "cuda:0")
    return first


def test_a_work_has_its_verdict_and_its_address(client: TestClient, scaled: str) -> None:
    page = get(client, "/scaling?view=verdicts")
    found = [(line.finding.title, line.href) for line in page.context["findings"]]
    assert found[:2] == [
        ("web_graph, from the host", "/scaling?matrix=m1&device=cuda%3A0&cache=warm&view=verdicts"),
        ("web_graph, resident", "/scaling?matrix=m1&device=cuda%3A0&cache=warm&view=verdicts"),
    ]
    assert len(found) == 8
    assert "Speedup of pCSR/p*-opt 3.12 × over pCSR/baseline on one device" in words(page.text)
    alone = get(client, page.context["findings"][4].href).context
    assert {line.finding.matrix_id for line in alone["findings"]} == {"m2"}


def test_virtual_devices_are_called_so_first_of_all(client: TestClient, scaled: str) -> None:
    page = get(client, "/scaling?device=cpu&view=verdicts")
    text = words(page.text)
    assert text.index(VIRTUAL) < text.index("with 4 simulated devices")
    for figure in SCALING.figures:
        addresses = (f"/scaling?device={device}&view={figure.name}" for device in ("cpu", "cuda:0"))
        (here,), (there,) = (get(client, address).context["figures"] for address in addresses)
        assert (here.chart.summary != there.chart.summary) == (figure.name != "scaling-ratio")
    assert get(client, "/scaling?device=cuda:0").context["caveat"] == ""
    assert VIRTUAL in words(get(client, "/scaling?device=cuda:0&device=cpu").text)


def test_the_address_chooses_how_many_devices_and_what_of_their_phases(client: TestClient, scaled: str) -> None:
    page = get(client, "/scaling?job=j3&devices=2&phases=shares&view=scaling-phases")
    (numbers,) = page.context["selects"]
    assert [(choice.value, choice.chosen) for choice in numbers.options] == [
        ("", False),
        ("1", False),
        ("2", True),
        ("4", False),
    ]
    kept = ("job", "j3"), ("view", "scaling-phases"), ("devices", "2"), ("phases", "shares")
    assert page.context["hidden"] == kept
    switches = {figure.name: figure.switches for figure in page.context["figures"] if figure.switches}
    assert list(switches) == ["scaling-phases"]
    ((phases,),) = switches.values()
    assert [(link.text, link.current) for link in phases.links] == [("times", False), ("shares", True)]
    verdicts = words(get(client, "/scaling?job=j3&devices=2&view=verdicts").text)
    assert "pCSR/p*-opt is fastest on NVIDIA H200 (cuda:0) with 2 devices" in verdicts
    drawn = client.get("/api/v1/figures/scaling-balance?job=j3&devices=2&matrix=m1").json()
    assert [trace["x"] for trace in drawn["data"]] == [[3_000_000.0, 1_000_000.0], [2_000_000.0, 2_000_000.0]]
    shares = client.get("/api/v1/figures/scaling-phases?job=j3&phases=shares").json()
    assert "%" in shares["layout"]["xaxis2"]["title"]["text"]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("devices=many", "devices is 'many'. Give a number of devices from 1 to 9,999"),
        ("devices=0", "devices is '0'"),
        ("devices=1&devices=2", "devices is given 2 times."),
        ("phases=halves", "phases is 'halves'. Choose one of times, shares."),
    ],
)
def test_what_cannot_be_chosen_is_refused(client: TestClient, scaled: str, query: str, said: str) -> None:
    for url in (f"/scaling.csv?{query}", f"/api/v1/figures/scaling-cold?{query}"):
        response = client.get(url)
        assert response.status_code == 422
        assert said in response.json()["detail"]


def test_without_one_device_the_page_says_so_and_draws_no_speed_up(
    client: TestClient, database: Database, scaled: str
) -> None:
    far = [m for m in cold("m1", "cuda:0") if m.details.devices != 1]
    add_job(database, "j4", "cuda:0", JobState.SUCCEEDED, far, study="scaling")
    page = get(client, "/scaling?job=j4&view=scaling-cold")
    (figure,) = page.context["figures"]
    assert (figure.chart.version, figure.table) == ("0", None)
    assert "pCSR/baseline on web_graph" in figure.note


def test_works_are_never_in_one_finding(client: TestClient, database: Database, scaled: str) -> None:
    page = get(client, "/jobs/j3").context
    found = {
        group.row.finding.axes["workload"]: {row.label.partition(",")[0] for row in group.row.finding.rows}
        for group in page["groups"]
    }
    assert found == {
        "cold": {"pCSR/baseline", "pCSR/p*", "pCSR/p*-opt"},
        "resident": {"pCSR/resident"},
        "iterate": {"pCSR/iterate"},
        "pagerank": {"pCSR/pagerank+fp64", "pCSR/pagerank+cpms2"},
    }
    assert page["groups"][0].row.finding.title == "web_graph, from the host"


def test_the_papers_conclusions_stand_beside_what_the_shown_device_says(client: TestClient, scaled: str) -> None:
    page = get(client, "/scaling?view=conclusions")
    rows = page.context["conclusions"].tables[0].table.rows
    assert {row[0] for row in rows} == {statement.text for statement in STATEMENTS}
    assert {row[4] for row in rows} == {ON_GPU}
    (order,) = (row for row in rows if row[0].startswith("Baseline is the slowest") and row[1] == SCOPES["all"])
    assert order[2] == "agrees"
    assert (
        order[3]
        .replace(THIN, " ")
        .startswith("Holds for 4 of 4. For web_graph pCSR on 2 devices: p* 1.50 × baseline (faster)")
    )
    assert SCALING.conclusions
    assert SCALING.conclusions.heading in page.text
    device = get(client, "/scaling?device=cpu").context["findings"][0].finding.device
    simulated = get(client, "/scaling?device=cpu&view=conclusions").context["conclusions"]
    assert {row[4] for row in simulated.tables[0].table.rows} == {f"{device} (simulated)"}
    assert SCALING.conclusions.heading not in get(client, "/scaling?job=j1").text


def test_cuts_of_resident_products_have_a_table_beside_that_of_the_figure(
    client: TestClient, database: Database, scaled: str
) -> None:
    found = [*cold("m1", "cuda:0"), *cut_both_ways("m1", "cuda:0")]
    add_job(database, "j4", "cuda:0", JobState.SUCCEEDED, found, study="scaling")
    page = get(client, "/scaling?job=j4&view=scaling-balance")
    (figure,) = page.context["figures"]
    ((works,),) = (section.tables for section in figure.sections)
    assert (works.heading, {row[2].partition(",")[0] for row in works.table.rows}) == (
        f"Table of values, {WORKS['resident']}",
        {"pCSR/resident"},
    )
    assert {row[2] for row in figure.table.rows} == {"pCSR/baseline", "pCSR/p*", "pCSR/p*-opt"}
    assert works.heading in page.text


def test_a_library_is_beside_our_strategies(client: TestClient, database: Database, scaled: str) -> None:
    works = [*cold("m1", "cuda:0"), *cold("m2", "cuda:0")]
    add_job(database, "j4", "cuda:0", JobState.SUCCEEDED, [*works, *by_cusparse(works, 0.5)], study="scaling")
    page = get(client, "/scaling?job=j4")
    (answer,) = page.context["answers"]
    assert answer.sentence.startswith("pCSR/p*-opt ")
    assert "over 2 matrices on NVIDIA H200 (cuda:0), warm" in answer.sentence
    theirs = by_cusparse(works, 1.5)
    add_job(database, "j5", "cuda:0", JobState.SUCCEEDED, theirs, study="scaling")
    alone = get(client, "/scaling?job=j5&view=verdicts")
    assert alone.context["answers"] == ()
    assert "pCSR/p*-opt, cusparse takes 48.0 ms" in words(alone.text)


def test_what_was_skipped_says_why(client: TestClient, database: Database, scaled: str) -> None:
    found = [unworked("pCSR/iterate", "the matrix is not square", work="iterate", matrix="m1")]
    add_job(database, "j4", "cuda:0", JobState.SUCCEEDED, found, study="scaling")
    page = get(client, "/scaling?job=j4&view=verdicts")
    assert page.context["findings"][0].finding.rows[-1].reason == "the matrix is not square"
    assert "on NVIDIA H200 (cuda:0): the matrix is not square." in words(page.text)


def test_gpus_without_a_control_kernel_are_marked(client: TestClient, database: Database, scaled: str) -> None:
    without = [replace(m, aa_gap=None) for m in cold("m1", "cuda:0")]
    add_job(database, "j4", "cuda:0", JobState.SUCCEEDED, without, study="scaling")
    assert get(client, "/scaling?job=j4").context["caveat"] == no_control_text()
    summaries = {}
    for job in ("j3", "j4"):
        (figure,) = get(client, f"/scaling?job={job}&view=scaling-cold").context["figures"]
        summaries[job] = figure.chart.summary
    assert no_control_text() in summaries["j4"]
    assert no_control_text() not in summaries["j3"]
    assert "0.1\u202f%" in summaries["j3"]
