"""Files from the desktop: real drags, by the browser's own events, up to a result that a worker has measured."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from server.ingest import emit_state
from server.jobs.queue import list_jobs
from server.models import MatrixRow, MatrixState
from server.settings import Settings
from tests.browser.conftest import LIMIT_MS, Open, watched
from tests.web.conftest import Lab

CIRCLE = "%%MatrixMarket matrix coordinate real general\n40 40 40\n" + "".join(
    f"{row} {row % 40 + 1} 1.5\n" for row in range(1, 41)
)
FRIENDS = "source,target\nalice,bob\nbob,carol\ncarol,alice\nalice,dave\n"


@pytest.fixture
def worker(address: str, settings: Settings, tmp_path: Path) -> Iterator[None]:
    """A worker of the service, offering the CPU."""
    environment = {**os.environ, "SPARSIGHT_HOME": str(settings.home), "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-P", "-m", "sparsight", "worker"]
    with (tmp_path / "worker.log").open("w") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        yield
        process.terminate()
        process.wait(60)


def file(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def drag(page: Page, paths: Sequence[Path], target: str = "h1") -> None:
    """Drags files over an element and drops them there: what the page does not take, the browser opens itself."""
    box = page.locator(target).first.bounding_box()
    assert box
    session = page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": kind, "x": box["x"] + 5, "y": box["y"] + 5, "data": data})
    session.detach()


def measure(page: Page) -> None:
    """Presses Measure on the page of a matrix and waits for its measured answer."""
    expect(page.locator("#answer [role=status] .state.predicted")).to_be_visible(timeout=LIMIT_MS)
    # The device is there once the worker has said so.
    button = page.locator("#measure-button")
    while not button.count():
        page.reload()
    button.click()
    expect(page.locator("#answer [role=status] .state:is(.measured, .busy)")).to_be_visible(timeout=5 * LIMIT_MS)
    expect(page.locator("table.kernels tbody tr").first).to_be_visible()


def test_what_is_dropped_reaches_a_result(worker: None, open_page: Open, tmp_path: Path) -> None:
    # One worker measures all three: its start takes as long as a job.
    drop_a_matrix_on_home(page := open_page("/"), tmp_path)
    measure(page)
    for drop in (drop_an_edge_list_of_names, drop_a_file_without_a_field):
        drop(page := open_page("/matrices"), tmp_path)
        measure(page)


def drop_a_matrix_on_home(page: Page, tmp_path: Path) -> None:
    drag(page, [file(tmp_path, "circle.mtx", CIRCLE)])
    page.wait_for_url("**/matrices/*?n=500*", timeout=LIMIT_MS)
    expect(page.locator("main")).to_contain_text("circle")


def drop_an_edge_list_of_names(page: Page, tmp_path: Path) -> None:
    drag(page, [file(tmp_path, "friends", FRIENDS)])
    page.get_by_text("edge list: 4 × 4, 4 nonzeros").wait_for(timeout=LIMIT_MS)
    page.get_by_text("4 distinct names, from 'alice' to 'dave'").wait_for()
    page.get_by_label("Direction").select_option("true")
    page.get_by_role("button", name="Upload").click()
    page.wait_for_url("**/matrices/*", timeout=LIMIT_MS)


def drop_a_file_without_a_field(page: Page, tmp_path: Path) -> None:
    drag(page, [file(tmp_path, "ornl.mtx", CIRCLE.replace(" real", ""))])
    expect(page.locator("[data-upload] [role=alert]")).to_contain_text("lacks the field", timeout=LIMIT_MS)
    expect(page.locator("[data-upload] [role=alert]")).to_contain_text("Choose the field and press Upload.")
    # What is asked comes from the answer: nothing of an edge list.
    expect(page.get_by_label("Direction")).to_be_hidden()
    page.get_by_label("Field").select_option("pattern")
    expect(page.locator("[data-upload] [role=alert]")).to_contain_text("expected 2: 'row column'", timeout=LIMIT_MS)
    page.get_by_label("Field").select_option("real")
    page.get_by_text("Matrix Market: 40 × 40, 40 nonzeros").wait_for(timeout=LIMIT_MS)
    page.get_by_role("button", name="Upload").click()
    page.wait_for_url("**/matrices/*", timeout=LIMIT_MS)


def test_every_file_of_a_drop_is_taken(lab: Lab, open_page: Open, tmp_path: Path) -> None:
    page = open_page("/matrices")
    paths = [
        file(tmp_path, "friends.csv", FRIENDS),
        file(tmp_path, "circle.mtx", CIRCLE),
        file(tmp_path, "bad.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 1\n9 1 1.0\n"),
    ]
    drag(page, paths)
    sent = page.locator("[data-sent] li")
    expect(sent.nth(1)).to_contain_text("bad.mtx: ", timeout=LIMIT_MS)
    expect(sent.nth(0)).to_contain_text("circle ready")
    # What leaves something open comes last.
    expect(page.locator("[data-asked-of]")).to_have_text("(friends.csv)", timeout=LIMIT_MS)
    page.get_by_label("Direction").select_option("false")
    page.get_by_role("button", name="Upload").click()
    expect(sent.nth(2)).to_contain_text("friends ready", timeout=LIMIT_MS)
    together = page.get_by_role("link", name="Measure these 2 as one job")
    assert (together.get_attribute("href") or "").count("matrix_ids=") == 2
    # They are ticked already, too.
    expect(page.locator("[data-count]")).to_have_text("2 matrices selected", timeout=LIMIT_MS)
    page.locator("#chosen").get_by_role("button", name="Measure").click()
    page.wait_for_url("**/measure?*")
    expect(page.locator("#together input:checked")).to_have_count(2)


def test_ticks_stay_through_a_search_and_lead_to_a_comparison_by_keyboard(lab: Lab, open_page: Open) -> None:
    page = open_page("/matrices", 390)
    box = page.get_by_label("Select cnr-2000")
    box.press("Space")
    page.locator("#q").fill("long")
    page.locator("#q").press("Enter")
    expect(box).to_have_count(0)
    page.locator("#catalogue input[type=checkbox]").first.press("Space")
    expect(page.locator("[data-count]")).to_have_text("2 matrices selected", timeout=LIMIT_MS)
    page.get_by_role("button", name="Compare formats").press("Enter")
    page.wait_for_url("**/formats?matrix=*")
    assert page.url.count("matrix=m") == 2
    with lab.database.read() as session:
        assert len(list_jobs(session).items) == 5, "a comparison measures nothing"


def test_the_prediction_comes_with_the_matrix(lab: Lab, open_page: Open) -> None:
    # Made while the service runs: what it finds half read when it starts has failed.
    open_page("/")
    with lab.database.write() as session:
        session.add(MatrixRow(id="late", name="late", state=MatrixState.INGESTING, sha256="late", created_at=9.0))
    page = open_page("/matrices/late")
    expect(page.locator("#answer .state.running")).to_be_visible()
    with lab.database.write() as session:
        row, like = (session.get(MatrixRow, matrix_id) for matrix_id in ("late", lab.matrix))
        assert row
        assert like
        row.features, row.fingerprint, row.nnz = like.features, like.fingerprint, like.nnz
        row.n_rows, row.n_cols, row.state = like.n_rows, like.n_cols, MatrixState.READY
        emit_state(session, row)
    expect(page.locator("#answer [role=status] .state.predicted")).to_be_visible(timeout=LIMIT_MS)


def test_a_generator_says_what_it_would_make(open_page: Open) -> None:
    page = open_page("/matrices")
    page.locator("#generate > summary").click()
    place = page.locator("[data-expected]")
    expect(place).to_contain_text("448,800 nonzeros", timeout=LIMIT_MS)
    page.locator("#stencil-nx").fill("30")
    expect(place).to_have_text("About 44,340 nonzeros, 532\u202fkB of columns and values.", timeout=LIMIT_MS)
    page.locator("#stencil-nz").fill("2")
    expect(place).to_contain_text("nz is 2; expected 1", timeout=LIMIT_MS)


def test_without_scripts_a_file_goes_up(browser: Browser, address: str, tmp_path: Path) -> None:
    with watched(browser, address, java_script_enabled=False) as page:
        page.goto("/matrices")
        page.locator("#file").set_input_files(file(tmp_path, "friends.net", FRIENDS))
        page.get_by_label("Direction").select_option("true")
        page.get_by_role("button", name="Upload").click()
        page.wait_for_url("**/matrices/*", timeout=LIMIT_MS)
        expect(page.locator("main")).to_contain_text("friends")
        page.goto("/matrices?generator=rmat")
        page.locator("#rmat-scale").fill("5")
        page.get_by_role("button", name="Generate").click()
        page.wait_for_url("**/matrices/*")
        expect(page.locator("main")).to_contain_text("rmat scale=5")
