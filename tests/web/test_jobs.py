"""The page of a job: what it is, what it was told, how it goes, and that skipping is no success."""

import re
from typing import Any

import pytest
from fastapi.testclient import TestClient

from gpu_engine.records import Case, Interim, as_json
from gpu_engine.sampling.messages import STOPPED_BEFORE_START, checking, in_round
from gpu_engine.text.units import THIN
from server.db import Database
from server.models import JobRow, JobState
from tests.samples.formats import HOSTILE, study_of, timed, untimed
from tests.web.conftest import ON_GPU, Lab, add_job, add_study, get, words
from web.views.list_rows import NOTHING, STOPPED_EARLY

TOO_LARGE = "the matrix has 325557 rows"


@pytest.mark.parametrize(
    ("job", "title"),
    [
        ("j1", "Formats of cnr-2000 and 1 more on CPU"),
        ("j2", f"Formats of cnr-2000 on {ON_GPU}"),
        ("j5", f"Formats of {HOSTILE} on CPU"),
    ],
)
def test_a_job_is_called_by_what_it_is(client: TestClient, lab: Lab, job: str, title: str) -> None:
    assert get(client, f"/jobs/{job}").context["title"] == title


def numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]


def test_where_nothing_was_measured_is_no_success(client: TestClient, lab: Lab) -> None:
    skipped = [untimed(kernel, "skipped", TOO_LARGE) for kernel in ("csr/scalar", "csr/vector")]
    add_job(lab.database, "j20", "cpu", JobState.SUCCEEDED, [*skipped, untimed("ell/thread", "failed", "refused")])
    page = get(client, "/jobs/j20")
    assert (page.context["job"].state, page.context["job"].outcome) == ("succeeded", NOTHING)
    assert NOTHING in page.context["pill"].text
    assert numbers(page.context["under"][0]) == [0, 16]
    assert page.context["why"] == (f"2 cases skipped: {TOO_LARGE}", "1 case failed: refused")
    assert {line.id: line.outcome for line in get(client, "/jobs").context["jobs"]} == {
        "j20": NOTHING,
        "j1": "succeeded",
        "j2": "succeeded",
        "j3": "failed",
        "j4": "running",
        "j5": "queued",
    }


def test_what_was_skipped_beside_times_is_counted_and_explained(client: TestClient, lab: Lab) -> None:
    context = get(client, "/jobs/j1").context
    assert (context["job"].outcome, numbers(context["under"][0])) == ("succeeded", [12, 16])
    assert context["why"] == ("4 cases skipped: needs 41 GB of memory; the limit is 16 GB",)
    assert context["job"].note == "took 1\u202fmin 0\u202fs, 4 cases skipped"


def test_settings_are_folded_and_name_what_is_not_the_default(client: TestClient, lab: Lab) -> None:
    usual = get(client, "/jobs/j1")
    assert usual.context["settings"].summary == "Settings: all default"
    assert usual.text.count('<details id="settings">') == 1
    add_job(lab.database, "j20", "cpu", JobState.SUCCEEDED, study_of("m1"), params={"rounds": 40, "gone": 1})
    settings = get(client, "/jobs/j20").context["settings"]
    assert "40" in settings.summary
    rows = {name.lower(): (value, meaning) for name, value, meaning in settings.table.rows}
    assert rows["rounds"][0] == "40"
    assert rows["rounds"][1].endswith(" From 9 to 199.")
    assert rows["kernels"][0] == "all (default)"


def test_a_job_over_leads_to_the_form_with_its_settings(client: TestClient, lab: Lab) -> None:
    page = get(client, "/jobs/j1")
    assert page.context["again"] == "/measure?again=j1"
    assert 'href="/measure?again=j1">Run again with …' in page.text
    assert "Run again with" not in get(client, "/jobs/j4").text


def test_how_long_it_has_taken_and_will_take(client: TestClient, lab: Lab) -> None:
    over, queued, running = (get(client, f"/jobs/{job}").context for job in ("j1", "j5", "j4"))
    assert f"1{THIN}min 0{THIN}s" in over["pill"].text
    assert f"expected 1{THIN}min 20{THIN}s" in over["foot"]
    assert not any("left" in text for text in over["under"])
    # A second attempt: only the estimate counts for what is left.
    (left,) = running["under"]
    assert left.startswith(f"About 1{THIN}min 5{THIN}s left")
    assert " 3 of 16 cases " in left
    assert ("attempt 2" in running["foot"], "attempt 1" in over["foot"]) == (True, True)
    assert "position 1" in queued["pill"].text
    for job in ("j4", "j5"):
        assert words(get(client, f"/jobs/{job}").text).count(" left") == 1


