"""What a person does: upload a file, measure, watch, cancel."""

import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from gpu_engine.records import Measurement
from gpu_engine.sampling.messages import checking, in_round
from server import matrix_lifecycle
from server.jobs.queue import get_job, publish_state
from server.models import JobState
from tests.browser.conftest import LIMIT_MS, Open
from tests.browser.test_answers import SETTLED_MS, SHIFT_MAX, SHIFTS
from tests.samples.formats import study_of, timed
from tests.web.conftest import Lab, add_measurement

GOOD = b"%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 1.0\n2 2 2.5\n3 3 -1\n3 1 4e2\n"
FRIENDS = "# who knows whom\n10 20\n20 30\n30 10\n10 40\n"
BAD = b"%%MatrixMarket matrix coordinate real general\n3 3 1\n9 1 1.0\n"


def named(page: Page, text: str) -> None:
    """Waits for the page of the matrix that has this in the line above its answer."""
    page.locator("#answer .eyebrow", has_text=text).wait_for()


def test_a_file_is_uploaded_and_shown(open_page: Open, tmp_path: Path) -> None:
    path = tmp_path / "tiny.mtx"
    path.write_bytes(GOOD)
    page = open_page("/matrices")
    page.get_by_label("Matrix files").set_input_files(path)
    page.wait_for_url("**/matrices/*")
    named(page, "tiny · 3 rows")
    page.locator("#structure-more > summary").click()
    expect(page.locator("img.spy")).to_have_js_property("complete", value=True)
    assert page.locator("img.spy").evaluate("(image) => image.naturalWidth")


