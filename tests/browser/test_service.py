"""The page of the service: what it loads, how it follows, and where the facts of a device are."""

from playwright.sync_api import Page, expect

from server.jobs.queue import publish_state
from server.models import JobRow, JobState
from tests.browser.conftest import LIMIT_MS, Open
from tests.web.conftest import Lab, add_job

FIRST_ANSWER = {1280: 700, 390: 844}
"""Height in pixels within which the answer and the first tiles are, by width."""


def test_a_failure_appears_without_a_reload(lab: Lab, open_page: Open) -> None:
    page = open_page("/service")
    page.evaluate("window.before = true")
    failed = page.locator("#tile-failed data")
    expect(failed).to_have_attribute("value", "1.0")
    add_job(lab.database, "j9", "cpu", JobState.FAILED, [], (lab.matrix,), {"detail": "Out of memory."})
    with lab.database.write() as session:
        publish_state(session, session.get_one(JobRow, "j9"))
    expect(failed).to_have_attribute("value", "2.0", timeout=LIMIT_MS)
    expect(page.get_by_text("Out of memory.").first).to_be_visible()
    assert page.evaluate("window.before")


def test_the_name_of_a_device_opens_its_facts(lab: Lab, open_page: Open) -> None:
    page = open_page("/service")
    expect(page.locator("#bandwidth-cpu")).to_be_hidden()
    page.get_by_role("link", name="A laptop's processor").click()
    expect(page.locator("#bandwidth-cpu img")).to_be_visible(timeout=LIMIT_MS)
    expect(page.get_by_role("table", name="Bandwidth by footprint")).to_be_visible()


def test_the_answer_and_the_tiles_are_in_the_first_view_and_nothing_else_is_loaded(lab: Lab, open_page: Open) -> None:
    for width, height in FIRST_ANSWER.items():
        page = open_page("/service", width)
        assert bottom(page, "h1") <= 260
        assert bottom(page, "#tile-disk-home") <= height
        assert page.evaluate("performance.getEntriesByType('resource').length") <= 6
        assert not page.evaluate("performance.getEntriesByType('resource').some((e) => e.name.includes('plotly'))")


def bottom(page: Page, selector: str) -> float:
    """The lower edge of an element in pixels."""
    return float(page.locator(selector).evaluate("(element) => element.getBoundingClientRect().bottom"))


def test_another_device_is_chosen_in_place_and_back_returns(lab: Lab, open_page: Open) -> None:
    page = open_page("/devices/compare?first=cpu&second=cuda:0&cache=warm")
    answer = page.get_by_role("heading", level=1)
    before = answer.inner_text()
    page.get_by_role("link", name="swap devices").click()
    page.wait_for_url("**first=cuda**")
    expect(answer).not_to_have_text(before)
    expect(page.get_by_label("First")).to_have_value("cuda:0")
    page.go_back()
    expect(answer).to_have_text(before)
