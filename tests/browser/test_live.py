"""What a person does: upload a file, measure, watch, cancel."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from server import matrix_lifecycle
from server.jobs.queue import get_job
from tests.browser.conftest import Open, drawn
from tests.samples.formats import study_of, timed
from tests.web.conftest import Lab, add_measurement

GOOD = b"%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 1.0\n2 2 2.5\n3 3 -1\n3 1 4e2\n"
FRIENDS = "# who knows whom\n10 20\n20 30\n30 10\n10 40\n"
BAD = b"%%MatrixMarket matrix coordinate real general\n3 3 1\n9 1 1.0\n"


def test_a_file_is_uploaded_and_shown(open_page: Open, tmp_path: Path) -> None:
    path = tmp_path / "tiny.mtx"
    path.write_bytes(GOOD)
    page = open_page("/matrices")
    page.get_by_label("Matrix files").set_input_files(path)
    page.wait_for_url("**/matrices/*")
    page.get_by_role("heading", name="tiny", exact=True).wait_for()
    page.locator("#matrix-head", has_text="3 × 3").wait_for()
    page.locator("#spy .main-svg").first.wait_for()


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
    page.get_by_role("heading", name="friends", exact=True).wait_for()


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
    page.get_by_role("heading", name="tiny", exact=True).wait_for()


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
    page.get_by_role("heading", name="friends", exact=True).wait_for()


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
    page.get_by_label("Generator", exact=True).select_option("stencil")
    page.locator("#stencil-nx").fill("12")
    page.locator("#stencil-ny").fill("5")
    page.get_by_role("button", name="Generate").click()
    page.wait_for_url("**/matrices/*")
    page.locator("#matrix-head", has_text="60 × 60").wait_for(timeout=120_000)
    page.locator("#spy .main-svg").first.wait_for()


def test_measure_queues_a_job(lab: Lab, open_page: Open) -> None:
    page = open_page("/matrices/m1")
    page.locator("#device").select_option("cpu")
    page.get_by_role("button", name="Measure").click()
    page.wait_for_url("**/jobs/*")
    page.locator("#job-status", has_text="position 2 in the queue").wait_for()


def test_several_matrices_are_measured_together_by_keyboard(lab: Lab, open_page: Open) -> None:
    page = open_page("/matrices/m1", 390)
    page.locator("#study").select_option("batched")
    page.get_by_text("Other matrices in the same job").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    chosen = page.locator(":focus")
    other = chosen.get_attribute("value")
    page.keyboard.press("Space")
    expect(chosen).to_be_checked()
    together = page.locator("#together > summary")
    together.click()
    expect(together).to_have_text("Other matrices in the same job (1 selected)")
    page.get_by_role("button", name="Measure").press("Enter")
    page.wait_for_url("**/jobs/*")
    with lab.database.read() as session:
        job = get_job(session, page.url.rpartition("/")[2])
        assert (job.study, job.matrix_ids) == ("batched", ["m1", other])


def test_results_fill_in_as_they_arrive(lab: Lab, open_page: Open) -> None:
    page = open_page(f"/jobs/{lab.running}")
    page.locator("#job-counts", has_text="3 of 16 cases").wait_for()
    for measurement in study_of(lab.matrix)[3:6]:
        add_measurement(lab.database, lab.running, measurement)
    page.locator("#job-counts", has_text="5 of 16 cases measured, 1 skipped").wait_for()
    drawn(page.locator("#formats-chart"), "csr/vector")
    fastest = timed("coo/segmented", 1e-4, matrix=lab.matrix, roofline_s=5e-5, gather_probe_s=5e-5)
    add_measurement(lab.database, lab.running, fastest)
    page.locator("#job-results", has_text="coo/segmented is fastest on cpu, warm").wait_for()


def test_a_job_is_cancelled_and_run_again(lab: Lab, open_page: Open) -> None:
    page = open_page(f"/jobs/{lab.queued}")
    page.get_by_role("button", name="Cancel").click()
    page.locator("#job-status", has_text="cancelled").wait_for()
    page.get_by_role("button", name="Run again").click()
    page.wait_for_url(lambda url: not url.endswith(lab.queued))
    page.locator("#job-actions", has_text=f"rerun of job {lab.queued}").wait_for()