def test_a_bad_file_is_answered_with_a_sentence(
    open_page: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However busy the machine is: else the answer is 202, and the sentence comes with the event stream.
    monkeypatch.setattr(matrix_lifecycle, "ANSWER_S", 300.0)
    path = tmp_path / "bad.mtx"
    path.write_bytes(BAD)
    page = open_page("/matrices")
    with page.expect_response("**/api/v1/matrices") as answer:
        page.get_by_label("Matrix files").set_input_files(path)
    assert answer.value.status == 422
    page.locator("[data-upload] [role=alert]", has_text="Line 3").wait_for()


def test_an_edge_list_is_shown_before_it_is_taken(open_page: Open, tmp_path: Path) -> None:
    path = tmp_path / "friends.txt"
    path.write_text(FRIENDS, encoding="utf-8")
    page = open_page("/matrices")
    page.locator("#file").set_input_files(path)
    page.get_by_text("edge list: 4 × 4, 4 nonzeros").wait_for()
    page.get_by_text("No direction was chosen").wait_for()
    page.get_by_label("Direction").select_option("false")
    page.get_by_text("edge list: 4 × 4, 8 nonzeros, symmetric").wait_for()
    page.get_by_role("button", name="Upload").click()
    page.wait_for_url("**/matrices/*")
    named(page, "friends")


def drop(page: Page, name: str, content: str) -> None:
    """Drops a file on the page, as the desktop does."""
    make = """([name, content]) => {
        const data = new DataTransfer();
        data.items.add(new File([content], name));
        return data;
    }"""
    data = page.evaluate_handle(make, [name, content])
    for kind in ("dragover", "drop"):
        page.dispatch_event("main", kind, {"dataTransfer": data})


def test_a_dropped_matrix_goes_up_at_once(open_page: Open) -> None:
    page = open_page("/matrices")
    drop(page, "tiny.mtx", GOOD.decode())
    page.wait_for_url("**/matrices/*")
    named(page, "tiny")


def test_a_dropped_edge_list_asks_for_its_direction_whatever_its_name(open_page: Open) -> None:
    page = open_page("/matrices")
    drop(page, "friends.dat", FRIENDS)
    page.get_by_text("edge list: 4 × 4, 4 nonzeros").wait_for()
    assert page.locator("#file").evaluate("input => input.files[0].name") == "friends.dat"
    page.get_by_role("button", name="Upload").click()
    assert page.get_by_label("Direction").evaluate("select => select.matches(':invalid')")
    page.get_by_label("Direction").select_option("true")
    page.get_by_role("button", name="Upload").click()
    page.wait_for_url("**/matrices/*")
    named(page, "friends")


def test_an_edge_list_is_sent_after_errors(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_lifecycle, "ANSWER_S", 300.0)
    page = open_page("/matrices")
    alert = page.locator("[data-upload] [role=alert]")
    drop(page, "names", "3 bob\nbob carol\n")
    alert.filter(has_text="ids are integers or names").wait_for()
    expect(page.get_by_label("Direction")).to_be_hidden()
    # By its name a matrix that goes up at once: only its content says what it is.
    drop(page, "friends.mtx", f"{FRIENDS}10 20\n")
    alert.filter(has_text="press Upload").wait_for()
    page.get_by_label("Repeated edges").select_option("refuse")
    page.get_by_label("Direction").select_option("true")
    alert.filter(has_text="1 edges repeat an earlier one. Choose how to treat repeated edges").wait_for()
    page.get_by_label("Repeated edges").select_option("last")
    page.get_by_text("edge list: 4 × 4, 4 nonzeros").wait_for()
    page.get_by_role("button", name="Upload").click()
    page.wait_for_url("**/matrices/*")


def test_a_matrix_is_generated(open_page: Open) -> None:
    page = open_page("/matrices")
    page.locator("#generate > summary").click()
    page.get_by_label("Generator", exact=True).select_option("stencil")
    page.locator("#stencil-nx").fill("12")
    page.locator("#stencil-ny").fill("5")
    page.get_by_role("button", name="Generate").click()
    page.wait_for_url("**/matrices/*")
    expect(page.locator("#answer .eyebrow")).to_contain_text("60 rows", timeout=LIMIT_MS)
    page.locator("img.spy").wait_for(state="attached")


def test_measure_queues_a_job_and_stays_on_the_page(lab: Lab, open_page: Open) -> None:
    page = open_page(f"/matrices/{lab.hostile}?device=cpu")
    page.locator("#measure-button").click()
    # The newest first: another job waits for this matrix already.
    links = page.locator("#answer a[href^='/jobs/']")
    expect(links).to_have_count(2)
    assert f"/matrices/{lab.hostile}" in page.url
    links.first.click()
    page.wait_for_url("**/jobs/*")
    expect(page.locator("#job-status")).to_contain_text("position 2")
    with lab.database.read() as session:
        job = get_job(session, page.url.rpartition("/")[2])
        assert (job.study, job.device, job.matrix_ids) == ("formats", "cpu", [lab.hostile])


def test_several_matrices_are_measured_together_by_keyboard(lab: Lab, open_page: Open) -> None:
    page = open_page("/measure?matrix_ids=m1", 390)
    page.locator("input[name=study]:checked").focus()
    while page.locator("input[name=study]:checked").input_value() != "batched":
        page.keyboard.press("ArrowRight")
    page.locator("#together input[data-find]").focus()
    page.keyboard.press("Tab")
    while page.locator(":focus").is_checked():
        page.keyboard.press("Tab")
    chosen = page.locator(":focus")
    other = chosen.get_attribute("value")
    page.keyboard.press("Space")
    expect(chosen).to_be_checked()
    expect(page.locator("#together [data-chosen]")).to_contain_text("2 ")
    page.locator("#measure-button").press("Enter")
    page.wait_for_url("**/jobs/*")
    with lab.database.read() as session:
        job = get_job(session, page.url.rpartition("/")[2])
        assert job.study == "batched"
        assert set(job.matrix_ids) == {"m1", other}


def test_a_race_goes_from_waiting_to_settled_and_ends_with_its_answer(lab: Lab, open_page: Open) -> None:
    page = open_page(f"/jobs/{lab.running}")
    rows = page.locator("#job-race tbody tr")
    expect(rows.first).to_be_visible()
    assert rows.count() > 5
    expect(page.locator("#job-race tr.settled")).to_have_count(0)
    for measurement in study_of(lab.matrix)[3:6]:
        add_measurement(lab.database, lab.running, measurement)
    expect(rows.first).to_contain_text("csr/vector")
    expect(page.locator("#job-race tr.settled")).to_have_count(2)
    fastest = timed("coo/segmented", 1e-4, matrix=lab.matrix, roofline_s=5e-5, gather_probe_s=5e-5)
    add_measurement(lab.database, lab.running, fastest)
    expect(rows.first).to_contain_text("coo/segmented")
    with lab.database.write() as session:
        job = get_job(session, lab.running)
        job.state, job.finished_at = JobState.SUCCEEDED, (job.started_at or 0.0) + 12.0
        publish_state(session, job)
    page.locator("#job-answer", has_text="coo/segmented").wait_for()
    expect(page.locator("#job-race table")).to_have_count(0)
    expect(page.locator("#job-results tbody tr").first).to_contain_text("coo/segmented")


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_of_a_job_stands_still_from_the_queue_to_the_answer(lab: Lab, open_page: Open, width: int) -> None:
    page = open_page(f"/jobs/{lab.queued}", width)
    page.evaluate(f"({SHIFTS})()")
    shifts = [0.0]

    def follow(*measured: Measurement, **values: Any) -> None:
        with lab.database.write() as session:
            job = get_job(session, lab.queued)
            for name, value in values.items():
                setattr(job, name, value)
            publish_state(session, job)
        for measurement in measured:
            add_measurement(lab.database, lab.queued, measurement)
        page.wait_for_timeout(SETTLED_MS)
        shifts.append(page.evaluate("window.shifted"))

    now = time.time()
    follow(state=JobState.RUNNING, started_at=now, attempt=1)
    follow(message=checking("csr/vector"))
    records = study_of(lab.hostile)
    interim = [{"case": m.case, "median_s": m.median_s, "low_s": None, "high_s": None, "rounds": 2} for m in records]
    for count in (1, 2, 4):
        follow(message=in_round(count, 9, "warm", ""), interim=interim[:count])
    for start in range(0, len(records), 3):
        follow(*records[start : start + 3], message=in_round(9, 9, "warm", ""))
    follow(state=JobState.SUCCEEDED, finished_at=now + 20.0, interim=[])
    page.locator("#job-results tbody tr").first.wait_for()
    page.wait_for_timeout(SETTLED_MS)
    shifts.append(page.evaluate("window.shifted"))
    assert shifts[-1] <= SHIFT_MAX, shifts
    body, results = (page.locator(each).bounding_box() for each in (".job-body", "#job-results"))
    assert body
    assert results
    assert body["y"] + body["height"] - results["y"] - results["height"] < 1, "the room for more rows is gone"


def test_a_running_job_is_stopped(lab: Lab, open_page: Open) -> None:
    page = open_page(f"/jobs/{lab.running}")
    page.locator("#stop").click()
    expect(page.locator("#stop")).to_have_count(0)
    expect(page.locator("#cancel")).to_be_visible()
    with lab.database.read() as session:
        assert get_job(session, lab.running).stop_requested


def test_two_jobs_are_ticked_and_compared_by_keyboard(lab: Lab, open_page: Open) -> None:
    page = open_page("/jobs", 390)
    for job in (lab.running, lab.succeeded):
        page.locator(f"#tick-{job}").focus()
        page.keyboard.press("Space")
    page.get_by_role("button", name="Compare").press("Enter")
    page.wait_for_url("**/compare?with=*")
    assert {lab.running, lab.succeeded} <= set(page.url.replace("?with=", "/").split("/"))


def test_a_job_is_cancelled_and_run_again(lab: Lab, open_page: Open) -> None:
    page = open_page(f"/jobs/{lab.queued}")
    page.get_by_role("button", name="Cancel").click()
    page.locator("#job-status", has_text="cancelled").wait_for()
    page.get_by_role("button", name="Run again").click()
    page.wait_for_url(lambda url: not url.endswith(lab.queued))
    page.locator(".job-foot", has_text=f"rerun of job {lab.queued}").wait_for()