def test_a_job_that_was_stopped_says_so_and_once_how_much_it_did_not_reach(client: TestClient, lab: Lab) -> None:
    reached = [timed("csr/scalar", 1e-3), timed("csr/vector", 2e-3)]
    left = [untimed(kernel, "skipped", STOPPED_BEFORE_START) for kernel in ("ell/thread", "coo/segmented")]
    add_job(lab.database, "j20", "cpu", JobState.SUCCEEDED, [*reached, *left])
    with lab.database.write() as session:
        session.get_one(JobRow, "j20").stop_requested = True
    page = get(client, "/jobs/j20")
    assert page.context["job"].outcome == STOPPED_EARLY
    assert [client.get(f"/api/v1/jobs/{job}").json()["stopped_early"] for job in ("j1", "j20")] == [False, True]
    assert numbers(page.context["under"][0]) == [2, 16, 2]
    assert page.context["why"] == ()
    assert STOPPED_BEFORE_START not in page.text
    (group,) = page.context["groups"]
    assert [row.kernel for row in group.race.rows] == ["csr/scalar", "csr/vector"]
    # No page has a table of cases that were not reached.
    assert {row.label for row in group.row.finding.rows} == {"csr/scalar", "csr/vector"}
    assert [line.outcome for line in get(client, "/jobs").context["jobs"]].count(STOPPED_EARLY) == 1


def test_every_kernel_stands_in_the_race_before_the_first_time(client: TestClient, lab: Lab) -> None:
    with lab.database.write() as session:
        session.get_one(JobRow, "j5").params = {"kernels": ["csr/scalar", "csr/vector"], "rounds": 15}
    queued = get(client, "/jobs/j5").context["live"]
    assert [(row.kernel, row.state) for row in queued.race.rows] == [
        ("csr/scalar", "waiting"),
        ("csr/vector", "waiting"),
    ]
    assert [phase.share for phase in queued.phases] == [0.0, 0.0, 0.0]


def test_a_running_job_goes_from_checking_to_provisional_to_settled(client: TestClient, lab: Lab) -> None:
    names = ("csr/scalar", "csr/vector", "coo/segmented")
    add_job(lab.database, "j20", "cpu", JobState.RUNNING, [], ("m1",), params={"kernels": names, "rounds": 15})

    def shown(**fields: Any) -> tuple[list[str], list[float]]:
        with lab.database.write() as session:
            for name, value in fields.items():
                setattr(session.get_one(JobRow, "j20"), name, value)
        live = get(client, "/jobs/j20").context["live"]
        return [row.state for row in live.race.rows], [round(phase.share, 2) for phase in live.phases]

    checks = shown(message=checking("csr/vector"), current_case=Case("m1", "csr/vector", "cold").key)
    assert checks == (["checked", "checking", "waiting"], [0.33, 0.0, 0.0])
    first = shown(message=in_round(1, 15, "cold", ""), current_case=Case("m1", "csr/scalar", "cold").key)
    assert first == (["checked"] * 3, [1.0, 0.07, 0.0])
    interim = [
        as_json(Interim(Case("m1", name, "warm").key, 1e-3 * (3 - n), None, None, 5, name == names[0]))
        for n, name in enumerate(names)
    ]
    later = shown(message=in_round(6, 15, "warm", "; fastest so far: …"), interim=interim)
    assert later == (["provisional", "provisional", "settled"], [1.0, 0.4, 0.33])


def test_a_gpu_that_the_model_knows_has_a_forecast(client: TestClient, lab: Lab) -> None:
    add_job(
        lab.database, "j20", "cuda:0", JobState.QUEUED, [], ("m1",), params={"kernels": ["csr/scalar", "ell/thread"]}
    )
    race = get(client, "/jobs/j20").context["live"].race
    assert race.has_forecast
    assert [row.look for row in race.rows] == ["forecast"] * 2
    assert race.rows[0].width == 100.0 >= race.rows[1].width


def test_warm_results_come_before_cold_ones(client: TestClient, lab: Lab) -> None:
    page = get(client, "/jobs/j1").context
    assert [group.row.finding.cache for group in page["groups"]] == ["warm"] * 2
    assert [group.row.finding.cache for group in page["others"]] == ["cold"] * 2


def test_the_page_of_a_job_has_no_figure(client: TestClient, lab: Lab) -> None:
    for job in ("j1", "j4", "j5"):
        assert "data-figure" not in get(client, f"/jobs/{job}").text


def test_a_matrix_that_is_gone_and_a_study_of_any_kind(client: TestClient, lab: Lab, database: Database) -> None:
    with lab.database.write() as session:
        job = session.get(JobRow, lab.queued)
        assert job is not None
        job.matrix_ids = ["gone"]
    assert "Formats of deleted matrix gone on CPU" in words(get(client, f"/jobs/{lab.queued}").text)
    add_study(database, "pagerank", "j30", ["m1"])
    assert get(client, "/jobs/j30").context["title"] == "PageRank of cnr-2000 on CPU"


def test_a_running_job_names_the_matrix_that_waits(client: TestClient, lab: Lab) -> None:
    add_job(lab.database, "j20", "cpu", JobState.RUNNING, [], ("m1", "m2"), params={"kernels": ["csr/scalar"]})
    assert len(get(client, "/jobs/j20").context["live"].waiting) == 1


def test_the_history_of_a_matrix_names_jobs_by_it(client: TestClient, lab: Lab) -> None:
    add_job(lab.database, "j20", "cpu", JobState.QUEUED, [], ("m1", "m2"), params={"kernels": ["csr/scalar"]})
    names = [
        {job.id: job.name for job in get(client, f"/matrices/{each}").context["jobs"]}["j20"] for each in ("m1", "m2")
    ]
    assert names[0] != names[1]
