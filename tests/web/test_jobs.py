"""The page of a job: what it is, what it was told, how it goes, and that skipping is no success."""

import pytest
from fastapi.testclient import TestClient

from server.db import Database
from server.models import JobRow, JobState
from tests.samples.formats import HOSTILE, study_of, untimed
from tests.web.conftest import ON_GPU, Lab, add_job, add_study, get, words
from web.views.list_rows import NOTHING

TOO_LARGE = "the matrix has 325557 rows"


@pytest.mark.parametrize(
    ("job", "title"),
    [
        ("j1", "Formats of cnr-2000 and 1 more on cpu"),
        ("j2", f"Formats of cnr-2000 on {ON_GPU}"),
        ("j5", f"Formats of {HOSTILE} on cpu"),
    ],
)
def test_a_job_is_called_by_what_it_is(client: TestClient, lab: Lab, job: str, title: str) -> None:
    assert get(client, f"/jobs/{job}").context["title"] == title


def test_where_nothing_was_measured_is_no_success(client: TestClient, lab: Lab) -> None:
    skipped = [untimed(kernel, "skipped", TOO_LARGE) for kernel in ("csr/scalar", "csr/vector")]
    add_job(lab.database, "j20", "cpu", JobState.SUCCEEDED, [*skipped, untimed("ell/thread", "failed", "refused")])
    page = get(client, "/jobs/j20")
    assert (page.context["job"].state, page.context["job"].outcome) == ("succeeded", NOTHING)
    assert f'<span class="skipped">{NOTHING}</span>' in page.text
    assert page.context["counts"] == "0 of 16 cases measured, 1 failed, 2 skipped."
    assert page.context["why"] == (f"2 skipped: {TOO_LARGE}", "1 failed: refused")
    assert page.context["chart"].version == "0"
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
    assert (context["job"].outcome, context["counts"]) == ("succeeded", "12 of 16 cases measured, 4 skipped.")
    assert context["why"] == ("4 skipped: needs 41 GB, 16 GB allowed",)
    assert context["job"].note == "took 1\u202fmin 0\u202fs, 4 skipped"


def test_settings_are_folded_and_name_what_is_not_the_default(client: TestClient, lab: Lab) -> None:
    usual = get(client, "/jobs/j1")
    assert usual.context["settings"].summary == "Settings: all default"
    assert usual.text.count('<details id="settings">') == 1
    add_job(lab.database, "j20", "cpu", JobState.SUCCEEDED, study_of("m1"), params={"rounds": 40, "gone": 1})
    settings = get(client, "/jobs/j20").context["settings"]
    assert settings.summary == "Settings: rounds 40, all others default"
    rows = {name: (value, meaning) for name, value, meaning in settings.table.rows}
    assert rows["rounds"][0] == "40"
    assert rows["rounds"][1].endswith(" From 9 to 199.")
    assert rows["kernels"][0] == "all (default)"


def test_a_job_over_leads_to_the_form_with_its_settings(client: TestClient, lab: Lab) -> None:
    page = get(client, "/jobs/j1")
    assert page.context["again"] == "/measure?again=j1"
    assert 'href="/measure?again=j1">Run again with …' in page.text
    assert "Run again with" not in get(client, "/jobs/j4").text


def test_how_long_it_has_taken_and_will_take(client: TestClient, lab: Lab) -> None:
    over, queued = (dict(get(client, f"/jobs/{job}").context["facts"]) for job in ("j1", "j5"))
    assert (over["duration"], over["estimated duration"]) == ("1\u202fmin 0\u202fs", "1\u202fmin 20\u202fs")
    assert over.keys() & {"estimated time left", "elapsed", "attempt"} == set()
    assert queued.keys() & {"duration", "elapsed", "started, UTC"} == set()
    # A second attempt: the estimate for what is left.
    running = dict(get(client, "/jobs/j4").context["facts"])
    assert (running["attempt"], running["estimated time left"]) == ("2", "about 1\u202fmin 5\u202fs")
    assert "min" in running["elapsed"]


def test_a_matrix_that_is_gone_and_a_study_of_any_kind(client: TestClient, lab: Lab, database: Database) -> None:
    with lab.database.write() as session:
        job = session.get(JobRow, lab.queued)
        assert job is not None
        job.matrix_ids = ["gone"]
    assert "Formats of deleted matrix gone on cpu" in words(get(client, f"/jobs/{lab.queued}").text)
    add_study(database, "pagerank", "j30", ["m1"])
    assert get(client, "/jobs/j30").context["title"] == "PageRank of cnr-2000 on cpu"
