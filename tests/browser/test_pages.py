"""What is chosen on a page, how it is laid out, and the way through pages with the keyboard alone."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from server.jobs.queue import get_job, publish_state
from server.models import JobState
from tests.browser.conftest import LIMIT_MS, Open, drawn, interactive
from tests.samples.formats import study_of
from tests.web.conftest import Lab, add_measurement, add_study


@pytest.fixture
def runs(lab: Lab) -> str:
    """A job of the pagerank study on both matrices of the lab."""
    return add_study(lab.database, "pagerank", "j8", (lab.matrix, lab.hostile))


@pytest.fixture
def batches(lab: Lab) -> str:
    """A job of the batched study on both matrices of the lab."""
    return add_study(lab.database, "batched", "j6", (lab.matrix, lab.hostile))


@pytest.fixture
def works(lab: Lab) -> str:
    """A job of the scaling study on both matrices of the lab."""
    return add_study(lab.database, "scaling", "j7", (lab.matrix, lab.hostile))


def test_the_theme_can_be_chosen_and_stays(lab: Lab, open_page: Open) -> None:
    page = open_page("/formats?job=j1&view=roofline")
    interactive(page.locator("#roofline-chart"))
    paper = "getComputedStyle(document.body).backgroundColor"
    ink = "getComputedStyle(document.querySelector('.plot .xtick text')).fill"
    light = page.evaluate(paper), page.evaluate(ink)
    toggle = page.get_by_role("button", name="Theme")
    toggle.click()
    toggle.click()
    assert toggle.text_content() == "Theme: dark"
    expect(page.locator(".plot .xtick text").first).not_to_have_css("fill", light[1], timeout=LIMIT_MS)
    assert page.evaluate(paper) != light[0]
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_choices_change_the_address_and_back_returns(lab: Lab, open_page: Open) -> None:
    page = open_page("/formats?job=j1&view=verdicts")
    page.locator("#chip-cache > summary").click()
    page.locator("#chip-cache").get_by_role("link", name="cold").click()
    page.wait_for_url("**/formats?job=j1&cache=cold&view=verdicts")
    page.locator("#verdicts", has_text="cold: 1.25").wait_for()
    page.locator("#options > summary").click()
    page.locator("#options").get_by_label("Baseline").select_option("coo/segmented")
    page.wait_for_url("**baseline=coo%2Fsegmented**")
    page.locator("#answer", has_text="coo/segmented").wait_for()
    page.go_back()
    page.wait_for_url("**/formats?job=j1&cache=cold&view=verdicts")
    page.go_back()
    page.locator("#verdicts", has_text="warm: 2.50").wait_for()


def test_a_chart_has_words_and_a_table(lab: Lab, open_page: Open) -> None:
    page = open_page("/formats?job=j1&matrix=m1")
    assert page.locator("#cases").get_by_role("table").locator("tbody tr").count() == 4
    page.goto("/formats?job=j1&matrix=m1&view=formats")
    chart = page.locator("#formats figure")
    assert "csr/vector is fastest on CPU, warm" in (chart.text_content() or "")
    interactive(chart)
    config = page.evaluate("document.querySelector('#formats-chart .plot')._context")
    assert (config["showSendToCloud"], config["plotlyServerURL"], config["displaylogo"]) == (False, "", False)


def test_a_pair_of_formats_is_compared_and_its_numbers_unfold(lab: Lab, open_page: Open) -> None:
    page = open_page("/formats?job=j1&view=ratio")
    page.locator("#ratio-head p.quiet").wait_for()
    page.locator("#options > summary").click()
    page.get_by_label("Speedup of", exact=True).select_option("coo")
    page.wait_for_url("**pair=coo**")
    expect(page.locator("#ratio-chart")).to_have_attribute("data-figure", re.compile("pair=coo$"), timeout=LIMIT_MS)
    drawn(page.locator("#ratio-chart"), "coo vs csr")
    page.get_by_label("over", exact=True).select_option("csr")
    page.wait_for_url("**pair=coo&pair=csr**")
    expect(page.locator("#ratio-chart")).to_have_attribute("data-figure", re.compile("pair=csr$"), timeout=LIMIT_MS)
    drawn(page.locator("#ratio-chart"), "coo vs csr")
    numbers = page.locator("#ratio-table")
    numbers.get_by_text("Table of values", exact=True).click()
    expect(numbers.get_by_role("row").nth(1).get_by_role("cell").nth(-2)).to_have_text("slower")
    page.locator("#options > summary").click()
    page.locator("#matrices > summary").click()
    page.locator("#matrix-2").uncheck()
    page.locator("#views", has_text="two or more").wait_for()
    page.locator("#ratio-chart").wait_for(state="detached")


def test_a_batch_size_is_chosen_and_kept_in_the_address(lab: Lab, batches: str, open_page: Open) -> None:
    page = open_page(f"/batched?job={batches}&view=batched-winners")
    drawn(page.locator("#batched-winners-chart"), "batch size 1,000")
    page.locator("summary", has_text="Batch size").click()
    page.get_by_role("group", name="Batch size", exact=True).get_by_text("10", exact=True).click()
    page.wait_for_url("**batch=10**")
    expect(page.locator("#batched-winners-chart")).to_have_attribute("data-figure", re.compile("batch=10"))
    drawn(page.locator("#batched-winners-chart"), "batch size 10")
    page.go_back()
    expect(page.locator("#batched-winners-chart")).not_to_have_attribute("data-figure", re.compile("batch=10"))


def test_a_legend_of_many_kernels_is_whole_on_a_narrow_screen(lab: Lab, batches: str, open_page: Open) -> None:
    page = open_page(f"/batched?job={batches}&view=batched-winners", 390)
    legend = interactive(page.locator("#batched-winners-chart")).locator(".legend")
    expect(legend.locator(".traces")).to_have_count(9)
    expect(legend.locator(".scrollbar")).to_have_attribute("height", "0")
    last = legend.locator(".traces").last.bounding_box()
    figure = legend.page.locator("#batched-winners-chart .plot").bounding_box()
    assert last
    assert figure
    assert last["y"] + last["height"] <= figure["y"] + figure["height"]


def test_titles_of_panels_are_whole_on_a_narrow_screen(lab: Lab, runs: str, open_page: Open) -> None:
    page = open_page(f"/pagerank?job={runs}&matrix={lab.hostile}&view=pagerank-time", 320)
    plot = interactive(page.locator("#pagerank-time-chart")).locator(".plot")
    whole, titles = plot.bounding_box(), plot.locator(".annotation").all()
    assert whole
    assert titles
    for box in (title.bounding_box() for title in titles):
        assert box
        assert whole["x"] <= box["x"]
        assert box["x"] + box["width"] <= whole["x"] + whole["width"]


def test_phases_are_shown_as_shares_and_a_number_of_devices_is_chosen(lab: Lab, works: str, open_page: Open) -> None:
    page = open_page(f"/scaling?job={works}&view=scaling-phases")
    page.locator("#answer", has_text="CPU threads").wait_for()
    page.get_by_role("link", name="shares").click()
    page.wait_for_url("**phases=shares**")
    chart = page.locator("#scaling-phases-chart")
    expect(chart).to_have_attribute("data-figure", re.compile("phases=shares"), timeout=LIMIT_MS)
    drawn(chart, "% of all phases")
    page.locator("#options > summary").click()
    page.get_by_label("Number of devices", exact=True).select_option("2")
    page.wait_for_url("**devices=2**")
    expect(chart).to_have_attribute("data-figure", re.compile("devices=2"))
    page.go_back()
    expect(chart).not_to_have_attribute("data-figure", re.compile("devices=2"))


def test_panels_stand_side_by_side_where_the_page_is_wide(lab: Lab, works: str, open_page: Open) -> None:
    places = {}
    for width in (1280, 390):
        page = open_page(f"/scaling?job={works}&view=scaling-cold", width)
        plot = interactive(page.locator("#scaling-cold-chart")).locator(".plot")
        axes = plot.evaluate(
            "(plot) => [1, 2].map((n) => [`xaxis${n > 1 ? n : ''}`, `yaxis${n > 1 ? n : ''}`]"
            ".map((name) => plot.layout[name].domain))"
        )
        places[width] = axes
    (left, top), (right, beside) = places[1280]
    assert left[1] < right[0], "the second panel is on the right of the first"
    assert top == pytest.approx(beside)
    (left, top), (right, below) = places[390]
    assert left == pytest.approx(right)
    assert below[1] < top[0]


def test_long_names_of_rows_stand_above_them_on_a_narrow_screen(lab: Lab, works: str, open_page: Open) -> None:
    share = {}
    for width in (1280, 390):
        page = open_page(f"/scaling?job={works}&view=scaling-iteration", width)
        plot = interactive(page.locator("#scaling-iteration-chart")).locator(".plot")
        share[width] = plot.evaluate("(plot) => plot._fullLayout.xaxis._length / plot.clientWidth")
        names = set(plot.evaluate("(plot) => plot.layout.yaxis.categoryarray"))
        written = plot.evaluate("(plot) => plot.layout.annotations.filter((a) => a.yref === 'y').map((a) => a.text)")
        assert set(written) == (names if width == 390 else set())
    assert share[390] > 0.85


def tab_to(page: Page, wanted: Locator) -> None:
    """Goes there as somebody without a mouse does."""
    for _ in range(200):
        if wanted.evaluate("(element) => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"no Tab leads to {wanted}")


def test_the_keyboard_alone_leads_from_home_to_a_comparison(lab: Lab, open_page: Open) -> None:
    page = open_page("/")
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to content")
    expect(skip).to_be_focused()
    page.keyboard.press("Enter")
    tab_to(page, page.get_by_role("link", name="All matrices"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/matrices")
    tab_to(page, page.get_by_role("link", name="cnr-2000"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/matrices/m1**")
    tab_to(page, page.locator("#measure-button"))
    page.keyboard.press("Enter")
    # The newest first: another job on this matrix runs already.
    links = page.locator("#answer a[href^='/jobs/']")
    expect(links).to_have_count(2, timeout=LIMIT_MS)
    tab_to(page, links.first)
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs/*")
    job_id = page.url.rpartition("/")[2]
    for measurement in study_of(lab.matrix):
        add_measurement(lab.database, job_id, measurement)
    with lab.database.write() as session:
        job = get_job(session, job_id)
        job.state, job.started_at, job.finished_at = JobState.SUCCEEDED, job.created_at, job.created_at + 12.0
        publish_state(session, job)
    open_results = page.locator("#job-actions a[href*='/formats?']").first
    expect(open_results).to_be_visible(timeout=LIMIT_MS)
    tab_to(page, open_results)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/formats?*{job_id}*")
    expect(page.locator("#answer")).to_contain_text("csr/vector")
